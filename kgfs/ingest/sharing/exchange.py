"""Exchange: what this home did goes to the ledger that it shares with others, and what they did comes from it.

Bytes go before the facts that speak of them, so that every host can read what a fact tells of. A kill anywhere leaves
what is done to be found by the next attempt: an object that is there already, entries that turn out to be ours.
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
from kgfs.domain.documents import Place
from kgfs.errors import AWAY, KgfsError, OvertakenError, RotError, StoreError, TimedOutError
from kgfs.failpoints import border
from kgfs.ingest.keeping.place import keep_again
from kgfs.ingest.sharing.later import Later, Waiting, spoken_of
from kgfs.ingest.sharing.obey import is_obeyed, note_purges, obey, purged_originals
from kgfs.ingest.sharing.together import together
from kgfs.ingest.sharing.waiting import find_waiting, put_waiting, take_away
from kgfs.stores.aside import step_aside
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ConflictKept, ContentKept, Settled, VersionMinted
from kgfs.stores.journal.sharing.follow import OVERDUE
from kgfs.stores.journal.sharing.rebase import NotKeptError
from kgfs.stores.journal.sharing.tail import leaving
from kgfs.stores.locks import locked_within
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import waiting_key

AT_ONCE = 1000
"""Entries that are delivered or folded together."""
ATTEMPTS = 100
"""How often others may be quicker before that is an error; each time what they did is folded first."""
PUTS_AT_ONCE = 8
ASKED_AT_ONCE = 16
"""Objects that are looked for, or taken away, at once: a portion may speak of a thousand, and the server may be far. Half of the
connections that are kept open, so that who reads meanwhile has some."""
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
        self._brought: set[str] = set()
        """Keys of those that are being put there beside whoever has the turn, but for what that one has taken away since."""
        self._left = deque[Waiting]()
        """What others of this process put there that nobody may need."""
        self._rotten: set[str] = set()
        """Keys of those whose bytes are damaged, as was told."""
        self._is_behind = False
        """Whether some of that may have been settled, or may have left, without this process taking it away."""
        self._lock = config.run / "exchange.lock"
        self._mark = secrets.token_bytes(8)
        self._obeyed_at = -FOREVER
        """When purges were obeyed last, be it not to the end (monotonic seconds)."""
        self._hindrance = Trouble(self._errors, "sharing")
        self._is_hindered = False
        """Whether something here kept them from being obeyed then."""

    def __call__(self) -> None:
        """Learn what others did, if anything, and deliver what was done here. Raises what the stores raise; with nothing
        lost, and to be tried again."""
        self.look()
        self.deliver()

    def look(self) -> None:
        """Learn what others did, if anything."""
        journal, ledger = self._stores.journal, self._stores.garage.ledger
        first, _ = journal.unshipped(1)
        if ledger.beyond(first - 1) or self._is_to_obey_again():
            self.pull()

    def meet(self) -> None:
        """The same without trusting that nothing was done: what was delivered before this was called is known here."""
        self.pull()
        self.deliver()
        if self._has_left_some():  # others were there meanwhile
            self()

    def pull(self, patience: float = FOREVER) -> None:
        """Fold what others have delivered. TimedOutError where other processes of this home are at it for longer than
        ``patience``."""
        with self._alone(patience):
            self._pull()

    def _is_to_obey_again(self) -> bool:
        return not is_obeyed(self._config) and time.monotonic() - self._obeyed_at >= OBEY_AGAIN

    def bring(self, fact: ContentKept) -> None:
        """Before a content is recorded for whose delivery somebody waits: what is large goes to the garage beside what others
        deliver. Raises what the garage raises, after ``garage.timeout`` seconds of silence at most."""
        if fact.place != Place.SPOOL:
            return
        key = waiting_key(fact.id, fact.sha256)
        self._brought.add(key)
        try:
            if put_waiting(self._stores, self._config.spool, fact):
                self._is_put(fact)
                if key not in self._brought:  # it was found there, and taken away: it is put again when it is delivered
                    self._sure.discard(key)
        finally:
            self._brought.discard(key)

    def left_waiting(self, name_id: int, sha256: str) -> None:
        """What was put there to be settled may not be needed: the name was removed, or written, meanwhile. Quick."""
        self._left.append((name_id, sha256))

    def accept(self, fact: ContentKept) -> None:
        """Deliver a fact that was just recorded, or take it back and raise: AwayError, TimedOutError, StoreError; within twice
        ``garage.timeout`` where the garage is silent, however many call at once. What could not be delivered in time may
        have been: then it is found to be this home's, and true, when the garage answers again."""
        step_aside()  # also where others have the turn
        try:
            self.deliver(self._config.garage_store.timeout)
        except KgfsError:
            if self._stores.journal.withdraw(fact) or self._stores.journal.unshipped(1)[1]:
                raise

    def deliver(self, patience: float = FOREVER) -> None:
        """The ledger has every fact, and the garage all bytes they speak of, that was recorded here before this was called.
        TimedOutError where others are at it for longer than ``patience``; who has none waits for no more than one attempt
        that hears nothing, be it another's."""
        is_to_clear = patience == FOREVER and self._has_left_some()
        if not (self._stores.journal.unshipped(1)[1] or is_to_clear):
            return
        overtaken, begun = 0, time.monotonic()
        with self._alone(patience):
            if patience != FOREVER and self._silence and self._silence[0] > begun:
                raise TimedOutError(self._silence[1])
            due = self._stores.journal.seq()  # beside writers it would never end
            later = Later(self._stores.journal)
            while overtaken < ATTEMPTS:
                first, entries = self._stores.journal.unshipped(AT_ONCE)
                if not entries:
                    self._take_left_away()
                    return
                self._put_waiting(entries)
                border("waiting-put")
                if any(OVERDUE in entry for entry in entries):
                    self._follow([])
                    due = self._stores.journal.seq()
                    continue
                try:
                    self._stores.garage.ledger.append(first, entries)
                except OvertakenError:
                    overtaken += 1
                    self._pull()
                    due = self._stores.journal.seq()
                    continue
                border("delivered")
                lost = self._keep_again(entries, first)
                try:
                    # Who is killed behind it finds them delivered, and goes on here.
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
        first, tail = self._stores.journal.unshipped(1 << 62)
        self._put_waiting(tail)
        self._is_behind |= bool(tail)  # it may be carried over to other names, or not at all
        for fact in map(decode, tail):
            if isinstance(fact, (VersionMinted, Settled)) and fact.sha256:
                self._may_wait(fact.id, fact.sha256)  # too, since it was settled
        news = self._stores.garage.ledger.replay(first - 1)
        own, mine, later = set(tail), spoken_of(tail), Later(self._stores.journal)
        # Each time the tail is carried over whole: of a long one as many at once, so that it is not as often as it is long.
        while entries := list(islice(news, max(AT_ONCE, len(tail)))):
            foreign = [entry for _, entry in entries if entry not in own]
            if mine and (both := mine & spoken_of(foreign)):  # others may have taken it away since
                self._sure.difference_update(waiting_key(*one) for one in both)
                self._put_waiting(tail)
            note_purges(self._config, self._stores, foreign, tail)
            delivered = [entry for _, entry in entries if entry in own]  # by an attempt that was cut off
            lost = self._keep_again(delivered, first)
            self._follow(entries)
            border("followed")
            self._tell_lost(lost)
            self._take_waiting_away(delivered, later, self._stores.journal.unshipped(1)[0] - 1)
        self._obey()

    def _obey(self) -> None:
        """What hinders it here, a full disk or a log that may not be written, keeps nothing else from going on: it is told once, and
        tried again when OBEY_AGAIN is over. Until then nobody is told that it is done (``acknowledge``)."""
        if self._is_hindered and time.monotonic() - self._obeyed_at < OBEY_AGAIN:
            return
        try:
            is_done = obey(self._config, self._stores, self._put, self._take_away)
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
            self._obeyed_at = -FOREVER  # as soon as what was done here is delivered

    def _follow(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """What is to be kept and nobody has is told as lost: a home that waited for it would stand still for ever, and could
        not be mounted any more."""
        journal = self._stores.journal
        written, gone = 0, set[str]()
        while written < ATTEMPTS:
            try:
                notes = journal.follow(entries, self._sure, gone)
            except NotKeptError as error:
                tail = journal.unshipped(1 << 62)[1]
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
        spoken = [fact for fact in map(decode, entries) if isinstance(fact, ContentKept) and fact.size]
        wanted = [fact for fact in spoken if fact.place in (Place.INBOX, Place.SPOOL)]
        new = [fact for fact in wanted if waiting_key(fact.id, fact.sha256) not in self._sure]
        for fact, put in zip(new, together(partial(self._is_had, put_waiting), new, PUTS_AT_ONCE), strict=True):
            if put:
                self._is_put(fact)

    def _is_had(self, have: Callable[[Stores, Path, ContentKept], bool], fact: ContentKept) -> bool:
        """What ``have`` says. Not where the bytes are damaged, which is told once: what was done is true without them, and
        nothing that is done after it, here and elsewhere, is to wait for them."""
        try:
            return have(self._stores, self._config.spool, fact)
        except RotError as error:
            key = waiting_key(fact.id, fact.sha256)
            if key not in self._rotten:
                self._rotten.add(key)
                self._errors.add("sharing", error, path=self._stores.journal.names.path(fact.id) or "")
            return False

    def _is_found(self, key: str, entries: Sequence[bytes]) -> bool:
        """Whether the garage has a content that these speak of, and that is not here any more."""
        for fact in (fact for fact in map(decode, entries) if isinstance(fact, ContentKept)):
            if waiting_key(fact.id, fact.sha256) == key and self._is_had(find_waiting, fact):
                self._is_put(fact)
                return True
        return False

    def _is_put(self, fact: ContentKept) -> None:
        # In this order: who takes away what was put is not sure of it from then on.
        self._sure.add(waiting_key(fact.id, fact.sha256))
        self._may_wait(fact.id, fact.sha256)

    def _may_wait(self, name_id: int, sha256: str) -> None:
        self._put.setdefault(name_id, set()).add(sha256)

    def _keep_again(self, entries: Sequence[bytes], first: int) -> list[str]:
        """Before these are known to be delivered, so that a kill in between costs nothing. Keys of originals of which nothing
        is left. Not of those that others have purged since, as the ledger has it behind the fact ``first``, which was delivered
        with these or before."""
        named = [
            fact
            for fact in map(decode, entries)
            if isinstance(fact, (VersionMinted, ConflictKept))
            or (isinstance(fact, (Settled, ContentKept)) and fact.place == Place.GARAGE)
        ]
        keys = list(dict.fromkeys(fact.key for fact in named if fact.sha256))
        there = dict(zip(keys, together(self._stores.garage.objects.exists, keys, ASKED_AT_ONCE), strict=True))
        gone = [(fact.id, fact.sha256, fact.key) for fact in named if fact.sha256 and not there[fact.key]]
        purged = purged_originals(self._stores, first - 1) if gone else set()
        return [
            key
            for name_id, sha256, key in gone
            if key not in purged and not keep_again(self._stores, self._config.spool, name_id, sha256, key)
        ]

    def _tell_lost(self, keys: Sequence[str]) -> None:
        """Not of those that were given up since, or purged: nothing promises them."""
        for key in keys:
            if self._stores.journal.promises(key):
                self._errors.add("sharing", StoreError(f"The garage has lost {key}. Run kgfs restore-garage."))

    def _take_waiting_away(self, entries: Sequence[bytes], later: Later, last: int) -> None:
        """Of what was settled or removed here, as the ledger knows now; what was written after that waits on, and so does what
        is delivered ``later``, behind the fact ``last``: until the ledger has that it is counted on, another home may give up
        where it was brought. Where others have delivered something behind ``last``, that is to be known first."""
        since: dict[int, set[str]] = {}
        needless: dict[tuple[int, str], None] = {}
        for fact in map(decode, reversed(entries)):
            if isinstance(fact, ContentKept):
                since.setdefault(fact.id, set()).add(fact.sha256)
                continue
            about = {name_id: self._put.get(name_id, set()) for name_id in leaving(fact)}
            if isinstance(fact, (VersionMinted, Settled)):
                # By another process of this home, perhaps.
                about = {fact.id: self._put.get(fact.id, set()) | ({fact.sha256} if fact.sha256 else set())}
            for name_id, contents in about.items():
                needless |= dict.fromkeys((name_id, one) for one in contents - since.get(name_id, set()))
        if not needless:
            return
        was_behind, self._is_behind = self._is_behind, True  # should the garage be away meanwhile
        if self._stores.garage.ledger.beyond(last):  # what others have delivered since may count on one of them
            for name_id, content in needless:
                self._may_wait(name_id, content)
            return
        later.look(last)
        self._take_away([one for one in needless if not later.speaks_of(*one, last)])
        self._is_behind = was_behind

    def _has_left_some(self) -> bool:
        """Whether something may wait in the garage that this process put there and nobody needs. Quick."""
        if self._left:
            return True
        if not self._put:
            return False
        return self._is_behind or (self._lock.exists() and self._lock.read_bytes() != self._mark)

    def _take_left_away(self) -> None:
        """The same of all that this process put, where another one of this home delivered what was done to it; everything
        is delivered."""
        while self._left:
            self._may_wait(*self._left.popleft())
            self._is_behind = True
        if not self._is_behind:
            return
        journal = self._stores.journal
        # In this order: what is written from here on is none of these, and what of them is settled by now was recorded by now.
        put = [(name_id, set(self._put[name_id])) for name_id in list(self._put)]
        names = {name_id: journal.names.name(name_id) for name_id, _ in put}
        first, own = journal.unshipped(1)
        if put and own:  # settled, or removed, since: that is to be delivered first
            return
        left = {name_id for name_id, name in names.items() if name is None or name.settled}
        if left:
            if self._stores.garage.ledger.beyond(first - 1):  # and this is to be known
                return
            self._take_away([(name_id, one) for name_id, contents in put if name_id in left for one in contents])
        self._is_behind = False

    def _take_away(self, needless: Sequence[Waiting]) -> None:
        for (name_id, sha256), _ in zip(needless, together(self._take_one_away, needless, ASKED_AT_ONCE), strict=True):
            put = self._put.get(name_id, set())
            put.discard(sha256)
            if not put:
                self._put.pop(name_id, None)

    def _take_one_away(self, one: Waiting) -> None:
        try:
            take_away(self._stores, *one)
        finally:
            # Behind it: who brings the same meanwhile is not sure of it then.
            self._brought.discard(waiting_key(*one))
            self._sure.discard(waiting_key(*one))
