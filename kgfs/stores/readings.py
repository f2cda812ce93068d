"""The Reading, one interpretation of one Document, and the match decisions of its publication.

Both are immutable objects of the garage, stored as JSON with a format number, so that ``rebuild`` makes the same
graph without asking a model. A Reading is complete once its object exists. The Records and vectors that it names
are put before it."""

from __future__ import annotations

import codecs
import hashlib
import io
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from kgfs.domain.documents import Document
from kgfs.domain.domains import Domains
from kgfs.domain.knowledge import FoundClaim, FoundConcept, FoundRelationship, Quote
from kgfs.domain.parts import Part
from kgfs.domain.places import Locator, Place, locate
from kgfs.domain.text import Block, Chunk, Text, Verdict
from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.stores.garage.contract import Objects

FORMAT = 1
FORMAT_OF_CHANGES = 2
"""The format of decisions that change others."""

LONG = 1 << 24
"""Characters from which on a text is decoded in pieces of DECODED bytes."""
DECODED = 1 << 20
PIECE = 4096
"""Rows of a Reading or of Decisions that are encoded at once."""

OF_TEXT = "t"
"""What ids of Readings of the text alone begin with; other ids begin with a hexadecimal digit."""

FOUNDING = ("new", "named")
"""The values of ``MatchedConcept.how`` for a mention that gives a concept its words and its vector."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One interpretation of one Document: its Text, chunks, verdicts, and the concepts and relationships found."""

    doc_id: str
    content_hash: str
    ingest_version: int
    parser: str
    media_type: str
    encoding: str
    """The encoding by which the original decodes to the Text. Empty if the Text is the object ``text_key``
    instead."""
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
    """The number of items that validation refused, by reason."""
    embedding_model: str
    """Empty if there was no embedder."""
    vectors_key: str
    run: str = ""
    """The request that the Reading was made for (``ReadingOwed.run``), if it was requested; it answers no other
    request."""
    sections: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """For each heading, in order: the position at which its section begins, and the section's path of titles.
    Empty if the document has no headings."""
    places: tuple[Place, ...] = ()
    """Where pages, slides, rows, messages or cells begin in the Text. Empty if the format has none."""
    pages: int = 0
    """As ``Text.pages``."""
    note: str = ""
    """What could not be read, for people."""
    acronyms: tuple[tuple[str, str], ...] = ()
    """Keys (:mod:`kgfs.domain.forms`) of the acronyms that the Text introduces, and of what they stand for."""
    parts: tuple[Part, ...] = ()
    """As ``Text.parts``."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """As ``Text.about``."""

    guessed_encoding: str = ""
    """As ``Text.guessed_encoding``."""

    language: str = ""
    """The code of its language (:mod:`kgfs.domain.languages`); empty if it has no prose."""
    blocks: tuple[Block, ...] = ()
    """The blocks of the Text, in a Reading of the text alone."""
    claims: tuple[FoundClaim, ...] = ()
    """The claims of a language model in order of the Text, rejected ones included."""
    context: str = ""
    """What a language model says of the whole document, which is embedded before each Source."""
    domains: Domains = field(default_factory=dict)
    """The domains that the ontology had."""

    @property
    def carries_knowledge(self) -> bool:
        """Return whether a Source of the document, or of a part of it, may be found."""
        return any(verdict.passed for verdict in self.verdicts) or bool(self.parts and not self.chunks)

    @property
    def id(self) -> str:
        """Return a hash of the content: two equal interpretations have the same id. That of a text alone begins with a ``t``."""
        found = _sha256(self._body())
        return f"{OF_TEXT}{found[:15]}" if self.is_text else found[:16]

    @property
    def is_text(self) -> bool:
        """Return whether this is a Reading of the text alone, before anything was extracted."""
        return not self.extractor

    @property
    def key(self) -> str:
        """Return the garage key of the Reading."""
        return reading_key(self.doc_id, self.id)

    def encode(self) -> bytes:
        """Return the stored form, JSON. Equal Readings have equal bytes."""
        return _json(self._body())

    def _body(self) -> dict[str, Any]:
        body = {"format": FORMAT, **_plain(self)}
        for name in _OMITTED:
            if not body[name]:
                del body[name]
        return body

    def section_path(self, quote: Quote) -> tuple[str, ...]:
        """Return the path of the section in which a quote begins; if no heading precedes the quote, the section
        path of its Source."""
        behind = bisect_right(self.sections, quote.start, key=lambda section: section[0])
        return self.sections[behind - 1][1] if behind else self.chunks[quote.chunk].section_path

    def locator(self, text: str, position: int) -> Locator:
        """Return the page, slide, row, message or cell of a position in the Text; empty if there are none."""
        return locate(text, self.places, position)


def _json(body: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    for piece in _pieces(body):
        out.write(piece)
    return out.getvalue()


def _sha256(body: dict[str, Any]) -> str:
    """Return the SHA-256 of the JSON, which is not put together for it: that of a long document has tens of megabytes."""
    found = hashlib.sha256()
    for piece in _pieces(body):
        found.update(piece)
    return found.hexdigest()


def _pieces(body: dict[str, Any]) -> Iterator[bytes]:
    """Yield the JSON of a body in pieces: sorted, in ASCII, and without spaces."""
    lead = b"{"
    for name in sorted(body):
        yield lead + _dumped(name) + b":"
        lead, value = b",", body[name]
        if not isinstance(value, (tuple, list)) or len(value) <= PIECE:
            yield _dumped(value)
            continue
        for at in range(0, len(value), PIECE):
            yield (b"," if at else b"[") + _dumped(value[at : at + PIECE])[1:-1]
        yield b"]"
    yield b"}"


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=_plain).encode()


def _plain(row: Any) -> dict[str, Any]:
    """Return the fields of a dataclass with slots as a dict. Unlike ``asdict`` it does not copy the values, of
    which a Reading has many thousands."""
    body = {name: getattr(row, name) for name in row.__slots__}
    if body.get("blocks"):
        body["blocks"] = [tuple(getattr(block, name) for name in block.__slots__) for block in body["blocks"]]
    for name, absent in _ABSENT.items():
        if name in body and body[name] == absent:
            del body[name]
    return body


_OMITTED = (
    *("run", "sections", "places", "pages", "note", "parts", "about", "acronyms", "language", "blocks"),
    *("guessed_encoding", "context", "claims", "domains"),
)
"""Fields of a Reading that are not stored while they are empty."""
_ABSENT: dict[str, Any] = {
    "odds": None,
    "kinds": (),
    "spans": (),
    "named": (),
    "candidates": (),
    "term": False,
    "only_short": False,
    "judged": (),
}
"""Fields that are not stored while they have these values."""


def reading_key(doc_id: str, reading: str) -> str:
    """Return the garage key of a Reading."""
    if reading.startswith(OF_TEXT):
        return f"{texts_prefix(doc_id)}{reading}.json"
    return f"readings/{doc_id}/{reading}.json"


def pages_prefix(doc_id: str) -> str:
    """Return the prefix of the keys of a document's recognised pages."""
    return f"texts/{doc_id}/page-"


def texts_prefix(doc_id: str) -> str:
    """Return the prefix of the keys of a document's Readings of the text alone."""
    return f"texts/{doc_id}/{OF_TEXT}"


def load_reading(objects: Objects, doc_id: str, reading: str) -> Reading:
    """Return the Reading with the id ``reading``. Raises MissingError if the garage has none."""
    key = reading_key(doc_id, reading)
    return decode_reading(objects.get(key), key)


def has_parts(objects: Objects, reading: Reading) -> bool:
    """Return whether the garage has the bytes of all parts that the Reading names."""
    return all(objects.exists(part.key) for part in reading.parts if part.key)


def text_of(objects: Objects, document: Document, reading: Reading) -> str:
    """Return the Text of a Reading: the strict decoding of the original, or the object that the parser made. If the
    original is gone, the copy of :func:`keep_text` is used. Raises MissingError if neither exists, and CorruptError if
    the length is not that of the Reading."""
    kept = _kept_text_key(document, reading)
    if reading.text_key:
        text = _decoded(objects, reading.text_key, reading.text_length)
    else:
        try:
            text = _decoded(objects, document.key, reading.text_length, reading.encoding, "strict")
        except MissingError:
            if not objects.exists(kept):
                raise
            text = _decoded(objects, kept, reading.text_length)
    if len(text) != reading.text_length:
        raise CorruptError(f"{document.key}: does not give the Text that was read from it.")
    return text


def _decoded(objects: Objects, key: str, length: int, encoding: str = "utf-8", errors: str = "surrogatepass") -> str:
    """Return the text of an object, of about ``length`` characters.

    A long one is decoded in pieces: its bytes are never there beside all of the text.
    """
    if length <= LONG:
        return objects.get(key).decode(encoding, errors)
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    text = ""
    with closing(objects.open(key)) as reader:
        for at in range(0, reader.sums.size, DECODED):
            text += decoder.decode(reader.read_at(at, DECODED))  # it grows in its place
    return text + decoder.decode(b"", True)


def put_text(objects: Objects, doc_id: str, text: Text) -> str:
    """Store a Text that is not a decoding of the original, before its Reading names it. Return its key; ``""`` if
    the decoded original is the Text. Idempotent."""
    if text.encoding:
        return ""
    key = _text_key(doc_id, text.sha256)
    objects.put(key, text.text.encode("utf-8", "surrogatepass"))
    return key


def keep_text(objects: Objects, document: Document, reading: Reading) -> None:
    """Store the Text of a Reading as an object, so that it outlives the original."""
    if not reading.text_key:
        text = text_of(objects, document, reading)
        objects.put(_kept_text_key(document, reading), text.encode("utf-8", "surrogatepass"))


def later_vectors(doc_id: str, reading: str, model: str) -> tuple[str, str]:
    """Return the keys of the vectors that the Reading with the id ``reading`` gets later by a model other than its
    own: of its labels, and of its Sources."""
    stem = f"vectors/{doc_id}/{reading}-{hashlib.sha256(model.encode()).hexdigest()[:12]}"
    return f"{stem}-labels.npz", f"{stem}-windows.npz"


def _kept_text_key(document: Document, reading: Reading) -> str:
    return _text_key(document.doc_id, reading.text_sha256)


def _text_key(doc_id: str, text_sha256: str) -> str:
    return f"texts/{doc_id}/{text_sha256[:32]}.txt"


def decode_reading(raw: bytes, key: str) -> Reading:
    """Return the Reading stored in these bytes. Raises StoreError if they are not a Reading of a format known
    here."""
    try:
        body: dict[str, Any] = json.loads(raw)
        if body.pop("format") != FORMAT:
            raise StoreError(f"{key}: written by another version of kgfs.")
        body["chunks"] = tuple(
            Chunk(**{**chunk, "section_path": tuple(chunk["section_path"])}) for chunk in body["chunks"]
        )
        body["verdicts"] = tuple(
            Verdict(**{**verdict, "judged": tuple(map(tuple, verdict.get("judged", ())))})
            for verdict in body["verdicts"]
        )
        body["concepts"] = tuple(_concept(concept) for concept in body["concepts"])
        body["relationships"] = tuple(
            FoundRelationship(**{**found, "quote": Quote(**found["quote"])}) for found in body["relationships"]
        )
        body["known"] = tuple(body["known"])
        body["records"] = tuple(body["records"])
        body["sections"] = tuple((start, tuple(path)) for start, path in body.get("sections", ()))
        body["acronyms"] = tuple((short, long) for short, long in body.get("acronyms", ()))
        body["places"] = tuple((start, place) for start, place in body.get("places", ()))
        body["parts"] = tuple(Part(**part) for part in body.get("parts", ()))
        body["blocks"] = tuple(Block(*block) for block in body.get("blocks", ()))
        body["claims"] = tuple(_claim(claim) for claim in body.get("claims", ()))
        body["domains"] = {name: tuple(keywords) for name, keywords in body.get("domains", {}).items()}
        return Reading(**body)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{key}: not a Reading ({error}).") from error


def _claim(body: dict[str, Any]) -> FoundClaim:
    quote = Quote(**body["quote"]) if body["quote"] else None
    return FoundClaim(**{**body, "quote": quote, "added": tuple(body["added"])})


def _concept(body: dict[str, Any]) -> FoundConcept:
    quotes = tuple(Quote(**quote) for quote in body["quotes"])
    lists = {"forms": tuple(body["forms"]), "kinds": tuple(body.get("kinds", ())), "quotes": quotes}
    return FoundConcept(**{**body, **lists})


@dataclass(frozen=True, slots=True)
class MatchedConcept:
    """The concept that a FoundConcept of a Reading was matched to."""

    norm: str
    """The norm of the FoundConcept in the Reading."""
    concept_id: str
    founded_norm: str
    name: str
    """The directory name that the concept has, or was given in this publication."""
    how: str
    """``new``, ``exact``, ``alias``, ``embedding``; ``decided``: by a person, in this publication or before;
    ``term``: of a term that is a concept of other documents; ``named``: the mention gives its words to a concept whose founding document was purged."""
    similarity: float
    numbers: tuple[int, ...]
    """The evidence numbers of its quotes, in the order of the quotes."""
    spans: tuple[int, ...] = ()
    """Start and end of each place in the Text that names it, in order."""
    term: bool = False
    """Whether it is a term of the document that is a concept by others: it gives forms and evidence (``how``: ``term``
    when that is decided), and the concept does not rest on it."""

    @property
    def passed(self) -> bool:
        """Return whether it is a concept by this document."""
        return not self.term


@dataclass(frozen=True, slots=True)
class NamedConcept:
    """A concept of the ontology that a document names without being evidence for it."""

    concept_id: str
    spans: tuple[int, ...]
    """Start and end of each place in the Text, in order."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What could be looked up in a document, by the first place of it in the Text: a concept, or a term."""

    start: int
    end: int
    count: int
    """The number of places that have it."""
    heading: bool
    """Whether it is a whole heading."""


@dataclass(frozen=True, slots=True)
class MatchedRelationship:
    """The relationship that a FoundRelationship of a Reading was matched to."""

    index: int
    """The index in the Reading's relationships."""
    relationship_id: str
    subject: str
    object: str
    """``subject`` and ``object`` are concept ids."""
    number: int


@dataclass(frozen=True, slots=True)
class Decisions:
    """The concept of each mention of a Reading, decided once and replayed by rebuild. It contains no text of the
    document but the labels.

    As stored they are whole, or say what differs from others of the Reading (``of``); :func:`load_decisions` returns
    whole ones."""

    doc_id: str
    reading: str
    concepts: tuple[MatchedConcept, ...]
    relationships: tuple[MatchedRelationship, ...]

    epoch: int
    """The epoch of the graph on which the decisions were made."""
    supersedes: tuple[str, ...] = ()
    """Documents that leave the graph in the publication that carries these decisions out."""
    named: tuple[NamedConcept, ...] = ()
    """Other concepts of the ontology that the document names, where it names them."""
    candidates: tuple[Candidate, ...] = ()
    """What could be looked up in the document."""
    carried_out_as: str = ""
    """The commit id of the publication, if words of other documents were removed from the decisions afterwards
    (:func:`redact_decisions`), or if they were put together from what is stored of them; else empty."""
    of: str = ""
    """The key of the decisions that these change: ``concepts`` and ``named`` stand in place of the rows with the same
    ``norm`` and ``concept_id``, or behind them; all else stays. Empty for whole ones."""
    without: tuple[str, ...] = ()
    """Norms of the concepts that go."""
    not_named: tuple[str, ...] = ()
    """Ids of concepts that are not only named any more."""

    @property
    def key(self) -> str:
        """Return the key by which facts refer to the decisions; see :func:`load_decisions`."""
        return f"{decisions_prefix(self.doc_id, self.reading)}{self.commit_id}.json"

    @property
    def commit_id(self) -> str:
        """Return the commit id of the publication that carries the decisions out: equal decisions have the same commit
        id. It is a hash of all that was decided, since a rebuilt graph may count its epochs differently."""
        return self.carried_out_as or _sha256(self._body())[:24]

    def encode(self) -> bytes:
        """Return the stored form, JSON. Equal decisions have equal bytes."""
        return _json(self._body())

    def _body(self) -> dict[str, Any]:
        body = {"format": FORMAT_OF_CHANGES if self.of else FORMAT, **_plain(self)}
        for name in ("carried_out_as", "of", "without", "not_named"):
            if not body[name]:
                del body[name]  # the commit id is the hash of this encoding
        return body


def load_decisions(objects: Objects, key: str) -> Decisions:
    """Return the whole decisions with this key, or their redacted form. Raises MissingError if the garage has neither,
    or has lost decisions that they change."""
    stored = [*_stored(objects, key)]
    whole = stored.pop()
    if not stored:
        return whole
    for changes in reversed(stored):
        whole = changed(whole, changes)
    return replace(whole, carried_out_as=stored[0].commit_id)


def changed(former: Decisions, changes: Decisions) -> Decisions:
    """Return the whole decisions that ``changes`` make of the former ones."""
    concepts = {matched.norm: matched for matched in former.concepts if matched.norm not in changes.without}
    named = {one.concept_id: one for one in former.named if one.concept_id not in changes.not_named}
    concepts |= {matched.norm: matched for matched in changes.concepts}
    named |= {one.concept_id: one for one in changes.named}
    others = tuple(named[concept_id] for concept_id in sorted(named))
    epoch = changes.epoch
    return replace(former, concepts=(*concepts.values(),), named=others, epoch=epoch, supersedes=(), carried_out_as="")


def _stored(objects: Objects, key: str) -> Iterator[Decisions]:
    """Yield the decisions with this key as they are stored, those that they change, and so on to whole ones."""
    while key:
        kept = key_of_decisions(objects, key)
        if kept is None:
            raise MissingError(f"The garage has lost {key}. Run kgfs check --repair.")
        found = decode_decisions(objects.get(kept), kept)
        yield found
        key = found.of


def keys_of_decisions(objects: Objects, key: str) -> Iterator[str]:
    """Yield the keys of all objects that the decisions with this key are put together from; the first one that the garage
    lacks is the last. Raises StoreError if one of them cannot be read."""
    while key:
        kept = key_of_decisions(objects, key)
        yield kept or key
        key = decode_decisions(objects.get(kept), kept).of if kept else ""


def key_of_decisions(objects: Objects, key: str) -> str | None:
    """Return the key of the object that holds the decisions: ``key`` itself, or the key of their redacted form.
    None if neither exists."""
    if objects.exists(key):
        return key
    return next((redacted for redacted, _ in objects.keys(_redacted_prefix(key))), None)


def redact_decisions(objects: Objects, key: str, redacted: Decisions) -> None:
    """Replace the decisions under ``key`` by ``redacted``. After a kill in between, both objects exist."""
    content = redacted.encode()
    objects.put(f"{_redacted_prefix(redacted.key)}{hashlib.sha256(content).hexdigest()[:24]}.json", content)
    objects.delete(key)


def _redacted_prefix(key: str) -> str:
    return f"{key.removesuffix('.json')}-"


def decisions_prefix(doc_id: str, reading: str) -> str:
    """Return the prefix of the keys of all decisions about a Reading."""
    return f"decisions/{doc_id}/{reading}-"


def decode_decisions(raw: bytes, key: str) -> Decisions:
    """Return the decisions stored in these bytes, as they are stored: whole ones, or those that change others. Raises
    StoreError if they are not decisions of a format known here."""
    try:
        body: dict[str, Any] = json.loads(raw)
        if body.pop("format") not in (FORMAT, FORMAT_OF_CHANGES):
            raise StoreError(f"{key}: written by another version of kgfs.")
        body["concepts"] = tuple(
            MatchedConcept(**{**found, "numbers": tuple(found["numbers"]), "spans": tuple(found.get("spans", ()))})
            for found in body["concepts"]
        )
        body["named"] = tuple(
            NamedConcept(one["concept_id"], tuple(one.get("spans", ()))) for one in body.get("named", ())
        )
        body["candidates"] = tuple(Candidate(**one) for one in body.get("candidates", ()))
        body["relationships"] = tuple(MatchedRelationship(**found) for found in body["relationships"])
        for name in ("supersedes", "without", "not_named"):
            body[name] = tuple(body.get(name, ()))
        return Decisions(**body)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{key}: no match decisions ({error}).") from error
