"""The Reading: one interpretation of one Document, and the match decisions of its publication.

Both are immutable objects of the garage, in JSON with a version of their own, so that ``rebuild`` makes the same graph
without asking a model. A Reading is complete when its object is there; Records and vectors it names were put before.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from kgfs.domain.documents import Document
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.text import Chunk, Text, Verdict
from kgfs.errors import MissingError, RotError, StoreError
from kgfs.stores.garage.contract import Objects

FORMAT = 1

FOUNDING = ("new", "named")
"""How a mention was matched (``MatchedConcept.how``) that a concept has its words and its vector from."""


@dataclass(frozen=True, slots=True)
class Reading:
    doc_id: str
    content_hash: str
    ingest_version: int
    parser: str
    media_type: str
    encoding: str
    """The original decoded with it is the Text; empty: the Text is the object ``text_key``."""
    text_key: str
    text_sha256: str
    text_length: int
    title: str
    chunk_method: str
    chunks: tuple[Chunk, ...]
    verdicts: tuple[Verdict, ...]
    extractor: str
    extractor_model: str
    strategy: str
    known: tuple[str, ...]
    """Labels that were shown to the extractor."""
    records: tuple[str, ...]
    """Garage keys of the packs of Records."""
    concepts: tuple[FoundConcept, ...]
    relationships: tuple[FoundRelationship, ...]
    dropped: dict[str, int]
    """What validation refused, by reason."""
    embedding_model: str
    """Empty without an embedder."""
    vectors_key: str
    run: str = ""
    """What it was made for, where it was asked for (``ReadingOwed.run``): it answers for nothing else."""
    sections: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """For each heading, in order, where it begins and the path of titles of the section that begins there. Empty where the document has no
    headings, or ingest version 1 read it."""

    @property
    def id(self) -> str:
        """Of the content: the same interpretation twice is the same Reading."""
        return hashlib.sha256(self.encode()).hexdigest()[:16]

    @property
    def key(self) -> str:
        return reading_key(self.doc_id, self.id)

    def encode(self) -> bytes:
        body = {"format": FORMAT, **_plain(self)}
        for name in ("run", "sections"):
            if not body[name]:
                del body[name]  # Readings from before there was that field keep their ids
        return _json(body)

    def section_path(self, quote: Quote) -> tuple[str, ...]:
        """Return the path of the section in which a quote begins: that of its Source, where no heading stands before the quote."""
        behind = bisect_right(self.sections, quote.start, key=lambda section: section[0])
        return self.sections[behind - 1][1] if behind else self.chunks[quote.chunk].section_path


def _json(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=_plain).encode()


def _plain(row: Any) -> dict[str, Any]:
    """Return the fields of a dataclass with slots. Unlike ``asdict`` it copies none of their values, of which a Reading has many thousands."""
    return {name: getattr(row, name) for name in row.__slots__}


def reading_key(doc_id: str, reading: str) -> str:
    return f"readings/{doc_id}/{reading}.json"


def load_reading(objects: Objects, doc_id: str, reading: str) -> Reading:
    """MissingError if the garage has none of that id."""
    key = reading_key(doc_id, reading)
    return decode_reading(objects.get(key), key)


def text_of(objects: Objects, document: Document, reading: Reading) -> str:
    """The Text of a Reading: the exact decoding of the original, or the object the parser made; where the original is
    gone, what :func:`keep_text` kept. MissingError where neither is there."""
    kept = _kept_text_key(document, reading)
    if reading.text_key:
        text = objects.get(reading.text_key).decode("utf-8", "surrogatepass")
    else:
        try:
            text = objects.get(document.key).decode(reading.encoding)
        except MissingError:
            if not objects.exists(kept):
                raise
            text = objects.get(kept).decode("utf-8", "surrogatepass")
    if len(text) != reading.text_length:
        raise RotError(f"{document.key}: does not give the Text that was read from it.")
    return text


def put_text(objects: Objects, doc_id: str, text: Text) -> str:
    """Keep a Text that is no decoding of the original, before its Reading names it. Return its key; ``""`` where the original
    decoded gives the Text. Repeating it is harmless."""
    if text.encoding:
        return ""
    key = _text_key(doc_id, text.sha256)
    objects.put(key, text.text.encode("utf-8", "surrogatepass"))
    return key


def keep_text(objects: Objects, document: Document, reading: Reading) -> None:
    """Keep the Text for when the original is gone."""
    if not reading.text_key:
        text = text_of(objects, document, reading)
        objects.put(_kept_text_key(document, reading), text.encode("utf-8", "surrogatepass"))


def later_vectors(reading: Reading, model: str) -> tuple[str, str]:
    """Keys of vectors that a Reading was given later, by another model than its own: of its labels, and of its Sources."""
    stem = f"vectors/{reading.doc_id}/{reading.id}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"
    return f"{stem}-labels.npz", f"{stem}-windows.npz"


def _kept_text_key(document: Document, reading: Reading) -> str:
    return _text_key(document.doc_id, reading.text_sha256)


def _text_key(doc_id: str, text_sha256: str) -> str:
    return f"texts/{doc_id}/{text_sha256[:32]}.txt"


def decode_reading(raw: bytes, key: str) -> Reading:
    try:
        body: dict[str, Any] = json.loads(raw)
        if body.pop("format") != FORMAT:
            raise StoreError(f"{key}: written by a newer kgfs.")
        body["chunks"] = tuple(
            Chunk(**{**chunk, "section_path": tuple(chunk["section_path"])}) for chunk in body["chunks"]
        )
        body["verdicts"] = tuple(Verdict(**verdict) for verdict in body["verdicts"])
        body["concepts"] = tuple(_concept(concept) for concept in body["concepts"])
        body["relationships"] = tuple(
            FoundRelationship(**{**found, "quote": Quote(**found["quote"])}) for found in body["relationships"]
        )
        body["known"] = tuple(body["known"])
        body["records"] = tuple(body["records"])
        body["sections"] = tuple((start, tuple(path)) for start, path in body.get("sections", ()))
        return Reading(**body)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{key}: not a Reading ({error}).") from error


def _concept(body: dict[str, Any]) -> FoundConcept:
    quotes = tuple(Quote(**quote) for quote in body["quotes"])
    return FoundConcept(**{**body, "forms": tuple(body["forms"]), "quotes": quotes})


@dataclass(frozen=True, slots=True)
class MatchedConcept:
    norm: str
    """Of the FoundConcept of the Reading."""
    concept_id: str
    founded_norm: str
    name: str
    """Directory name the concept has, or was given now."""
    how: str
    """new, exact, alias, embedding, or decided: a person said so, now or before; named: it is what gave its words to a
    concept whose founder was purged."""
    similarity: float
    numbers: tuple[int, ...]
    """The evidence numbers of its quotes, in their order."""


@dataclass(frozen=True, slots=True)
class MatchedRelationship:
    index: int
    """In the Reading's relationships."""
    relationship_id: str
    subject: str
    object: str
    """Concept ids."""
    number: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """mention → concept, with no text of the document but the labels; decided once, replayed by rebuild."""

    doc_id: str
    reading: str
    concepts: tuple[MatchedConcept, ...]
    relationships: tuple[MatchedRelationship, ...]

    epoch: int
    """Of the graph they were decided on."""
    supersedes: tuple[str, ...] = ()
    """Documents that leave the graph in the publication that carries these out."""
    carried_out_as: str = ""
    """Their commit id, where words of others were taken out of them since (:func:`redact_decisions`)."""

    @property
    def key(self) -> str:
        """What facts call them; see :func:`load_decisions`."""
        return f"{decisions_prefix(self.doc_id, self.reading)}{self.commit_id}.json"

    @property
    def commit_id(self) -> str:
        """Of the publication that carries them out: the same decisions twice are the same commit. Of all that was
        decided, since a rebuilt graph may count its epochs otherwise."""
        return self.carried_out_as or hashlib.sha256(self.encode()).hexdigest()[:24]

    def encode(self) -> bytes:
        body = {"format": FORMAT, **_plain(self)}
        if not self.carried_out_as:
            del body["carried_out_as"]  # they are what their commit id is the hash of
        return _json(body)


def load_decisions(objects: Objects, key: str) -> Decisions:
    """Those of this key, as they are or redacted since. MissingError if the garage has neither."""
    kept = key_of_decisions(objects, key)
    if kept is None:
        raise MissingError(f"The garage has lost {key}. Run kgfs check --repair.")
    return decode_decisions(objects.get(kept), kept)


def key_of_decisions(objects: Objects, key: str) -> str | None:
    """Where they stand: under their key, or beside it where they were redacted."""
    if objects.exists(key):
        return key
    return next((redacted for redacted, _ in objects.keys(_redacted_prefix(key))), None)


def redact_decisions(objects: Objects, key: str, redacted: Decisions) -> None:
    """Put these in place of those that stand under ``key``. Killed in between, both are there."""
    content = redacted.encode()
    objects.put(f"{_redacted_prefix(redacted.key)}{hashlib.sha256(content).hexdigest()[:24]}.json", content)
    objects.delete(key)


def _redacted_prefix(key: str) -> str:
    return f"{key.removesuffix('.json')}-"


def decisions_prefix(doc_id: str, reading: str) -> str:
    """Keys of all decisions ever made about that Reading start with it."""
    return f"decisions/{doc_id}/{reading}-"


def decode_decisions(raw: bytes, key: str) -> Decisions:
    try:
        body: dict[str, Any] = json.loads(raw)
        if body.pop("format") != FORMAT:
            raise StoreError(f"{key}: written by a newer kgfs.")
        body["concepts"] = tuple(
            MatchedConcept(**{**found, "numbers": tuple(found["numbers"])}) for found in body["concepts"]
        )
        body["relationships"] = tuple(MatchedRelationship(**found) for found in body["relationships"])
        body["supersedes"] = tuple(body.get("supersedes", ()))
        return Decisions(**body)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{key}: no match decisions ({error}).") from error
