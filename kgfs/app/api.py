"""List every use case: the questions that people and programs ask about a home, and the changes that they make to it.

The command line calls these functions. Any other client that is to behave like the command line calls them too. Each
function takes the configuration first and then plain arguments, opens the stores that it needs, and returns typed
results. Errors are those of ``kgfs.errors``. A function whose change cannot easily be undone takes ``agree``, which
is called with the plan and returns whether to go on. ``progress`` is called with (done, total, unit or subject).
Functions that only read may run beside a mount and a worker.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgfs.app.answers import ask
    from kgfs.app.asking import Probe, create_bucket
    from kgfs.app.backlog import FailedDocumentsError, wait
    from kgfs.app.deciding import merge_claims, merge_concepts, split_claim, split_concept
    from kgfs.app.forgetting import Proposal, forget
    from kgfs.app.ingesting import Deposit, check_deposit, empty_trash, ingest, restore_removed, with_transcripts
    from kgfs.app.language_model import examine_model, llm_usage, records_of
    from kgfs.app.matching import get_document, match_chunks
    from kgfs.app.moving import changed_settings, goal_of, migrate_home, plan_migration
    from kgfs.app.ontologies import domains, set_domains
    from kgfs.app.queries import (
        Removed,
        SpokenOf,
        cite,
        compare_readings,
        difference,
        document,
        documents_of_concept,
        history,
        projection_state,
        removed,
        status,
    )
    from kgfs.app.rereading import Outdated, regenerate, reprocess
    from kgfs.app.searching import search, search_passages
    from kgfs.app.upkeep import (
        back_up_home,
        check_home,
        rebuild_home,
        rebuild_projection,
        restore_home,
    )
    from kgfs.app.watching import confirm_removals, watch_in_foreground, watched
    from kgfs.app.windows import prepare_for_contradiction_check, prepare_for_reranking, rerank
    from kgfs.app.working import run_worker
    from kgfs.ingest.writing.intake import Ingested
    from kgfs.knowledge.by_document import CHUNKS_PER_DOCUMENT, LIMIT, MOST
    from kgfs.knowledge.cite import Cited
    from kgfs.knowledge.compare import Comparison
    from kgfs.knowledge.history import Difference
    from kgfs.knowledge.match import COUNT, THRESHOLD, MatchedChunk, MatchFilters, WholeDocument
    from kgfs.knowledge.search import LIMIT as PASSAGES
    from kgfs.knowledge.windows import Content, Prepared, Relevant, Section

    get_chunk = cite
    """The Source of a ``chunk_id``, by the name that agents know."""

_MODULES = {
    "kgfs.app.answers": "ask",
    "kgfs.app.asking": "Probe create_bucket",
    "kgfs.app.backlog": "FailedDocumentsError wait",
    "kgfs.app.deciding": "merge_claims merge_concepts split_claim split_concept",
    "kgfs.app.forgetting": "Proposal forget",
    "kgfs.app.ingesting": "Deposit check_deposit empty_trash ingest restore_removed with_transcripts",
    "kgfs.app.language_model": "examine_model llm_usage records_of",
    "kgfs.app.matching": "get_document match_chunks",
    "kgfs.app.moving": "changed_settings goal_of migrate_home plan_migration",
    "kgfs.app.ontologies": "domains set_domains",
    "kgfs.app.queries": "Removed SpokenOf cite compare_readings difference document documents_of_concept history projection_state removed status unshipped get_chunk=cite",
    "kgfs.app.rereading": "Outdated regenerate reprocess",
    "kgfs.app.searching": "search search_passages",
    "kgfs.app.upkeep": "back_up_home check_home rebuild_home rebuild_projection restore_home",
    "kgfs.app.watching": "confirm_removals watch_in_foreground watched",
    "kgfs.app.windows": "prepare_for_contradiction_check prepare_for_reranking rerank",
    "kgfs.app.working": "run_worker",
    "kgfs.ingest.writing.intake": "Ingested",
    "kgfs.knowledge.by_document": "CHUNKS_PER_DOCUMENT LIMIT MOST",
    "kgfs.knowledge.cite": "Cited",
    "kgfs.knowledge.compare": "Comparison",
    "kgfs.knowledge.history": "Difference",
    "kgfs.knowledge.match": "COUNT THRESHOLD MatchedChunk MatchFilters WholeDocument",
    "kgfs.knowledge.search": "PASSAGES=LIMIT",
    "kgfs.knowledge.windows": "Content Prepared Relevant Section",
}
"""Where each name is: a module is imported when one of its names is first asked for, since one use case needs few of them and a
command line is started anew for each question. ``new=old`` is a name that has another one there."""
_PLACES = {
    name: (module, old or name)
    for module, names in _MODULES.items()
    for name, _, old in (each.partition("=") for each in names.split())
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, there = _PLACES[name]
    found = globals()[name] = getattr(importlib.import_module(module), there)
    return found


__all__ = [
    "CHUNKS_PER_DOCUMENT",
    "COUNT",
    "LIMIT",
    "MOST",
    "PASSAGES",
    "THRESHOLD",
    "Cited",
    "Comparison",
    "Content",
    "Deposit",
    "Difference",
    "FailedDocumentsError",
    "Ingested",
    "MatchFilters",
    "MatchedChunk",
    "Outdated",
    "Prepared",
    "Probe",
    "Proposal",
    "Relevant",
    "Removed",
    "Section",
    "SpokenOf",
    "WholeDocument",
    "ask",
    "back_up_home",
    "changed_settings",
    "check_deposit",
    "check_home",
    "cite",
    "compare_readings",
    "confirm_removals",
    "create_bucket",
    "difference",
    "document",
    "documents_of_concept",
    "domains",
    "empty_trash",
    "examine_model",
    "forget",
    "get_chunk",
    "get_document",
    "goal_of",
    "history",
    "ingest",
    "llm_usage",
    "match_chunks",
    "merge_claims",
    "merge_concepts",
    "migrate_home",
    "plan_migration",
    "prepare_for_contradiction_check",
    "prepare_for_reranking",
    "projection_state",
    "rebuild_home",
    "rebuild_projection",
    "records_of",
    "regenerate",
    "removed",
    "reprocess",
    "rerank",
    "restore_home",
    "restore_removed",
    "run_worker",
    "search",
    "search_passages",
    "set_domains",
    "split_claim",
    "split_concept",
    "status",
    "wait",
    "watch_in_foreground",
    "watched",
    "with_transcripts",
]
