"""Decide which candidates of a Reading are concepts, by the candidates of the documents that were published before.

The decision is written in the Decisions of the document's publication, which name the concepts, and never made again.
A new version keeps its predecessor's decision about each candidate whose own sentences are unchanged. A heading of
three other documents is structure and no concept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from kgfs.domain.forms import form_key
from kgfs.domain.identity import concept_id_of
from kgfs.errors import CorruptError, MissingError
from kgfs.ingest.matching.candidates import headings_of
from kgfs.ingest.reading.choice import is_concept
from kgfs.ingest.reading.embeddings import Embeddings
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.terms import HEADINGS
from kgfs.stores.readings import Reading, load_decisions, load_reading, text_of
from kgfs.stores.stores import Stores

NOTHING_KEPT: Mapping[str, bool] = MappingProxyType({})


def selected(
    graph: Graph,
    ontology: str,
    reading: Reading,
    embeddings: Embeddings | None,
    leaving: Collection[str],
    kept: Mapping[str, bool],
) -> tuple[Reading, Embeddings | None]:
    """Return the Reading, and its vectors, with those of its candidates that are concepts. The others are terms.

    The documents ``leaving`` with this publication do not count. ``kept`` are decisions about candidates, by normalised
    label, that hold whatever the counts are. Documents that were read by earlier rules count for their concepts alone.
    """
    gone = {*leaving, reading.doc_id}
    asked = {found.norm: found for found in reading.concepts if found.odds is not None}
    keys = {norm: form_key(found.label) for norm, found in asked.items()}
    counted = graph.terms.counted(ontology, {*keys.values()}, gone)
    ids = {norm: concept_id_of(ontology, norm) for norm in asked}
    known = graph.documents_counted({*ids.values()}, gone)
    left = sum(row is not None and row.status != "text" for row in map(graph.document, gone))
    others = graph.counts(ontology).get("documents", 0) - graph.texts(ontology) - left
    headings, linked = headings_of(reading), _linked_title(graph, ontology, reading)
    chosen: list[int] = []
    for index, found in enumerate(reading.concepts):
        key = keys.get(found.norm, "")
        documents, headed = counted.get(key, (0, 0))
        having = max(documents, known.get(ids.get(found.norm, ""), 0))
        structure = key in headings and headed + 1 >= HEADINGS
        passes = not structure and is_concept(found, having, others)
        if kept.get(found.norm, passes) or (found.odds is not None and form_key(found.label) == linked):
            chosen.append(index)
    concepts = tuple(reading.concepts[index] for index in chosen)
    if embeddings is not None:
        embeddings = replace(embeddings, concepts=embeddings.concepts[chosen])
    return replace(reading, concepts=concepts), embeddings


def _linked_title(graph: Graph, ontology: str, reading: Reading) -> str:
    """Return the key of the title if other documents link to it, so that it is a concept here too; else ''."""
    key = form_key(reading.title)
    ids = graph.joined.with_keys(ontology, [key]).get(key, []) if key else []
    return key if any("LINKED_FROM" in graph.related_types(concept_id) for concept_id in ids) else ""


def kept_from(stores: Stores, reading: Reading, text: str, superseded: Sequence[str]) -> dict[str, bool]:
    """Return what was decided about candidates in the predecessors of a document, by normalised label.

    A decision is kept where each sentence that was evidence stands in the new Text, and each sentence that is evidence
    now stood in the former one. A predecessor whose objects are lost keeps none.
    """
    kept: dict[str, bool] = {}
    for doc_id in superseded:
        document, row = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
        if document is None or row is None or not document.decisions:
            continue
        try:
            former = load_reading(stores.garage.objects, doc_id, row.reading)
            decisions = load_decisions(stores.garage.objects, document.decisions)
            former_text = text_of(stores.garage.objects, document, former)
        except (MissingError, CorruptError):
            continue
        concepts = {matched.norm for matched in decisions.concepts if matched.passed}
        before = {form_key(found.label): found for found in former.concepts}
        for found in reading.concepts:
            same = before.get(form_key(found.label))
            if found.odds is None or same is None or found.norm in kept:
                continue
            stood = all(former_text[quote.start : quote.end] in text for quote in same.quotes)
            if stood and all(text[quote.start : quote.end] in former_text for quote in found.quotes):
                kept[found.norm] = same.norm in concepts
    return kept
