"""Merge and split claims: what a person says of them holds for all evidence, also for what is to come.

It is recorded as one fact, then carried out in one commit to the graph; what a killed process recorded, the next worker
carries out. The caller holds the worker lock.
"""

from __future__ import annotations

import hashlib
import time

from kgfs.domain.documents import Ontology
from kgfs.errors import BadInputError, MissingError
from kgfs.ingest.matching.concepts import FACTS_BACK
from kgfs.stores.catalog.facts import ClaimMarked
from kgfs.stores.graph.vocabulary import Claim
from kgfs.stores.stores import Stores


def living_claim(stores: Stores, ontology: Ontology, digits: str) -> Claim:
    """Return the living claim whose id, or its first digits, are these. Raise MissingError unless there is just one."""
    found = stores.graph.claims.beginning(ontology.id, digits.casefold()) if digits.isalnum() else []
    if len(found) != 1:
        raise MissingError(f"'{digits}' is the id of {'several claims' if found else 'no claim'} of {ontology.name}.")
    return found[0]


def merge(stores: Stores, ontology: Ontology, claim: Claim, into: Claim) -> None:
    """Make all evidence of a claim that of another one. Raise BadInputError where they are one, or of different roles."""
    if claim.shown.claim_id == into.shown.claim_id:
        raise BadInputError("A claim cannot be merged into itself.")
    if claim.shown.role != into.shown.role:
        raise BadInputError(f"One claim is a {claim.shown.role}, the other a {into.shown.role}: they are not one.")
    _mark(stores, ontology, claim, into.shown.claim_id)


def split(stores: Stores, ontology: Ontology, claim: Claim) -> None:
    """Make the evidence of each document a claim of its own. Raise BadInputError where there is only one document's."""
    if len({row.doc_id for row in stores.graph.claims.evidence(claim.shown.claim_id)}) < 2:
        raise BadInputError("The claim rests on one document alone.")
    _mark(stores, ontology, claim, "")


def _mark(stores: Stores, ontology: Ontology, claim: Claim, into: str) -> None:
    at, claim_id = time.time_ns(), claim.shown.claim_id
    commit_id = hashlib.sha256(f"claim:{claim_id}:{into}:{at}".encode()).hexdigest()[:24]
    fact = ClaimMarked(ontology.id, claim_id, into, commit_id, at)
    stores.catalog.record(fact)
    say_of_claim(stores, fact)


def say_of_claim(stores: Stores, fact: ClaimMarked) -> None:
    """Carry out the fact in the graph. Idempotent."""
    stores.graph.mark_claim(fact.commit_id, fact.ontology, fact.claim_id, fact.into, fact.at)


def catch_up(stores: Stores) -> None:
    """Carry out what a killed process recorded. Only the last one can be incomplete."""
    facts = stores.catalog.facts(max(stores.catalog.seq() - FACTS_BACK, 0), FACTS_BACK) or []
    last = next((fact for _, fact in reversed(facts) if isinstance(fact, ClaimMarked)), None)
    if last is not None:
        say_of_claim(stores, last)
