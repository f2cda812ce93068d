"""Encode facts as entries of the ledger, and decode them.

An entry is one JSON object on a line, ``{"fact": <tag>, …fields}``. A field that is None is left out. A field that an
entry lacks takes its default. An entry that this kgfs does not understand stops a replay.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, TypeVar

from kgfs.errors import StoreError
from kgfs.stores.catalog import facts
from kgfs.stores.catalog.facts import Fact

F = TypeVar("F")

TAGS: dict[type[Any], tuple[str, ...]] = {
    facts.OntologyMade: ("ontology.made", "OntologyMade"),
    facts.OntologyRenamed: ("ontology.renamed", "OntologyRenamed"),
    facts.OntologyRemoved: ("ontology.removed", "OntologyRemoved"),
    facts.FolderMade: ("folder.made", "FolderMade"),
    facts.FileMade: ("file.made", "FileMade"),
    facts.LinkMade: ("link.made", "LinkMade"),
    facts.ContentKept: ("content.kept", "ContentKept"),
    facts.AttributesSet: ("attributes.set", "AttributesSet"),
    facts.Moved: ("name.moved", "Moved"),
    facts.Removed: ("name.removed", "Removed"),
    facts.Settled: ("name.settled", "Settled"),
    facts.VersionMinted: ("version.minted", "VersionMinted"),
    facts.DocumentRead: ("document.read", "DocumentRead"),
    facts.DocumentText: ("document.text",),
    facts.ReadingOwed: ("reading.owed", "ReadingOwed"),
    facts.DocumentFailed: ("document.failed", "DocumentFailed"),
    facts.PartsFound: ("parts.found",),
    facts.DocumentForgotten: ("document.forgotten", "DocumentForgotten"),
    facts.TrashRestored: ("trash.restored", "TrashRestored"),
    facts.TrashEmptied: ("trash.emptied", "TrashEmptied"),
    facts.ForgettingOwed: ("forgetting.owed", "ForgettingOwed"),
    facts.ForgettingDone: ("forgetting.done", "ForgettingDone"),
    facts.ConceptsMerged: ("concepts.merged", "ConceptsMerged"),
    facts.ConceptSplit: ("concept.split", "ConceptSplit"),
    facts.PlacesAdded: ("places.added",),
    facts.SettingChanged: ("setting.changed", "SettingChanged"),
    facts.SearchSaved: ("search.saved", "SearchSaved"),
    facts.SearchRemoved: ("search.removed", "SearchRemoved"),
    facts.QuestionSaved: ("question.saved", "QuestionSaved"),
    facts.QuestionRemoved: ("question.removed", "QuestionRemoved"),
    facts.ConflictKept: ("conflict.kept", "ConflictKept"),
    facts.Overtaken: ("fact.overtaken", "Overtaken"),
}
"""The ledger's tags of each kind of fact: the first tag is written, all of them are read. A tag stays for good and is
never used for another kind. The names of a kind's fields are stored, too: a field may be added, with a default, but
never renamed or removed."""

_KINDS = {tag: kind for kind, tags in TAGS.items() for tag in tags}

_STARTS = {kind: tuple(f'{{"fact":"{tag}"'.encode() for tag in tags) for kind, tags in TAGS.items()}
"""The bytes with which every entry of a kind begins, one for each of its tags."""

_FIELDS = {kind: tuple(field.name for field in fields(kind)) for kind in TAGS}


def encode(fact: Fact) -> bytes:
    """Return the entry of a fact: one line of ASCII JSON without a line end."""
    body: dict[str, object] = {"fact": tag_of(fact)}
    for name in _FIELDS[type(fact)]:
        value = getattr(fact, name)
        if value is not None:
            body[name] = value
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()


def decode(entry: bytes) -> Fact:
    """Return the fact of an entry that has any tag of its kind. Raises StoreError if the entry is not understood."""
    try:
        body = json.loads(entry)
        kind = _KINDS[body.pop("fact")]
        fact: Fact = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in body.items()})
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"Ledger entry not understood ({error}): {entry[:200]!r}. A newer kgfs may have written it."
        ) from error
    return fact


def decode_if(entry: bytes, kind: type[F]) -> F | None:
    """Return the fact of an entry if it is of that kind, else None. Entries of other kinds are not decoded."""
    if not entry.startswith(_STARTS[kind]):
        return None
    fact = decode(entry)
    assert isinstance(fact, kind)
    return fact


def tag_of(fact: Fact) -> str:
    """Return the tag that is written for facts of this kind."""
    return TAGS[type(fact)][0]
