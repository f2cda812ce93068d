"""Resolve paths of the mounted tree, in both views, to what they show. Only the stores are read, so no mount is
needed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kgfs.domain.documents import Name, NameKind, Ontology
from kgfs.domain.names import encode_name
from kgfs.render.names import id_in
from kgfs.stores.catalog.names import Names
from kgfs.stores.resolve_targets import Found, FoundKind, of_document, of_key, of_name, of_path
from kgfs.stores.stores import Stores

_CONCEPT = ".concept"
_MARKDOWN = ".md"
_HISTORY = "@"


def in_tree(stores: Stores, below: str) -> Iterator[Found]:
    """Resolve a path below a mount point, in either view."""
    head, _, rest = below.partition("/")
    if head == "sources":
        yield from of_key(stores, below)
    for ontology, path in encoded(stores, head, rest):
        yield from _in_ontology(stores, ontology, path)


def _in_ontology(stores: Stores, ontology: Ontology, path: str) -> Iterator[Found]:
    names = stores.catalog.names
    part, _, rest = path.partition("/")
    if part in ("", "documents"):
        yield from of_path(names, ontology, rest)
    elif part == "text":
        yield from _of_text(names, ontology, rest)
    elif part == "versions":
        yield from _of_versions(names, ontology, rest)
    elif part == "archive":
        doc_id, _, below = rest.partition("/")
        if below.startswith("attachments/"):
            name = below.removeprefix("attachments/")
            row = names.part(doc_id, name) or names.part(doc_id, name.removesuffix(_MARKDOWN))
            doc_id = row.child if row is not None else ""
        document = names.document(doc_id)
        if document is not None and document.ontology == ontology.id:
            yield from of_document(stores, document)
    elif part == "concepts":
        yield from _of_evidence(stores, ontology, rest)
    elif part.endswith(_CONCEPT):
        yield from _of_evidence(stores, ontology, path)
    elif not rest:
        yield from of_path(names, ontology, part)


def _of_text(names: Names, ontology: Ontology, path: str) -> Iterator[Found]:
    folder, _, last = path.rpartition("/")
    parent = names.resolve(ontology.id, folder)
    if parent is None or not last:
        yield from of_path(names, ontology, path)
        return
    stem = names.child(parent.id, last.removesuffix(_MARKDOWN)) if last.endswith(_MARKDOWN) else None
    name = names.child(parent.id, last) or stem or _with_id(names, parent, last, _MARKDOWN)
    if name is not None:
        yield of_name(names, ontology, name, _joined(folder, name.name))


def _of_versions(names: Names, ontology: Ontology, path: str) -> Iterator[Found]:
    folder = names.resolve(ontology.id, "")
    parts = [part for part in path.split("/") if part]
    for at, part in enumerate(parts):
        if folder is None:
            return
        file = names.child(folder.id, part.removesuffix(_HISTORY)) if part.endswith(_HISTORY) else None
        file = file or _with_id(names, folder, part, _HISTORY)
        if file is not None and file.kind is NameKind.FILE:
            yield from _of_history(names, ontology, file, "/".join(parts[at + 1 :]))
            return
        folder = names.child(folder.id, part) or _with_id(names, folder, part, "")
    if folder is not None:
        yield from of_path(names, ontology, names.path(folder.id) or "")


def _of_history(names: Names, ontology: Ontology, file: Name, version: str) -> Iterator[Found]:
    found = of_name(names, ontology, file, names.path(file.id) or "")
    if not version:
        yield found
        return
    for one in names.versions(file.id):
        if version.partition(".")[0] == str(one.n):
            yield Found(FoundKind.DOCUMENT, ontology, file, found.path, names.document(one.doc_id), one.n)


def _of_evidence(stores: Stores, ontology: Ontology, path: str) -> Iterator[Found]:
    """Resolve ``<name>.concept/[related/<type>/<name>/]evidence/<n>[/…]`` to the document of the evidence."""
    graph = stores.graph
    parts = path.split("/")
    name = parts[0].removesuffix(_CONCEPT)
    concept = graph.concept_named(ontology.id, name) or graph.concept_named(
        ontology.id, graph.joined.leads_to(ontology.id, name)
    )
    if concept is None:
        return
    owners, rest = [concept.concept_id], parts[1:]
    if len(rest) > 3 and rest[0] == "related":
        related = graph.related(concept.concept_id, rest[1])
        owners = [one.relationship_id for one in related if one.name == rest[2]]
        rest = rest[3:]
    if len(rest) < 2 or rest[0] != "evidence" or not (rest[1].isascii() and rest[1].isdigit()):
        return
    for owner in owners:
        instance = graph.instance(owner, int(rest[1]))
        document = stores.catalog.names.document(instance.doc_id) if instance else None
        if document is not None:
            yield from of_document(stores, document)
            return


def _with_id(names: Names, parent: Name, shown: str, suffix: str) -> Name | None:
    """Return the entry of ``parent`` whose shown name has its id appended; None if there is none."""
    name_id = id_in(shown, suffix)
    found = names.name(name_id) if name_id and name_id < 1 << 63 else None
    return found if found is not None and found.parent == parent.id else None


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def encoded(stores: Stores, head: str, rest: str) -> Iterator[tuple[Ontology, str]]:
    """Yield (ontology, path below it) for each way to read the words."""
    for words in readings_of(f"{head}/{rest}"):
        name, _, path = words.partition("/")
        if ontology := stores.catalog.names.ontology_named(name):
            yield ontology, path


def readings_of(words: str) -> list[str]:
    """Return the ways to read the words: as bytes from a shell and, if it differs, as kgfs prints names, which is
    always UTF-8."""
    of_shell = encode_name(os.fsencode(words))
    as_printed = words.encode(errors="replace").decode() == words
    return [of_shell, words] if as_printed and words != of_shell else [of_shell]
