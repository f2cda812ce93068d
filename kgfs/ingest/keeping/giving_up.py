"""Objects that leave a garage which homes share: another home may count on one of them at any moment.

A copy of each stands aside until it is certain that nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

from kgfs.config import Config
from kgfs.errors import KgfsError, MissingError, RotError
from kgfs.failpoints import border
from kgfs.ingest.keeping.place import duplicate
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.hosts import host_id
from kgfs.stores.journal.encoding import decode_if
from kgfs.stores.journal.facts import ContentKept, ForgettingDone
from kgfs.stores.portions import portions
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import LEAVING, WAITING, copies_leaving, is_awaited, waiting_key

AT_ONCE = 8
CONCLUDED_AT_ONCE = 64
"""Objects that stand aside and are put back, or let go of, while nobody settles."""


class GivingUp:
    """Of one home, whose caller keeps everybody in it from settling, but for :meth:`conclude`, which does so by ``alone``."""

    def __init__(self, stores: Stores, config: Config) -> None:
        self._stores = stores
        self._config = config
        self._errors = ErrorLog(config.errors_log)
        self.aside = f"{LEAVING}{host_id(config)}/"
        """Before the key of an original that is set aside."""

    def has_left_some(self) -> bool:
        """Whether something stands aside."""
        return any(True for _ in self._stores.garage.objects.keys(self.aside))

    def conclude(
        self, alone: Callable[[], AbstractContextManager[None]], between: Callable[[], None] = lambda: None
    ) -> bool:
        """Put back what stands aside and is counted on by now, and let go of the rest: what was taken out, and what one had set
        aside that was killed. While it is not certain yet that a purge holds, nothing is done, and False returned. Whoever wants
        to settle waits for one portion at most; ``between`` is called before each."""
        left = [key.removeprefix(self.aside) for key, _ in self._stores.garage.objects.keys(self.aside)]
        for keys in portions(left, CONCLUDED_AT_ONCE):
            between()
            with alone():
                if is_purge_unconfirmed(self._stores):
                    return False
                self._conclude(keys)
        return True

    def _conclude(self, keys: Sequence[str]) -> None:
        stores, objects = self._stores, self._stores.garage.objects
        with ThreadPoolExecutor(AT_ONCE, "kgfs-giving-up") as several:
            wanted = _wanted(stores, keys, stores.journal.confirmed())
            vouched = several.map(lambda key: _may_be_wanted(stores, self.aside + key, key), keys)
            wanted |= {key for key, is_vouched in zip(keys, vouched, strict=True) if is_vouched}
            needless = [key for key in keys if key not in wanted or self.bring_back(key)]
            list(several.map(objects.delete, [self.aside + key for key in needless]))

    def take_out(self, made: Sequence[str], originals: Sequence[str]) -> None:
        """Delete what is purged: ``originals``, with what other homes have set aside of them, and what was ``made`` of them.
        :meth:`conclude` ends that once the ledger has the purge, or another home has made it void by depositing the same bytes
        first. Who does so later finds the originals gone, as :meth:`give_up` tells. What is rotten is not to come back."""
        keys = [*made, *originals]
        with ThreadPoolExecutor(AT_ONCE, "kgfs-giving-up") as several:
            found = dict(zip(keys, several.map(self._set_aside, keys), strict=True))
            list(several.map(self._stores.garage.objects.delete, [key for key in keys if found[key] is not False]))
            list(several.map(self._take_over, originals))

    def _take_over(self, key: str) -> None:
        """What other homes have set aside of an original stands aside here: it may be all that is left. Of two homes that do so at
        once one lets the other's be, which is its own to conclude."""
        for copy in self._set_aside_elsewhere(key):
            try:
                self._copied(copy, self.aside + key)
            except RotError as error:
                self._errors.add("trash", error, key=copy)
            if copy < self.aside:
                self._stores.garage.objects.delete(copy)

    def _set_aside_elsewhere(self, key: str) -> list[str]:
        return [copy for copy in copies_leaving(self._stores.garage.objects, key) if not copy.startswith(self.aside)]

    def give_up(self, keys: Sequence[str], known: int) -> None:
        """Delete those that nothing promised when the ledger was known up to the fact ``known``. Another home may count on one
        of them at any moment: it finds the object there, and says so in the ledger. So a copy stands aside until the ledger
        was read behind the deletion: who had said so by then has the object back from that copy. Who says so later
        looks for the object after that, so behind the deletion, and has the bytes elsewhere until it has looked
        (``wait_too``, ``keep_again``). What has no copy is not deleted, for it was absent: if it is there by now, another home
        has deposited it since. Killed or stopped anywhere, the copy is still there. What is rotten stays, and stays noted."""
        stores, objects = self._stores, self._stores.garage.objects
        wanted = _wanted(stores, keys, known)
        leaving = [key for key in keys if key not in wanted]
        with ThreadPoolExecutor(AT_ONCE, "kgfs-giving-up") as several:
            found = dict(zip(leaving, several.map(self._set_aside, leaving), strict=True))
            border("original-aside")
            copied = [key for key in leaving if found[key]]
            list(several.map(objects.delete, copied))
            border("original-gone")
            wanted = _wanted(stores, keys, known)
            kept = {key for key in copied if key in wanted and not self.bring_back(key)}
            border("original-back")
            list(several.map(lambda key: objects.delete(self.aside + key), set(copied) - kept))
        stores.journal.drop_unheld([key for key in keys if key not in wanted and found.get(key) is not None])

    def bring_back(self, key: str) -> bool:
        """Whether the original is there as it was; else it is told as lost."""
        lost: KgfsError = MissingError(f"{key}: it is counted on again, and the copy that was set aside is gone.")
        for copy in self._copies_of(key):
            try:
                if self._copied(copy, key):
                    return True
            except RotError as error:
                lost = error
        self._errors.add("trash", lost, key=key)
        return False

    def _copies_of(self, key: str) -> Iterator[str]:
        """Where one of an original may stand aside. A purge by another home may have taken over what stood here, and what stands
        here may have rotted."""
        yield self.aside + key
        yield from self._set_aside_elsewhere(key)

    def _copied(self, present: str, key: str) -> bool:
        return duplicate(self._stores, self._config.spool, present, key)

    def _set_aside(self, key: str) -> bool | None:
        """False where it is absent, None where it is rotten, which is told."""
        try:
            return self._copied(key, self.aside + key)
        except RotError as error:
            self._errors.add("trash", error, key=key)
            return None


def _wanted(stores: Stores, keys: Sequence[str], known: int) -> set[str]:
    """Those that are promised, or that the ledger speaks of behind the fact ``known``: nothing promises one anew without a
    fact that names it. What was a conflict may be a file's again, which waits to be settled; such facts name file and
    content."""
    entries = [entry for _, entry in stores.garage.ledger.replay(known)]
    news = b"\n".join(entries)
    wanted = {key for key in keys if key.encode() in news or stores.journal.promises(key)}
    if waiting := {key for key in keys if key.startswith(WAITING)}:
        written = (fact for entry in entries if (fact := decode_if(entry, ContentKept)))
        wanted |= waiting.intersection(waiting_key(fact.id, fact.sha256) for fact in written)
        wanted |= {key for key in waiting if is_awaited(stores.journal, key)}
    return wanted


def is_purge_unconfirmed(stores: Stores) -> bool:
    """Whether one was carried out that the ledger has not got yet."""
    told = (decode_if(entry, ForgettingDone) for entry in stores.journal.unshipped(1 << 62)[1])
    return any(fact is not None and fact.purge for fact in told)


def _may_be_wanted(stores: Stores, left: str, key: str) -> bool:
    """Where a Document vouches for it: not where that was purged since."""
    top, _, rest = key.partition("/")
    if top != "sources":
        return stores.journal.names.document(rest.partition("/")[0]) is not None
    try:
        sha256 = stores.garage.objects.stat(left).sha256
    except (MissingError, RotError):
        return False
    found = [stores.journal.names.document_with(one.id, sha256) for one in stores.journal.names.ontologies()]
    return any(document is not None and document.key == key for document in found)
