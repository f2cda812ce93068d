"""The trash: what was removed, put back or emptied.

``versions/`` promises the earlier bytes of every path that stands, and the trash those of every path that was removed
less than ``trash_days`` ago. When neither promises them any more, originals leave the garage; Readings stay, so that the
same bytes, deposited again, need no model.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from kgfs.domain.documents import Name, NameKind, Ontology
from kgfs.domain.names import decode_name, encode_name
from kgfs.errors import BadInputError, MissingError, NotAFolderError
from kgfs.failpoints import border
from kgfs.ingest.depositing.deposit import Deposits
from kgfs.ingest.depositing.rules import check_path
from kgfs.ingest.keeping.content import only_in_garage
from kgfs.ingest.keeping.giving_up import GivingUp
from kgfs.ingest.keeping.settle import Settler
from kgfs.stores.found import ontology_of
from kgfs.stores.journal.contract_names import Trashed
from kgfs.stores.journal.facts import TrashEmptied, TrashRestored
from kgfs.stores.naming import find_removed, removed_below
from kgfs.stores.portions import portions
from kgfs.stores.stores import Stores

DAY = 86_400 * 10**9
AT_ONCE = 500
"""Files that leave the trash in one fact."""
GIVEN_UP_AT_ONCE = 64
"""Originals that leave while nobody settles: a second or two, mostly. Where homes share a garage they stand aside at once."""


def listed(stores: Stores, removed_before: int = 2**63 - 1) -> Iterator[Trashed]:
    """All that the trash holds, by id."""
    after = 0
    while page := stores.journal.names.trash(after, removed_before=removed_before):
        yield from page
        after = page[-1].id


def ontology_shown(stores: Stores, gone: Trashed) -> str:
    """The name of the ontology it was in, also of one that was removed."""
    return ontology_of(stores.journal.names, gone.ontology, gone.key).name


def find(stores: Stores, run: Path, words: str) -> Trashed:
    """Return the file of that id, or that was removed last from that path: one in a mount, or ``Ontology/path``
    (``Ontology/documents/path``). MissingError if there is none."""
    if re.fullmatch(r"[0-9]{1,19}", words) and (found := stores.journal.names.trashed(int(words))):
        return found
    removed = find_removed(stores, run, words)
    if removed is None or removed.trashed is None:
        raise MissingError(f"The trash has nothing called '{words}'. See kgfs trash list for paths and ids.")
    return removed.trashed


def find_all(stores: Stores, run: Path, words: str) -> list[Trashed]:
    """Return the file that :func:`find` finds, or else all that were removed below the folder or the ontology of that path:
    of each path the last. MissingError if there are none."""
    try:
        return [find(stores, run, words)]
    except MissingError:
        if below := removed_below(stores, run, words):
            return below
        raise


def restore(deposits: Deposits, stores: Stores, gone: Trashed, as_path: str = "") -> str:
    """Put it back where it was, or at ``Ontology/path``; that path. Folders that are missing are made, so is the
    ontology it was in; MissingError if another one does not exist. ExistsError if something stands there. Its knowledge
    comes back from its Reading, without a model."""
    ontology_name, parts = ontology_shown(stores, gone), tuple(gone.path.split("/"))
    if as_path:
        ontology_name, _, path = encode_name(os.fsencode(as_path)).partition("/")
        if not path.removeprefix("documents/"):
            raise BadInputError(f"--as '{as_path}' names no file. Give ONTOLOGY/PATH.")
        parts = check_path(os.fsdecode(decode_name(path.removeprefix("documents/"))))
    ontology = stores.journal.names.ontology_named(ontology_name)
    if ontology is None and as_path and ontology_name != ontology_shown(stores, gone):
        known = ", ".join(sorted(one.name for one in stores.journal.names.ontologies()))
        raise MissingError(f"--as '{as_path}': there is no ontology '{ontology_name}'. There are: {known or 'none'}.")
    if ontology is None:
        ontology = deposits.make_ontology(ontology_name, 0o755, os.getuid(), os.getgid())
    with deposits.settler.alone():
        parent = _folder(deposits, stores, ontology, parts[:-1])
        deposits.record(TrashRestored(gone.id, ontology.id, parent, parts[-1], time.time_ns()))
    border("trash-restored")
    waiting = stores.journal.names.name(gone.id)
    if waiting is not None and not waiting.settled:
        deposits.settler.settle([waiting])
    return f"{ontology.name}/documents/{'/'.join(parts)}"


def _folder(deposits: Deposits, stores: Stores, ontology: Ontology, parts: Sequence[str]) -> int:
    folder = ontology.root
    for part in parts:
        found: Name | None = stores.journal.names.child(folder, part)
        if found is None:
            found = deposits.make_folder(folder, part, 0o755, os.getuid(), os.getgid())
        if found.kind is not NameKind.FOLDER:
            raise NotAFolderError(f"'{part}' in {ontology.name} is not a folder. Choose another path with --as.")
        folder = found.id
    return folder


def empty(
    stores: Stores, settler: Settler, removed_before: int = 2**63 - 1, between: Callable[[], None] = lambda: None
) -> int:
    """Give up what was removed before that time (nanoseconds), and what nothing promises any more; how many files.
    Killed in the middle, the next call goes on. ``between`` is called now and then, since many originals take minutes."""
    ids = [gone.id for gone in listed(stores, removed_before)]
    for some in portions(ids, AT_ONCE):
        with settler.alone():
            now_there = [name_id for name_id in some if stores.journal.names.trashed(name_id)]
            stores.journal.record(TrashEmptied(tuple(now_there), time.time_ns()))
    border("trash-emptied")
    drop_unheld(stores, settler, between)
    return len(ids)


def drop_unheld(stores: Stores, settler: Settler, between: Callable[[], None] = lambda: None) -> None:
    """Originals that were promised and are no more leave the garage. Where homes share it, not before what this one did is
    delivered. Whoever wants to settle waits for one portion of them at most."""
    journal, objects = stores.journal, stores.garage.objects
    giving = GivingUp(stores, settler.config) if journal.sharing else None
    if giving is not None:
        giving.conclude(settler.alone, between)
    for some in portions(journal.unheld(), GIVEN_UP_AT_ONCE):
        between()
        with settler.alone():
            keys = journal.unheld(some)
            if giving is None:
                # Where homes share the garage such bytes wait in it, too.
                coming = {sha256[:32] for sha256 in only_in_garage(stores, settler.config.spool)}
                keys = [key for key in keys if key.rpartition("/")[2].partition(".")[0] not in coming]
                for key in keys:
                    objects.delete(key)
                journal.drop_unheld(keys)
                continue
            known = journal.confirmed()
            if not journal.unshipped(1)[1]:  # else some are unheld by what may be taken back
                giving.give_up(keys, known)
