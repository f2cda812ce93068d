"""Two-phase deletion of objects from a shared garage.

Another home may come to rely on an object at any moment. So a backup copy of each object is kept under ``leaving/``
until it is certain that no home relies on the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from kgfs.config import Config
from kgfs.errors import CorruptError, KgfsError, MissingError
from kgfs.failpoints import border
from kgfs.stores.batched import batched
from kgfs.stores.catalog.encoding import decode_if
from kgfs.stores.catalog.facts import ContentKept, ForgettingDone
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.hosts import host_id
from kgfs.stores.object_copies import duplicate
from kgfs.stores.pending_uploads import LEAVING, WAITING, copies_leaving, is_awaited, waiting_key
from kgfs.stores.stores import Stores

CONCURRENCY = 8
"""Requests that are under way at the same time."""
CONCLUDED_BATCH = 64
"""Backup copies that are restored or deleted in one batch, under one hold of the settle lock."""


class TwoPhaseDelete:
    """The two-phase deletions of one home.

    The caller holds the settle lock of the home during every call, except for :meth:`conclude`, which takes the lock
    itself by ``alone``, and :meth:`has_left_some`, which needs none.
    """

    def __init__(self, stores: Stores, config: Config) -> None:
        self._stores = stores
        self._config = config
        self._errors = ErrorLog(config.errors_log)
        self.aside = f"{LEAVING}{host_id(config)}/"
        """The prefix of this home's backup copies. The key of the original follows it."""

    def has_left_some(self) -> bool:
        """Return whether this home has any backup copy left. Asks the garage."""
        return any(True for _ in self._stores.garage.objects.keys(self.aside))

    def conclude(
        self, alone: Callable[[], AbstractContextManager[None]], between: Callable[[], None] = lambda: None
    ) -> bool:
        """Restore each object that is relied on by now from its backup copy, and delete the other backup copies.

        This ends what :meth:`take_out` began, and what a killed process left. While the ledger does not have a purge
        yet that was carried out here, nothing more is done and False is returned; else True. ``alone`` takes the
        settle lock. It is taken anew for each batch of :data:`CONCLUDED_BATCH` objects, so another process that
        wants to settle waits for one batch at most. ``between`` is called before each batch, without the lock.
        """
        left = [key.removeprefix(self.aside) for key, _ in self._stores.garage.objects.keys(self.aside)]
        for keys in batched(left, CONCLUDED_BATCH):
            between()
            with alone():
                if is_purge_unconfirmed(self._stores):
                    return False
                self._conclude(keys)
        return True

    def _conclude(self, keys: Sequence[str]) -> None:
        stores, objects = self._stores, self._stores.garage.objects
        with ThreadPoolExecutor(CONCURRENCY, "kgfs-giving-up") as several:
            wanted = _wanted(stores, keys, stores.catalog.confirmed())
            vouched = several.map(lambda key: _may_be_wanted(stores, self.aside + key, key), keys)
            wanted |= {key for key, is_vouched in zip(keys, vouched, strict=True) if is_vouched}
            needless = [key for key in keys if key not in wanted or self.bring_back(key)]
            list(several.map(objects.delete, [self.aside + key for key in needless]))

    def take_out(self, made: Sequence[str], originals: Sequence[str]) -> None:
        """Delete purged objects: ``originals`` and ``made``, the objects that were derived from them.

        A backup copy of each stays, and backup copies of the originals that other homes have are taken over.
        :meth:`conclude` deletes them once the ledger has the purge, or restores them where another home has made the
        purge void by depositing the same bytes first. A home that deposits them later finds the originals gone, as
        :meth:`give_up` describes. A rotten object is deleted without a backup copy, since it must not come back.
        """
        keys = [*made, *originals]
        with ThreadPoolExecutor(CONCURRENCY, "kgfs-giving-up") as several:
            found = dict(zip(keys, several.map(self._set_aside, keys), strict=True))
            list(several.map(self._stores.garage.objects.delete, [key for key in keys if found[key] is not False]))
            list(several.map(self._take_over, originals))

    def _take_over(self, key: str) -> None:
        """Copy the backup copies of an original that other homes have to this home's prefix, since they may be all
        that is left of it.

        If two homes do so at the same time, only one of them deletes the copy of the other, so one copy is left; its
        owner concludes it.
        """
        for copy in self._set_aside_elsewhere(key):
            try:
                self._copied(copy, self.aside + key)
            except CorruptError as error:
                self._errors.add("trash", error, key=copy)
            if copy < self.aside:
                self._stores.garage.objects.delete(copy)

    def _set_aside_elsewhere(self, key: str) -> list[str]:
        return [copy for copy in copies_leaving(self._stores.garage.objects, key) if not copy.startswith(self.aside)]

    def give_up(self, keys: Sequence[str], known: int) -> None:
        """Delete the objects ``keys``, which nothing promised when the ledger was known up to the fact ``known``.

        Another home may come to rely on one of them at any moment: it finds the object in the garage, and records
        that in the ledger. So a backup copy stays until this home has read the ledger once more, after the deletion.
        If a fact that names the object was there by then, the object is restored from the copy. A home that records
        such a fact later looks for the object after that, hence after the deletion, and has the bytes elsewhere until
        it has looked (``wait_too``, ``keep_again``).

        An object without a backup copy is not deleted, for it was absent: if it is there by now, another home has
        deposited it since. After a kill at any point the copy is still there. A rotten object stays, and stays in the
        list of unheld originals. Raises what the garage raises.
        """
        stores, objects = self._stores, self._stores.garage.objects
        wanted = _wanted(stores, keys, known)
        leaving = [key for key in keys if key not in wanted]
        with ThreadPoolExecutor(CONCURRENCY, "kgfs-giving-up") as several:
            found = dict(zip(leaving, several.map(self._set_aside, leaving), strict=True))
            border("original-aside")
            copied = [key for key in leaving if found[key]]
            for key, is_gone in zip(copied, several.map(self._deleted, copied), strict=True):
                found[key] = is_gone or None
            border("original-gone")
            wanted = _wanted(stores, keys, known)
            kept = {key for key in copied if key in wanted and not self.bring_back(key)}
            border("original-back")
            list(several.map(lambda key: objects.delete(self.aside + key), set(copied) - kept))
        stores.catalog.drop_unheld([key for key in keys if key not in wanted and found.get(key) is not None])

    def _deleted(self, key: str) -> bool:
        """Delete an object. Return False if it stays because earlier versions rest on it that are rotten (then log it)."""
        try:
            self._stores.garage.objects.delete(key)
        except CorruptError as error:
            self._errors.add("trash", error, key=key)
            return False
        return True

    def bring_back(self, key: str) -> bool:
        """Restore an original from a backup copy; return whether it is there. If no sound copy is found, log the loss
        and return False."""
        lost: KgfsError = MissingError(f"{key}: it is counted on again, and the copy that was set aside is gone.")
        for copy in self._copies_of(key):
            try:
                if self._copied(copy, key):
                    return True
            except CorruptError as error:
                lost = error
        self._errors.add("trash", lost, key=key)
        return False

    def _copies_of(self, key: str) -> Iterator[str]:
        """Yield the keys at which a backup copy of an original may be, this home's first.

        Another home that purged it may have taken over this home's copy, and this home's copy may be rotten.
        """
        yield self.aside + key
        yield from self._set_aside_elsewhere(key)

    def _copied(self, present: str, key: str) -> bool:
        return duplicate(self._stores, self._config.spool, present, key)

    def _set_aside(self, key: str) -> bool | None:
        """Make a backup copy of an object. Return True if there is one, False if the object is absent, None if it is
        rotten (then log it)."""
        try:
            return self._copied(key, self.aside + key)
        except CorruptError as error:
            self._errors.add("trash", error, key=key)
            return None


def _wanted(stores: Stores, keys: Sequence[str], known: int) -> set[str]:
    """Return those of ``keys`` that are promised here, or that a fact of the ledger after ``known`` names.

    Nothing promises an object anew without a fact that names its key. Pending uploads are the exception: a content
    that was a conflict may become a file's again, which waits to be settled. Such facts name file and content, from
    which the key is derived. Reads the ledger.
    """
    entries = [entry for _, entry in stores.garage.ledger.replay(known)]
    news = b"\n".join(entries)
    wanted = {key for key in keys if key.encode() in news or stores.catalog.promises(key)}
    if waiting := {key for key in keys if key.startswith(WAITING)}:
        written = (fact for entry in entries if (fact := decode_if(entry, ContentKept)))
        wanted |= waiting.intersection(waiting_key(fact.id, fact.sha256) for fact in written)
        wanted |= {key for key in waiting if is_awaited(stores.catalog, key)}
    return wanted


def is_purge_unconfirmed(stores: Stores) -> bool:
    """Return whether this home has carried out a purge that the ledger does not have yet."""
    facts = (decode_if(entry, ForgettingDone) for entry in stores.catalog.unshipped(1 << 62)[1])
    return any(fact is not None and fact.purge for fact in facts)


def _may_be_wanted(stores: Stores, left: str, key: str) -> bool:
    """Return whether a known Document vouches for the object ``key``, whose backup copy is ``left``. It does not
    after it was purged."""
    top, _, rest = key.partition("/")
    if top != "sources":
        return stores.catalog.names.document(rest.partition("/")[0]) is not None
    try:
        sha256 = stores.garage.objects.stat(left).sha256
    except (MissingError, CorruptError):
        return False
    found = [stores.catalog.names.document_with(one.id, sha256) for one in stores.catalog.names.ontologies()]
    return any(document is not None and document.key == key for document in found)
