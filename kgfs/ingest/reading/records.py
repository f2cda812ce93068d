"""Records: the exact output of an extractor for each Source, stored before it is parsed and never changed.

They are stored in packs, one JSON object a line, under ``records/<doc_id>/``. A Record is looked up by its inputs
(:func:`fingerprint`). So a resumed reading, a new Reading of the same document and a new version of the same path ask
the extractor only about what it has not answered yet.
"""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.compute.contract import Compute
from kgfs.domain.languages import ENGLISH
from kgfs.errors import StoreError
from kgfs.failpoints import border
from kgfs.ingest.reading.answers import hash_of, is_of_model
from kgfs.models.contract import Passage
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import decode_reading

PACK = 64
"""Passages that are sent to the extractor, and stored, at once; a kill loses at most the answers to so many."""


@dataclass(frozen=True, slots=True)
class Record:
    """The exact output of an extractor for one Source."""

    fingerprint: str
    packed: bytes
    """The output, compressed: all Records of a document are held until they are validated."""
    pack: str
    """Garage key of the pack that contains it."""

    @property
    def raw_output(self) -> str:
        """Return the exact output."""
        return zlib.decompress(self.packed).decode("utf-8", "surrogatepass")


def record(fingerprint: str, raw_output: str, pack: str) -> Record:
    """Return a Record of this output."""
    return Record(fingerprint, zlib.compress(raw_output.encode("utf-8", "surrogatepass"), 1), pack)


def fingerprint(compute: Compute, passage: Passage) -> str:
    """Return a hash of everything that shapes a Record.

    The hash covers extractor, version, model, prompt, text of the Source and its context (title, sections, overlap,
    the language if it is not English, the speakers whom it names).
    The list of known concepts is stored in the Record and is no part of it.
    """
    return fingerprint_of(compute.extractor, compute.extractor_model, compute.prompt_hash, passage)


def fingerprint_of(extractor: str, model: str, prompt_hash: str, passage: Passage) -> str:
    """Return the same for an extractor that need not be the configured one."""
    shaped = (
        extractor,
        model,
        prompt_hash,
        hash_of(passage.text),
        hash_of(json.dumps([passage.title, passage.section_path, passage.context])),
        *([passage.language] if passage.language != ENGLISH else []),
        *([hash_of(json.dumps(passage.speakers))] if passage.speakers else []),
    )
    return hash_of("\n".join(shaped))[:32]


def load(objects: Objects, doc_ids: Iterable[str]) -> dict[str, Record]:
    """Return all Records that these documents were read with, by fingerprint.

    They are the Records stored for these documents, and those of other documents that their Readings reused. Raise
    StoreError for a pack that cannot be decoded.
    """
    found: dict[str, Record] = {}
    for key in dict.fromkeys(pack for doc_id in doc_ids for pack in _packs(objects, doc_id)):
        for line in objects.get(key).splitlines():
            try:
                body = json.loads(line)
                found[body["fingerprint"]] = record(body["fingerprint"], body["raw_output"], key)
            except (ValueError, KeyError) as error:
                raise StoreError(f"{key}: not a pack of Records ({error}).") from error
    return found


def rows(objects: Objects, doc_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the garage key and the content of each Record of a document, those of a language model included.

    Raise StoreError for one that cannot be decoded.
    """
    for key, _ in objects.keys(f"records/{doc_id}/"):
        for line in objects.get(key).splitlines():
            try:
                yield key, dict(json.loads(line))
            except (ValueError, TypeError) as error:
                raise StoreError(f"{key}: not a Record ({error}).") from error


def _packs(objects: Objects, doc_id: str) -> Iterator[str]:
    """Yield the keys of packs that still exist. When another document is purged, the Records of its packs go for all."""
    yield from (key for key, _ in objects.keys(f"records/{doc_id}/") if not is_of_model(key))
    for key, _ in objects.keys(f"readings/{doc_id}/"):
        packs = decode_reading(objects.get(key), key).records
        own = f"records/{doc_id}/"
        yield from (key for key in packs if not key.startswith(own) and not is_of_model(key) and objects.exists(key))


def ask(
    compute: Compute, objects: Objects, doc_id: str, passages: Mapping[str, Passage], known: Sequence[str]
) -> dict[str, Record]:
    """Extract from at most PACK passages (by fingerprint) and return the Records, which are durable by then."""
    raw_outputs = compute.extract(list(passages.values()), known)
    created_at = time.time_ns()
    lines = [
        json.dumps(
            {
                "fingerprint": mark,
                "extractor": compute.extractor,
                "model": compute.extractor_model,
                "prompt_hash": compute.prompt_hash,
                "known": list(known),
                "created_at": created_at,
                "raw_output": raw,
            }
        )
        for mark, raw in zip(passages, raw_outputs, strict=True)
    ]
    content = ("\n".join(lines) + "\n").encode()
    key = f"records/{doc_id}/{hashlib.sha256(content).hexdigest()[:32]}.jsonl"
    objects.put(key, content)
    border("recorded")
    return {mark: record(mark, raw, key) for mark, raw in zip(passages, raw_outputs, strict=True)}
