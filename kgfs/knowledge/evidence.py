"""The content of an evidence folder: a quote in its Source, and the present path of its document."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from kgfs.errors import MissingError, StoreError
from kgfs.knowledge.document_location import DocumentLocation, standing_of
from kgfs.render import citation, source
from kgfs.render.citation import Citation
from kgfs.render.source import Excerpt, Marks
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentRow, InstanceRow
from kgfs.stores.stores import Stores

T = TypeVar("T")


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class Evidence:
    """One Instance as its owner's folder shows it. Made by :func:`evidence`."""

    instance: InstanceRow
    standing: DocumentLocation

    @property
    def changed_at(self) -> int:
        """Return the time when the folder's content, paths included, last changed (nanoseconds)."""
        return max(self.instance.mtime, self.standing.changed_at)

    def source_size(self, marks: Marks) -> int:
        """Return the size of ``source.txt`` in bytes, without reading its Source."""
        return source.size(self.instance.source_size, self.instance.quote, self.standing.origin, marks)


class Recall(Protocol):
    """Returns the answer of ``ask``, perhaps from a cache under ``key``."""

    def __call__(self, key: Hashable, ask: Callable[[], T]) -> T: ...


def key_of(owner: str, n: int) -> Hashable:
    """Return the key under which the Instance of a piece of evidence is cached."""
    return "instance", owner, n


def evidence(stores: Stores, owner: str, n: int, recall: Recall, instance: InstanceRow | None = None) -> Evidence:
    """Return evidence number ``n`` of a concept or relationship. Quick.

    ``instance`` is the Instance where the caller has it already. Raises MissingError once the evidence is gone.
    """
    found = instance or recall(key_of(owner, n), lambda: stores.graph.instance(owner, n))
    if found is None:
        raise MissingError(f"Evidence {n} is gone.")
    doc_id = found.doc_id
    return Evidence(found, recall(("standing", doc_id), lambda: standing_of(stores.catalog.names, doc_id)))


def source_txt(stores: Stores, shown: Evidence, marks: Marks, recall: Recall) -> bytes:
    return source.render(excerpt_of(stores.graph, shown.instance, recall), shown.standing.origin, marks)


def citation_json(stores: Stores, shown: Evidence, marks: Marks, concept: str, recall: Recall) -> bytes:
    """Return the bytes of ``citation.json``.

    ``concept`` is the directory name of the concept whose folder is read, without ``.concept``.
    """
    instance, standing = shown.instance, shown.standing
    document = recall(("document", instance.doc_id), lambda: _document(stores.graph, instance))
    ontology = recall(("ontology", document.ontology), lambda: stores.catalog.names.ontology(document.ontology))
    return citation.render(
        Citation(
            document=standing.origin.path,
            paths=standing.paths,
            ontology=ontology.name if ontology else "",
            concept=concept,
            content_hash=document.content_hash,
            key=document.garage_key,
            doc_id=instance.doc_id,
            chunk_id=instance.chunk_id,
            text_sha256=document.text_sha256,
            quote=instance.quote,
            char_start=instance.char_start,
            char_end=instance.char_end,
            byte_start=instance.byte_start,
            byte_end=instance.byte_end,
            line_start=instance.line_start,
            line_end=instance.line_end,
            page=instance.page,
            locator=json.loads(instance.locator) if instance.locator else {},
            section_path=instance.section_path,
            stale=standing.stale,
            removed=standing.removed,
            spans=source.spans(excerpt_of(stores.graph, instance, recall), standing.origin, marks),
        )
    )


def excerpt_of(graph: Graph, instance: InstanceRow, recall: Recall) -> Excerpt:
    """Return the Source that contains the start of the quote, with the Sources after it that the quote extends into.

    Raises MissingError where the document left the graph, and StoreError where the quote is not at its span.
    """
    at = (instance.doc_id, instance.chunk_index)
    first = recall(("source", *at), lambda: graph.source(*at))
    if first is None:
        raise MissingError("The document of this evidence left the graph.")
    pieces, last = [first.full_text], first
    while last.char_end < instance.char_end:
        following = graph.source(instance.doc_id, last.chunk_index + 1)
        if following is None:
            raise MissingError("The document of this evidence left the graph.")
        pieces.append(following.full_text)
        last = following
    excerpt = Excerpt(
        text="".join(pieces),
        start=first.char_start,
        line=first.line_start,
        quote_start=instance.char_start,
        quote_end=instance.char_end,
        section_path=instance.section_path,
        page=first.page_number,
    )
    if excerpt.quote != instance.quote:
        raise StoreError(f"The Source of evidence in document {instance.doc_id} is not the one it was taken from.")
    return excerpt


def _document(graph: Graph, instance: InstanceRow) -> DocumentRow:
    document = graph.document(instance.doc_id)
    if document is None:
        raise MissingError("The document of this evidence left the graph.")
    return document
