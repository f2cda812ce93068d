"""Read from a home's graph what the projection writes: nodes as maps of properties, and their digests.

A digest covers all that is written of a node. So whatever has the digest of the home's graph on the server needs no writing, and a
comparison reads ids and digests alone.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from kgfs.stores.graph.rows import COUNTED, DOCUMENT, INSTANCE, SHOWN, SOURCE, inverse, words
from kgfs.stores.graph.touched import REDACTED_AT, REDACTIONS, TOUCHED

MODEL = 1
"""Goes up when other properties are written of a node: then every digest is another one."""
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
_MENTION = ("deposit", "ordinal", "label", "forms", "kind", "score", "definition")
_DOCUMENT = (*DOCUMENT, "commit_id", "sources", "instances")
_PARAGRAPH = SOURCE.index("paragraph")
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
class Owner:
    """A living concept or relationship."""

    id: str
    properties: Properties
    forms: tuple[tuple[str, str, int], ...] = ()
    """(form, its key, rank) of a concept."""


@dataclass(frozen=True, slots=True)
class State:
    """How far the graph of a home is."""

    epoch: int
    clears: int
    redactions: int
    """How often a purge gave up the words of the feed."""
    redacted_at: int
    """The epoch of the graph when one did that last; -1 where none did."""


def state_of(sql: sqlite3.Connection) -> State:
    meta = dict(sql.execute("SELECT name, value FROM meta"))
    return State(meta["epoch"], meta["clears"], meta.get(REDACTIONS, 0), meta.get(REDACTED_AT, -1))


def newest_commit(sql: sqlite3.Connection, epoch: int) -> str:
    """Return the id of the newest commit up to an epoch; '' where there is none."""
    found = sql.execute(
        'SELECT commit_id FROM "commit" WHERE epoch <= ? ORDER BY epoch DESC LIMIT 1', (epoch,)
    ).fetchone()
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


def digest_of(*values: object) -> str:
    return hashlib.blake2b(repr((MODEL, values)).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


# ------------------------------------------------------------------------------------- concepts, relationships


def concepts(sql: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Owner]:
    """Return those of these concepts that live."""
    forms: dict[str, list[tuple[str, int]]] = {}
    for id_, form, rank in sql.execute(
        "SELECT concept.concept_id, form, rank FROM concept CROSS JOIN concept_form ON concept_form.concept = concept.key"
        " WHERE concept.concept_id IN (SELECT value FROM json_each(?)) AND concept.live = 1 ORDER BY form",
        (json.dumps(ids),),
    ):
        forms.setdefault(id_, []).append((form, rank))
    for row in sql.execute(
        f"SELECT {', '.join(_CONCEPT)} FROM concept"
        " WHERE concept_id IN (SELECT value FROM json_each(?)) AND live = 1 ORDER BY concept_id",
        (json.dumps(ids),),
    ):
        properties: Properties = dict(zip(_CONCEPT, row, strict=True))
        id_ = properties.pop("concept_id")
        called = forms.get(id_, [])
        more = {
            "id": id_,
            "aliases": list(words(properties["aliases"])),
            "weight": properties["evidence"] + properties["related"],
        }
        properties |= more | {"digest": digest_of("concept", row, called)}
        yield Owner(id_, properties, tuple((form, form_key(form), rank) for form, rank in called))


def relationships(sql: sqlite3.Connection, ids: Sequence[str]) -> Iterator[Owner]:
    """Return those of these relationships that live."""
    for row in sql.execute(
        f"SELECT {', '.join(_RELATIONSHIP)} FROM relationship"
        " WHERE relationship_id IN (SELECT value FROM json_each(?)) AND (evidence > 0 OR by_name = 1)"
        " ORDER BY relationship_id",
        (json.dumps(ids),),
    ):
        properties: Properties = dict(zip(_RELATIONSHIP, row, strict=True))
        id_ = properties.pop("relationship_id")
        if not properties["evidence"]:
            properties |= {"by_name": True, "confidence": None}
        digest = digest_of("relationship", row)
        yield Owner(id_, properties | {"id": id_, "inverse": inverse(properties["type"]), "digest": digest})


LIVING = {
    "Concept": "SELECT concept_id FROM concept WHERE live = 1 AND concept_id > ? ORDER BY concept_id LIMIT ?",
    "Relationship": "SELECT relationship_id FROM relationship WHERE (evidence > 0 OR by_name = 1) AND relationship_id > ?"
    " ORDER BY relationship_id LIMIT ?",
    "Document": f"SELECT doc_id FROM document WHERE state = {SHOWN} AND doc_id > ? ORDER BY doc_id LIMIT ?",
}
"""Ids of all that live, by label, a page at once."""


def counts(sql: sqlite3.Connection, names: Mapping[str, str]) -> list[Properties]:
    """Return what an ``Ontology`` says, of those that have a name or anything in them."""
    columns = ("ontology", *COUNTED, "changed_at")
    found = {
        row[0]: dict(zip(columns, row, strict=True)) for row in sql.execute(f"SELECT {', '.join(columns)} FROM counter")
    }
    empty = dict.fromkeys(COUNTED, 0) | {"changed_at": 0}
    found |= {id_: {"ontology": id_, **empty} for id_ in names.keys() - found.keys()}
    kept = (row for id_, row in sorted(found.items()) if id_ in names or any(row[name] for name in COUNTED))
    return [row | {"name": names.get(row["ontology"], "")} for row in kept]


# --------------------------------------------------------------------------------------------------- documents


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """One document of the graph, read within one snapshot of it."""

    sql: sqlite3.Connection
    key: int
    row: tuple[Any, ...]
    """In order of the columns of a document."""

    @property
    def doc_id(self) -> str:
        return str(self.row[0])

    @property
    def properties(self) -> Properties:
        """Return what a ``Document`` says, without what only the catalog knows, its content and its digest."""
        row: Properties = dict(zip(_DOCUMENT, self.row, strict=True))
        row |= {"source_type": row["document_type"], "source_url": row["source_uri"], "title": row["source_title"]}
        return row | {"created_at": _EPOCH + timedelta(microseconds=row["ingested_at"] // 1000)}

    def digest(self) -> str:
        """Return the digest of the document with all that hangs on it. Reads all of that."""
        whole = hashlib.blake2b(digest_size=12)
        for kind, rows in (("s", self._source_rows()), ("i", self._instance_rows()), ("m", self._mention_rows())):
            for row in rows:
                whole.update(f"{kind}{_digested(row) if kind == 's' else row!r}".encode("utf-8", "surrogatepass"))
        return digest_of("document", self.row, whole.hexdigest())

    def sources(self) -> Iterator[tuple[int, str, Properties]]:
        """Yield each Source with its index and its digest, in order."""
        document = dict(zip(_DOCUMENT, self.row, strict=True))
        inherited = {
            name: document[name] for name in ("source_id", "garage_key", "content_hash", "source_title", "source_uri")
        }
        for row in self._source_rows():
            properties: Properties = dict(zip(SOURCE, row, strict=True)) | inherited | {"doc_id": self.doc_id}
            properties |= {"section_path": list(words(properties["section_path"])), "page": properties["page_number"]}
            if not properties["gated"]:
                properties["words"] = folded(properties["full_text"])
            digest = properties["digest"] = digest_of("source", _digested(row), inherited)
            yield properties["chunk_index"], digest, properties

    def instances(self) -> Iterator[tuple[tuple[str, int], str, Properties]]:
        """Yield each quote with its owner and number, and its digest, in order of these."""
        for row in self._instance_rows():
            properties: Properties = dict(zip(INSTANCE, row, strict=True)) | {"doc_id": self.doc_id}
            properties |= {
                "section_path": list(words(properties["section_path"])),
                "defines": bool(properties["defines"]),
            }
            # The digest of a row without a locator is what it was before there were locators.
            digest = properties["digest"] = digest_of(
                "instance", row if properties["locator"] else row[: len(INSTANCE) - 1]
            )
            yield (properties["owner"], properties["n"]), digest, properties

    def mentions(self) -> Iterator[tuple[str, Properties]]:
        """Yield each mention with the id of its concept."""
        for concept, *row in self._mention_rows():
            properties: Properties = dict(zip(_MENTION, row, strict=True))
            yield concept, properties | {"forms": list(words(properties["forms"]))}

    def mentioned(self) -> set[str]:
        return {row[0] for row in self._mention_rows()}

    def content(self) -> tuple[str | None, list[str]]:
        """Return the joined text of all Sources, None where it is longer than MOST_CONTENT, and their chunk_ids."""
        parts: list[str] = []
        chunk_ids: list[str] = []
        end, total = 0, 0
        for row in self._source_rows():
            properties = dict(zip(SOURCE, row, strict=True))
            chunk_ids.append(properties["chunk_id"])
            part = properties["full_text"][max(0, end - properties["char_start"]) :]
            end, total = max(end, properties["char_end"]), total + len(part)
            if total <= MOST_CONTENT:
                parts.append(part)
        return ("".join(parts) if total <= MOST_CONTENT else None), chunk_ids

    def _source_rows(self) -> Iterator[tuple[Any, ...]]:
        yield from self.sql.execute(
            f"SELECT {', '.join(SOURCE)} FROM source WHERE document = ? ORDER BY chunk_index", (self.key,)
        )

    def _instance_rows(self) -> Iterator[tuple[Any, ...]]:
        yield from self.sql.execute(
            f"SELECT {', '.join(INSTANCE)} FROM instance WHERE document = ? AND NOT EXISTS (SELECT 1 FROM relationship"
            " WHERE relationship_id = instance.owner AND evidence = 0) ORDER BY owner, n",
            (self.key,),
        )

    def _mention_rows(self) -> Iterator[tuple[Any, ...]]:
        yield from self.sql.execute(
            f"SELECT concept.concept_id, {', '.join(f'mention.{name}' for name in _MENTION)} FROM mention"
            " CROSS JOIN concept ON concept.key = mention.concept WHERE mention.document = ?"
            " ORDER BY concept.concept_id, mention.ordinal",
            (self.key,),
        )


def _digested(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the columns of a Source as its digest has them: without the paragraph, which homes that were filled by an
    earlier version lack."""
    return (*row[:_PARAGRAPH], None, *row[_PARAGRAPH + 1 :])


def shown_document(sql: sqlite3.Connection, doc_id: str) -> ShownDocument | None:
    found = sql.execute(
        f"SELECT key, {', '.join(_DOCUMENT)} FROM document WHERE doc_id = ? AND state = {SHOWN}", (doc_id,)
    ).fetchone()
    return ShownDocument(sql, found[0], tuple(found[1:])) if found else None


def mentioned_in(sql: sqlite3.Connection, doc_ids: Iterable[str]) -> set[str]:
    """Return the ids of the concepts that these documents mention."""
    found: set[str] = set()
    for doc_id in doc_ids:
        document = shown_document(sql, doc_id)
        found |= document.mentioned() if document else set()
    return found


# ------------------------------------------------------------------------------------------------------- words


def form_key(form: str) -> str:
    """Return what a form is found by."""
    if len(form) <= LONGEST_KEY:
        return form
    return f"{form[:64]}…{hashlib.sha256(form.encode('utf-8', 'surrogatepass')).hexdigest()}"


def folded(text: str) -> str:
    """Return the words of a text without case and accents, one space between two: what the full-text index holds."""
    plain = "".join(char for char in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(char))
    return " ".join(re.findall(r"[^\W_]+", plain))
