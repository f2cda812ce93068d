"""The raw output of the offline extractors: an Extraction as JSON. Equal Extractions give equal JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from kgfs.errors import BadInputError
from kgfs.models.contract import Extraction, RawConcept, RawQuote, RawRelationship


def encode(extraction: Extraction) -> str:
    return json.dumps(asdict(extraction), ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def decode(raw: str) -> Extraction:
    """Parse what :func:`encode` wrote. Raise BadInputError for anything else."""
    try:
        body = json.loads(raw)
        concepts = tuple(
            RawConcept(**{**found, "quotes": tuple(RawQuote(**quote) for quote in found["quotes"])})
            for found in body["concepts"]
        )
        relationships = tuple(
            RawRelationship(**{**found, "quote": RawQuote(**found["quote"])}) for found in body["relationships"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"Not the output of an offline extractor: {error}.") from error
    return Extraction(concepts, relationships)
