"""The keys and file paths of a garage's objects, and listings in order of key.

The object ``a/b/<name>`` is the file ``a/b/@<first two characters of name>/<name>``, in a shard. What was derived
from one document is little: it stands in the folders of its key without a shard, ``readings/<doc_id>/<name>``, since
each folder takes a block of the disk. Checksums of an object are in the file ``<name>@sums`` beside it. No key
contains ``@``, so the names of shards, of checksum files and of the folder of temporary files never collide with an
object or a part of a key.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.errors import BadInputError, NameTooLongError

if TYPE_CHECKING:
    from kgfs.stores.garage.contract import Objects

MAX_KEY = 1024
"""The maximal length of a key in characters. It is the limit of S3, so that every garage can hold every key."""

MAX_PART = 240
"""The maximal length of one part of a key in characters: the 255 of a file name less what a garage on files adds."""

OWN = ("readings", "decisions", "records", "vectors", "texts")
"""Folders of the garage with objects of a document beside its original; each has one subfolder per document."""

_PART = re.compile(r"[A-Za-z0-9._~%+-]+")

TEMPORARY = "@tmp"
"""The name of the folder of temporary files. It is longer than the name of any shard."""

_SUMS = "@sums"

_OF_A_DOCUMENT = re.compile(r"(readings|records|decisions|texts|vectors)/[0-9a-f]{16}")
"""The folders whose objects are in no shard."""


def object_path(root: Path, key: str) -> Path:
    """Return the file of an object."""
    return Path(object_file(str(root), key))


def object_file(root: str, key: str) -> str:
    """Return the file of an object as a string, for callers that read many small objects: making a Path takes
    long."""
    *folders, name = check_key(key)
    folder = "/".join(folders)
    above = f"{root}/{folder}" if folder else root
    return f"{above}/{name}" if _OF_A_DOCUMENT.fullmatch(folder) else f"{above}/@{name[:2]}/{name}"


def key_of_file(below: Path) -> str:
    """Return the key of the object whose file is at ``below``, relative to the root."""
    return "/".join(part for part in below.parts if not part.startswith("@"))


def sums_path(path: Path) -> Path:
    """Return the file of the checksums of the object at ``path``."""
    return Path(sums_file(str(path)))


def sums_file(path: str) -> str:
    """Return the file of the checksums of the object at ``path``, as a string."""
    return path + _SUMS


def check_folder(folder: str) -> str:
    """Return the folder of keys as it was given, '' for the top level. Raise BadInputError if the name is not
    valid."""
    if folder:
        check_key(folder)
    return folder


def names_below(root: str, folder: str) -> Iterator[str]:
    """Yield the names of the objects directly below a folder of the garage, and those of folders with a trailing
    ``/``.

    The names come in any order. A name whose object or folder no longer exists may be among them.
    """
    top = f"{root}/{folder}" if folder else root
    plain = _plain(top, folder)
    yield from plain
    for entry in _scan(top):
        if entry.startswith("@"):
            if entry != TEMPORARY:
                yield from (name for name in _scan(f"{top}/{entry}") if not name.endswith(_SUMS))
        elif entry not in plain and not entry.endswith(_SUMS):
            yield f"{entry}/"


def _plain(top: str, folder: str) -> list[str]:
    """Return, in order, the names of the objects that are in a folder of the garage without a shard."""
    if not _OF_A_DOCUMENT.fullmatch(folder):
        return []
    try:
        with os.scandir(top) as entries:
            return sorted(one.name for one in entries if one.is_file() and not one.name.endswith(_SUMS))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _scan(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  # strings, for speed
    except (FileNotFoundError, NotADirectoryError):
        return []


def walk(folder: Path, base: str, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield (key, size in bytes) of the objects in and below ``folder``, in order of key.

    ``base`` is the common beginning of their keys. Only keys that start with ``prefix`` are yielded. The names of one
    shard are in memory at a time.
    """
    names = sorted(_names(folder))
    shards = [name[1:] for name in names if name.startswith("@") and name != TEMPORARY]
    objects = (found for shard in shards if _may_hold(base + shard, prefix) for found in _objects(folder, base, shard))
    plain = _plain(str(folder), base.removesuffix("/"))
    others = (name for name in names if name not in plain and not name.startswith("@") and not name.endswith(_SUMS))
    folders = sorted((f"{base}{name}/", -1) for name in others)
    for key, size in heapq.merge(objects, _sizes(folder, base, plain), folders):
        if size >= 0:
            if key.startswith(prefix):
                yield key, size
        elif _may_hold(key, prefix):
            yield from walk(folder / key[len(base) : -1], key, prefix)


def _objects(folder: Path, base: str, shard: str) -> Iterator[tuple[str, int]]:
    below = folder / f"@{shard}"
    return _sizes(below, base, [name for name in sorted(_names(below)) if not name.endswith(_SUMS)])


def _sizes(folder: Path, base: str, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    for name in names:
        try:
            yield base + name, (folder / name).stat().st_size
        except FileNotFoundError:
            continue  # deleted after it was listed


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []  # deleted after it was listed, or a stray file that no put made


def _may_hold(start: str, prefix: str) -> bool:
    """Return whether a key that starts with ``start`` can start with ``prefix``."""
    return start.startswith(prefix) or prefix.startswith(start)


def check_key(key: str) -> tuple[str, ...]:
    """Return the parts of a key.

    Raise BadInputError if the key is not valid (see :class:`~kgfs.stores.garage.contract.Objects`), and
    NameTooLongError if the key or one of its parts is too long.
    """
    parts = tuple(key.split("/"))
    for part in parts:
        if not _PART.fullmatch(part) or part in (".", ".."):
            raise BadInputError(f"{key!r} is no garage key: its part {part!r} is not allowed.")
    if len(key) > MAX_KEY or max(map(len, parts)) > MAX_PART:
        raise NameTooLongError(f"{key!r} is too long for a garage key ({MAX_KEY} characters, {MAX_PART} a part).")
    return parts


def objects_of(objects: Objects, doc_id: str) -> list[str]:
    """Return the keys of what was derived from a document. Makes one listing for each folder."""
    return [key for kind in OWN for key, _ in objects.keys(f"{kind}/{doc_id}/")]
