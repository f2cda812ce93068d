"""Forget documents: a plan, an agreement, an order, and carrying it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from kgfs.app.home import open_deposits, open_existing
from kgfs.app.queries import named_document
from kgfs.app.worker_place import in_worker_place
from kgfs.config import Config
from kgfs.errors import KgfsError
from kgfs.stores.disk_reserve import DiskReserve

if TYPE_CHECKING:  # numpy, which other verbs do not need
    from kgfs.ingest.life.forget import Plan
    from kgfs.ingest.life.forgotten import Outcome

NOTED = (
    "What was asked is noted all the same: the files have left, and the rest is done by a mount or kgfs worker once that is over;"
    " kgfs wait waits for it."
)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is to be agreed to."""

    plan: Plan
    unsettled: int
    """Files concerned that wait to become versions. They are settled once this is agreed to, and a second proposal follows."""
    settled: bool = False
    """Whether this is the second proposal, made of what they became."""
    grown: bool = False
    """Whether by the second proposal more names leave than by the first."""


def forget(
    config: Config, words: Sequence[str], cascade: str, *, purge: bool, agree: Callable[[Proposal], bool]
) -> Outcome | None:
    """Plan to forget what the words name, and carry it out where ``agree`` says yes. Return what became of it; None for a no.

    Nothing is changed before the first yes. ``agree`` is asked again once files that were waiting have become versions. The
    order is durable before it is carried out: what hinders that is raised with NOTED, and a mount or worker does the rest.
    MissingError and BadInputError for words that name nothing, or two things.
    """
    from kgfs.ingest.life.forget import carry_out, order, plan, unsettled
    from kgfs.ingest.life.forgotten import outcome

    with open_existing(config) as stores, open_deposits(config, stores) as (deposits, _):
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
