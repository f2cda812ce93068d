"""Tasks of a mount whose home shares its ledger: exchange facts with the other homes, and follow them in the graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kgfs.config import Config
from kgfs.errors import KgfsError
from kgfs.sharing.adaptive_poll import LOOK, Rhythm
from kgfs.sharing.follow_graph import GraphFollower
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.worker_lock import worker_alive

EXCHANGE_AGAIN = 5.0
"""Seconds between attempts to exchange facts with other homes while the shared bucket does not answer."""
FOLLOW_EVERY = 0.1
"""Seconds between checks whether the graph has caught up with the locally known ledger. A check asks no server."""
FOLLOW_SELDOM = 2.0
"""The same while nothing happens in the home."""
WORKER_FOLLOWS = 1.0
"""Seconds that the home's worker has to catch up before the mount does it."""


Rest = Callable[[float, float], Awaitable[None]]
"""Pauses for the first number of seconds while something happens in the home, else until something does, or for the
second."""


async def _sleep(quick: float, slow: float) -> None:
    await trio.sleep(quick)


async def keep_exchanging(
    rhythm: Rhythm,
    deliver: Callable[[], object],
    look: Callable[[], object],
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
                await trio.to_thread.run_sync(deliver if delivers else look)
                rhythm.looked(delivered=delivers)
                trouble.over()
        except KgfsError as error:
            trouble.met(error)
            failed = True
        await (trio.sleep(EXCHANGE_AGAIN) if failed else rest(LOOK, rhythm.left()))


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
        elif trio.current_time() - behind_since >= WORKER_FOLLOWS or not worker_alive(config.run):
            try:
                await trio.to_thread.run_sync(follower.follow)
                trouble.over()
            except KgfsError as error:
                trouble.met(error)
                failed = True
        await (trio.sleep(EXCHANGE_AGAIN) if failed else rest(FOLLOW_EVERY, FOLLOW_SELDOM))
