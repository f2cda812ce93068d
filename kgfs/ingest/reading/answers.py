"""What a language model is asked about a document, and its answers: one Record for each attempt, kept as soon as it comes.

Records of faults, refusals and broken answers are kept too, under the same fingerprint with the next attempt number. What an
answer is worth is judged when it is read (:func:`judge`), so a better parser uses what was paid for.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from kgfs.domain.dates import own_day
from kgfs.domain.sentences import sentence_starts
from kgfs.domain.text import Chunk, Text
from kgfs.errors import BadInputError, StoreError
from kgfs.ingest.reading.gate import furniture_of
from kgfs.ingest.reading.passages import passages_of
from kgfs.models.contract import Extraction, Passage, Tokens
from kgfs.models.llm import ANSWER, FAULT
from kgfs.stores.garage.contract import Objects

AGAIN = "again-"
"""What the id of a run begins with in which a language model is asked again for everything."""
SCHEMA = "schema"
_ASKED, _PARSED = "asked-", "parsed-"
"""What the names of these objects begin with, beside the packs of other extractors."""
REPAIRS = 1
"""Requests that repair an answer of another form."""
CONTEXT = 99
"""The part of the request that describes the whole document."""
HEAD = 4_000
"""Characters of a document by which it is described [CITE 4]."""
LONG, PIECE = 900, 600
"""Tokens of a Source from which on it is asked about in pieces, and the most of a piece."""


@dataclass(frozen=True, slots=True)
class Question:
    """A passage that the model is asked about: a Source, or a piece of a long one."""

    fingerprint: str
    chunk: int
    passage: Passage


@dataclass(frozen=True, slots=True)
class Asked:
    """The Record of one attempt."""

    fingerprint: str
    part: int
    """Which of the requests for a passage it is."""
    attempt: int
    outcome: str
    """``answer``, or what went wrong (``models.llm``)."""
    run: str
    packed: bytes
    key: str
    """Garage key of the Record."""

    @property
    def raw_output(self) -> str:
        """Return the exact output."""
        return zlib.decompress(self.packed).decode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the Records of one request come to."""

    extraction: Extraction | None = None
    failure: str = ""
    """Why the request failed for good; empty for an answer, and while it is still to be asked."""
    broken: str = ""
    """The answer of another form that is to be repaired; empty without one."""
    fault: str = ""
    """What is wrong with it."""
    key: str = ""
    """Garage key of the Record that decided."""

    @property
    def is_settled(self) -> bool:
        """Return whether nothing is to be asked any more."""
        return self.extraction is not None or bool(self.failure)


def fingerprint_of(extractor: str, model: str, prompt_hash: str, passage: Passage) -> str:
    """Return a hash of everything that shapes an answer: extractor, model, prompt, text, and what stands above it.

    The known labels are stored in the Record and are no part of it.
    """
    above = json.dumps([passage.title, passage.section_path, passage.date, passage.domains])
    shaped = "\n".join((extractor, model, prompt_hash, hash_of(passage.text), hash_of(above)))
    return hash_of(shaped)[:32]


def questions(
    extractor: str,
    model: str,
    prompt_hash: str,
    tokens: Tokens,
    text: Text,
    words: str,
    chunks: Sequence[Chunk],
    language: str,
    domains: Iterable[str],
) -> Iterator[Question]:
    """Yield what is to be asked about these Sources of a document."""
    date = own_day(text.text)
    counts = tokens.counts([words[chunk.start : chunk.end] for chunk in chunks])
    found = passages_of(text.title, words, chunks, language, furniture_of(text))
    for chunk, passage, count in zip(chunks, found, counts, strict=True):
        asked = replace(passage, date=date, domains=tuple(domains), context="", speakers=())
        for piece in _pieces(asked.text, tokens) if count > LONG else (asked.text,):
            if piece.strip():
                one = replace(asked, text=piece)
                yield Question(fingerprint_of(extractor, model, prompt_hash, one), chunk.index, one)


def description(shape: str, text: Text) -> Question:
    """Return what is asked to have a document described. ``shape`` is a hash of model and prompt."""
    head = text.text[:HEAD]
    return Question(f"{shape}{hash_of(head)[:16]}", -1, Passage(text.title, (), head))


def described(kept: Mapping[tuple[str, int], Sequence[Asked]], text: Text) -> list[Asked]:
    """Return the Records that describe this text, whatever model and prompt they came from, in the order in which they were made."""
    mark = hash_of(text.text[:HEAD])[:16]
    return [one for (place, part), rows in kept.items() if part == CONTEXT and place.endswith(mark) for one in rows]


def _pieces(text: str, tokens: Tokens) -> Iterator[str]:
    """Yield pieces that cover a text, each of PIECE tokens at most where its sentences and lines allow that."""
    cuts = sorted({*sentence_starts(text, 0, len(text)), *(at + 1 for at, char in enumerate(text) if char == "\n")})
    parts = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if start < end]
    piece, used = "", 0
    for part, count in zip(parts, tokens.counts(parts), strict=True):
        if piece and used + count > PIECE:
            yield piece
            piece, used = "", 0
        piece, used = piece + part, used + count
    yield piece


def keep(objects: Objects, doc_id: str, record: Mapping[str, object]) -> str:
    """Store the Record of one attempt, and return its key. Durable on return."""
    content = (json.dumps(record, ensure_ascii=True) + "\n").encode()
    key = f"{_prefix(doc_id)}{hashlib.sha256(content).hexdigest()[:32]}.jsonl"
    objects.put(key, content)
    return key


def copy(objects: Objects, key: str, doc_id: str) -> None:
    """Store the Record of another document under this one, so that a purge of either leaves the other's."""
    objects.put(f"{_prefix(doc_id)}{key.rpartition(_ASKED)[2]}", objects.get(key))


def asked(body: Mapping[str, Any], key: str) -> Asked:
    """Return the Record with this content."""
    said = {name: body[name] for name in ("fingerprint", "part", "attempt", "outcome", "run")}
    return Asked(**said, packed=zlib.compress(body["raw_output"].encode("utf-8", "surrogatepass"), 1), key=key)


def load(objects: Objects, doc_ids: Iterable[str]) -> dict[tuple[str, int], list[Asked]]:
    """Return the Records of these documents, by fingerprint and part, in the order in which they were made.

    Raise StoreError for a Record that cannot be decoded.
    """
    found: dict[tuple[str, int], list[tuple[int, Asked]]] = {}
    for key in dict.fromkeys(key for doc_id in doc_ids for key, _ in objects.keys(_prefix(doc_id))):
        try:
            body = json.loads(objects.get(key))
            one = asked(body, key)
            found.setdefault((one.fingerprint, one.part), []).append((body["created_at"], one))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(f"{key}: not a Record of a language model ({error}).") from error
    return {
        place: [one for _, one in sorted(rows, key=lambda row: (row[0], row[1].attempt))]
        for place, rows in found.items()
    }


def judge(records: Sequence[Asked], parse: Callable[[str], Extraction], run: str) -> Judgement:
    """Return what the Records of one request come to, in a run ('' for a first reading).

    The newest usable answer counts. Failures count only in the run that met them, so that another run asks again; and in a
    run that begins with AGAIN, answers of other runs do not count either.
    """
    mine = [one for one in records if one.run == run]
    broken: list[tuple[Asked, str]] = []
    for one in reversed(mine if run.startswith(AGAIN) else records):
        if one.outcome != ANSWER:
            continue
        try:
            return Judgement(parse(one.raw_output), key=one.key)
        except BadInputError as error:
            if one.run == run:
                broken.append((one, str(error)))
    ended = next((one for one in reversed(mine) if one.outcome not in (ANSWER, FAULT)), None)
    if ended is not None:
        return Judgement(failure=ended.outcome, key=ended.key)
    if len(broken) > REPAIRS:
        return Judgement(failure=SCHEMA, key=broken[0][0].key)
    if broken:
        return Judgement(broken=broken[0][0].raw_output, fault=broken[0][1])
    return Judgement()


def failures_told(reasons: Collection[str], of: int) -> str:
    """Return how many Sources failed, and why: ``3 of 50 Sources failed: refusal 2, schema 1``; '' for none."""
    if not reasons:
        return ""
    counted = ", ".join(f"{reason} {count}" for reason, count in sorted(Counter(reasons).items()))
    return f"{len(reasons)} of {of} Sources failed: {counted}"


def keep_parsed(objects: Objects, doc_id: str, parsed: Mapping[str, Extraction]) -> None:
    """Store what the answers with these keys were parsed to, apart from them [COMPILER 8.1]. Idempotent."""
    lines = [json.dumps({"of": key, "parsed_output": asdict(found)}) for key, found in sorted(parsed.items())]
    if lines:
        content = ("\n".join(lines) + "\n").encode()
        objects.put(f"records/{doc_id}/{_PARSED}{hashlib.sha256(content).hexdigest()[:32]}.jsonl", content)


def is_of_model(key: str) -> bool:
    """Return whether the object is a Record of a language model, or what one was parsed to."""
    return key.rpartition("/")[2].startswith((_ASKED, _PARSED))


def _prefix(doc_id: str) -> str:
    return f"records/{doc_id}/{_ASKED}"


def hash_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
