"""What the ledger calls each kind of fact, for good. This table is the specification: rows are added, and none is ever changed."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, get_args

import pytest

from kgfs.errors import StoreError
from kgfs.stores.catalog.encoding import TAGS, decode, decode_if, encode
from kgfs.stores.catalog.facts import DocumentRead, Fact, ForgettingDone

STORED = {
    "ontology.made": ("OntologyMade", "ontology name prefix root mode uid gid at"),
    "ontology.renamed": ("OntologyRenamed", "ontology name at"),
    "ontology.removed": ("OntologyRemoved", "ontology at"),
    "folder.made": ("FolderMade", "id ontology parent name mode uid gid at"),
    "file.made": ("FileMade", "id ontology parent name mode uid gid at"),
    "link.made": ("LinkMade", "id ontology parent name target mode uid gid at"),
    "content.kept": ("ContentKept", "id sha256 size place key mtime at base"),
    "attributes.set": ("AttributesSet", "id at mode uid gid atime mtime"),
    "name.moved": ("Moved", "id ontology parent name replaces at"),
    "name.removed": ("Removed", "id at"),
    "name.settled": ("Settled", "id place key reason at sha256 decision"),
    "version.minted": (
        "VersionMinted",
        "id ontology n doc_id sha256 size key source_id path decision reason at ingest_version",
    ),
    "document.read": (
        "DocumentRead",
        "doc_id state reading decisions commit_id superseded at ingest_version deposit content_version follows",
    ),
    "document.text": ("", "doc_id reading commit_id hides at ingest_version deposit content_version follows"),
    "reading.owed": ("ReadingOwed", "doc_id reason at strategy extractor run anew"),
    "document.failed": ("DocumentFailed", "doc_id state reason at ingest_version"),
    "parts.found": ("", "doc_id at names given kinds media_types sha256s sizes keys ingest_version"),
    "document.forgotten": ("DocumentForgotten", "doc_id cascade commit_id at follows"),
    "trash.restored": ("TrashRestored", "id ontology parent name at"),
    "trash.emptied": ("TrashEmptied", "ids at"),
    "forgetting.owed": ("ForgettingOwed", "order names doc_ids cascade purge concepts suppressed at"),
    "forgetting.done": (
        "ForgettingDone",
        "order doc_ids cascade purge commit_id concepts redaction at decisions follows",
    ),
    "concepts.merged": ("ConceptsMerged", "ontology into others decisions marks unmarked commit_id at follows"),
    "places.added": ("", "ontology concepts after decisions commit_id at follows"),
    "concept.split": ("ConceptSplit", "ontology concept target decisions marks unmarked commit_id at follows"),
    "setting.changed": ("SettingChanged", "ontology key value at"),
    "search.saved": ("SearchSaved", "ontology words at"),
    "search.removed": ("SearchRemoved", "ontology words at"),
    "question.saved": ("QuestionSaved", "ontology question at"),
    "question.removed": ("QuestionRemoved", "ontology question at"),
    "conflict.kept": ("ConflictKept", "id sha256 size key path reason at"),
    "fact.overtaken": ("Overtaken", "what id reason at key"),
}
"""By the tag that is written: the name of before, if there was one, and the names of the fields."""


def _some(kind: type[Any], names: str) -> Fact:
    """A fact of that kind, each of its fields told from the others."""
    made: Fact = kind(**{name: f"{n} {name}" for n, name in enumerate(names.split())})
    return made


@pytest.mark.claim("AGE-1")
def test_every_kind_of_fact_has_its_tags() -> None:
    assert set(TAGS) == set(get_args(Fact))
    assert {tags[0]: tags[1:] for tags in TAGS.values()} == {
        tag: (former,) if former else () for tag, (former, _) in STORED.items()
    }
    assert len({tag for tags in TAGS.values() for tag in tags}) == sum(map(len, TAGS.values())), "no tag for two kinds"


@pytest.mark.claim("AGE-1")
@pytest.mark.parametrize("kind", TAGS, ids=lambda kind: TAGS[kind][0])
def test_a_fact_is_read_by_either_tag(kind: type[Any]) -> None:
    tag, former = TAGS[kind][0], TAGS[kind][-1]
    fact = _some(kind, STORED[tag][1])
    entry = encode(fact)
    assert entry.startswith(f'{{"fact":"{tag}","'.encode())
    before = entry.replace(f'"{tag}"'.encode(), f'"{former}"'.encode(), 1)
    for found in (entry, before):
        assert decode(found) == decode_if(found, kind) == fact
        assert decode_if(found, DocumentRead if kind is ForgettingDone else ForgettingDone) in (None, fact)


@pytest.mark.parametrize("kind", TAGS, ids=lambda kind: TAGS[kind][0])
def test_fields_keep_their_names(kind: type[Any]) -> None:
    stored = STORED[TAGS[kind][0]][1].split()
    assert [field.name for field in fields(kind)][: len(stored)] == stored
    assert all(field.default is not MISSING for field in fields(kind)[len(stored) :]), "older entries lack it"


def test_a_word_in_a_field_is_no_tag() -> None:
    named = b'{"fact":"search.saved","ontology":"","words":"forgetting.done ForgettingDone","at":1}'
    assert decode_if(named, ForgettingDone) is None


@pytest.mark.claim("AGE-2")
@pytest.mark.parametrize("entry", [b'{"fact":"from.the.future"}', b"torn", b'{"fact":"name.removed","other":1}'])
def test_what_is_not_understood_is_refused(entry: bytes) -> None:
    with pytest.raises(StoreError, match="newer kgfs"):
        decode(entry)
