"""Settle: decide what quiet bytes mean, and bring them into the garage.

A name is settled when no writer has it open and it has been quiet for ``[pipeline] settle`` seconds, or when asked.
Each process settles what its own session wrote, and any process what dead sessions left; one settles at a time. What another
home wrote that shares the garage is settled there, and here once that home shows no sign of doing so.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Document, Name, NameKind, Place
from kgfs.domain.identity import garage_key_of
from kgfs.domain.names import extension_of
from kgfs.errors import AWAY, BusyError, FullError, KgfsError, MissingError
from kgfs.failpoints import border
from kgfs.ingest.keeping.content import is_held
from kgfs.ingest.keeping.identify import Action, Decision, decide, identity
from kgfs.ingest.keeping.lull import BACKLOG, PATIENCE, Lull
from kgfs.ingest.keeping.place import bring_home, put_small, small_here, small_of, wait_too
from kgfs.ingest.keeping.sessions import alive_sessions
from kgfs.ingest.keeping.spool import WorkingCopies
from kgfs.stores.aside import step_aside
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.contract import Sums
from kgfs.stores.journal.facts import Fact, ReadingOwed, Settled, VersionMinted
from kgfs.stores.journal.sharing.follow import ELSEWHERE
from kgfs.stores.locks import alone, locked
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import waiting_key

BATCH = 64
"""Decisions that become durable together."""
RETRY = 30.0
"""Seconds until a name that could not be settled is looked at again."""
AWAY_RETRY = 2.0
"""Seconds until a server is asked again that was away."""
AHEAD = 60 * 10**9
"""Nanoseconds by which a name may seem to have been written later than now. One that seems so by more was, by a clock that was set
back since, as it is where a server refused what was said by it: it is not waited for until that time is come."""
ABSENT = 300.0
"""Seconds, behind ``[pipeline] settle``, until another home is taken for absent that has delivered what it wrote and neither
settled nor changed it: it was killed, sleeps, or is lost for good. One that is there settles within seconds, or a minute or two
where a whole tree is copied. Should it be there all the same, both settle it, which makes one version (SHARE-6): that
costs work, so this is long."""
LOOK_ELSEWHERE = 10.0
"""Seconds between looks at what other homes wrote, which may be much."""


class Settler:
    """``session`` is this process's own, whose open files ``copies`` knows; without one only what dead sessions left
    is settled. ``left_waiting`` is told of name and content (SHA-256) where homes share the garage and that may wait there for
    nobody. Any number of threads."""

    def __init__(
        self,
        config: Config,
        stores: Stores,
        session: str | None = None,
        copies: WorkingCopies | None = None,
        left_waiting: Callable[[int, str], None] = lambda name_id, sha256: None,
    ) -> None:
        self._config = config
        self._stores = stores
        self._session = session
        self._copies = copies or WorkingCopies(stores, config.spool, session or "none")
        self._left_waiting = left_waiting
        self._errors = ErrorLog(config.errors_log)
        self._failed: dict[int, float] = {}
        """Until when (monotonic seconds, as whatever waits here: clocks are set) a name is not looked at again."""
        self.away: KgfsError | None = None
        """What a server said that what is due waits for."""
        self._resting_until = 0.0
        self._swept = False
        self._elsewhere: dict[tuple[int, str], float] = {}
        """Since when (monotonic seconds) a name that another home wrote is known here, unsettled, with that content (SHA-256).
        No clock of another machine is asked."""
        self._look_elsewhere = 0.0
        self._lull = Lull(lambda: self._copies.times_kept)

    def due(self, now: int) -> list[Name]:
        """What is to be settled at ``now`` (nanoseconds), oldest first."""
        return self._waiting(now - int(self._config.pipeline.settle * 1e9), now) + self._left_elsewhere()

    def run_once(self, now: int, between: Callable[[], None] = lambda: None, *, sweep: bool = True) -> int:
        """Settle what is due; how many names were. What fails is logged and tried again later. The first call with
        ``sweep`` also clears the spool. ``between`` is called now and then, since a large folder takes minutes. While writers of this
        process are in a hurry only what has waited long is settled, and the rest is left for a later call. So is all
        while the garage's server is away."""
        if time.monotonic() < self._resting_until:
            return 0
        if self._lull.over(time.monotonic_ns()):
            full = self._stores.journal.names.unsettled_count() > BACKLOG
            settled = self._settle(self.due(now if full else now - PATIENCE), between)
        else:
            settled = self._settle(self.due(now), between, lambda: self._lull.over(time.monotonic_ns()))
        if sweep and not self._swept:
            self._swept = True
            self.sweep()
        return settled

    def settle_now(self, between: Callable[[], None] = lambda: None) -> int:
        """Settle everything that no writer has open, quiet or not. What another home wrote is left to that for its time."""
        now = time.time_ns()
        self._failed.clear()
        return self._settle(self._waiting(now, now) + self._left_elsewhere(), between)

    def settle(self, names: Sequence[Name], *, again: bool = False, force: bool = False) -> dict[int, Decision]:
        """Decide about these names and make it durable; the decisions by name id. A name that changed, moved or was
        opened for writing meanwhile is left for the next time. With ``again`` names that are settled are decided
        about too, with ``force`` known bytes are read again. Raises what the stores raise."""
        with self.alone():
            return self.decide(names, again=again, force=force)

    def settle_at_once(self, name: Name, *, alone: bool) -> bool:
        """Settle one name, quiet or not; whether it is settled now, with the bytes it has here. It is not where a writer
        has it open, where it belongs to another living session, nor where that fails: then it is left for its time.
        ``alone`` tells that the caller is :meth:`alone`."""
        now = time.time_ns()
        if all(waiting.id != name.id for waiting in self._waiting(now, now)):
            return False
        try:
            decided = self.decide([name]) if alone else self.settle([name])
        except KgfsError as error:
            self._errors.add("settle", error, name=name.name, id=name.id)
            return False
        after = self._stores.journal.names.name(name.id)
        return name.id in decided and after is not None and after.settled and after.sha256 == name.sha256

    def decide(self, names: Sequence[Name], *, again: bool = False, force: bool = False) -> dict[int, Decision]:
        """As ``settle``, for a caller that is :meth:`alone`."""
        decided: dict[int, Decision] = {}
        batch = _Batch(self._stores, self._copies, self._config.tree.trash_days, self._left_waiting)
        try:
            for name in names:
                if decision := batch.add(name, again=again, force=force):
                    decided[name.id] = decision
            batch.record()
        except KgfsError as error:
            try:
                if isinstance(error, FullError):
                    batch.record()  # what the garage has taken by then: removed before the next attempt it would be nobody's
            finally:
                batch.tell_left()
            raise
        self._copies.drop_left()
        return {name_id: decision for name_id, decision in decided.items() if name_id not in batch.refused}

    @property
    def config(self) -> Config:
        return self._config

    @contextmanager
    def alone(self) -> Iterator[None]:
        """One process, and one thread in it, decides at a time: two would mint two versions."""
        self._config.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        step_aside()  # who has the lock may be putting something in a bucket
        with locked(self._config.run / "settle.lock"):
            yield

    @contextmanager
    def alone_at_once(self) -> Iterator[None]:
        """The same for one who does not wait: BusyError where somebody decides."""
        self._config.run.mkdir(mode=0o700, parents=True, exist_ok=True)
        with alone(self._config.run / "settle.lock", "Files are being settled. Try again later."):
            yield

    def sweep(self) -> int:
        """Remove what dead sessions left and no fact speaks of: spool files that nobody writes, and inbox rows. How many
        spool files."""
        journal = self._stores.journal
        with self.alone():
            left = self.nobodys(sorted(self._config.spool.glob("*-*")))
            for path in left:
                path.unlink(missing_ok=True)
            if inbox := journal.left_inbox():
                journal.drop_inbox(inbox)
        return len(left)

    def nobodys(self, paths: Sequence[Path]) -> list[Path]:
        """Those of these spool files, which are there, that no session writes and no fact speaks of. For a caller that is
        :meth:`alone`."""
        # In this order: a file seen first is a living session's, or a fact speaks of it already, or it is nobody's.
        alive = {*alive_sessions(self._config.run), self._session}
        left = [path for path in paths if path.name.partition("-")[0] not in alive and not is_held(path)]
        wanted = {name.key for name in self._stores.journal.names.unsettled(quiet_before=2**63 - 1)}
        return [path for path in left if path.name not in wanted]

    # ------------------------------------------------------------------------------------- inside

    def _waiting(self, quiet_before: int, now: int) -> list[Name]:
        names = self._stores.journal.names
        alive = [*alive_sessions(self._config.run), ELSEWHERE]
        waiting = names.unsettled(quiet_before=quiet_before, or_after=now + AHEAD, alive=alive)
        if self._session is not None:
            own = names.unsettled(session=self._session, quiet_before=quiet_before, or_after=now + AHEAD)
            known = {name.id for name in waiting}
            waiting = waiting + [name for name in own if name.id not in known]
        return self._ready(waiting)

    def _left_elsewhere(self) -> list[Name]:
        """What another home wrote, and seems not to settle (:data:`ABSENT`). None between looks."""
        seen = time.monotonic()
        if not self._stores.journal.sharing or seen < self._look_elsewhere:
            return []
        self._look_elsewhere = seen + LOOK_ELSEWHERE
        names = self._stores.journal.names.unsettled(session=ELSEWHERE, quiet_before=2**63 - 1)
        since = self._elsewhere
        self._elsewhere = {(name.id, name.sha256): since.get((name.id, name.sha256), seen) for name in names}
        left = seen - ABSENT - self._config.pipeline.settle
        return self._ready([name for name in names if self._elsewhere[name.id, name.sha256] <= left])

    def _ready(self, names: Sequence[Name]) -> list[Name]:
        """Without those that are being written here, or failed a moment ago."""
        now = time.monotonic()
        return [
            name for name in names if not self._copies.being_written(name.id) and self._failed.get(name.id, 0.0) <= now
        ]

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
            except FullError as error:
                self._errors.add("settle", error, waiting=len(names) - start)
                self._failed |= {name.id: time.monotonic() + RETRY for name in names[start:]}
                break
            except AWAY as error:
                # What is written later waits too, so that all become versions in the order in which they were written.
                if self.away is None:
                    self._errors.add("settle", error, waiting=len(names) - start)
                self.away, self._resting_until = error, time.monotonic() + AWAY_RETRY
                break
        self._copies.drop_left()
        return settled

    def _settle_part(self, names: Sequence[Name]) -> int:
        try:
            return len(self.settle(names))
        except (FullError, *AWAY):
            raise
        except KgfsError:
            # One of them is the trouble; each alone shows which, and the others are not held up by it.
            return self._settle_each(names)

    def _settle_each(self, names: Sequence[Name]) -> int:
        settled = 0
        for name in names:
            try:
                settled += len(self.settle([name]))
            except AWAY:
                raise
            except KgfsError as error:
                self._failed[name.id] = time.monotonic() + RETRY
                self._errors.add("settle", error, name=name.name, id=name.id)
        return settled


_Small = dict[str, tuple[bytes, Sums]]
"""By key: contents that are put in the garage together, once it is decided that they are counted on."""


class _Batch:
    """Decisions on their way to the journal. Two about the same bytes, or about the same history, never share a batch:
    the second depends on the first being true."""

    def __init__(
        self, stores: Stores, copies: WorkingCopies, trash_days: int, left_waiting: Callable[[int, str], None]
    ) -> None:
        self.refused: set[int] = set()
        self._stores = stores
        self._copies = copies
        self._trash_days = trash_days
        self._left_waiting = left_waiting
        self._facts: dict[int, tuple[Fact, ...]] = {}
        self._before: dict[int, Name] = {}
        self._bytes: set[tuple[str, str]] = set()
        self._lineages: set[int] = set()
        self._small: _Small = {}

    def add(self, seen: Name, *, again: bool, force: bool) -> Decision | None:
        """None if there is nothing to decide (any more)."""
        names = self._stores.journal.names
        if seen.sha256 and (seen.ontology, seen.sha256) in self._bytes:
            self.record()
        name = names.name(seen.id)
        path = names.path(seen.id)
        if name is None or path is None or self._copies.being_written(name.id) or self._copies.held(name):
            return None
        # Who had the file open may have kept more in it, and closed it, since the row was read. Now that nobody has it open the row
        # is read again: what it says of that spool file stays true, for nobody writes to it any more.
        if not _same_bytes(names.name(seen.id), name):
            return None
        if name.settled and not again:
            return None
        now = time.time_ns()
        newest = next((one for one in reversed(names.versions(name.id)) if one.doc_id), None)
        document = names.document_with(name.ontology, name.sha256) if name.sha256 else None
        lineage, n = names.lineage_for(name.id) if name.kind is NameKind.FILE else (0, 1)
        if lineage in self._lineages:
            self.record()
            return self.add(seen, again=again, force=force)
        decision = decide(name, path, newest, document, n=n, now=now, trash_days=self._trash_days, force=force)
        if decision.action in (Action.NONE, Action.SKIP) and name.settled:
            return decision
        small: _Small = {}
        try:
            if name.sha256 and not name.settled and self._stores.journal.sharing:
                self._wait_too(name, small)
            facts: list[Fact] = [
                self._minted(name, path, decision, document, n, now, small)
                if decision.mints
                else self._settled(name, decision, document, now, small)
            ]
        except KgfsError:
            self._tell_left(name)
            if _same_bytes(names.name(name.id), name):
                raise
            return None  # written or removed meanwhile, and the bytes given up
        if decision.action is Action.REPROCESS and document is not None and (force or not decision.mints):
            run = secrets.token_hex(8) if force else ""
            facts.append(ReadingOwed(document.doc_id, decision.reason, now, run=run))
        self._small |= small
        self._facts[name.id] = tuple(facts)
        self._before[name.id] = name
        self._bytes.add((name.ontology, name.sha256))
        self._lineages |= {lineage} - {0}
        return decision

    def record(self) -> None:
        """Make the decisions true, and give up the places where the bytes stood before."""
        if not self._facts:
            return
        try:
            put_small(self._stores, self._small)
            self._record_facts()
        except FullError:
            self._take_back_small()
            raise
        border("settled")
        for name_id, name in self._before.items():
            if name_id in self.refused:
                self._tell_left(name)
            else:
                self._copies.leave(name)
        self._facts, self._before, self._bytes, self._lineages, self._small = {}, {}, set(), set(), {}

    def _record_facts(self) -> None:
        journal = self._stores.journal
        try:
            journal.record(*(fact for together in self._facts.values() for fact in together))
        except (BusyError, MissingError):
            for name_id, together in self._facts.items():
                try:
                    journal.record(*together)
                except (BusyError, MissingError):  # written, moved or removed since: the next time
                    self.refused.add(name_id)

    def _take_back_small(self) -> None:
        """Delete what was put for decisions that did not become true: the inbox has it still, and once its names
        are removed nobody would ever ask for it. Where homes share the garage another may count on it."""
        if not self._stores.journal.sharing:
            for key in self._small:
                if not self._stores.journal.promises(key):
                    self._stores.garage.objects.delete(key)

    def tell_left(self) -> None:
        """Of decisions that did not become true, for something failed: what was put to wait for them. They are made anew, unless
        the names are removed, or written, before that."""
        for name in self._before.values():
            self._tell_left(name)

    def _settled(self, name: Name, decision: Decision, document: Document | None, now: int, small: _Small) -> Settled:
        place, key = name.place, name.key
        if place in (Place.INBOX, Place.SPOOL):
            place, key = Place.GARAGE, self._key_without_document(name, document)
            self._bring_home(name, key, small)
        return Settled(name.id, place, key, decision.reason, now, name.sha256, decision.action.value)

    def _minted(
        self, name: Name, path: str, decision: Decision, document: Document | None, n: int, now: int, small: _Small
    ) -> VersionMinted:
        ontology = self._stores.journal.names.ontology(name.ontology)
        if ontology is None:
            raise MissingError(f"The ontology of '{name.name}' is gone.")
        who = identity(ontology, path, name.sha256, document)
        self._bring_home(name, who.key, small)
        return VersionMinted(
            id=name.id,
            ontology=name.ontology,
            n=n,
            doc_id=who.doc_id,
            sha256=name.sha256,
            size=name.size,
            key=who.key,
            source_id=who.source_id,
            path=path,
            decision=decision.action.value,
            reason=decision.reason,
            at=now,
        )

    def _key_without_document(self, name: Name, document: Document | None) -> str:
        if document is not None:
            return document.key
        ontology = self._stores.journal.names.ontology(name.ontology)
        if ontology is None:
            raise MissingError(f"The ontology of '{name.name}' is gone.")
        return garage_key_of(ontology.prefix, name.sha256, extension_of(name.name))

    def _wait_too(self, name: Name, together: _Small) -> None:
        """Another home may give up the original that is counted on from now on, until the ledger has it that it is: one
        that was promised before, or one that nobody has yet, which another deposits, removes, and empties its trash, all
        before this home has delivered that it counts on it."""
        small = small_here(self._stores, name)
        if small is not None:
            together[waiting_key(name.id, name.sha256)] = small
            return
        sums = self._copies.remembered(name.sha256)
        wait_too(self._stores, self._copies.spool, name, sums)
        if sums is not None:
            self._copies.remember(sums)

    def _tell_left(self, name: Name) -> None:
        if name.sha256 and not name.settled and self._stores.journal.sharing:
            self._left_waiting(name.id, name.sha256)

    def _bring_home(self, name: Name, key: str, together: _Small) -> None:
        if name.place is Place.INBOX:
            small = small_of(self._stores, name, key)
            if small is not None:
                together[key] = small
            return
        bring_home(self._stores, self._copies.spool, name, key, self._copies.remembered(name.sha256))


def _same_bytes(now: Name | None, before: Name) -> bool:
    return now is not None and (now.sha256, now.place, now.key) == (before.sha256, before.place, before.key)
