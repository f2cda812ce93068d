"""Exchange: what this home did goes to the ledger that it shares with others, and what they did comes from it.

Bytes go before the facts that speak of them, so that every host can read what a fact tells of. A kill anywhere leaves
what is done to be found by the next attempt: an object that is there already, entries that turn out to be ours.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice

from kgfs.config import Config
from kgfs.domain.documents import Place
from kgfs.errors import KgfsError, OvertakenError, StoreError, TimedOutError
from kgfs.failpoints import border
from kgfs.ingest.keeping.place import keep_again
from kgfs.ingest.keeping.ship import ship_once
from kgfs.ingest.sharing.acknowledge import acknowledge
from kgfs.ingest.sharing.obey import is_obeyed, note_purges, obey
from kgfs.ingest.sharing.waiting import put_waiting, take_away
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ContentKept, Removed, Settled, VersionMinted
from kgfs.stores.journal.sharing.follow import OVERDUE
from kgfs.stores.journal.sharing.rebase import NotKeptError
from kgfs.stores.locks import locked_within
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import waiting_key

AT_ONCE = 1000
"""Entries that are delivered or folded together."""
ATTEMPTS = 100
"""How often others may be quicker before that is an error; each time what they did is folded first."""
PUTS_AT_ONCE = 8
OBEY_AGAIN = 60.0
"""Seconds after which purges that could not be obeyed to the end are obeyed again where others do nothing."""
FOREVER = float("inf")


class Exchange:
    """Of one process. Any number of threads and processes; they take turns."""

    def __init__(self, config: Config, stores: Stores) -> None:
        self._config = config
        self._stores = stores
        self._errors = ErrorLog(config.errors_log)
        self._turn = threading.Lock()
        self._silence: tuple[float, str] | None = None
        """When an attempt ended last that heard nothing from the garage in time (monotonic seconds), and what it said."""
        self._put: dict[int, set[str]] = {}
        """By name: contents (SHA-256) that this process put in the garage to wait there, to be taken away."""
        self._sure: set[str] = set()
        """Keys of those that wait there for certain: who else of this home had the turn since may have taken some away."""
        self._mark = secrets.token_bytes(8)
        self._obeyed_at = -FOREVER
        """When purges were obeyed last, be it not to the end (monotonic seconds)."""

    def __call__(self) -> None:
        """Learn what others did, if anything, and deliver what was done here. Raises what the stores raise; with nothing
        lost, and to be tried again."""
        journal, ledger = self._stores.journal, self._stores.garage.ledger
        first, _ = journal.unshipped(1)
        if ledger.beyond(first - 1) or self._is_to_obey_again():
            self.pull()
        self.deliver()

    def meet(self) -> None:
        """The same without trusting that nothing was done: what was delivered before this was called is known here."""
        self.pull()
        self.deliver()

    def pull(self) -> None:
        """Fold what others have delivered."""
        with self._alone():
            self._pull()

    def _is_to_obey_again(self) -> bool:
        return not is_obeyed(self._config) and time.monotonic() - self._obeyed_at >= OBEY_AGAIN

    def bring(self, fact: ContentKept) -> None:
        """Before a content is recorded for whose delivery somebody waits: what is large goes to the garage beside what others
        deliver. Raises what the garage raises, after ``garage.timeout`` seconds of silence at most."""
        if fact.place == Place.SPOOL and put_waiting(self._stores, self._config.spool, fact):
            self._is_put(fact)

    def accept(self, fact: ContentKept) -> None:
        """Deliver a fact that was just recorded, or take it back and raise: AwayError, TimedOutError, StoreError; within twice
        ``garage.timeout`` where the garage is silent, however many call at once. What could not be delivered in time may
        have been: then it is found to be this home's, and true, when the garage answers again."""
        try:
            self.deliver(self._config.garage_store.timeout)
        except KgfsError:
            if self._stores.journal.withdraw(fact) or self._stores.journal.unshipped(1)[1]:
                raise

    def deliver(self, patience: float = FOREVER) -> None:
        """The ledger has every fact, and the garage all bytes they speak of, that was recorded here before this was called.
        TimedOutError where others are at it for longer than ``patience``; who has none waits for no more than one attempt
        that hears nothing, be it another's."""
        if not self._stores.journal.unshipped(1)[1]:
            return
        overtaken, begun = 0, time.monotonic()
        with self._alone(patience):
            if patience != FOREVER and self._silence and self._silence[0] > begun:
                raise TimedOutError(self._silence[1])
            while overtaken < ATTEMPTS:
                first, entries = self._stores.journal.unshipped(AT_ONCE)
                if not entries:
                    return
                self._put_waiting(entries)
                border("waiting-put")
                if any(OVERDUE in entry for entry in entries):
                    self._follow([])
                    continue
                try:
                    self._stores.garage.ledger.append(first, entries)
                except OvertakenError:
                    overtaken += 1
                    self._pull()
                    continue
                border("delivered")
                self._follow(list(enumerate(entries, first)))
                border("confirmed")
                self._take_waiting_away(entries)
        raise StoreError("Other hosts write to the ledger faster than this one can follow. It is tried again.")

    @contextmanager
    def _alone(self, patience: float = FOREVER) -> Iterator[None]:
        deadline = time.monotonic() + patience
        if not self._turn.acquire(timeout=patience if patience < threading.TIMEOUT_MAX else -1):
            raise self._too_slow()
        try:
            self._config.run.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._config.run / "exchange.lock"
            with locked_within(path, deadline - time.monotonic()) as ours:
                if not ours:
                    raise self._too_slow()
                if path.read_bytes() != self._mark:
                    self._sure.clear()
                    path.write_bytes(self._mark)
                try:
                    yield
                except TimedOutError as error:
                    self._silence = time.monotonic(), str(error)
                    raise
        finally:
            self._turn.release()

    def _too_slow(self) -> TimedOutError:
        settings = self._config.garage_store
        return TimedOutError(
            f"{settings.endpoint}/{settings.bucket}: what others deliver from here took longer than {settings.timeout:g} s"
            " ([garage] timeout)."
        )

    def _pull(self) -> None:
        first, tail = self._stores.journal.unshipped(1 << 62)
        self._put_waiting(tail)
        news = self._stores.garage.ledger.replay(first - 1)
        own = set(tail)
        # Each time the tail is carried over whole: of a long one as many at once, so that it is not as often as it is long.
        while entries := list(islice(news, max(AT_ONCE, len(tail)))):
            note_purges(self._config, self._stores, [entry for _, entry in entries if entry not in own])
            self._follow(entries)
            border("followed")
        self._obeyed_at = time.monotonic()
        obey(self._config, self._stores)

    def _follow(self, entries: Sequence[tuple[int, bytes]]) -> None:
        journal = self._stores.journal
        for _ in range(ATTEMPTS):
            try:
                notes = journal.follow(entries, self._sure)
            except NotKeptError:  # written since
                self._put_waiting(journal.unshipped(1 << 62)[1])
                continue
            for note in notes:
                self._errors.add("sharing", note)
            return
        raise StoreError("Files are written faster here than they reach the bucket. It is tried again.")

    def _put_waiting(self, entries: Sequence[bytes]) -> None:
        spoken = [fact for fact in map(decode, entries) if isinstance(fact, ContentKept) and fact.size]
        wanted = [fact for fact in spoken if fact.place in (Place.INBOX, Place.SPOOL)]
        new = [fact for fact in wanted if waiting_key(fact.id, fact.sha256) not in self._sure]
        with ThreadPoolExecutor(PUTS_AT_ONCE, "kgfs-exchange") as several:
            done = several.map(lambda fact: put_waiting(self._stores, self._config.spool, fact), new)
            for fact, put in zip(new, done, strict=True):
                if put:
                    self._is_put(fact)

    def _is_put(self, fact: ContentKept) -> None:
        self._put.setdefault(fact.id, set()).add(fact.sha256)
        self._sure.add(waiting_key(fact.id, fact.sha256))

    def _take_waiting_away(self, entries: Sequence[bytes]) -> None:
        """Of what was settled or removed here, as the ledger knows now; what was written after that waits on."""
        since: dict[int, set[str]] = {}
        for fact in map(decode, reversed(entries)):
            if isinstance(fact, ContentKept):
                since.setdefault(fact.id, set()).add(fact.sha256)
                continue
            if isinstance(fact, (VersionMinted, Settled)):
                name = self._stores.journal.names.name(fact.id)
                if name is not None and name.sha256 and name.place is Place.GARAGE:
                    keep_again(self._stores, self._config.spool, name, name.key)
            if isinstance(fact, (VersionMinted, Settled, Removed)):
                # By another process of this home, perhaps.
                own = set() if isinstance(fact, Removed) or not fact.sha256 else {fact.sha256}
                put, later = self._put.pop(fact.id, set()), since.get(fact.id, set())
                for sha256 in (own | put) - later:
                    take_away(self._stores, fact.id, sha256)
                    self._sure.discard(waiting_key(fact.id, sha256))
                if put & later:
                    self._put[fact.id] = put & later


def shipping(config: Config, stores: Stores, exchange: Exchange | None = None) -> Callable[[], object]:
    """To be called often: how what is recorded gets to the ledger and, where homes share it, what others recorded comes
    from it; they are told how far this one is. ``exchange`` is that of this process, if it has one."""
    if stores.journal.sharing:
        exchange = exchange or Exchange(config, stores)

        def follow() -> None:
            exchange()
            acknowledge(config, stores)

        return follow
    return lambda: ship_once(stores.journal, stores.garage.ledger)


def meeting(config: Config) -> Callable[[Stores], object]:
    """The same for one who must know what others have done by now."""

    def meet(stores: Stores) -> None:
        if stores.journal.sharing:
            Exchange(config, stores).meet()
        else:
            ship_once(stores.journal, stores.garage.ledger)

    return meet
