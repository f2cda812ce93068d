"""The pending uploads of one process: bytes of unsettled files that it put into a shared garage, until nothing needs them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import StorageTier
from kgfs.errors import CorruptError
from kgfs.sharing import timing, waiting
from kgfs.sharing.later import Later, Waiting, spoken_of
from kgfs.sharing.left_uploads import LeftUploads, RecentKeys
from kgfs.sharing.parallel_map import together
from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ContentKept, Settled, VersionMinted
from kgfs.stores.catalog.sharing.unpublished import leaving
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.hosts import is_left_behind
from kgfs.stores.pending_uploads import waiting_key
from kgfs.stores.stores import Stores

PUT_CONCURRENCY = 8
"""Contents that are put into the garage at the same time."""
ASK_CONCURRENCY = 16
"""Objects that are looked for, or deleted, at the same time. A batch may refer to a thousand objects, and the server
may be far away. This is half of the connections that are kept open, so that some are left for readers."""


class Uploads:
    """The pending uploads of one process. :meth:`bring`, :meth:`left_waiting`, :meth:`end_grace` and :meth:`has_left_some` may be called
    by any thread; the others by the thread that holds the lock of this home's exchange, except :meth:`tidy`, which one
    thread calls."""

    def __init__(self, config: Config, stores: Stores, grace: float) -> None:
        self._config = config
        self._stores = stores
        self._errors = ErrorLog(config.errors_log)
        self.put: dict[int, set[str]] = {}
        """By name: contents (SHA-256) that this process put into the garage, to be deleted later."""
        self.sure = RecentKeys(timing.UPLOAD_SURE)
        """Keys of those that certainly exist, while they are new. It is cleared when another process of this home has
        had the lock, since that may have deleted some."""
        self._grace = grace
        """Seconds for which readers in other homes may find a content that nothing needs any more."""
        self._needless_since: dict[Waiting, float] = {}
        """Since when (monotonic seconds) this process knows that nothing but such readers needs one."""
        self._brought: set[str] = set()
        """Keys of those that are being put by threads without the lock, except those that the holder of the lock has
        deleted since."""
        self._left_uploads = LeftUploads(config, stores)
        self._left = deque[Waiting]()
        """Those that other threads of this process put and that may not be needed."""
        self._rotten: set[str] = set()
        """Keys of those whose bytes are damaged; each was logged once."""
        self._is_behind = False
        """Whether some may have been settled or removed without this process deleting them."""
        self._read_on = deque[tuple[float, str]]()
        """When (monotonic seconds) one that other homes need no more is forgotten again, and its key: who had opened
        it may have read it meanwhile."""
        self._is_untidy = True
        """Whether the inbox may have rows that nothing needs any more."""

    def others_acted(self) -> None:
        """Note that another process of this home had the lock meanwhile."""
        self.sure.clear()
        self._is_behind = True

    def to_rebase(self, tail: Sequence[bytes]) -> None:
        """Put the contents of these unpublished facts, and note that the rebase may give them to other names, or drop them."""
        self.put_waiting(tail)
        self._is_behind |= bool(tail)
        for fact in map(decode, tail):
            if isinstance(fact, (VersionMinted, Settled)) and fact.sha256:
                self._may_wait(fact.id, fact.sha256)  # its upload too, since it was settled

    def put_again(self, contents: Iterable[Waiting], tail: Sequence[bytes]) -> None:
        """Put the contents of these unpublished facts; count on none of ``contents``, which another home may have deleted."""
        self.sure.discard(*(waiting_key(*one) for one in contents))
        self.put_waiting(tail)

    def left_behind(self) -> list[str]:
        """Return the keys that killed processes and departed homes left in the garage. Only a process that stays looks for any."""
        return self._left_uploads.found() if self._grace else []

    def delete_left_behind(self, key: str) -> None:
        """Delete an object that was left in the garage, unless it is somebody's by now."""
        if is_left_behind(self._stores, key):
            self._stores.garage.objects.delete(key)
            self._brought.discard(key)
            self.sure.discard(key)

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
            if waiting.put_waiting(self._stores, self._config.spool, fact):
                self._is_put(fact)
                if key not in self._brought:  # it was deleted meanwhile: it is put again when its fact is delivered
                    self.sure.discard(key)
        finally:
            self._brought.discard(key)

    def end_grace(self) -> None:
        """Keep nothing for readers in other homes any more: this process is about to end. Quick."""
        self._grace = 0.0

    def left_waiting(self, name_id: int, sha256: str) -> None:
        """Note that a pending upload may not be needed: its name was removed or written meanwhile. Quick."""
        self._left.append((name_id, sha256))

    def waited_for(self, foreign: Sequence[bytes]) -> set[Waiting]:
        """Return the contents whose pending uploads may be needless once these facts of other homes are followed."""
        names, found = self._stores.catalog.names, spoken_of(foreign)
        for fact in map(decode, foreign):
            about = (fact.id, *leaving(fact)) if isinstance(fact, ContentKept) else leaving(fact)
            rows = [row for name_id in about if (row := names.name(name_id))]
            found |= {(row.id, row.sha256) for row in rows if row.sha256}
        self._is_untidy |= bool(foreign)
        return found

    def forget_cached(self, waited: set[Waiting]) -> None:
        """Remove from the local cache the pending uploads that other homes need no more: they delete the objects."""
        for name_id, sha256 in waited:
            name, key = self._stores.catalog.names.name(name_id), waiting_key(name_id, sha256)
            awaited = name is not None and name.sha256 == sha256 and name.place is not StorageTier.GARAGE
            if not (awaited or self._stores.catalog.promises(key)):
                self._stores.garage.objects.forget(key)
                self._read_on.append((time.monotonic() + 2 * timing.UPLOAD_GRACE, key))

    def tidy(self) -> None:
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

    def put_waiting(self, entries: Sequence[bytes]) -> None:
        """Put the contents that these unpublished facts refer to into the garage as pending uploads, unless they
        certainly are there."""
        spoken = [fact for fact in map(decode, entries) if isinstance(fact, ContentKept) and fact.size]
        wanted = [fact for fact in spoken if fact.place in (StorageTier.INBOX, StorageTier.SPOOL)]
        new = [fact for fact in wanted if waiting_key(fact.id, fact.sha256) not in self.sure]
        for fact, put in zip(
            new, together(partial(self._is_had, waiting.put_waiting), new, PUT_CONCURRENCY), strict=True
        ):
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

    def is_found(self, key: str, entries: Sequence[bytes]) -> bool:
        """Return whether the garage has the pending upload ``key``, which one of these facts refers to and which is
        not on this machine any more."""
        for fact in (fact for fact in map(decode, entries) if isinstance(fact, ContentKept)):
            if waiting_key(fact.id, fact.sha256) == key and self._is_had(waiting.find_waiting, fact):
                self._is_put(fact)
                return True
        return False

    def _is_put(self, fact: ContentKept) -> None:
        """Note that a pending upload exists."""
        # In this order: a thread that deletes what is in ``put`` removes it from ``sure`` afterwards.
        self.sure.add(waiting_key(fact.id, fact.sha256))
        self._may_wait(fact.id, fact.sha256)

    def _may_wait(self, name_id: int, sha256: str) -> None:
        """Note that a pending upload may exist, so that it is deleted later."""
        self.put.setdefault(name_id, set()).add(sha256)

    def take_settled_away(self, entries: Sequence[bytes], later: Later, last: int) -> None:
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
            about = {name_id: self.put.get(name_id, set()) for name_id in leaving(fact)}
            if isinstance(fact, (VersionMinted, Settled)):
                # Another process of this home may have put its upload.
                about = {fact.id: self.put.get(fact.id, set()) | ({fact.sha256} if fact.sha256 else set())}
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
        self.take_away(ripe)
        self._is_behind = was_behind or len(ripe) < len(unspoken)

    def _is_ripe(self, one: Waiting) -> bool:
        """Return whether the grace of a pending upload is over that is not needed for settling."""
        now = time.monotonic()
        return now - self._needless_since.setdefault(one, now) >= self._grace

    def has_left_some(self, others_acted: Callable[[], bool]) -> bool:
        """Return whether the garage may have a pending upload that this process put and nothing needs. Quick."""
        return bool(self._left) or (bool(self.put) and (self._is_behind or others_acted()))

    def take_left_away(self) -> None:
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
        put = [(name_id, set(self.put[name_id])) for name_id in list(self.put)]
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
            self.take_away(ripe)
        self._is_behind = len(ripe) < len(needless)

    def take_away(self, needless: Sequence[Waiting]) -> None:
        """Delete these pending uploads, several at the same time, and forget them."""
        for (name_id, sha256), _ in zip(
            needless, together(self._take_one_away, needless, ASK_CONCURRENCY), strict=True
        ):
            put = self.put.get(name_id, set())
            put.discard(sha256)
            if not put:
                self.put.pop(name_id, None)

    def _take_one_away(self, one: Waiting) -> None:
        try:
            waiting.take_away(self._stores, *one)
        finally:
            self._needless_since.pop(one, None)
            # After the deletion: a thread that uploads the same content meanwhile then does not count on it.
            self._brought.discard(waiting_key(*one))
            self.sure.discard(waiting_key(*one))
