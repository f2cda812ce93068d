"""Settle: decide what quiet bytes mean, and move them into the garage.

A name is settled when no writer has it open and it has been quiet for ``[pipeline] settle`` seconds, or on request.
Each process settles what its own session wrote. Any process settles what dead sessions left. One process at a time
settles.

Settling is postponed during write bursts. The bytes of a version that are the beginning of its successor, as those of
transcripts and logs are, are given up.

A session is a lock file that a mount or a command keeps locked. The kernel releases the lock when the process ends,
however it ends. So the unsettled work of a dead session can be told from that of a living one.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Name
from kgfs.errors import AWAY, KgfsError, NoSpaceError
from kgfs.ingest import timing
from kgfs.ingest.storing.identify import Decision
from kgfs.ingest.storing.settling_batch import Batch
from kgfs.ingest.storing.spool import WorkingCopies
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.prefixes import MIN_LINKED
from kgfs.stores.locks import lock_nowait, settle_lock
from kgfs.stores.spool_file import is_held
from kgfs.stores.stores import Stores

_PREFIX, _SUFFIX = "session-", ".lock"

SECOND = 10**9
HURRY = 20
"""Contents kept per second from which it counts as a write burst: a program that copies, not a person who saves."""
BACKLOG = 20_000
"""Number of unsettled names above which settling is not postponed. Their contents fill the inbox, with up to 64 KiB
each."""

STEPS = 8
"""Earlier versions that are looked at when a version is minted. More than one is left only by a kill, an outage, or a
kgfs from before; the rest follows with the next versions."""

BATCH = 64
"""Decisions that are recorded, and made durable, together."""


class Settler:
    """Settles the names of a home. Any number of threads may call.

    ``session`` is this process's own session, and ``copies`` knows its open files. Without a session only what dead
    sessions left is settled.
    """

    def __init__(
        self,
        config: Config,
        stores: Stores,
        session: str | None = None,
        copies: WorkingCopies | None = None,
    ) -> None:
        self._config = config
        self._stores = stores
        self._session = session
        self._copies = copies or WorkingCopies(stores, config.spool, session or "none")
        self._errors = ErrorLog(config.errors_log)
        self._failed: dict[int, float] = {}
        """By name: until when (monotonic seconds, since wall clocks are set) it is not tried again."""
        self.away: KgfsError | None = None
        """The error of the unavailable server that settling waits for; None if it waits for none."""
        self._resting_until = 0.0
        self._swept = False
        self._lull = Lull(lambda: self._copies.times_kept)

    def due(self, now: int) -> list[Name]:
        """Return the names to be settled at ``now`` (nanoseconds): of dead sessions, then of this session.

        Within each group the oldest names come first.
        """
        return self._waiting(now - int(self._config.pipeline.settle * 1e9), now)

    def run_once(self, now: int, between: Callable[[], None] = lambda: None, *, sweep: bool = True) -> int:
        """Settle the names that are due; return how many were settled. Errors are logged, and the names are tried
        again later.

        ``now`` is in nanoseconds. ``between`` is called before each batch of :data:`BATCH` names, since a large
        folder takes minutes. The first call with ``sweep`` also clears the spool. During a write burst of this
        process only names that have waited for ``lull.PATIENCE`` are settled, unless more than ``lull.BACKLOG`` wait;
        the others are left for a later call. While the garage's server is unavailable nothing is settled.
        """
        if time.monotonic() < self._resting_until:
            return 0
        if self._lull.over(time.monotonic_ns()):
            full = self._stores.catalog.names.unsettled_count() > BACKLOG
            settled = self._settle(self.due(now if full else now - timing.BURST_WAIT_NS), between)
        else:
            settled = self._settle(self.due(now), between, lambda: self._lull.over(time.monotonic_ns()))
        if sweep and not self._swept:
            self._swept = True
            self.sweep()
        return settled

    def settle_now(self, between: Callable[[], None] = lambda: None) -> int:
        """Settle every name that no writer has open, quiet or not; return how many."""
        now = time.time_ns()
        self._failed.clear()
        return self._settle(self._waiting(now, now), between)

    def settle(self, names: Sequence[Name], *, again: bool = False, force: bool = False) -> dict[int, Decision]:
        """Decide about these names, and make the decisions durable; return them by name id.

        A name that was changed, moved or opened for writing meanwhile is left for the next time. With ``again``
        settled names are decided about, too. With ``force`` known bytes are read again. Waits for the settle lock.
        Raises what the stores raise.
        """
        with self.alone():
            return self.decide(names, again=again, force=force)

    def settle_early(self, name: Name, *, alone: bool) -> bool:
        """Settle one name, quiet or not; return whether it is settled now with the bytes that it has in ``name``.

        It is not if a writer has it open, if it belongs to another living session, or if settling fails (which is
        logged); then it is settled in its time. ``alone`` says that the caller holds the settle lock (:meth:`alone`).
        """
        now = time.time_ns()
        if all(waiting.id != name.id for waiting in self._waiting(now, now)):
            return False
        try:
            decided = self.decide([name]) if alone else self.settle([name])
        except KgfsError as error:
            self._errors.add("settle", error, name=name.name, id=name.id)
            return False
        after = self._stores.catalog.names.name(name.id)
        return name.id in decided and after is not None and after.settled and after.sha256 == name.sha256

    def decide(self, names: Sequence[Name], *, again: bool = False, force: bool = False) -> dict[int, Decision]:
        """Decide as :meth:`settle` does, for a caller that holds the settle lock (:meth:`alone`)."""
        decided: dict[int, Decision] = {}
        batch = Batch(self._stores, self._copies, self._config.tree.trash_days)
        try:
            for name in names:
                if decision := batch.add(name, again=again, force=force):
                    decided[name.id] = decision
            batch.record()
        except KgfsError as error:
            if isinstance(error, NoSpaceError):
                batch.record()  # else a name removed before the retry would leave its object an orphan
            raise
        self._copies.drop_left()
        settled = {name_id: decision for name_id, decision in decided.items() if name_id not in batch.refused}
        self._give_up_prefixes([name_id for name_id, decision in settled.items() if decision.mints])
        return settled

    @property
    def config(self) -> Config:
        return self._config

    def alone(self) -> AbstractContextManager[None]:
        """Hold the settle lock of the home (``stores.settle_lock``)."""
        return settle_lock(self._config.run)

    def sweep(self) -> int:
        """Delete spool files and inbox rows that dead sessions left and no fact refers to; return the number of spool
        files.

        A spool file that a process may still write is kept. Waits for the settle lock.
        """
        catalog = self._stores.catalog
        with self.alone():
            left = self.nobodys(sorted(self._config.spool.glob("*-*")))
            for path in left:
                path.unlink(missing_ok=True)
            if inbox := catalog.left_inbox():
                catalog.drop_inbox(inbox)
        return len(left)

    def nobodys(self, paths: Sequence[Path]) -> list[Path]:
        """Return those of these existing spool files that no session writes and no fact refers to. The caller holds
        the settle lock."""
        # In this order: a file that was listed before belongs to a living session, or a fact refers to it by now, or
        # it is an orphan.
        alive = {*alive_sessions(self._config.run), self._session}
        left = [path for path in paths if path.name.partition("-")[0] not in alive and not is_held(path)]
        wanted = {name.key for name in self._stores.catalog.names.unsettled()}
        return [path for path in left if path.name not in wanted]

    # ------------------------------------------------------------------------------------- inside

    def _waiting(self, quiet_before: int, now: int) -> list[Name]:
        names = self._stores.catalog.names
        alive = alive_sessions(self._config.run)
        waiting = names.unsettled(quiet_before=quiet_before, or_after=now + timing.CLOCK_AHEAD_NS, alive=alive)
        if self._session is not None:
            own = names.unsettled(
                session=self._session, quiet_before=quiet_before, or_after=now + timing.CLOCK_AHEAD_NS
            )
            known = {name.id for name in waiting}
            waiting = waiting + [name for name in own if name.id not in known]
        return self._ready(waiting)

    def _ready(self, names: Sequence[Name]) -> list[Name]:
        """Return those of ``names`` that are not open for writing here and did not fail within the last
        ``timing.SETTLE_RETRY`` seconds."""
        now = time.monotonic()
        return [
            name for name in names if not self._copies.being_written(name.id) and self._failed.get(name.id, 0.0) <= now
        ]

    def _give_up_prefixes(self, name_ids: Sequence[int]) -> None:
        """Give up the bytes of versions that these files' new versions begin with. An error costs disk space only, and
        the next version tries again."""
        for name_id in name_ids:
            try:
                give_up_prefixes(self._stores, name_id)
            except KgfsError as error:
                self._errors.add("settle", error, id=name_id)
                if isinstance(error, AWAY):
                    return

    def _settle(
        self,
        names: Sequence[Name],
        between: Callable[[], None],
        give_way: Callable[[], bool] = lambda: False,
    ) -> int:
        settled = 0
        if not names:
            self.away = None
        for start in range(0, len(names), BATCH):
            between()
            if give_way():
                break
            part = names[start : start + BATCH]
            try:
                settled += self._settle_part(part)
                self.away = None
            except NoSpaceError as error:
                self._errors.add("settle", error, waiting=len(names) - start)
                self._failed |= {name.id: time.monotonic() + timing.SETTLE_RETRY for name in names[start:]}
                break
            except AWAY as error:
                # Later names wait too, so that all become versions in the order in which they were written.
                if self.away is None:
                    self._errors.add("settle", error, waiting=len(names) - start)
                self.away, self._resting_until = error, time.monotonic() + timing.SETTLE_AWAY_RETRY
                break
        self._copies.drop_left()
        return settled

    def _settle_part(self, names: Sequence[Name]) -> int:
        try:
            return len(self.settle(names))
        except (NoSpaceError, *AWAY):
            raise
        except KgfsError:
            # One of the names causes the error. Settled one by one, the others are not blocked by it.
            return self._settle_each(names)

    def _settle_each(self, names: Sequence[Name]) -> int:
        settled = 0
        for name in names:
            try:
                settled += len(self.settle([name]))
            except AWAY:
                raise
            except KgfsError as error:
                self._failed[name.id] = time.monotonic() + timing.SETTLE_RETRY
                self._errors.add("settle", error, name=name.name, id=name.id)
        return settled


def give_up_prefixes(stores: Stores, name_id: int) -> int:
    """Have the versions of a path need no bytes of their own where they are the beginning of the version after them;
    return how many do so from now on.

    Looks at the newest versions only, and stops at the first that keeps its bytes. Costs reading and hashing as many
    bytes as such a version has, and nothing worth naming for other files. The caller holds the settle lock. Idempotent;
    a kill at any point loses nothing. Raises what the garage raises.
    """
    done = 0
    newest_first = [*reversed(stores.catalog.names.versions(name_id))]
    for later, earlier in pairwise(newest_first[: STEPS + 1]):
        if not MIN_LINKED <= earlier.size < later.size:
            break
        if not stores.garage.objects.keep_as_prefix(earlier.key, later.key):
            break
        done += 1
    return done


class Lull:
    """Detect write bursts.

    Settling costs the disk several times what keeping does, and no caller waits for it. So it is postponed, within
    bounds, while many contents are being kept. One thread at a time may call.
    """

    def __init__(self, kept: Callable[[], int]) -> None:
        """``kept`` returns how many contents were kept so far."""
        self._kept = kept
        self._before = kept()
        self._since = 0
        self._hurry = False

    def over(self, now: int) -> bool:
        """Return whether a write burst is under way at ``now`` (monotonic nanoseconds): in this second so far, or in
        the one before."""
        kept, seconds = self._kept() - self._before, (now - self._since) / SECOND
        if seconds >= 1:
            self._hurry = kept >= HURRY * seconds
            self._before, self._since = self._before + kept, now
        return self._hurry or kept >= HURRY


class Session:
    """A living session, by its id. It ends with :meth:`close` or with the process."""

    def __init__(self, session_id: str, path: Path, descriptor: int) -> None:
        self.id = session_id
        self._path = path
        self._descriptor = descriptor

    def close(self) -> None:
        """End the session, and remove its lock file. Idempotent."""
        if self._descriptor < 0:
            return
        self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def open_session(run: Path) -> Session:
    """Return a new session. It is alive until it is closed or this process ends."""
    run.mkdir(mode=0o700, parents=True, exist_ok=True)
    while True:
        session_id = secrets.token_hex(4)
        path = run / f"{_PREFIX}{session_id}{_SUFFIX}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        # Another process that looked between the opening and the locking took the file for that of a dead session,
        # and removed it. Then a new file is made.
        try:
            if lock_nowait(descriptor) and path.stat().st_ino == os.fstat(descriptor).st_ino:
                return Session(session_id, path, descriptor)
        except FileNotFoundError:
            pass
        os.close(descriptor)


def alive_sessions(run: Path) -> list[str]:
    """Return the ids of the sessions whose process lives, sorted. Remove the lock files of the others."""
    alive = []
    for path in sorted(run.glob(f"{_PREFIX}*{_SUFFIX}")):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            if lock_nowait(descriptor):
                path.unlink(missing_ok=True)
            else:
                alive.append(path.name[len(_PREFIX) : -len(_SUFFIX)])
        finally:
            os.close(descriptor)
    return alive
