"""Verify the ledger of a home that was mounted without asking it: whether it is the home's ledger, and whether the
home lacks facts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from kgfs.app import timing
from kgfs.app.binding import bind, is_bound, refuse_strange
from kgfs.config import Config
from kgfs.errors import BadInputError, KgfsError, NotOwnerError, OlderCopyError
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.ship import refuse_older
from kgfs.stores.stores import Stores

if TYPE_CHECKING:
    from kgfs.tree.threads import Gate


class Confirming:
    """Ask the ledger from one thread. ``current`` is set once the ledger is known to have no fact that is missing in
    the home.
    """

    def __init__(self, config: Config, stores: Stores) -> None:
        self._config = config
        self._stores = stores
        self._trouble = Trouble(ErrorLog(config.errors_log), "opening")
        self.current = threading.Event()
        if config.garage_store.store == "files":  # the ledger was already asked at opening
            self.current.set()

    def ask(self) -> None:
        """Ask the ledger once, and bind the home to its own ledger if it is not bound yet.

        Raise NotOwnerError if another home owns the bucket, OlderCopyError if the home lacks facts, and BadInputError if a home that is not bound yet is configured
        with another ledger. Any other error of the ledger is logged, once while it lasts.
        """
        try:
            self._stores.garage.confirm_owner()
            last = self._stores.garage.ledger.last_seq()
            is_to_be_bound = not is_bound(self._config)
            if is_to_be_bound:
                refuse_strange(self._config, self._stores.catalog, last)
            refuse_older(self._stores.catalog, last)
            if is_to_be_bound and last:
                bind(self._config)
            if last <= self._stores.catalog.confirmed():
                self.current.set()
            self._trouble.over()
        except (NotOwnerError, OlderCopyError, BadInputError):
            raise
        except KgfsError as error:
            self._trouble.met(error)

    async def follow(self, gate: Gate, refuse: Callable[[KgfsError], None]) -> None:
        """Open the gate after the first answer or failure of the ledger, and repeat the question until ``current`` is
        set.

        The gate also opens if the server is away, since work goes on then. If another home owns the bucket, the gate is
        refused, and the mount goes on read-only. If :meth:`ask` refuses the home for another reason, ``refuse`` is called
        with the error, too.
        """
        import trio

        while not self.current.is_set():
            try:
                await trio.to_thread.run_sync(self.ask, abandon_on_cancel=True)
            except NotOwnerError as error:
                gate.refuse(error)
                return
            except (OlderCopyError, BadInputError) as error:
                gate.refuse(error)
                refuse(error)
                return
            gate.open()
            if not self.current.is_set():
                await trio.sleep(timing.CONFIRM_RETRY)
