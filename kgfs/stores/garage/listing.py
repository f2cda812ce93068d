"""Where the files of a garage stand, and walking them in order of key.

The object ``a/b/<name>`` is the file ``a/b/@<first two of name>/<name>``, its sums stand beside it in ``<name>@sums``.
No key contains ``@``, so shards, sums and the folder of temporary files never meet an object or a part of a key.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from pathlib import Path

from kgfs.stores.garage.keys import check_key

TEMPORARY = "@tmp"
"""No shard has so long a name."""

_SUMS = "@sums"


def object_path(root: Path, key: str) -> Path:
    return Path(object_file(str(root), key))


def object_file(root: str, key: str) -> str:
    """The same for those who read many small ones, for whom making paths is long."""
    *folders, name = check_key(key)
    return "/".join((root, *folders, f"@{name[:2]}", name))


def key_of_file(below: Path) -> str:
    """The key of the object whose file stands at ``below`` the root."""
    return "/".join(part for part in below.parts if not part.startswith("@"))


def sums_path(path: Path) -> Path:
    return Path(sums_file(str(path)))


def sums_file(path: str) -> str:
    return path + _SUMS


def check_folder(folder: str) -> str:
    """A folder of keys as it was given, '' for the top; BadInputError if none can be called so."""
    if folder:
        check_key(folder)
    return folder


def names_below(folder: str) -> Iterator[str]:
    """Names of objects directly below a folder of the garage, and with ``/`` those of folders, in any order. A name that
    leads to nothing any more may be among them."""
    for entry in _scan(folder):
        if not entry.startswith("@"):
            yield f"{entry}/"
        elif entry != TEMPORARY:
            yield from (name for name in _scan(f"{folder}/{entry}") if not name.endswith(_SUMS))


def _scan(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  # strings, for speed
    except (FileNotFoundError, NotADirectoryError):
        return []


def walk(folder: Path, base: str, prefix: str) -> Iterator[tuple[str, int]]:
    """(key, size) of the objects in and below ``folder``, whose keys start with ``base``, in order of key. One shard's
    names are in memory at a time."""
    names = sorted(_names(folder))
    shards = [name[1:] for name in names if name.startswith("@") and name != TEMPORARY]
    objects = (found for shard in shards if _may_hold(base + shard, prefix) for found in _objects(folder, base, shard))
    folders = ((f"{base}{name}/", -1) for name in names if not name.startswith("@"))
    for key, size in heapq.merge(objects, sorted(folders)):
        if size >= 0:
            if key.startswith(prefix):
                yield key, size
        elif _may_hold(key, prefix):
            yield from walk(folder / key[len(base) : -1], key, prefix)


def _objects(folder: Path, base: str, shard: str) -> Iterator[tuple[str, int]]:
    for name in sorted(_names(folder / f"@{shard}")):
        if name.endswith(_SUMS):
            continue
        try:
            yield base + name, (folder / f"@{shard}" / name).stat().st_size
        except FileNotFoundError:
            continue  # deleted since it was listed


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []  # gone since it was listed, or a stray file that no put made


def _may_hold(start: str, prefix: str) -> bool:
    """Whether a key that starts with ``start`` can start with ``prefix``."""
    return start.startswith(prefix) or prefix.startswith(start)
