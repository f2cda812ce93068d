"""List every use case: what people and programs ask of a home, and what they have done to it.

The command line calls these functions, and so does everything else that is to behave like it. Each takes the configuration first
and plain arguments, opens what it needs, and returns typed results. Errors are those of ``kgfs.errors``. A function that changes
something that cannot be taken back lightly takes ``agree``: it is called with the plan and says whether to go on. ``progress`` is
told (done, of how many, what). Reading functions work beside a mount and a worker.
"""

from kgfs.app.backlog import FailedDocumentsError, wait
from kgfs.app.deciding import merge_concepts, split_concept
from kgfs.app.forgetting import Proposal, forget
from kgfs.app.ingesting import Deposit, check_deposit, empty_trash, ingest, restore_removed
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
    status,
)
from kgfs.app.rereading import Outdated, regenerate, reprocess
from kgfs.app.sharing_homes import hosts, strike_off
from kgfs.app.snapshots import put_snapshot
from kgfs.app.upkeep import back_up_home, check_home, rebuild_home, rebuild_projection, restore_home, restore_originals
from kgfs.app.working import run_worker
from kgfs.ingest.depositing.intake import Ingested
from kgfs.knowledge.cite import Cited
from kgfs.knowledge.compare import Comparison
from kgfs.knowledge.history import Difference
from kgfs.knowledge.search import LIMIT
from kgfs.knowledge.status import STANDS_STILL

__all__ = [
    "LIMIT",
    "STANDS_STILL",
    "Cited",
    "Comparison",
    "Deposit",
    "Difference",
    "FailedDocumentsError",
    "Ingested",
    "Outdated",
    "Proposal",
    "Removed",
    "SpokenOf",
    "back_up_home",
    "changed_settings",
    "check_deposit",
    "check_home",
    "cite",
    "compare_readings",
    "difference",
    "document",
    "documents_of_concept",
    "empty_trash",
    "forget",
    "goal_of",
    "history",
    "hosts",
    "ingest",
    "merge_concepts",
    "migrate_home",
    "plan_migration",
    "projection_state",
    "put_snapshot",
    "rebuild_home",
    "rebuild_projection",
    "regenerate",
    "removed",
    "reprocess",
    "restore_home",
    "restore_originals",
    "restore_removed",
    "run_worker",
    "search",
    "split_concept",
    "status",
    "strike_off",
    "wait",
]
