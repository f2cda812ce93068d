"""Find claims that answer a question, beside its Sources: one ranking never mixes them.

A claim's score is 0.5 cosine + 0.2 domain + 0.2 role + 0.1 authority. Which claims are looked at is decided by meaning, and by the
words where a claim has all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgfs.compute.deadline import Deadline
from kgfs.compute.matching import matching
from kgfs.domain.knowledge import CLAIM_ROLES
from kgfs.errors import GivenUpError, KgfsError
from kgfs.knowledge.match import NORMALIZED
from kgfs.render.search import telling
from kgfs.stores.graph.vocabulary import Claim, ClaimRow
from kgfs.stores.stores import Stores

COUNT = 10
"""The number of claims that a search shows."""
LOOKED_AT = 50
"""The pieces of evidence, closest in meaning, that are looked at; and the claims that have all the words."""
CLOSE = 0.3
"""The least cosine of a claim that has not all of the words, as of Sources."""
AUTHORITY: Mapping[str, float] = {"high": 1.0, "medium": 0.5, "low": 0.0}
WEIGHTS: Mapping[str, float] = {"cosine": 0.5, "domain": 0.2, "role": 0.2, "authority": 0.1}
_UNKNOWN = ("", "unknown", "none")


@dataclass(frozen=True, slots=True)
class ScoredClaim:
    """A claim that was found."""

    claim: Claim
    evidence: ClaimRow
    """Its strongest piece of evidence: the one that the model was surest of."""
    cosine: float | None
    """None where meanings were not compared, or where it is not among the closest."""
    parts: Mapping[str, float]
    """What each of WEIGHTS adds to the score."""

    @property
    def score(self) -> float:
        return round(math.fsum(self.parts.values()), 6)


def parts_of(row: ClaimRow, cosine: float | None, domain: str) -> dict[str, float]:
    """Return the four parts of a claim's score for a question about a domain ('' where that is not known)."""
    if domain.casefold() in _UNKNOWN or row.domain.casefold() in _UNKNOWN:
        equal = 0.5
    else:
        equal = float(domain.casefold() == row.domain.casefold())
    rank = CLAIM_ROLES.index(row.role) + 1 if row.role in CLAIM_ROLES else len(CLAIM_ROLES) + 1
    values = {
        "cosine": min(max(cosine or 0.0, 0.0), 1.0),
        "domain": equal,
        "role": (len(CLAIM_ROLES) + 1 - rank) / len(CLAIM_ROLES),
        "authority": AUTHORITY.get(row.authority, 0.0),
    }
    return {name: round(weight * values[name], 6) for name, weight in WEIGHTS.items()}


def found_claims(
    stores: Stores,
    run: Path,
    ontology: str,
    words: str,
    domain: str,
    doc_ids: frozenset[str] | None,
    patience: Deadline,
    *,
    meaning: bool = True,
) -> tuple[ScoredClaim, ...]:
    """Return the best claims of an ontology (its id), or of all (''), best first. Without ``meaning`` no worker is asked.

    ``doc_ids`` are the documents that may say them, None for all. A worker that does not answer leaves those with all the words.
    Raises GivenUpError.
    """
    claims = stores.graph.claims
    searched = [ontology] if ontology else [one.id for one in stores.catalog.names.ontologies()]
    if not any(map(claims.has_any, searched)):
        return ()
    cosines: dict[str, float | None] = {}
    if meaning:
        equal = {"source_variant": NORMALIZED}
        try:
            hits = matching(run, words, ontology, doc_ids, equal, LOOKED_AT, CLOSE, patience)
        except GivenUpError:
            raise
        except KgfsError:  # words alone find some, too
            hits = []
        rows = claims.at([place for place, _ in hits])
        for place, cosine in hits:
            if place in rows:
                cosines.setdefault(rows[place].claim_id, cosine)
    for claim in claims.search(telling(words), ontology, LOOKED_AT):
        cosines.setdefault(claim.shown.claim_id, None)
    found: list[ScoredClaim] = []
    for claim_id, claim in claims.find(cosines).items():
        evidence = [row for row in claims.evidence(claim_id) if doc_ids is None or row.doc_id in doc_ids]
        if evidence:
            strongest = max(evidence, key=lambda row: row.confidence)
            cosine_ = cosines[claim_id]
            found.append(ScoredClaim(claim, strongest, cosine_, parts_of(claim.shown, cosine_, domain)))
    return tuple(sorted(found, key=lambda one: (-one.score, one.claim.shown.claim_id))[:COUNT])
