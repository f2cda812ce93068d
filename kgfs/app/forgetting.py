"""Forget documents in four steps: plan, agreement, durable order, execution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kgfs.app.home import in_worker_place, open_deposits, open_home
from kgfs.app.queries import named_document
from kgfs.config import Config
from kgfs.errors import KgfsError
from kgfs.stores.disk_reserve import DiskReserve

if TYPE_CHECKING:  # numpy, which other commands do not need
    from kgfs.ingest.lifecycle.forget import Outcome
    from kgfs.ingest.lifecycle.forget_plan import Plan

NOTED = (
    "What was asked is noted all the same: the files have left, and the rest is done by a mount or kgfs worker once that is over;"
    " kgfs wait waits for it."
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A plan to forget documents, for which agreement is asked."""

    plan: Plan
    unsettled: int
    """Number of affected files that wait to become versions. They are settled after the agreement, and a second
    proposal follows.
    """
    settled: bool = False
    """Whether this is the second proposal, which includes the versions that the settled files became."""
    grown: bool = False
    """Whether the second proposal removes more names than the first."""


def forget(
    config: Config, words: Sequence[str], cascade: str, *, purge: bool, agree: Callable[[Proposal], bool]
) -> Outcome | None:
    """Plan to forget what the words name, and carry the plan out if ``agree`` returns True. Return the outcome; None
    if ``agree`` refused.

    Nothing is changed before the first agreement. ``agree`` is called again once files that were waiting have become
    versions. The order is durable before it is carried out. If its execution fails, the error is raised with NOTED
    appended, and a mount or worker does the rest. Raise MissingError for words that name nothing, and BadInputError
    for words that name two things.
    """
    from kgfs.ingest.lifecycle.forget import carry_out, order, outcome
    from kgfs.ingest.lifecycle.forget_plan import plan, unsettled

    with open_home(config, make=False) as stores, open_deposits(config, stores) as (deposits, _):
        targets = [named_document(config, stores, each, trashed=purge) for each in words]
        planned, waiting = plan(stores, targets, cascade, purge=purge), unsettled(stores, targets)
        if not agree(Proposal(planned, len(waiting))) or planned.nothing:
            return None
        if waiting:
            DiskReserve(config.home).run(partial(deposits.settler.settle, waiting))
            seen = {name.id for name in planned.names}
            targets = [named_document(config, stores, each, trashed=purge) for each in words]
            planned = plan(stores, targets, cascade, purge=purge)
            if not agree(Proposal(planned, 0, settled=True, grown=any(name.id not in seen for name in planned.names))):
                return None
        ordered = order(deposits, stores, planned)
    try:
        with in_worker_place(config) as stores:
            carry_out(config, stores, ordered.id)
            return outcome(stores, ordered, planned)
    except KgfsError as error:
        raise type(error)(f"{error} {NOTED}") from error
