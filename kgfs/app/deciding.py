"""Merge and split concepts, as a person decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kgfs.app.home import open_existing
from kgfs.app.queries import named_document, ontology_of
from kgfs.app.worker_place import in_worker_place
from kgfs.config import Config
from kgfs.errors import MissingError
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # numpy, which other verbs do not need
    from kgfs.ingest.matching.concepts import Plan

Agree = Callable[["Plan"], bool]


def merge_concepts(config: Config, ontology: str, into: str, others: Sequence[str], agree: Agree) -> Plan | None:
    """Make all that is said of ``others`` be said of ``into``, where ``agree`` says yes to the plan. Return what was carried out.

    Names are those of directories. The Decision is durable, heeded by all later matching, and undone by a split.
    """
    from kgfs.ingest.matching.concept_plans import plan_merge

    return _decide(config, lambda stores: plan_merge(stores, ontology_of(stores, ontology), into, others), agree)


def split_concept(
    config: Config,
    ontology: str,
    concept: str,
    labels: Sequence[str],
    documents: Sequence[str],
    name: str,
    agree: Agree,
) -> Plan | None:
    """Let mentions leave a concept: those under the labels, those of the documents or, with both, those under the labels there.

    They become the concept that their label stands for, under ``name`` if that is not empty. Otherwise as
    :func:`merge_concepts`.
    """
    from kgfs.ingest.matching.concept_plans import plan_split

    def plan(stores: Stores) -> Plan:
        doc_ids = [_doc_id(config, stores, words) for words in documents]
        return plan_split(stores, ontology_of(stores, ontology), concept, labels, doc_ids, name)

    return _decide(config, plan, agree)


def _decide(config: Config, plan: Callable[[Stores], Plan], agree: Agree) -> Plan | None:
    from kgfs.ingest.matching.concepts import catch_up, decide

    with open_existing(config) as stores:
        planned = plan(stores)
    if not agree(planned):
        return None
    with in_worker_place(config) as stores:
        catch_up(stores)
        planned = plan(stores)  # as things stand now
        decide(stores, planned)
        return planned


def _doc_id(config: Config, stores: Stores, words: str) -> str:
    found = named_document(config, stores, words, trashed=False)
    if not found.doc_id:
        raise MissingError(f"'{words}' is no document (yet).")
    return found.doc_id
