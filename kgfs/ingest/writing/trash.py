"""The trash, which lists, restores and empties what was removed, and the chores that empty it in time.

``versions/`` promises the earlier bytes of every living path. The trash promises those of every path that was removed
less than ``trash_days`` ago. When neither promises an original any more, it is deleted from the garage. Its Readings
stay, so that the same bytes need no model when they are deposited again.

Every long-running process does the chores: it settles quiet paths, ships facts, empties the trash and watches the disk.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from kgfs.domain.names import decode_name, encode_name
from kgfs.errors import BadInputError, KgfsError, MissingError
from kgfs.ingest import timing
from kgfs.ingest.storing.content import delete_unheld, drop_notes, left_parts
from kgfs.ingest.storing.settle import Settler
from kgfs.ingest.writing import trash
from kgfs.ingest.writing.deposit import Deposits
from kgfs.ingest.writing.rules import check_path
from kgfs.stores.batched import batched
from kgfs.stores.catalog.facts import TrashEmptied, TrashRestored
from kgfs.stores.catalog.rows import Trashed
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.garage.prefix_links import tidy_prefixes
from kgfs.stores.part_notes import parts_under_way
from kgfs.stores.resolve import find_removed, removed_below
from kgfs.stores.resolve_targets import ontology_of
from kgfs.stores.stores import Stores

DAY = 86_400 * 10**9
"""Nanoseconds."""
BATCH = 500
"""Files that leave the trash in one fact."""
GIVEN_UP_BATCH = 64
"""Originals that are given up under one hold of the settle lock, which mostly takes a second or two."""


def listed(stores: Stores, removed_before: int = 2**63 - 1) -> Iterator[Trashed]:
    """Yield everything in the trash that was removed before that time (nanoseconds), in order of id."""
    after = 0
    while page := stores.catalog.names.trash(after, removed_before=removed_before):
        yield from page
        after = page[-1].id


def ontology_shown(stores: Stores, gone: Trashed) -> str:
    """Return the name of the ontology that a removed file was in, even if the ontology was removed too."""
    return ontology_of(stores.catalog.names, gone.ontology, gone.key).name


def find(stores: Stores, run: Path, words: str) -> Trashed:
    """Return the removed file with that id, or else the one that was removed last from that path.

    A path is one in a mount, ``Ontology/path`` or ``Ontology/documents/path``. Raise MissingError if there is none.
    """
    if re.fullmatch(r"[0-9]{1,19}", words) and (found := stores.catalog.names.trashed(int(words))):
        return found
    removed = find_removed(stores, run, words)
    if removed is None or removed.trashed is None:
        raise MissingError(f"The trash has nothing called '{words}'. See kgfs trash list for paths and ids.")
    return removed.trashed


def find_all(stores: Stores, run: Path, words: str) -> list[Trashed]:
    """Return the file that :func:`find` returns, or else every file removed below the folder or the ontology of that
    path.

    Of each path the file removed last is returned. Raise MissingError if there are none.
    """
    try:
        return [find(stores, run, words)]
    except MissingError:
        if below := removed_below(stores, run, words):
            return below
        raise


def restore(deposits: Deposits, stores: Stores, gone: Trashed, as_path: str = "") -> str:
    """Restore a removed file to its former path, or to ``as_path`` (``Ontology/path``); return that path.

    Missing folders are made, and so is the ontology that the file was in. Raise MissingError if ``as_path`` names
    another ontology that does not exist, BadInputError if it names no file, ExistsError if the path is taken,
    NotAFolderError if something on it is no folder. The file's knowledge is restored from its Reading, without a
    model.
    """
    ontology_name, parts = ontology_shown(stores, gone), tuple(gone.path.split("/"))
    if as_path:
        ontology_name, _, path = encode_name(os.fsencode(as_path)).partition("/")
        if not path.removeprefix("documents/"):
            raise BadInputError(f"--as '{as_path}' names no file. Give ONTOLOGY/PATH.")
        parts = check_path(os.fsdecode(decode_name(path.removeprefix("documents/"))))
    ontology = stores.catalog.names.ontology_named(ontology_name)
    if ontology is None and as_path and ontology_name != ontology_shown(stores, gone):
        known = ", ".join(sorted(one.name for one in stores.catalog.names.ontologies()))
        raise MissingError(f"--as '{as_path}': there is no ontology '{ontology_name}'. There are: {known or 'none'}.")
    if ontology is None:
        ontology = deposits.make_ontology(ontology_name, 0o755, os.getuid(), os.getgid())
    with deposits.settler.alone():
        parent = deposits.folder_below(ontology, parts[:-1])
        deposits.record(TrashRestored(gone.id, ontology.id, parent, parts[-1], time.time_ns()))
    waiting = stores.catalog.names.name(gone.id)
    if waiting is not None and not waiting.settled:
        deposits.settler.settle([waiting])
    return f"{ontology.name}/documents/{'/'.join(parts)}"


def empty(
    stores: Stores, settler: Settler, removed_before: int = 2**63 - 1, between: Callable[[], None] = lambda: None
) -> int:
    """Empty the trash of files removed before that time (nanoseconds), and give up originals that nothing promises
    any more.

    Return the number of files found in the trash. After a kill the next call goes on. ``between`` is called between
    batches, since many originals take minutes.
    """
    ids = [gone.id for gone in listed(stores, removed_before)]
    for some in batched(ids, BATCH):
        with settler.alone():
            now_there = [name_id for name_id in some if stores.catalog.names.trashed(name_id)]
            stores.catalog.record(TrashEmptied(tuple(now_there), time.time_ns()))
    drop_unheld(stores, settler, between)
    return len(ids)


def drop_unheld(stores: Stores, settler: Settler, between: Callable[[], None] = lambda: None) -> None:
    """Delete the originals that nothing promises any more from the garage, and parts that readings left which ended early.

    What a reading under way has put stays. The settle lock is taken per batch, so another process that wants to settle waits for one batch at most. ``between`` is called before
    each batch. Raise NoSpaceError or CorruptError, after everything else is done, where the disk has no room for
    what rests on one, or its bytes are rotten.
    """
    catalog = stores.catalog
    failed: KgfsError | None = None
    ended = left_parts(stores)
    noted = catalog.unheld()
    under_way = parts_under_way(stores) if noted else set()
    for some in batched((key for key in noted if key not in under_way), GIVEN_UP_BATCH):
        between()
        with settler.alone():
            failed = delete_unheld(stores, settler.config.spool, some, ()) or failed
    if ended:
        with settler.alone():
            drop_notes(stores, ended)
    if failed is not None:
        raise failed


class Chores:
    """Run the background work that is due. Call the object often; a call with nothing due is quick. One thread.

    An error of a store is logged, and the work is tried again later. It ends nothing: the bytes are durable already,
    and a full disk must not end the process by which people delete files.
    """

    def __init__(
        self,
        stores: Stores,
        settler: Settler,
        errors: ErrorLog,
        request: Path,
        *,
        trash_days: int,
        ship: Callable[[], object],
        is_current: Callable[[], bool] = lambda: True,
        reserve: DiskReserve | None = None,
    ) -> None:
        """``request`` is a file: touching it requests settling at once. ``ship`` delivers facts to the ledger.
        Nothing that is kept is removed before ``is_current`` returns True, which says that no fact is missing here.
        ``reserve`` is filled where it lacks bytes. ``trash_days`` is in days."""
        self._stores = stores
        self._ship_now = ship
        self._is_current = is_current
        self._settler = settler
        self._trouble = Trouble(errors, "chores")
        self._request = request
        self._answered = 0
        self._next_ship = 0.0
        self._ship_failed = False
        """Whether the last attempt to ship failed."""
        self._settling_failed = False
        """Whether settling failed while the trash was emptied, in the present call."""
        self._trash_days = trash_days
        self._next_trash = 0.0
        self._next_prefixes = 0.0
        self._next_room = 0.0
        self._reserve = reserve
        self._next_fill = 0.0
        self._resting_until = 0.0

    def __call__(self) -> None:
        if time.monotonic() < self._resting_until:
            return
        self._settling_failed = False
        try:
            self._leave_room()
            self._fill_reserve()
            self._settle()
            self._ship()
            self._empty_trash()
            self._tidy_prefixes()
            if not (self._ship_failed or self._settling_failed):
                self._trouble.over()
        except KgfsError as error:
            self._trouble.met(error)
            self._resting_until = time.monotonic() + timing.CHORE_RETRY

    def _settle(self) -> None:
        asked = self._request.stat().st_mtime_ns if self._request.exists() else 0
        if asked > self._answered:
            self._answered = asked
            self._settler.settle_now(self._ship_meanwhile)
        else:
            self._settler.run_once(time.time_ns(), self._ship_meanwhile, sweep=self._is_current())

    def _leave_room(self) -> None:
        if time.monotonic() >= self._next_room:
            self._next_room = time.monotonic() + timing.DISK_SPACE_POLL
            self._stores.garage.objects.leave_room()

    def _fill_reserve(self) -> None:
        if self._reserve is not None and time.monotonic() >= self._next_fill:
            self._next_fill = time.monotonic() + timing.RESERVE_POLL
            self._reserve.fill()

    def _ship(self) -> None:
        if time.monotonic() >= self._next_ship:
            self._ship_failed = True
            self._ship_now()
            self._ship_failed = False
            self._next_ship = time.monotonic() + timing.SHIP_EVERY

    def _empty_trash(self) -> None:
        if time.monotonic() >= self._next_trash and self._is_current():
            self._next_trash = time.monotonic() + timing.TRASH_EVERY
            removed_before = time.time_ns() - self._trash_days * trash.DAY
            trash.empty(self._stores, self._settler, removed_before, self._meanwhile)

    def _tidy_prefixes(self) -> None:
        if time.monotonic() >= self._next_prefixes and self._is_current():
            self._next_prefixes = time.monotonic() + timing.PREFIXES_EVERY
            before = time.time_ns() - timing.PREFIXES_MADE_NS
            tidy_prefixes(self._stores.garage.objects, self._settler.alone, before)

    def _meanwhile(self) -> None:
        """Settle and ship between two batches of originals that are given up, so that neither waits for thousands of
        them."""
        try:
            self._settle()
        except KgfsError as error:
            self._settling_failed = True
            self._trouble.met(error)
        self._ship_meanwhile()

    def _ship_meanwhile(self) -> None:
        try:
            self._ship()
        except KgfsError as error:
            self._trouble.met(error)
            self._next_ship = time.monotonic() + timing.CHORE_RETRY
