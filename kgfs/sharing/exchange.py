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
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import StorageTier
from kgfs.errors import AWAY, CorruptError, KgfsError, OvertakenError, StoreError, TimedOutError
from kgfs.failpoints import border
from kgfs.sharing import timing
from kgfs.sharing.apply_purges import apply_purges, is_obeyed, note_foreign_purges, purged_originals
from kgfs.sharing.later import Later, Waiting, spoken_of
from kgfs.sharing.left_uploads import LeftUploads, RecentKeys
from kgfs.sharing.parallel_map import together
from kgfs.sharing.snapshots import delete_purged
from kgfs.sharing.waiting import find_waiting, put_waiting, take_away
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ConflictKept, ContentKept, Settled, VersionMinted
from kgfs.stores.catalog.sharing.follow import OVERDUE
from kgfs.stores.catalog.sharing.rebase import NotKeptError
from kgfs.stores.catalog.sharing.unpublished import leaving
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.hosts import is_left_behind
from kgfs.stores.locks import locked_within
from kgfs.stores.object_copies import keep_again
from kgfs.stores.pending_uploads import waiting_key
from kgfs.stores.stores import Stores
from kgfs.stores.thread_slots import release_slot

BATCH = 1000
"""Entries that are delivered, or followed, in one batch."""
ATTEMPTS = 100
"""How often in one delivery other homes may append to the ledger first before that is an error. Each time their facts
are followed first."""
PUT_CONCURRENCY = 8
"""Contents that are put into the garage at the same time."""
ASK_CONCURRENCY = 16
"""Objects that are looked for, or deleted, at the same time. A batch may refer to a thousand objects, and the server
may be far away. This is half of the connections that are kept open, so that some are left for readers."""
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
        self._put: dict[int, set[str]] = {}
        """By name: contents (SHA-256) that this process put into the garage as pending uploads, to be deleted
        later."""
        self._grace = grace
        """Seconds for which readers in other homes may find a content that nothing needs any more."""
        self._needless_since: dict[Waiting, float] = {}
        """Since when (monotonic seconds) this process knows that nothing but such readers needs a pending upload."""
        self._sure = RecentKeys(timing.UPLOAD_SURE)
        """Keys of the pending uploads that certainly exist, while they are new. It is cleared when another process of this home has had
        the lock, since that may have deleted some."""
        self._brought: set[str] = set()
        """Keys of the pending uploads that are being put by threads without the lock, except those that the holder of
        the lock has deleted since."""
        self._left_uploads = LeftUploads(config, stores)
        self._left = deque[Waiting]()
        """Pending uploads that other threads of this process put and that may not be needed."""
        self._rotten: set[str] = set()
        """Keys of the pending uploads whose bytes are damaged; each was logged once."""
        self._is_behind = False
        """Whether some pending uploads may have been settled or removed without this process deleting them."""
        self._read_on = deque[tuple[float, str]]()
        """When (monotonic seconds) a pending upload that other homes need no more is forgotten again, and its key: who
        had opened it may have read it meanwhile."""
        self._is_untidy = True
        """Whether the inbox may have rows that nothing needs any more."""
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
        self._tidy()
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
        if self._has_left_some():  # another process had the lock meanwhile
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

    def bring(self, fact: ContentKept) -> None:
        """Upload a large content before its fact is recorded, for a caller that waits for the delivery. Other
        deliveries go on meanwhile.

        Raises what the garage raises, after at most ``garage.timeout`` seconds of silence. Does nothing for a content
        that is not in the spool.
        """
        if fact.place != StorageTier.SPOOL:
            return
        key = waiting_key(fact.id, fact.sha256)
        self._brought.add(key)
        try:
            if put_waiting(self._stores, self._config.spool, fact):
                self._is_put(fact)
                if key not in self._brought:  # it was deleted meanwhile: it is put again when its fact is delivered
                    self._sure.discard(key)
        finally:
            self._brought.discard(key)

    def end_grace(self) -> None:
        """Keep nothing for readers in other homes any more: this process is about to end. Quick."""
        self._grace = 0.0

    def left_waiting(self, name_id: int, sha256: str) -> None:
        """Note that a pending upload may not be needed: its name was removed or written meanwhile. Quick."""
        self._left.append((name_id, sha256))

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
        is_to_clear = patience == FOREVER and self._has_left_some()
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
                    self._take_left_away()
                    return
                self._put_waiting(entries)
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
                    self._take_waiting_away(entries, later, first + len(entries) - 1)
                finally:
                    self._follow(list(enumerate(entries, first)))
                border("confirmed")
                self._tell_lost(lost)
                if first + len(entries) > due:
                    if is_to_clear:
                        self._take_left_away()
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
                    if self._lock.read_bytes() != self._mark:
                        self._sure.clear()
                        self._is_behind = True
                        self._lock.write_bytes(self._mark)
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
        first, tail = self._stores.catalog.unshipped(1 << 62)
        self._put_waiting(tail)
        self._is_behind |= bool(tail)  # the rebase may give it to other names, or drop it
        for fact in map(decode, tail):
            if isinstance(fact, (VersionMinted, Settled)) and fact.sha256:
                self._may_wait(fact.id, fact.sha256)  # its upload too, since it was settled
        news = self._stores.garage.ledger.replay(first - 1)
        own, mine, later = set(tail), spoken_of(tail), Later(self._stores.catalog)
        # Each batch rebases all unpublished facts. So the batch is at least as long as they are, which bounds the
        # number of rebases.
        while entries := list(islice(news, max(BATCH, len(tail)))):
            foreign = [entry for _, entry in entries if entry not in own]
            if mine and (both := mine & spoken_of(foreign)):  # another home may have deleted it since
                self._sure.discard(*(waiting_key(*one) for one in both))
                self._put_waiting(tail)
            note_foreign_purges(self._config, self._stores, foreign, tail)
            delivered = [entry for _, entry in entries if entry in own]  # by an interrupted attempt
            lost = self._keep_again(delivered, first)
            waited = self._waited(foreign)
            self._follow(entries)
            border("followed")
            self._forget_cached(waited)
            self._tell_lost(lost)
            self._take_waiting_away(delivered, later, self._stores.catalog.unshipped(1)[0] - 1)
        self._obey()

    def _waited(self, foreign: Sequence[bytes]) -> set[Waiting]:
        """Return the contents whose pending uploads may be needless once these facts of other homes are followed."""
        names, found = self._stores.catalog.names, spoken_of(foreign)
        for fact in map(decode, foreign):
            about = (fact.id, *leaving(fact)) if isinstance(fact, ContentKept) else leaving(fact)
            rows = [row for name_id in about if (row := names.name(name_id))]
            found |= {(row.id, row.sha256) for row in rows if row.sha256}
        self._is_untidy |= bool(foreign)
        return found

    def _forget_cached(self, waited: set[Waiting]) -> None:
        """Remove from the local cache the pending uploads that other homes need no more: they delete the objects."""
        for name_id, sha256 in waited:
            name, key = self._stores.catalog.names.name(name_id), waiting_key(name_id, sha256)
            awaited = name is not None and name.sha256 == sha256 and name.place is not StorageTier.GARAGE
            if not (awaited or self._stores.catalog.promises(key)):
                self._stores.garage.objects.forget(key)
                self._read_on.append((time.monotonic() + 2 * timing.UPLOAD_GRACE, key))

    def _tidy(self) -> None:
        """Forget again what readers have put into the cache meanwhile, and delete the inbox rows that nothing needs any
        more, since other homes' facts took the place of this home's.

        The latter only when all facts of this home are delivered: an undelivered one may get its content back.
        """
        catalog = self._stores.catalog
        while self._read_on and (self._grace == 0 or self._read_on[0][0] <= time.monotonic()):
            self._stores.garage.objects.forget(self._read_on.popleft()[1])
        if self._is_untidy and not catalog.unshipped(1)[1]:
            self._is_untidy = False
            if left := catalog.left_inbox():
                catalog.drop_inbox(left)

    def _sweep(self) -> None:
        """Delete what killed processes and departed homes left in the garage. Only a process that stays does so."""
        for key in self._left_uploads.found() if self._grace else ():
            with self._alone():
                if is_left_behind(self._stores, key):
                    self._stores.garage.objects.delete(key)
                    self._brought.discard(key)
                    self._sure.discard(key)

    def _obey(self) -> None:
        """Apply the purges of other homes that were noted. An error on this machine stops nothing else.

        Such an error, as a full disk or a log that may not be written, is logged once, and the purges are tried again
        after ``timing.PURGES_RETRY`` seconds. Until then no other home is told that they are obeyed
        (``report_progress``). Errors of an unavailable server are raised.
        """
        if self._is_hindered and time.monotonic() - self._obeyed_at < timing.PURGES_RETRY:
            return
        try:
            is_done = apply_purges(self._config, self._stores, self._put, self._take_away)
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
                notes = catalog.follow(entries, self._sure, gone)
            except NotKeptError as error:
                tail = catalog.unshipped(1 << 62)[1]
                self._put_waiting(tail)
                if error.key in self._sure or self._is_found(error.key, tail):
                    written += 1
                else:
                    gone.add(error.key)
                continue
            for note in notes:
                self._errors.add("sharing", note)
            return
        raise StoreError("Files are written faster here than they reach the bucket. It is tried again.")

    def _put_waiting(self, entries: Sequence[bytes]) -> None:
        """Put the contents that these unpublished facts refer to into the garage as pending uploads, unless they
        certainly are there."""
        spoken = [fact for fact in map(decode, entries) if isinstance(fact, ContentKept) and fact.size]
        wanted = [fact for fact in spoken if fact.place in (StorageTier.INBOX, StorageTier.SPOOL)]
        new = [fact for fact in wanted if waiting_key(fact.id, fact.sha256) not in self._sure]
        for fact, put in zip(new, together(partial(self._is_had, put_waiting), new, PUT_CONCURRENCY), strict=True):
            if put:
                self._is_put(fact)

    def _is_had(self, have: Callable[[Stores, Path, ContentKept], bool], fact: ContentKept) -> bool:
        """Return what ``have`` returns; False where the bytes are damaged, which is logged once.

        The facts count without those bytes, and no later fact, here or in another home, must wait for them.
        """
        try:
            return have(self._stores, self._config.spool, fact)
        except CorruptError as error:
            key = waiting_key(fact.id, fact.sha256)
            if key not in self._rotten:
                self._rotten.add(key)
                self._errors.add("sharing", error, path=self._stores.catalog.names.path(fact.id) or "")
            return False

    def _is_found(self, key: str, entries: Sequence[bytes]) -> bool:
        """Return whether the garage has the pending upload ``key``, which one of these facts refers to and which is
        not on this machine any more."""
        for fact in (fact for fact in map(decode, entries) if isinstance(fact, ContentKept)):
            if waiting_key(fact.id, fact.sha256) == key and self._is_had(find_waiting, fact):
                self._is_put(fact)
                return True
        return False

    def _is_put(self, fact: ContentKept) -> None:
        # In this order: a thread that deletes what is in ``_put`` removes it from ``_sure`` afterwards.
        """Note that a pending upload exists."""
        self._sure.add(waiting_key(fact.id, fact.sha256))
        self._may_wait(fact.id, fact.sha256)

    def _may_wait(self, name_id: int, sha256: str) -> None:
        """Note that a pending upload may exist, so that it is deleted later."""
        self._put.setdefault(name_id, set()).add(sha256)

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

    def _take_waiting_away(self, entries: Sequence[bytes], later: Later, last: int) -> None:
        """Delete the pending uploads of what these delivered facts settled or removed. ``last`` is the number of the
        last of them.

        Uploads of contents that were written after that stay. So do those that undelivered facts after ``last``
        refer to (``later``): until the ledger has such a fact, another home may give up the original that replaced
        the upload. Where other homes have delivered facts after ``last`` nothing is deleted yet, since those must be
        followed first.
        """
        since: dict[int, set[str]] = {}
        settled: set[Waiting] = set()
        needless: dict[Waiting, None] = {}
        for fact in map(decode, reversed(entries)):
            if isinstance(fact, ContentKept):
                since.setdefault(fact.id, set()).add(fact.sha256)
                continue
            about = {name_id: self._put.get(name_id, set()) for name_id in leaving(fact)}
            if isinstance(fact, (VersionMinted, Settled)):
                # Another process of this home may have put its upload.
                about = {fact.id: self._put.get(fact.id, set()) | ({fact.sha256} if fact.sha256 else set())}
                settled.add((fact.id, fact.sha256 or ""))
            for name_id, contents in about.items():
                needless |= dict.fromkeys((name_id, one) for one in contents - since.get(name_id, set()))
        if not needless:
            return
        was_behind, self._is_behind = self._is_behind, True  # in case the garage becomes unavailable meanwhile
        if self._stores.garage.ledger.beyond(last):  # facts delivered since may rely on one of them
            for name_id, content in needless:
                self._may_wait(name_id, content)
            return
        later.read(last)
        unspoken = [one for one in needless if not later.speaks_of(*one, last)]
        ripe = [one for one in unspoken if one in settled or self._is_ripe(one)]
        self._take_away(ripe)
        self._is_behind = was_behind or len(ripe) < len(unspoken)

    def _is_ripe(self, one: Waiting) -> bool:
        """Return whether the grace of a pending upload is over that is not needed for settling."""
        now = time.monotonic()
        return now - self._needless_since.setdefault(one, now) >= self._grace

    def _has_left_some(self) -> bool:
        """Return whether the garage may have a pending upload that this process put and nothing needs. Quick."""
        if self._left:
            return True
        if not self._put:
            return False
        return self._is_behind or (self._lock.exists() and self._lock.read_bytes() != self._mark)

    def _take_left_away(self) -> None:
        """Delete the needless pending uploads among all that this process put. Call it when everything is delivered.

        Another process of this home may have delivered the facts that settled or removed them.
        """
        while self._left:
            self._may_wait(*self._left.popleft())
            self._is_behind = True
        if not self._is_behind:
            return
        catalog = self._stores.catalog
        # In this order: a content that is written from here on is not in ``put``, and a name that is settled by now
        # was recorded by now.
        put = [(name_id, set(self._put[name_id])) for name_id in list(self._put)]
        names = {name_id: catalog.names.name(name_id) for name_id, _ in put}
        first, own = catalog.unshipped(1)
        if put and own:  # facts recorded since may have settled or removed them, and are delivered first
            return
        left = {name_id: name for name_id, name in names.items() if name is None or name.settled}
        needless = [(name_id, one) for name_id, contents in put if name_id in left for one in contents]
        settled = {(name_id, name.sha256) for name_id, name in left.items() if name is not None}
        ripe = [one for one in needless if one in settled or self._is_ripe(one)]
        if ripe:
            if self._stores.garage.ledger.beyond(first - 1):  # those facts are followed first
                return
            self._take_away(ripe)
        self._is_behind = len(ripe) < len(needless)

    def _take_away(self, needless: Sequence[Waiting]) -> None:
        """Delete these pending uploads, several at the same time, and forget them."""
        for (name_id, sha256), _ in zip(
            needless, together(self._take_one_away, needless, ASK_CONCURRENCY), strict=True
        ):
            put = self._put.get(name_id, set())
            put.discard(sha256)
            if not put:
                self._put.pop(name_id, None)

    def _take_one_away(self, one: Waiting) -> None:
        try:
            take_away(self._stores, *one)
        finally:
            self._needless_since.pop(one, None)
            # After the deletion: a thread that uploads the same content meanwhile then does not count on it.
            self._brought.discard(waiting_key(*one))
            self._sure.discard(waiting_key(*one))
