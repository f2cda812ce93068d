"""Records: the exact output of an extractor for each Source, kept before anything looks at it and never changed.

They lie in packs, one JSON object a line, under ``records/<doc_id>/``. A Record is found again by what shaped it
(:func:`fingerprint`), so a resumed reading, a new Reading of the same document and a new version of the same path
ask the extractor only about what it has not answered yet.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kgfs.compute.contract import Compute
from kgfs.errors import StoreError
from kgfs.failpoints import border
from kgfs.models.contract import Passage
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import decode_reading

PACK = 64
"""Passages that are asked about, and kept, at once: what a kill can cost."""


@dataclass(frozen=True, slots=True)
class Record:
    fingerprint: str
    raw_output: str
    pack: str
    """Garage key of the pack it lies in."""


def fingerprint(compute: Compute, passage: Passage) -> str:
    """Of extractor, version, model, prompt, text of the Source and what it was shown with it (title, sections,
    overlap). The list of known concepts is noted in the Record and is no part of it."""
    return fingerprint_of(compute.extractor, compute.extractor_model, compute.prompt_hash, passage)


def fingerprint_of(extractor: str, model: str, prompt_hash: str, passage: Passage) -> str:
    """The same, for what is not at work here."""
    shaped = (
        extractor,
        model,
        prompt_hash,
        _hash(passage.text),
        _hash(json.dumps([passage.title, passage.section_path, passage.context])),
    )
    return _hash("\n".join(shaped))[:32]


def load(objects: Objects, doc_ids: Iterable[str]) -> dict[str, Record]:
    """All Records that these documents were read with, by fingerprint: those kept for them, and those of others that
    their Readings took over."""
    found: dict[str, Record] = {}
    for key in dict.fromkeys(pack for doc_id in doc_ids for pack in _packs(objects, doc_id)):
        for line in objects.get(key).splitlines():
            try:
                body = json.loads(line)
                found[body["fingerprint"]] = Record(body["fingerprint"], body["raw_output"], key)
            except (ValueError, KeyError) as error:
                raise StoreError(f"{key}: not a pack of Records ({error}).") from error
    return found


def _packs(objects: Objects, doc_id: str) -> Iterator[str]:
    """Keys of packs that are still there: what another document is purged of is nobody's any more."""
    yield from (key for key, _ in objects.keys(f"records/{doc_id}/"))
    for key, _ in objects.keys(f"readings/{doc_id}/"):
        packs = decode_reading(objects.get(key), key).records
        yield from (pack for pack in packs if not pack.startswith(f"records/{doc_id}/") and objects.exists(pack))


def ask(
    compute: Compute, objects: Objects, doc_id: str, passages: Mapping[str, Passage], known: Sequence[str]
) -> dict[str, Record]:
    """Extract from at most PACK passages (by fingerprint) and keep what came back, durably, before returning it."""
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
    return {mark: Record(mark, raw, key) for mark, raw in zip(passages, raw_outputs, strict=True)}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
