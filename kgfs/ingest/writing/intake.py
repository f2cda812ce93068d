"""Ingest files from outside without a mount: read each once, keep it, and settle it at once, alone or in batches."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kgfs.domain.documents import Name, NameKind, Ontology, StorageTier
from kgfs.domain.identity import new_id
from kgfs.errors import (
    BadInputError,
    BusyError,
    DuplicateError,
    ExistsError,
    IsAFolderError,
    KgfsError,
    MissingError,
    NoSpaceError,
    NotAFolderError,
    from_os_error,
)
from kgfs.failpoints import border
from kgfs.ingest.storing.content import SMALL, Memory
from kgfs.ingest.writing.rules import check_path
from kgfs.stores.catalog.facts import ContentKept, Fact, FileMade, Moved
from kgfs.stores.garage.contract import BLOCK, Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.spool_file import SpoolFile

if TYPE_CHECKING:
    from kgfs.ingest.storing.identify import Decision
    from kgfs.ingest.writing.deposit import Deposits

T = TypeVar("T")

TOGETHER = 64
"""Files that are decided about, and made durable, in one batch."""
WAITING = 64 * 1024 * 1024
"""Bytes of a batch that are in the spool at most, not counting its last file."""
ATTEMPTS = 5
"""How often a deposit is tried when another process changes the same names meanwhile."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of one deposit."""

    path: str
    """The path below documents/, encoded."""
    doc_id: str
    """Empty when the file became no Document."""
    decision: str
    """A value of ``identify.Action``."""
    reason: str
    """One clause for people."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """The bytes of a source, in memory or in the spool, with its mode and mtime (nanoseconds)."""

    content: Memory | SpoolFile
    sums: Sums
    mode: int
    mtime: int


def take_in(
    deposits: Deposits, ontology: Ontology, source: Path, as_path: str, progress: Callable[[int], None], *, force: bool
) -> Ingested:
    """Deposit ``source`` at ``as_path`` below the ontology's documents/, with its mtime and permissions.

    Missing folders are made. A file at the path is replaced as by a rename: handles that have it open keep its bytes,
    and the history of the path goes on. The result is durable when this returns. ``progress`` is called with the size
    in bytes of each piece that was read. ``force`` reads known bytes again.

    BadInputError: the path leaves documents/, or the source is no ordinary file or cannot be read. IsAFolderError,
    NotAFolderError: a folder is in the way, or something else is where a folder is needed. MissingError: the source
    is not there (any more). BusyError: the path is being written. FileTooLargeError: the source is longer than
    ``tree.max_file``. NoSpaceError: the home is full, and nothing was kept. DuplicateError: the ontology has these bytes
    under another path and allows each content once; nothing was changed.
    """
    names = check_path(as_path)

    def deposit(taken: _Taken) -> Ingested:
        name = _placed(deposits, ontology, names, taken)
        decision = deposits.settler.decide([name], again=True, force=force).get(name.id)
        if decision is None:
            raise BusyError(f"'{'/'.join(names)}' in {ontology.name} is being written. Try again when that is done.")
        return _ingested(deposits, name, names, decision)

    return _with_bytes(deposits, source, progress, deposit)


def take_in_many(
    deposits: Deposits,
    ontology: Ontology,
    sources: Iterable[tuple[Path, str]],
    progress: Callable[[int], None],
    *,
    force: bool,
) -> Iterator[tuple[Path, Ingested | KgfsError]]:
    """Deposit each source at the path beside it as :func:`take_in` does, but decide about :data:`TOGETHER` files at a
    time.

    Yield (source, result). A file's deposit is durable when its result is yielded. An error is yielded as the result
    of its file, and the others go on. After a kill the files that were kept are settled by the next process that
    settles.
    """
    kept: dict[str, tuple[Path, Name]] = {}
    for source, path in sources:
        waiting = sum(name.size for _, name in kept.values())
        if path in kept or len(kept) == TOGETHER or waiting > WAITING:
            yield from _decided(deposits, ontology, kept, force=force)
            kept = {}
        try:
            if deposits.duplicates.refused:  # whether it is a duplicate depends on the decisions before
                yield source, take_in(deposits, ontology, source, path, progress, force=force)
                continue
            placed = partial(_placed, deposits, ontology, check_path(path))
            name = _with_bytes(deposits, source, progress, placed)
        except KgfsError as error:
            yield source, error
            continue
        kept[path] = (source, name)
    yield from _decided(deposits, ontology, kept, force=force)


def _decided(
    deposits: Deposits,
    ontology: Ontology,
    kept: dict[str, tuple[Path, Name]],
    *,
    force: bool,
) -> Iterator[tuple[Path, Ingested | KgfsError]]:
    try:
        decisions = deposits.settler.settle([name for _, name in kept.values()], again=True, force=force)
    except KgfsError:
        decisions = {}  # each file alone shows which of them causes the error
    for path, (source, name) in kept.items():
        try:
            if decision := decisions.get(name.id):
                yield source, _ingested(deposits, name, check_path(path), decision)
            else:
                yield source, take_in(deposits, ontology, source, path, lambda size: None, force=force)
        except KgfsError as error:
            yield source, error


def _with_bytes(deposits: Deposits, source: Path, progress: Callable[[int], None], do: Callable[[_Taken], T]) -> T:
    """Return what ``do`` returns for the bytes of ``source``, called under the settle lock.

    ``do`` is called up to :data:`ATTEMPTS` times if another process changes the same names in between.
    """
    try:
        with _taken(deposits, source, progress) as taken:
            for attempt in range(ATTEMPTS):
                try:
                    with deposits.settler.alone():
                        return do(taken)
                except DuplicateError:
                    raise
                except (BusyError, ExistsError, MissingError):
                    if attempt == ATTEMPTS - 1:
                        raise
    except NoSpaceError as error:
        raise NoSpaceError(
            f"{source} was not kept: no space left where the home stands. Free some and repeat."
        ) from error
    raise AssertionError("unreachable")


def _placed(deposits: Deposits, ontology: Ontology, names: tuple[str, ...], taken: _Taken) -> Name:
    """Return the name that has these bytes at this path from now on. The name may have had them before."""
    catalog = deposits.copies.stores.catalog
    parent = folder_at(deposits, ontology, names[:-1])
    standing = catalog.names.child(parent, names[-1])
    if standing is not None and standing.kind is NameKind.FOLDER:
        raise IsAFolderError(f"'{'/'.join(names)}' is a folder in {ontology.name}. Choose another path with --as.")
    sha256 = taken.sums.sha256 if taken.sums.size else ""
    if standing is not None and standing.kind is NameKind.FILE and standing.sha256 == sha256:
        return standing
    return _keep(deposits, ontology, parent, "/".join(names), standing, taken)


def _ingested(deposits: Deposits, name: Name, names: tuple[str, ...], decision: Decision) -> Ingested:
    settled = deposits.copies.stores.catalog.names.name(name.id)
    return Ingested("/".join(names), settled.doc_id if settled else "", decision.action.value, decision.reason)


def folder_at(deposits: Deposits, ontology: Ontology, names: tuple[str, ...]) -> int:
    """Return the id of the folder at that path, made where it is missing: see ``Deposits.folder_below``."""
    folder = ontology.root
    for name in names:
        found = deposits.copies.stores.catalog.names.child(folder, name)
        if found is None:
            found = deposits.make_folder(folder, name, 0o755, os.getuid(), os.getgid())
        if found.kind is not NameKind.FOLDER:
            raise NotAFolderError(f"'{name}' in {ontology.name} is not a folder. Choose another path with --as.")
        folder = found.id
    return folder


def _keep(deposits: Deposits, ontology: Ontology, parent: int, path: str, standing: Name | None, taken: _Taken) -> Name:
    """Record a new name with the bytes in place of the name that is there, in one transaction."""
    name = path.rpartition("/")[2]
    made, now, sums = new_id(), time.time_ns(), taken.sums
    owner = (os.getuid(), os.getgid())
    coming = _coming(ontology, parent, made, path, taken)
    deposits.duplicates.check(coming, path, standing.id if standing else 0, alone=True)
    first_name = name if standing is None else f".kgfs-{made:x}"
    place, key, sha256 = StorageTier.NONE, "", sums.sha256 if sums.size else ""
    inbox: dict[str, bytes] = {}
    if isinstance(taken.content, SpoolFile):
        place, key = StorageTier.SPOOL, taken.content.path.name
        deposits.copies.remember(sums)
    elif sums.size:
        place, inbox = StorageTier.INBOX, {sha256: taken.content.read_at(0, sums.size)}
    facts: list[Fact] = [
        FileMade(made, ontology.id, parent, first_name, taken.mode, *owner, now),
        ContentKept(made, sha256, sums.size, place, key, taken.mtime, now),
    ]
    if standing is not None:
        facts.append(Moved(made, ontology.id, parent, name, standing.id, now))
    if isinstance(taken.content, SpoolFile):
        taken.content.hold()
    try:
        deposits.record_soon(*facts, inbox=inbox, leaving=standing)  # the decision that follows makes them durable
    except KgfsError:
        # After a failed sync the facts may be recorded all the same. Then the spool file belongs to the name.
        if isinstance(taken.content, SpoolFile) and deposits.copies.stores.catalog.names.name(made) is None:
            taken.content.fixed = 0
        raise
    if isinstance(taken.content, SpoolFile):
        taken.content.let_go()
    border("kept")
    if standing is not None:
        deposits.copies.leave(standing)
    return deposits.name(made)


def _coming(ontology: Ontology, parent: int, made: int, path: str, taken: _Taken) -> Name:
    """Return the row that the new name will have."""
    size, sha256, at = taken.sums.size, taken.sums.sha256, taken.mtime
    owned = (taken.mode, os.getuid(), os.getgid(), at, at, at)
    last = path.rpartition("/")[2]
    return Name(made, ontology.id, parent, last, NameKind.FILE, *owned, size=size, sha256=sha256 if size else "")


@contextmanager
def _taken(deposits: Deposits, source: Path, progress: Callable[[int], None]) -> Iterator[_Taken]:
    """Read the source once, and yield its bytes. A spool file that no fact refers to in the end is deleted."""
    descriptor = _open(source)
    content: Memory | SpoolFile = Memory()
    try:
        about = os.fstat(descriptor)
        deposits.copies.check_size(about.st_size)
        while piece := _read(descriptor, source):
            if isinstance(content, Memory) and content.size + len(piece) > SMALL:
                small = content.read_at(0, content.size)
                content = SpoolFile.make(deposits.copies.fresh_path())
                content.write_at(0, small)
            content.write_at(content.size, piece)
            progress(len(piece))
        if isinstance(content, SpoolFile):
            content.sync()
            sums = content.sums()
        else:
            sums = sums_of(content.read_at(0, content.size))
        yield _Taken(content, sums, stat.S_IMODE(about.st_mode) & 0o777, about.st_mtime_ns)
    finally:
        os.close(descriptor)
        content.close()
        if isinstance(content, SpoolFile) and not content.fixed:
            content.path.unlink(missing_ok=True)


def check_source(source: Path) -> None:
    """Raise what :func:`take_in` raises for a source that is absent, is no ordinary file or may not be read."""
    os.close(_open(source))


def _open(source: Path) -> int:
    try:
        # Without O_NONBLOCK the opening of a pipe would wait for a writer.
        descriptor = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(source, error) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise BadInputError(
            f"{source} is a folder, and has no transcripts of Claude Code or Codex. Give the files in it, as in"
            f" 'find {source} -type f', or keep an ontology in step with it: kgfs ingest --watch."
        )
    raise BadInputError(f"{source} is not an ordinary file (a pipe, socket or device).")


def _read(descriptor: int, source: Path) -> bytes:
    try:
        return os.read(descriptor, BLOCK)
    except OSError as error:
        raise _unreadable(source, error) from error


def _unreadable(source: Path, error: OSError) -> KgfsError:
    if error.errno == errno.ENOENT:
        if source.is_symlink():
            return MissingError(f"{source} is a symbolic link that points to nothing.")
        return MissingError(f"{source}: no such file.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG):
        refused = BadInputError(f"{source} cannot be read: {error.strerror}.")
        refused.errno = error.errno
        return refused
    return from_os_error(error, f"Reading {source}")
