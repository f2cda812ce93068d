"""Objects as ordinary files, byte for byte as they were put. See :mod:`.listing` for their paths."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import closing
from io import FileIO
from pathlib import Path
from stat import S_ISREG

from kgfs.errors import CorruptError, ExistsError, MissingError
from kgfs.stores.garage.contract import BLOCK, GarageEntry, Reader, Sums
from kgfs.stores.garage.durable import KEPT_MODE, make_folder, os_errors, staged, sweep, sync_folder, sync_in_place
from kgfs.stores.garage.listing import (
    TEMPORARY,
    check_folder,
    names_below,
    object_file,
    object_path,
    sums_file,
    sums_path,
    walk,
)
from kgfs.stores.garage.reader import FileReader, end_of_span
from kgfs.stores.garage.sums import decode_sums, encode_sums, is_named_by, may_be_named_by_hash, sums_of
from kgfs.stores.locks import locked_folder

_REPAIR = "Run kgfs check --deep --repair."
_HASH = re.compile(r"[0-9a-f]{32,64}")

SELF_PROVED = 64 * 1024
"""Bytes up to which an object has no checksums beside it if digits in its name are the beginning of its SHA-256: a file
of its own for them would take as much of the disk as many a small object."""


class FileObjects:
    """Objects in files of mode 0400 below ``root``, in folders of mode 0700.

    A put syncs the object and its checksums under temporary names. Then it takes the lock of the shard, renames the
    checksums, renames the object and syncs the shard. So a visible object always has its checksums. A kill leaves at
    most temporary files, which are swept when they are a day old, or checksums without an object, which no reader
    looks at and the next put replaces. Readers take no lock.

    An object of at most SELF_PROVED bytes whose name has the beginning of its SHA-256 is put without checksums. Whenever
    it is opened, all of it is read and held against the name.

    Missing or corrupt checksums of other objects are recomputed only if a hash proves the bytes: the object's name begins
    with 32 or more digits of their SHA-256, or the same content is put again. In all other cases the access raises
    CorruptError.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._top = str(root)
        self._temporary = root / TEMPORARY
        self._durable = {root}
        with os_errors(f"opening the garage {root}"):
            make_folder(root)
            make_folder(self._temporary)
            sweep(self._temporary)

    def put(self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False) -> Sums:
        with os_errors(f"keeping {key}"):
            while True:
                path = object_path(self._root, key)
                if not path.is_file():
                    sums, placed = self._place(object_path(self._root, key), content, sums, move)
                    if placed:
                        return sums
                    continue
                sums = sums or sums_of(content)
                try:
                    file, kept = self._open(key, sums)
                except MissingError:
                    continue
                with closing(file):
                    if kept.sha256 != sums.sha256:
                        raise ExistsError(f"{key}: another content is kept under this key.")
                    if _is_whole(key, file, kept):
                        # The process that put it may have been killed before the name was durable.
                        self._make_durable(path.parent)
                        sync_folder(path.parent)
                        if move and isinstance(content, Path):
                            content.unlink(missing_ok=True)
                        return sums
                    # The stored object is corrupt and the caller may give up its own copy, which may be the last
                    # intact one.
                    sums, placed = self._place(path, content, sums, move, over=file)
                    if placed:
                        return sums

    def stat(self, key: str) -> Sums:
        with os_errors(f"looking at {key}"):
            file, sums = self._open(key)
            file.close()
        return sums

    def exists(self, key: str) -> bool:
        with os_errors(f"looking at {key}"):
            return object_path(self._root, key).is_file()

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        with closing(self.open(key)) as reader:
            return reader.read_at(start, max(0, end_of_span(reader.sums.size, start, length) - start))

    def open(self, key: str) -> Reader:
        with os_errors(f"opening {key}"):
            return FileReader(key, *self._open(key))

    def cached(self, key: str, sha256: str, size: int) -> bytes | None:
        """Return the whole object if it is in the page cache and has this SHA-256 and size, else None.

        The caller's hash proves the bytes, so the stored checksums are not read.
        """
        try:
            descriptor = os.open(object_file(self._top, key), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # open() reports the reason
            return None
        # One byte more detects appended bytes.
        buffer = bytearray(size + 1)
        try:
            found = os.preadv(descriptor, [buffer], 0, os.RWF_NOWAIT)
        except OSError:  # not in the page cache, or the kernel cannot tell
            return None
        finally:
            os.close(descriptor)
        del buffer[found:]
        return bytes(buffer) if found == size and hashlib.sha256(buffer).hexdigest() == sha256 else None

    def delete(self, key: str) -> bool:
        with os_errors(f"deleting {key}"):
            return _delete(object_path(self._root, key))

    def has_sums(self, key: str) -> bool:
        path = object_path(self._root, key)
        if sums_path(path).exists():
            return True
        try:
            return may_be_named_by_hash(path.name) and path.stat().st_size <= SELF_PROVED
        except FileNotFoundError:
            return False

    def salvage(self, key: str) -> bytes:
        with os_errors(f"reading {key}"):
            try:
                return object_path(self._root, key).read_bytes()
            except FileNotFoundError:
                raise MissingError(f"{key}: no such object.") from None

    def sweep(self, begun_before: float | None = None) -> None:
        with os_errors(f"clearing {self._temporary}"):
            for path in list(self._temporary.iterdir()):
                if begun_before is None or path.stat().st_mtime < begun_before:
                    path.unlink(missing_ok=True)

    def left_over(self) -> Iterator[tuple[str, float]]:
        """Return an empty iterator: opening the garage removes temporary files that are a day old."""
        return iter(())

    def forget(self, key: str) -> None:
        """Do nothing: the garage on files has no cache."""

    def leave_room(self) -> None:
        """Do nothing: the garage on files has no cache."""

    def keys(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield (key, size of the file in bytes), in order of key. Objects that are put or deleted meanwhile may be
        listed or not."""
        with os_errors(f"listing {prefix}*"):
            yield from walk(self._root, "", prefix)

    def names(self, folder: str = "") -> list[str]:
        with os_errors(f"listing {folder}"):
            return sorted(names_below(self._top, check_folder(folder)))

    def entry(self, path: str) -> GarageEntry:
        with os_errors(f"looking at {path}"):
            try:
                found = os.stat(object_file(self._top, path))  # noqa: PTH116  # a string, for speed
                if S_ISREG(found.st_mode):
                    return GarageEntry(False, found.st_size, found.st_mtime_ns)
            except FileNotFoundError:
                pass
            try:
                return GarageEntry(True, 0, os.stat(f"{self._top}/{path}").st_mtime_ns)  # noqa: PTH116
            except FileNotFoundError:
                raise MissingError(f"{path}: neither an object nor a folder.") from None

    # ------------------------------------------------------------------------------------- writing

    def _place(
        self, path: Path, content: bytes | Path, sums: Sums | None, move: bool, over: FileIO | None = None
    ) -> tuple[Sums, bool]:
        """Store the content at ``path``, and return its checksums and whether it is in place now.

        False means that another writer was quicker. ``over`` is the open file that stands there and is to be
        replaced.
        """
        # A file with a second hard link could still be changed through that link, so it is copied.
        if move and isinstance(content, Path) and content.stat().st_nlink == 1:
            sums = sums or sums_of(content)
            sync_in_place(content, sums)
            try:
                return sums, self._publish(path, content, sums, over)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
        with staged(self._temporary, content, sums) as (copy, sums):
            placed = self._publish(path, copy, sums, over)
        if placed and move and isinstance(content, Path):
            content.unlink(missing_ok=True)
        return sums, placed

    def _publish(self, path: Path, source: Path, sums: Sums, over: FileIO | None) -> bool:
        """Rename the durable file ``source`` to ``path``. Return False if another file than ``over`` has that
        name, or ``over`` has it no more."""
        self._make_durable(path.parent)
        if sums.size <= SELF_PROVED and is_named_by(path.name, sums.sha256):
            with locked_folder(path.parent) as shard:
                if not sums_path(path).exists():  # else they are those of an earlier file, and are replaced
                    return self._rename(path, source, over, shard)
        with staged(self._temporary, encode_sums(sums)) as (sums_copy, _), locked_folder(path.parent) as shard:
            return self._rename(path, source, over, shard, sums_copy)

    def _rename(self, path: Path, source: Path, over: FileIO | None, shard: int, sums_copy: Path | None = None) -> bool:
        """Do the renames of :meth:`_publish` under the lock of the shard, and sync it."""
        if not _has_name(over, str(path)) if over else path.is_file():
            return False
        if sums_copy:
            sums_copy.rename(sums_path(path))
        source.rename(path)
        path.chmod(KEPT_MODE)
        os.fsync(shard)
        return True

    def _make_durable(self, folder: Path) -> None:
        """Make sure that the folder exists and its name is durable. Only the first call for a folder costs a sync."""
        if folder in self._durable:
            return
        self._make_durable(folder.parent)
        make_folder(folder)
        self._durable.add(folder)

    # ------------------------------------------------------------------------------------- reading

    def _open(self, key: str, known: Sums | None = None) -> tuple[FileIO, Sums]:
        """Return the open file of an object and its checksums.

        ``known`` are those of the content that is being put, whose SHA-256 proves the bytes if the checksums are lost.
        Raise MissingError if the object is absent, CorruptError if its checksums are lost, or it has none, and nothing
        proves the bytes.
        """
        while True:
            path = object_file(self._top, key)
            try:
                file = FileIO(path)
            except (FileNotFoundError, IsADirectoryError):
                raise MissingError(f"{key}: no such object.") from None
            try:
                sums = _read_sums(sums_file(path))
                # After a delete and another put in between, these would be the checksums of another file.
                if _has_name(file, path):
                    sums = sums or _by_name(path, file, known) or self._prove(key, Path(path), file, known)
                    if sums:
                        return file, sums
            except BaseException:
                file.close()
                raise
            file.close()

    def _prove(self, key: str, path: Path, file: FileIO, known: Sums | None) -> Sums | None:
        """Recompute and store lost checksums. Return None if the object was deleted meanwhile."""
        try:
            sums = sums_of(path)
        except FileNotFoundError:
            return None
        name = path.name.partition(".")[0]
        if not (known and sums.sha256 == known.sha256) and not (_HASH.fullmatch(name) and sums.sha256.startswith(name)):
            if sums.size <= SELF_PROVED and may_be_named_by_hash(path.name):
                raise CorruptError(f"{key}: its name proves that it is not what was kept. {_REPAIR}")
            raise CorruptError(f"{key}: its sums are lost and nothing proves its bytes. Run kgfs check --repair.")
        with staged(self._temporary, encode_sums(sums)) as (copy, _), locked_folder(path.parent) as shard:
            if not _has_name(file, str(path)):
                return None
            copy.rename(sums_path(path))
            os.fsync(shard)
        return sums


def _delete(path: Path) -> bool:
    """Delete an object's file and its checksums, and return whether it existed. Durable when this returns."""
    if not path.is_file():
        return False
    with locked_folder(path.parent) as shard:
        existed = path.is_file()
        # Remove the object first: checksums without an object are ignored, the reverse looks like corruption.
        path.unlink(missing_ok=True)
        sums_path(path).unlink(missing_ok=True)
        os.fsync(shard)
    return existed


def _is_whole(key: str, file: FileIO, sums: Sums) -> bool:
    """Return whether the bytes of the open file match ``sums``. Read the whole file."""
    reader = FileReader(key, file, sums)
    try:
        for start in range(0, sums.size, BLOCK):
            reader.read_at(start, BLOCK)
    except CorruptError:
        return False
    return os.fstat(file.fileno()).st_size == sums.size


def _by_name(path: str, file: FileIO, known: Sums | None) -> Sums | None:
    """Return the checksums of a small object whose name proves its bytes, else None.

    Where the bytes are rotten, and the name is that of the content with the checksums ``known``, return these.
    """
    name = path.rpartition("/")[2]
    if not may_be_named_by_hash(name):
        return None
    raw = os.pread(file.fileno(), SELF_PROVED + 1, 0)
    if len(raw) <= SELF_PROVED and is_named_by(name, (found := sums_of(raw)).sha256):
        return found
    return known if known and known.size <= SELF_PROVED and is_named_by(name, known.sha256) else None


def _read_sums(path: str) -> Sums | None:
    try:
        with FileIO(path) as file:
            return decode_sums(file.readall())
    except FileNotFoundError:
        return None


def _has_name(file: FileIO, path: str) -> bool:
    """Return whether the open file is still the one at ``path``. While a file is open its inode number is not
    reused."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))  # noqa: PTH116  # a string, for speed
    except FileNotFoundError:
        return False
