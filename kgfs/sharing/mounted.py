"""Tasks of a mount whose home shares its ledger: exchange facts with the other homes, and follow them in the graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kgfs.config import Config
from kgfs.errors import KgfsError
from kgfs.sharing import timing
from kgfs.sharing.adaptive_poll import Rhythm
from kgfs.sharing.follow_graph import GraphFollower
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.worker_lock import worker_alive

Rest = Callable[[float, float], Awaitable[None]]
"""Pauses for the first number of seconds while something happens in the home, else until something does, or for the
second."""


async def _sleep(quick: float, slow: float) -> None:
    await trio.sleep(quick)


async def keep_exchanging(
    rhythm: Rhythm,
    deliver: Callable[[], object],
    poll: Callable[[], object],
    errors: ErrorLog,
    rest: Rest = _sleep,
) -> None:
    """Deliver facts, or only look for new ones, at the times that ``rhythm`` chooses. Run without end.

    An error is logged once while it lasts, as for chores, and the exchange is retried.
    """
    trouble = Trouble(errors, "exchange")
    while True:
        failed = False
        try:
            if rhythm.due():
                delivers = rhythm.begin()
                await trio.to_thread.run_sync(deliver if delivers else poll)
                rhythm.polled(delivered=delivers)
                trouble.over()
        except KgfsError as error:
            trouble.met(error)
            failed = True
        await (trio.sleep(timing.EXCHANGE_RETRY) if failed else rest(timing.POLL_CHECK, rhythm.left()))


async def keep_following(config: Config, follower: GraphFollower, errors: ErrorLog, rest: Rest = _sleep) -> None:
    """Bring the graph up to the known position of the ledger. Run without end.

    If the home has a live worker that keeps up, the worker does this instead. An error is logged once while it lasts,
    as for chores, and the step is retried.
    """
    trouble, behind_since = Trouble(errors, "follow"), trio.current_time()
    while True:
        failed = False
        if not follower.is_behind:
            behind_since = trio.current_time()
        elif trio.current_time() - behind_since >= timing.WORKER_FOLLOWS or not worker_alive(config.run):
            try:
                await trio.to_thread.run_sync(follower.follow)
                trouble.over()
            except KgfsError as error:
                trouble.met(error)
                failed = True
        await (trio.sleep(timing.EXCHANGE_RETRY) if failed else rest(timing.FOLLOW_EVERY, timing.FOLLOW_SELDOM))
