"""How the in-memory graph takes what documents say anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgfs.stores.graph.merging import same
from kgfs.stores.graph.vocabulary import DocumentContent
from tests.fakes.graph.view import Edition


def saying(editions: Mapping[str, Edition], contents: Sequence[DocumentContent]) -> dict[str, Edition]:
    """The editions, those of documents that say something else now replaced."""
    found = dict(editions)
    for one in contents:
        edition = found.get(one.doc_id)
        if edition is None:
            continue
        instances = {(row.owner, row.n): row for row in one.instances}
        for key, former in edition.instances.items():
            if key in instances and same(former, instances[key]):
                instances[key] = former
        told = edition.told
        if instances == edition.instances and _mentions(one.concepts) == _mentions(told.concepts):
            continue
        publication = replace(told, concepts=one.concepts, relationships=one.relationships)
        found[one.doc_id] = Edition(edition.sources, instances, publication)
    return found


def _mentions(concepts: Sequence[object]) -> list[str]:
    """In any order: ``concepts`` of one document that differ only in it say the same."""
    return sorted(map(repr, ((row.concept_id, row.mention) for row in concepts)))  # type: ignore[attr-defined]
