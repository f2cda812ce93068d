"""Encode facts as entries of the ledger, and decode them.

An entry is one JSON object on a line, ``{"fact": <tag>, …fields}``. A field that is None is left out. An entry that this kgfs does not understand stops a replay.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, TypeVar

from kgfs.errors import StoreError
from kgfs.stores.catalog import facts
from kgfs.stores.catalog.facts import Fact

F = TypeVar("F")

TAGS: dict[type[Any], str] = {
    facts.OntologyMade: "ontology.made",
    facts.OntologyRenamed: "ontology.renamed",
    facts.OntologyRemoved: "ontology.removed",
    facts.FolderMade: "folder.made",
    facts.FileMade: "file.made",
    facts.LinkMade: "link.made",
    facts.ContentKept: "content.kept",
    facts.AttributesSet: "attributes.set",
    facts.Moved: "name.moved",
    facts.Removed: "name.removed",
    facts.Settled: "name.settled",
    facts.VersionMinted: "version.minted",
    facts.DocumentRead: "document.read",
    facts.DocumentText: "document.text",
    facts.ReadingOwed: "reading.owed",
    facts.DocumentFailed: "document.failed",
    facts.PartsFound: "parts.found",
    facts.DocumentForgotten: "document.forgotten",
    facts.TrashRestored: "trash.restored",
    facts.TrashEmptied: "trash.emptied",
    facts.ForgettingOwed: "forgetting.owed",
    facts.ForgettingDone: "forgetting.done",
    facts.ConceptsMerged: "concepts.merged",
    facts.ConceptSplit: "concept.split",
    facts.PlacesAdded: "places.added",
    facts.ClaimMarked: "claim.marked",
    facts.SettingChanged: "setting.changed",
    facts.SearchSaved: "search.saved",
    facts.SearchRemoved: "search.removed",
    facts.QuestionSaved: "question.saved",
    facts.QuestionRemoved: "question.removed",
    facts.OwnerChanged: "owner.changed",
}
"""The ledger's tag of each kind of fact. The names of a kind's fields are stored, too."""

_KINDS = {tag: kind for kind, tag in TAGS.items()}

_STARTS = {kind: f'{{"fact":"{tag}"'.encode() for kind, tag in TAGS.items()}
"""The bytes with which every entry of a kind begins."""

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
    """Return the fact of an entry. Raises StoreError if the entry is not understood."""
    try:
        body = json.loads(entry)
        kind = _KINDS[body.pop("fact")]
        fact: Fact = kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in body.items()})
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"Ledger entry not understood ({error}): {entry[:200]!r}. Another version of kgfs may have written it."
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
    """Return the tag of facts of this kind."""
    return TAGS[type(fact)]
