"""Read from a home's graph what the projection writes: nodes as maps of properties, each with a digest of what is written."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from kgfs.domain.identity import instance_id_of
from kgfs.stores.graph.feed import REDACTIONS, TOUCHED
from kgfs.stores.graph.rows import COUNTED, DOCUMENT, INSTANCE, SHOWN, SOURCE, inverse, words

LONGEST_KEY = 1000
"""Characters of a form that is its own key: an entry of an index holds at most some 8 KB."""
MOST_CONTENT = 8_000_000
"""Characters of a document's text that are written as one property, ``content``; of a longer one its Sources alone have it."""

Properties = dict[str, Any]

_CONCEPT = (
    "concept_id", "ontology", "name", "norm", "label", "aliases", "description", "kind", "founded", "evidence", "related",
    "size", "mtime",
)  # fmt: skip
_RELATIONSHIP = ("relationship_id", "ontology", "subject", "type", "object", "evidence", "confidence", "mtime")
_CLAIM = (
    *("claim_id", "ontology", "claim", "role", "domain", "actor", "actor_class", "timeframe", "timeframe_class"),
    *("time_horizon", "scope", "authority", "confidence", "added"),
)
_CLAIMED = (
    *("claim_id", "ordinal", "chunk_index", "chunk_id", "quote", "char_start", "char_end", "byte_start", "byte_end"),
    *("line_start", "line_end", "section_path", "page", "locator", "confidence", "claim"),
)
"""What an Instance says of a claim's evidence."""
_MENTION = ("deposit", "ordinal", "label", "forms", "kind", "score", "definition")
_DOCUMENT = (*DOCUMENT, "commit_id", "sources", "instances")
_INHERITED = ("doc_id", "source_id", "garage_key", "content_hash", "source_title", "source_uri")
"""What a Source bears of its document."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class VersionLinks:
    """What the catalog knows of a shown document's versions."""

    version: int
    """The number of the version of its path that it is; 0 where no path has it."""
    superseded: tuple[tuple[int, Properties], ...] = ()
    """Earlier versions of that path: their numbers, and the properties of their documents (``doc_id`` among them)."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """What the graph does not have and the projection writes: names and versions. Both are quick, from any thread."""

    ontologies: Callable[[], Mapping[str, str]] = dict
    """Names of the ontologies there are, by id."""
    versions: Callable[[str], VersionLinks] = lambda doc_id: VersionLinks(0)


@dataclass(frozen=True, slots=True)
class State:
    """How far a graph is."""

    epoch: int
    clears: int
    """How often the graph was derived anew."""
    redactions: int
    """How often a purge gave up the words of the feed."""


def state_of(sql: sqlite3.Connection) -> State:
    meta = dict(sql.execute("SELECT name, value FROM meta"))
    return State(meta["epoch"], meta["clears"], meta.get(REDACTIONS, 0))


def newest_commit(sql: sqlite3.Connection, epoch: int) -> str:
    """Return the id of the newest commit up to an epoch; '' where there is none."""
    newest = 'SELECT commit_id FROM "commit" WHERE epoch <= ? ORDER BY epoch DESC LIMIT 1'
    found = sql.execute(newest, (epoch,)).fetchone()
    return str(found[0]) if found else ""


def oldest_commit(sql: sqlite3.Connection, after: int) -> int:
    """Return the time of the oldest commit above an epoch (nanoseconds); 0 where there is none."""
    (found,) = sql.execute('SELECT min(at) FROM "commit" WHERE epoch > ?', (after,)).fetchone()
    return int(found or 0)


def changes_told(sql: sqlite3.Connection, after: int, upto: int) -> Iterator[tuple[Any, ...]]:
    """Return the feed of these epochs, as (epoch, what, kind, ontology, owner, name), without what a purge gave up."""
    yield from sql.execute(
        "SELECT epoch, what, kind, ontology, owner, name FROM change"
        " WHERE epoch > ? AND epoch <= ? AND kind <> ? ORDER BY epoch, key",
        (after, upto, TOUCHED),
    )


LIVING = {
    "Concept": "SELECT concept_id FROM concept WHERE live = 1 AND concept_id > ? ORDER BY concept_id LIMIT ?",
    "Relationship": "SELECT relationship_id FROM relationship WHERE (evidence > 0 OR by_name = 1) AND relationship_id > ?"
    " ORDER BY relationship_id LIMIT ?",
    "Claim": f"SELECT DISTINCT claim_id FROM claim CROSS JOIN document ON document.key = claim.document AND state = {SHOWN}"
    " WHERE claim_id != '' AND claim_id > ? ORDER BY claim_id LIMIT ?",
    "Document": f"SELECT doc_id FROM document WHERE state = {SHOWN} AND doc_id > ? ORDER BY doc_id LIMIT ?",
}
"""Ids of all that live, by label, a page at once. An owner of evidence refers to no document, so it is written first."""


def digest_of(values: object) -> str:
    return hashlib.blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def concepts(sql: sqlite3.Connection, ids: Sequence[str]) -> Iterator[tuple[Properties, list[tuple[str, int]]]]:
    """Return the living ones of these concepts, each with its forms and their ranks."""
    these = (json.dumps(ids),)
    forms: dict[str, list[tuple[str, int]]] = {}
    for id_, form, rank in sql.execute(
        "SELECT concept.concept_id, form, rank FROM concept CROSS JOIN concept_form ON concept_form.concept = concept.key"
        " WHERE concept.concept_id IN (SELECT value FROM json_each(?)) AND concept.live = 1 ORDER BY form",
        these,
    ):
        forms.setdefault(id_, []).append((form, rank))
    for row in sql.execute(
        f"SELECT {', '.join(_CONCEPT)} FROM concept WHERE concept_id IN (SELECT value FROM json_each(?)) AND live = 1",
        these,
    ):
        found: Properties = dict(zip(_CONCEPT, row, strict=True))
        found["id"] = found.pop("concept_id")
        called = forms.get(found["id"], [])
        found |= {"aliases": list(words(found["aliases"])), "weight": found["evidence"] + found["related"]}
        yield found | {"digest": digest_of((row, called))}, called


def relationships(sql: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Properties]:
    """Return the living ones of these relationships."""
    for row in sql.execute(
        f"SELECT {', '.join(_RELATIONSHIP)} FROM relationship"
        " WHERE relationship_id IN (SELECT value FROM json_each(?)) AND (evidence > 0 OR by_name = 1)",
        (json.dumps(ids),),
    ):
        found: Properties = dict(zip(_RELATIONSHIP, row, strict=True))
        found["id"] = found.pop("relationship_id")
        if not found["evidence"]:
            found |= {"by_name": True, "confidence": None}
        yield found | {"inverse": inverse(found["type"]), "digest": digest_of(row)}


def claims(sql: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Properties]:
    """Return the living ones of these claims, as the document with the earliest deposit says each."""
    query = (
        f"SELECT {', '.join(f'claim.{name}' for name in _CLAIM)}, document.doc_id"
        f" FROM claim CROSS JOIN document ON document.key = claim.document AND document.state = {SHOWN}"
        " WHERE claim.claim_id != '' AND claim.claim_id IN (SELECT value FROM json_each(?))"
        " ORDER BY claim.claim_id, document.deposit, document.doc_id, claim.ordinal"
    )
    for _, found in groupby(sql.execute(query, (json.dumps(ids),)), key=lambda row: row[0]):
        rows = list(found)
        properties: Properties = dict(zip((*_CLAIM, "doc_id"), rows[0], strict=True))
        properties |= {"id": properties.pop("claim_id"), "added": list(words(properties["added"]))}
        yield properties | {"evidence": len(rows), "digest": digest_of((rows[0], len(rows)))}


def counts(sql: sqlite3.Connection, names: Mapping[str, str]) -> list[Properties]:
    """Return what an ``Ontology`` says, of those that have a name or anything in them."""
    columns = ("ontology", *COUNTED, "changed_at")
    found: dict[str, Properties] = {id_: dict.fromkeys(columns, 0) | {"ontology": id_} for id_ in names}
    for row in sql.execute(f"SELECT {', '.join(columns)} FROM counter"):
        found[row[0]] = dict(zip(columns, row, strict=True))
    kept = (row for id_, row in sorted(found.items()) if id_ in names or any(row[name] for name in COUNTED))
    return [row | {"name": names.get(row["ontology"], "")} for row in kept]


class ShownDocument:
    """One document of the graph, read within one snapshot of it: Sources first, then quotes, claims, and mentions."""

    def __init__(self, sql: sqlite3.Connection, key: int, row: tuple[Any, ...]) -> None:
        self._sql, self._key, self._row = sql, key, row
        self._whole = hashlib.blake2b(digest_size=12)
        self._content: list[str] = []
        self._chunk_ids: list[str] = []
        self._end = self._length = 0
        self.known: Properties = dict(zip(_DOCUMENT, row, strict=True))
        """What the graph's row of the document says."""

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        for row in self._sql.execute(query, (self._key,)):
            self._whole.update(repr(row).encode("utf-8", "surrogatepass"))
            yield row

    def sources(self) -> Iterator[Properties]:
        inherited = {name: self.known[name] for name in _INHERITED}
        for row in self._rows(f"SELECT {', '.join(SOURCE)} FROM source WHERE document = ? ORDER BY chunk_index"):
            found: Properties = dict(zip(SOURCE, row, strict=True)) | inherited
            found |= {"section_path": list(words(found["section_path"])), "page": found["page_number"]}
            if not found["gated"]:
                found["words"] = folded(found["full_text"])
            part = found["full_text"][max(0, self._end - found["char_start"]) :]
            self._end, self._length = max(self._end, found["char_end"]), self._length + len(part)
            if self._length <= MOST_CONTENT:
                self._content.append(part)
            self._chunk_ids.append(found["chunk_id"])
            yield found

    def instances(self) -> Iterator[Properties]:
        query = (
            f"SELECT {', '.join(INSTANCE)} FROM instance WHERE document = ? AND NOT EXISTS (SELECT 1 FROM relationship"
            " WHERE relationship_id = instance.owner AND evidence = 0) ORDER BY owner, n"
        )
        for row in self._rows(query):
            found: Properties = dict(zip(INSTANCE, row, strict=True)) | {"doc_id": self.known["doc_id"]}
            yield found | {"section_path": list(words(found["section_path"])), "defines": bool(found["defines"])}

    def claimed(self) -> Iterator[Properties]:
        """Yield the evidence of claims, in the form of that of concepts."""
        query = f"SELECT {', '.join(_CLAIMED)} FROM claim WHERE document = ? AND claim_id != '' ORDER BY ordinal"
        for row in self._rows(query):
            found: Properties = dict(zip(_CLAIMED, row, strict=True)) | {"doc_id": self.known["doc_id"]}
            owner = found.pop("claim_id")
            id_ = instance_id_of(owner, found["doc_id"], found["char_start"], found["char_end"])
            found |= {"instance_id": id_, "owner": owner, "owner_kind": "claim", "n": found.pop("ordinal")}
            yield found | {"section_path": list(words(found["section_path"]))}

    def mentions(self) -> Iterator[tuple[str, Properties]]:
        """Yield the id of each concept that the document mentions, and what it says of it."""
        query = (
            f"SELECT concept.concept_id, {', '.join(f'mention.{name}' for name in _MENTION)} FROM mention"
            " CROSS JOIN concept ON concept.key = mention.concept WHERE mention.document = ?"
            " ORDER BY concept.concept_id, mention.ordinal"
        )
        for concept, *row in self._rows(query):
            found: Properties = dict(zip(_MENTION, row, strict=True))
            yield concept, found | {"forms": list(words(found["forms"]))}

    def read_through(self) -> str:
        """Read all of it, and return its digest."""
        for rows in (self.sources(), self.instances(), self.claimed(), self.mentions()):
            for _ in rows:
                pass
        return str(self.properties()["digest"])

    def properties(self) -> Properties:
        """Return what a ``Document`` says, without what only the catalog knows, after all of it was read."""
        row = self.known
        return row | {
            "source_type": row["document_type"],
            "source_url": row["source_uri"],
            "title": row["source_title"],
            "created_at": _EPOCH + timedelta(microseconds=row["ingested_at"] // 1000),
            "content": "".join(self._content) if self._length <= MOST_CONTENT else None,
            "chunk_ids": self._chunk_ids,
            "digest": digest_of((self._row, self._whole.hexdigest())),
        }


def shown_document(sql: sqlite3.Connection, doc_id: str) -> ShownDocument | None:
    found = sql.execute(
        f"SELECT key, {', '.join(_DOCUMENT)} FROM document WHERE doc_id = ? AND state = {SHOWN}", (doc_id,)
    ).fetchone()
    return ShownDocument(sql, found[0], tuple(found[1:])) if found else None


def form_key(form: str) -> str:
    """Return what a form is found by."""
    if len(form) <= LONGEST_KEY:
        return form
    return f"{form[:64]}…{hashlib.sha256(form.encode('utf-8', 'surrogatepass')).hexdigest()}"


def folded(text: str) -> str:
    """Return the words of a text without case and accents, one space between two: what the full-text index holds."""
    plain = "".join(char for char in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(char))
    return " ".join(re.findall(r"[^\W_]+", plain))
