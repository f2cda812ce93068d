"""List every use case: the questions that people and programs ask about a home, and the changes that they make to it.

The command line calls these functions. Any other client that is to behave like the command line calls them too. Each
function takes the configuration first and then plain arguments, opens the stores that it needs, and returns typed
results. Errors are those of ``kgfs.errors``. A function whose change cannot easily be undone takes ``agree``, which
is called with the plan and returns whether to go on. ``progress`` is called with (done, total, unit or subject).
Functions that only read may run beside a mount and a worker.
"""

from kgfs.app.answers import ask
from kgfs.app.asking import Probe, create_bucket
from kgfs.app.backlog import FailedDocumentsError, wait
from kgfs.app.deciding import merge_concepts, split_concept
from kgfs.app.forgetting import Proposal, forget
from kgfs.app.ingesting import Deposit, check_deposit, empty_trash, ingest, restore_removed
from kgfs.app.matching import get_document, match_chunks
from kgfs.app.moving import changed_settings, goal_of, migrate_home, plan_migration
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
    search,
    search_passages,
    status,
)
from kgfs.app.rereading import Outdated, regenerate, reprocess
from kgfs.app.sharing_homes import hosts, strike_off
from kgfs.app.snapshots import put_snapshot
from kgfs.app.transcript_folders import with_transcripts
from kgfs.app.upkeep import back_up_home, check_home, rebuild_home, rebuild_projection, restore_home, restore_originals
from kgfs.app.watching import confirm_removals, watch_in_foreground, watched
from kgfs.app.windows import prepare_for_contradiction_check, prepare_for_reranking, rerank, search_reranked
from kgfs.app.working import run_worker
from kgfs.ingest.writing.intake import Ingested
from kgfs.knowledge.by_document import LIMIT, MOST
from kgfs.knowledge.cite import Cited
from kgfs.knowledge.compare import Comparison
from kgfs.knowledge.history import Difference
from kgfs.knowledge.match import COUNT, THRESHOLD, MatchedChunk, MatchFilters, WholeDocument
from kgfs.knowledge.search import LIMIT as PASSAGES
from kgfs.knowledge.status import STANDS_STILL
from kgfs.knowledge.windows import Content, Prepared, Relevant, Section

get_chunk = cite
"""The Source of a ``chunk_id``, by the name that agents know."""

__all__ = [
    "COUNT",
    "LIMIT",
    "MOST",
    "PASSAGES",
    "STANDS_STILL",
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
    "empty_trash",
    "forget",
    "get_chunk",
    "get_document",
    "goal_of",
    "history",
    "hosts",
    "ingest",
    "match_chunks",
    "merge_concepts",
    "migrate_home",
    "plan_migration",
    "prepare_for_contradiction_check",
    "prepare_for_reranking",
    "projection_state",
    "put_snapshot",
    "rebuild_home",
    "rebuild_projection",
    "regenerate",
    "removed",
    "reprocess",
    "rerank",
    "restore_home",
    "restore_originals",
    "restore_removed",
    "run_worker",
    "search",
    "search_passages",
    "search_reranked",
    "split_concept",
    "status",
    "strike_off",
    "wait",
    "watch_in_foreground",
    "watched",
    "with_transcripts",
]
