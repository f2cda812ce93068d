"""What ``kgfs.stores.readings`` keeps, under the name that the stages of ingest know it by."""

from kgfs.stores.readings import (
    FORMAT,
    Decisions,
    MatchedConcept,
    MatchedRelationship,
    Reading,
    decisions_prefix,
    decode_decisions,
    decode_reading,
)

__all__ = [
    "FORMAT",
    "Decisions",
    "MatchedConcept",
    "MatchedRelationship",
    "Reading",
    "decisions_prefix",
    "decode_decisions",
    "decode_reading",
]
