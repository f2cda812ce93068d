"""The raw output of the offline extractors: an Extraction as JSON. Equal Extractions give equal JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kgfs.errors import BadInputError
from kgfs.models.contract import Extraction, RawConcept, RawQuote, RawRelationship, Signs

_RARE = {
    "language": "",
    "plain": False,
    "anchor": False,
    "named": -1.0,
    "topic": False,
    "role": False,
    "cell": False,
    "owns": 0,
}
"""Signs that few candidates have: these values are left out."""


_STATED = ("concepts", "relationships", "leads")
_OF_MODELS = ("aliases", "description")
"""Fields of a concept that language models alone fill."""


def encode(extraction: Extraction) -> str:
    """Return the JSON. The words of a quote stand once in ``said``, and quotes give their place in it."""
    body = {name: value for name, value in asdict(extraction).items() if name in _STATED}
    texts: dict[str, int] = {}
    quotes = [quote for concept in body["concepts"] for quote in concept["quotes"]]
    for quote in (*quotes, *(found["quote"] for found in body["relationships"])):
        quote["text"] = texts.setdefault(quote["text"], len(texts))
    for concept in body["concepts"]:
        for name in _OF_MODELS:
            del concept[name]
        if concept["signs"]:
            concept["signs"] = {
                name: value for name, value in concept["signs"].items() if name not in _RARE or value != _RARE[name]
            }
    return json.dumps(body | {"said": list(texts)}, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def decode(raw: str) -> Extraction:
    """Parse what :func:`encode` wrote. Raise BadInputError for anything else."""
    try:
        body = json.loads(raw)
        texts = body["said"]
        concepts = tuple(
            RawConcept(
                **{
                    **found,
                    "quotes": tuple(_quote(quote, texts) for quote in found["quotes"]),
                    "signs": Signs(**found["signs"]) if found["signs"] else None,
                }
            )
            for found in body["concepts"]
        )
        relationships = tuple(
            RawRelationship(**{**found, "quote": _quote(found["quote"], texts)}) for found in body["relationships"]
        )
        return Extraction(concepts, relationships, tuple(body["leads"]))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise BadInputError(f"Not the output of an offline extractor: {error}.") from error


def _quote(body: dict[str, Any], texts: Sequence[str]) -> RawQuote:
    return RawQuote(**{**body, "text": texts[body["text"]]})
