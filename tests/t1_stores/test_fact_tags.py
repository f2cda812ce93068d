"""What the ledger calls each kind of fact, and its fields. Whoever changes a row here gives HOME_FORMAT its next number."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

import pytest

from kgfs.errors import StoreError
from kgfs.stores.catalog.encoding import TAGS, decode, decode_if, encode
from kgfs.stores.catalog.facts import DocumentRead, Fact, ForgettingDone

STORED = {
    "ontology.made": "ontology name prefix root mode uid gid at",
    "ontology.renamed": "ontology name at",
    "ontology.removed": "ontology at",
    "folder.made": "id ontology parent name mode uid gid at",
    "file.made": "id ontology parent name mode uid gid at",
    "link.made": "id ontology parent name target mode uid gid at",
    "content.kept": "id sha256 size place key mtime at",
    "attributes.set": "id at mode uid gid atime mtime",
    "name.moved": "id ontology parent name replaces at",
    "name.removed": "id at",
    "name.settled": "id place key reason at sha256 decision",
    "version.minted": "id ontology n doc_id sha256 size key source_id path decision reason at ingest_version",
    "document.read": "doc_id state reading decisions commit_id superseded at ingest_version deposit content_version",
    "document.text": "doc_id reading commit_id hides at ingest_version deposit content_version",
    "reading.owed": "doc_id reason at strategy extractor run anew",
    "document.failed": "doc_id state reason at ingest_version",
    "parts.found": "doc_id at names given kinds media_types sha256s sizes keys ingest_version",
    "document.forgotten": "doc_id cascade commit_id at",
    "trash.restored": "id ontology parent name at",
    "trash.emptied": "ids at",
    "forgetting.owed": "order names doc_ids cascade purge concepts suppressed at",
    "forgetting.done": "order doc_ids cascade purge commit_id concepts redaction at decisions",
    "concepts.merged": "ontology into others decisions marks unmarked commit_id at documents joining",
    "concept.split": "ontology concept target decisions marks unmarked commit_id at joining",
    "places.added": "ontology concepts after decisions commit_id at",
    "claim.marked": "ontology claim_id into commit_id at",
    "setting.changed": "ontology key value at",
    "search.saved": "ontology words at",
    "search.removed": "ontology words at",
    "question.saved": "ontology question at",
    "question.removed": "ontology question at",
    "owner.changed": "generation home host at",
}
"""The names of the fields, by tag."""


def _some(kind: type[Any], names: str) -> Fact:
    """A fact of that kind, each of its fields told from the others."""
    made: Fact = kind(**{name: f"{n} {name}" for n, name in enumerate(names.split())})
    return made


def test_every_kind_of_fact_has_its_tag() -> None:
    assert set(TAGS) == set(get_args(Fact))
    assert [*TAGS.values()] == [*STORED]


@pytest.mark.parametrize("kind", TAGS, ids=TAGS.__getitem__)
def test_a_fact_is_read_as_it_was_written(kind: type[Any]) -> None:
    fact = _some(kind, STORED[TAGS[kind]])
    entry = encode(fact)
    assert entry.startswith(f'{{"fact":"{TAGS[kind]}","'.encode())
    assert decode(entry) == decode_if(entry, kind) == fact
    other = DocumentRead if kind is ForgettingDone else ForgettingDone
    assert decode_if(entry, other) == (fact if kind is other else None)


@pytest.mark.parametrize("kind", TAGS, ids=TAGS.__getitem__)
def test_the_names_of_fields_are_those_that_are_stored(kind: type[Any]) -> None:
    assert [field.name for field in fields(kind)] == STORED[TAGS[kind]].split()


def test_a_word_in_a_field_is_no_tag() -> None:
    named = b'{"fact":"search.saved","ontology":"","words":"forgetting.done ForgettingDone","at":1}'
    assert decode_if(named, ForgettingDone) is None


@pytest.mark.parametrize("entry", [b'{"fact":"from.the.future"}', b"torn", b'{"fact":"name.removed","other":1}'])
def test_what_is_not_understood_is_refused(entry: bytes) -> None:
    with pytest.raises(StoreError, match="Another version of kgfs"):
        decode(entry)
