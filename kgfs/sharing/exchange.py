"""Exchange of facts: deliver the facts of this home to the shared ledger, and follow the facts that other homes have
delivered.

Bytes are put into the garage before the facts that refer to them, so that every home can read what a fact refers to.
After a kill at any point the next attempt finds what was done: an object that exists already, or ledger entries that
are this home's.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice

from kgfs.config import Config
from kgfs.domain.documents import StorageTier
from kgfs.errors import AWAY, KgfsError, OvertakenError, StoreError, TimedOutError
from kgfs.failpoints import border
from kgfs.sharing import timing
from kgfs.sharing.apply_purges import apply_purges, is_obeyed, note_foreign_purges, purged_originals
from kgfs.sharing.later import Later, spoken_of
from kgfs.sharing.parallel_map import together
from kgfs.sharing.snapshots import delete_purged
from kgfs.sharing.uploads import ASK_CONCURRENCY, Uploads
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ConflictKept, ContentKept, Settled, VersionMinted
from kgfs.stores.catalog.sharing.follow import OVERDUE
from kgfs.stores.catalog.sharing.rebase import NotKeptError
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.locks import locked_within
from kgfs.stores.object_copies import keep_again
from kgfs.stores.stores import Stores
from kgfs.stores.thread_slots import release_slot

BATCH = 1000
"""Entries that are delivered, or followed, in one batch."""
ATTEMPTS = 100
"""How often in one delivery other homes may append to the ledger first before that is an error. Each time their facts
are followed first."""
FOREVER = float("inf")
"""Seconds: no deadline."""


class Exchange:
    """The exchange of facts of one process. Any number of threads and processes may call; a lock lets one of them act
    at a time."""

    def __init__(self, config: Config, stores: Stores, grace: float = 0.0) -> None:
        """``grace`` is ``timing.UPLOAD_GRACE`` for a process that lives longer than that, else 0."""
        self._config = config
        self._stores = stores
        self._errors = ErrorLog(config.errors_log)
        self._turn = threading.Lock()
        self._silence: tuple[float, str] | None = None
        """The end (monotonic seconds) and the error of the last attempt that got no answer from the garage in
        time."""
        self.uploads = Uploads(config, stores, grace)
        """The pending uploads that this process put into the garage."""
        self._lock = config.run / "exchange.lock"
        self._mark = secrets.token_bytes(8)
        self._obeyed_at = -FOREVER
        """When purges were last obeyed, completely or not (monotonic seconds)."""
        self._hindrance = Trouble(self._errors, "sharing")
        self._is_hindered = False
        """Whether an error on this machine stopped the last attempt to obey purges."""

    def __call__(self) -> None:
        """Follow the facts of other homes, if there are any, then deliver those of this home.

        Raises what the stores raise. Then nothing is lost, and a later call tries again.
        """
        self.poll()
        self.deliver()
        self.uploads.tidy()
        self._sweep()

    def deliver_purges(self) -> None:
        """Deliver the facts of this home, then delete the snapshots from before the purges among them."""
        self.deliver()
        delete_purged(self._config, self._stores.garage.objects, self._stores.catalog.confirmed())

    def poll(self) -> None:
        """Follow the facts of other homes, if the ledger has any; also obey purges that are due for a retry."""
        catalog, ledger = self._stores.catalog, self._stores.garage.ledger
        first, _ = catalog.unshipped(1)
        if ledger.beyond(first - 1) or self._is_to_obey_again():
            self.pull()

    def meet(self) -> None:
        """Follow and deliver without a check for new facts: every fact delivered before this call is known here when
        it returns."""
        self.pull()
        self.deliver()
        if self.uploads.has_left_some(self._others_acted):  # another process had the lock meanwhile
            self()

    def pull(self, patience: float = FOREVER) -> None:
        """Follow the facts that other homes have delivered.

        Raise TimedOutError where other threads or processes of this home hold the lock for longer than ``patience``
        seconds.
        """
        with self._alone(patience):
            self._pull()

    def _is_to_obey_again(self) -> bool:
        return not is_obeyed(self._config) and time.monotonic() - self._obeyed_at >= timing.PURGES_RETRY

    def accept(self, fact: ContentKept) -> None:
        """Deliver a fact that was just recorded, or withdraw it and raise UnavailableError, TimedOutError, StoreError or
        another KgfsError.

        Where the garage is silent this takes at most twice ``garage.timeout``, however many threads call at once. A
        fact that could not be delivered in time may have reached the ledger all the same. When the garage answers
        again the fact is found to be this home's, and counts.
        """
        release_slot()  # also while another thread holds the lock
        try:
            self.deliver(self._config.garage_store.timeout)
        except KgfsError:
            if self._stores.catalog.withdraw(fact) or self._stores.catalog.unshipped(1)[1]:
                raise

    def deliver(self, patience: float = FOREVER) -> None:
        """Deliver every fact that was recorded here before this call, with all bytes that the facts refer to.

        When this returns the ledger has those facts, and the garage the bytes. Raise TimedOutError where other
        threads or processes hold the lock for longer than ``patience`` seconds. With a finite ``patience`` a call
        also raises TimedOutError if an attempt of another thread ended in silence since the call began, so it waits
        for one silent attempt at most. Raise StoreError where other homes append first :data:`ATTEMPTS` times. Without
        a deadline the call also deletes needless pending uploads of this process.
        """
        is_to_clear = patience == FOREVER and self.uploads.has_left_some(self._others_acted)
        if not (self._stores.catalog.unshipped(1)[1] or is_to_clear):
            return
        overtaken, begun = 0, time.monotonic()
        with self._alone(patience):
            if patience != FOREVER and self._silence and self._silence[0] > begun:
                raise TimedOutError(self._silence[1])
            due = self._stores.catalog.seq()  # beside busy writers the call would never end otherwise
            later = Later(self._stores.catalog)
            while overtaken < ATTEMPTS:
                first, entries = self._stores.catalog.unshipped(BATCH)
                if not entries:
                    self.uploads.take_left_away()
                    return
                self.uploads.put_waiting(entries)
                border("waiting-put")
                if any(OVERDUE in entry for entry in entries):
                    self._follow([])
                    due = self._stores.catalog.seq()
                    continue
                try:
                    self._stores.garage.ledger.append(first, entries)
                except OvertakenError:
                    overtaken += 1
                    self._pull()
                    due = self._stores.catalog.seq()
                    continue
                border("delivered")
                lost = self._keep_again(entries, first)
                try:
                    # After a kill here the next attempt finds the entries delivered, and deletes the uploads.
                    self.uploads.take_settled_away(entries, later, first + len(entries) - 1)
                finally:
                    self._follow(list(enumerate(entries, first)))
                border("confirmed")
                self._tell_lost(lost)
                if first + len(entries) > due:
                    if is_to_clear:
                        self.uploads.take_left_away()
                    return
        raise StoreError("Other hosts write to the ledger faster than this one can follow. It is tried again.")

    @contextmanager
    def _alone(self, patience: float = FOREVER) -> Iterator[None]:
        """Hold the lock of this home's exchange. Raise TimedOutError after ``patience`` seconds.

        Note whether another process held it since this one did.
        """
        deadline = time.monotonic() + patience
        if not self._turn.acquire(timeout=patience if patience < threading.TIMEOUT_MAX else -1):
            raise self._too_slow()
        try:
            with ExitStack() as stack:
                with os_errors(f"Taking the turn to deliver by {self._lock}"):
                    self._config.run.mkdir(mode=0o700, parents=True, exist_ok=True)
                    if not stack.enter_context(locked_within(self._lock, deadline - time.monotonic())):
                        raise self._too_slow()
                    if self._others_acted():
                        self.uploads.others_acted()
                        self._lock.write_bytes(self._mark)
                try:
                    yield
                except TimedOutError as error:
                    self._silence = time.monotonic(), str(error)
                    raise
        finally:
            self._turn.release()

    def _others_acted(self) -> bool:
        """Return whether another process of this home had the lock since this one had it."""
        return self._lock.exists() and self._lock.read_bytes() != self._mark

    def _too_slow(self) -> TimedOutError:
        settings = self._config.garage_store
        return TimedOutError(
            f"{settings.endpoint}/{settings.bucket}: what others deliver from here took longer than {settings.timeout:g} s"
            " ([garage] timeout)."
        )

    def _pull(self) -> None:
        first, tail = self._stores.catalog.unshipped(1 << 62)
        self.uploads.to_rebase(tail)
        news = self._stores.garage.ledger.replay(first - 1)
        own, mine, later = set(tail), spoken_of(tail), Later(self._stores.catalog)
        # Each batch rebases all unpublished facts. So the batch is at least as long as they are, which bounds the
        # number of rebases.
        while entries := list(islice(news, max(BATCH, len(tail)))):
            foreign = [entry for _, entry in entries if entry not in own]
            if mine and (both := mine & spoken_of(foreign)):
                self.uploads.put_again(both, tail)
            note_foreign_purges(self._config, self._stores, foreign, tail)
            delivered = [entry for _, entry in entries if entry in own]  # by an interrupted attempt
            lost = self._keep_again(delivered, first)
            waited = self.uploads.waited_for(foreign)
            self._follow(entries)
            border("followed")
            self.uploads.forget_cached(waited)
            self._tell_lost(lost)
            self.uploads.take_settled_away(delivered, later, self._stores.catalog.unshipped(1)[0] - 1)
        self._obey()

    def _sweep(self) -> None:
        """Delete what killed processes and departed homes left in the garage."""
        for key in self.uploads.left_behind():
            with self._alone():
                self.uploads.delete_left_behind(key)

    def _obey(self) -> None:
        """Apply the purges of other homes that were noted. An error on this machine stops nothing else.

        Such an error, as a full disk or a log that may not be written, is logged once, and the purges are tried again
        after ``timing.PURGES_RETRY`` seconds. Until then no other home is told that they are obeyed
        (``report_progress``). Errors of an unavailable server are raised.
        """
        if self._is_hindered and time.monotonic() - self._obeyed_at < timing.PURGES_RETRY:
            return
        try:
            is_done = apply_purges(self._config, self._stores, self.uploads.put, self.uploads.take_away)
        except AWAY:
            raise
        except KgfsError as error:
            self._is_hindered = True
            self._hindrance.met(error)
            return
        finally:
            self._obeyed_at = time.monotonic()
        self._is_hindered = False
        self._hindrance.over()
        if not is_done:
            self._obeyed_at = -FOREVER  # again as soon as this home's facts are delivered

    def _follow(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """Apply ledger entries to the catalog: confirm this home's facts among them, and rebase its unpublished facts
        onto the others.

        A content that must be kept and that is nowhere found is logged as lost. If the home waited for it, it would
        stand still for ever and could not be mounted any more. Raise StoreError where files are written faster than
        they can be uploaded.
        """
        catalog = self._stores.catalog
        written, gone = 0, set[str]()
        while written < ATTEMPTS:
            try:
                notes = catalog.follow(entries, self.uploads.sure, gone)
            except NotKeptError as error:
                tail = catalog.unshipped(1 << 62)[1]
                self.uploads.put_waiting(tail)
                if error.key in self.uploads.sure or self.uploads.is_found(error.key, tail):
                    written += 1
                else:
                    gone.add(error.key)
                continue
            for note in notes:
                self._errors.add("sharing", note)
            return
        raise StoreError("Files are written faster here than they reach the bucket. It is tried again.")

    def _keep_again(self, entries: Sequence[bytes], first: int) -> list[str]:
        """Restore missing originals that these delivered facts rely on; return the keys of those of which nothing is
        left.

        Call it before the facts are confirmed in the catalog, so that a kill in between costs nothing. ``first`` is
        the number of a fact that was delivered with these or before. Originals that another home has purged by a fact
        of the ledger from ``first`` on are left out.
        """
        named = [
            fact
            for fact in map(decode, entries)
            if isinstance(fact, (VersionMinted, ConflictKept))
            or (isinstance(fact, (Settled, ContentKept)) and fact.place == StorageTier.GARAGE)
        ]
        keys = list(dict.fromkeys(fact.key for fact in named if fact.sha256))
        there = dict(zip(keys, together(self._stores.garage.objects.exists, keys, ASK_CONCURRENCY), strict=True))
        gone = [(fact.id, fact.sha256, fact.key) for fact in named if fact.sha256 and not there[fact.key]]
        purged = purged_originals(self._stores, first - 1) if gone else set()
        return [
            key
            for name_id, sha256, key in gone
            if key not in purged and not keep_again(self._stores, self._config.spool, name_id, sha256, key)
        ]

    def _tell_lost(self, keys: Sequence[str]) -> None:
        """Log lost originals, except those that were given up or purged since: nothing promises them."""
        for key in keys:
            if self._stores.catalog.promises(key):
                self._errors.add("sharing", StoreError(f"The garage has lost {key}. Run kgfs restore-garage."))
