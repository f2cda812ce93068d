"""Merge and split concepts, and claims, by decision of a person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kgfs.app.home import in_worker_place, open_home
from kgfs.app.queries import named_document
from kgfs.config import Config
from kgfs.domain.identity import claim_part_id_of
from kgfs.errors import MissingError
from kgfs.stores.graph.vocabulary import Claim
from kgfs.stores.resolve import ontology_called
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # numpy, which other commands do not need
    from kgfs.ingest.matching.concepts import Plan

Agree = Callable[["Plan"], bool]


def merge_concepts(config: Config, ontology: str, into: str, others: Sequence[str], agree: Agree) -> Plan | None:
    """Merge the concepts ``others`` into ``into``, if ``agree`` returns True for the plan. Return the plan as carried
    out, or None.

    Names are those of directories. The Decision is durable on return, all later matching obeys it, and a split undoes
    it.
    """
    from kgfs.ingest.matching.concept_plans import plan_merge

    return _decide(config, lambda stores: plan_merge(stores, ontology_called(stores, ontology), into, others), agree)


def split_concept(
    config: Config,
    ontology: str,
    concept: str,
    labels: Sequence[str],
    documents: Sequence[str],
    name: str,
    agree: Agree,
) -> Plan | None:
    """Move mentions out of a concept, if ``agree`` returns True for the plan. Return the plan as carried out, or
    None.

    The mentions that move are those with one of ``labels``, or those in one of ``documents``; with both, those with
    one of the labels in one of the documents. They form the concept that their label stands for, under ``name`` if
    ``name`` is not empty. Otherwise this is as :func:`merge_concepts`.
    """
    from kgfs.ingest.matching.concept_plans import plan_split

    def plan(stores: Stores) -> Plan:
        doc_ids = [_doc_id(config, stores, words) for words in documents]
        return plan_split(stores, ontology_called(stores, ontology), concept, labels, doc_ids, name)

    return _decide(config, plan, agree)


def merge_claims(config: Config, ontology: str, claim: str, into: str) -> tuple[Claim, Claim]:
    """Make all evidence of a claim, also what is to come, that of the claim ``into``. Return both as they were.

    Claims are named by their ids, or by the beginnings that their files show. Raise MissingError for no living claim, and
    BadInputError for claims of different roles.
    """
    from kgfs.ingest.matching import claim_marks

    with in_worker_place(config) as stores:
        claim_marks.catch_up(stores)
        found = ontology_called(stores, ontology)
        one, other = (claim_marks.living_claim(stores, found, digits) for digits in (claim, into))
        claim_marks.merge(stores, found, one, other)
        return one, other


def split_claim(config: Config, ontology: str, claim: str) -> list[Claim]:
    """Make the evidence that each document has of a claim a claim of its own, and return these. It also undoes a merge.

    Raise as :func:`merge_claims`, and BadInputError where the claim rests on one document alone.
    """
    from kgfs.ingest.matching import claim_marks

    with in_worker_place(config) as stores:
        claim_marks.catch_up(stores)
        found = ontology_called(stores, ontology)
        one = claim_marks.living_claim(stores, found, claim)
        doc_ids = {row.doc_id for row in stores.graph.claims.evidence(one.shown.claim_id)}
        claim_marks.split(stores, found, one)
        parts = [claim_part_id_of(one.shown.claim_id, doc_id) for doc_id in doc_ids]
        return sorted(stores.graph.claims.find(parts).values(), key=lambda part: part.shown.claim_id)


def _decide(config: Config, plan: Callable[[Stores], Plan], agree: Agree) -> Plan | None:
    from kgfs.ingest.matching.concepts import catch_up, decide

    with open_home(config, make=False) as stores:
        planned = plan(stores)
    if not agree(planned):
        return None
    with in_worker_place(config) as stores:
        catch_up(stores)
        planned = plan(stores)
        decide(stores, planned)
        return planned


def _doc_id(config: Config, stores: Stores, words: str) -> str:
    found = named_document(config, stores, words, trashed=False)
    if not found.doc_id:
        raise MissingError(f"'{words}' is no document (yet).")
    return found.doc_id
