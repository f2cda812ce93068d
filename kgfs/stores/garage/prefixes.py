"""Objects of which some need no bytes of their own: earlier versions that are the beginning of their successor.

This is the one place that knows them. To every caller they are objects like all others.
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock

from kgfs.errors import CorruptError, ExistsError, MissingError, from_os_error
from kgfs.failpoints import border
from kgfs.stores.garage.contract import BLOCK, GarageEntry, Objects, Reader, Sums
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.garage.listing import MAX_PART
from kgfs.stores.garage.prefix_links import (
    LINKABLE,
    LINKS,
    OF,
    Link,
    PrefixReader,
    digest,
    encode_link,
    is_linkable,
    linked_name,
    links_of,
    links_on,
    sizes_of_linked,
)
from kgfs.stores.garage.reader import end_of_span
from kgfs.stores.garage.sums import Summer, sums_of

MIN_LINKED = 64 << 10
"""The size in bytes from which an object is linked. A smaller one costs about as much as its link."""
_REMEMBERED = 1024


class PrefixObjects:
    """The objects in ``stored``, and those that are described by a link (see :mod:`.prefix_links`).

    The bytes of a linked object stand in its successor, which may be linked itself: the chain is followed without
    recursion, and where it ends is remembered. An object on which others rest is deleted only after the longest of
    them was written out, on which the others then rest; if it is linked itself, they rest on its successor.

    The caller makes sure that no other thread or process deletes originals while one is linked (they hold the settle
    lock). ``room`` is a folder for temporary files.
    """

    def __init__(self, stored: Objects, room: Path | None = None) -> None:
        self._stored = stored
        self._room = room
        self._holders: dict[str, str] = {}
        """By key of a linked object: the object that was last seen to hold its bytes."""
        self._lock = Lock()
        """Protects the holders."""

    @property
    def stored(self) -> Objects:
        """Return the objects as they are stored, with the records of links, for copies of the whole garage."""
        return self._stored

    # ------------------------------------------------------------------------------------- linking

    def keep_as_prefix(self, earlier: str, later: str) -> bool:
        """Give up the bytes of the object ``earlier`` if they are the beginning of the object ``later``, and return
        whether that was done.

        Nothing is done if an object is absent or ``earlier`` is smaller than :data:`MIN_LINKED`. Every byte is
        compared, by SHA-256. The link is durable before the bytes are deleted; a kill in between leaves both.
        """
        if (
            earlier == later
            or not (is_linkable(earlier) and is_linkable(later))
            or len(_record_name(earlier)) > MAX_PART
        ):
            return False
        try:
            sums, kept_at = self._stored.stat(earlier), self._stored.entry(earlier).kept_at
            if sums.size < MIN_LINKED or not self._begins_with(later, sums):
                return False
        except (MissingError, CorruptError):  # kgfs check tells of the latter
            return False
        if not self._link(Link(earlier, later, sums, kept_at)):
            return False
        border("prefix-linked")
        self._stored.delete(earlier)
        border("prefix-freed")
        return True

    def _begins_with(self, key: str, sums: Sums) -> bool:
        """Return whether an object is longer than ``sums`` and begins with the bytes of which they are."""
        whole = sums.size // BLOCK
        with closing(self.open(key)) as reader:
            if reader.sums.size <= sums.size or reader.sums.blocks[:whole] != sums.blocks[:whole]:
                return False
            return _sum_up(reader, sums.size) == sums

    def _link(self, link: Link) -> bool:
        """Put the records of a link. Return False, with none left, if the successor is gone."""
        # A kill may have left the same link, and the bytes may be given up since: only what was made here is taken back.
        is_known = self._stored.exists(link.of)
        self._record(link)
        if not self.exists(link.successor):
            if not is_known:
                self._unlink(link)
            return False
        return True

    def _record(self, link: Link) -> None:
        content = encode_link(link)
        for name in (link.on, link.of):
            if not self._stored.exists(name):
                self._stored.put(name, content)

    def _unlink(self, link: Link) -> None:
        self._stored.delete(link.of)
        self._stored.delete(link.on)
        with self._lock:
            self._holders.pop(link.key, None)

    # ------------------------------------------------------------------------------------- deleting

    def delete(self, key: str) -> bool:
        """Delete an object, linked or not.

        What rests on it is written out before, so this may need disk space and raise NoSpaceError, and CorruptError
        if the bytes are rotten: then nothing is deleted.
        """
        if not is_linkable(key):
            return self._stored.delete(key)
        self._release(key)
        own = links_of(self._stored, key)
        for link in own:
            self._unlink(link)
        return self._stored.delete(key) or bool(own)

    def resting_on(self, key: str) -> list[str]:
        """Return the keys of the objects whose bytes stand in the object ``key``, directly or in a chain."""
        found: dict[str, None] = {}
        left = [key]
        while left:
            fresh = [link.key for link in links_on(self._stored, left.pop()) if link.key not in found]
            found |= dict.fromkeys(fresh)
            left += fresh
        return list(found)

    def _release(self, key: str) -> None:
        """Give the bytes of what rests on ``key`` another place."""
        resting = sorted(links_on(self._stored, key), key=lambda link: -link.sums.size)
        onward = ""
        if not self._stored.exists(key):
            onward = next((one.successor for one in links_of(self._stored, key)), "")
        for link in resting:
            if not self._stored.exists(link.of):  # left by a kill
                self._stored.delete(link.on)
                continue
            onward_link = Link(link.key, onward, link.sums, link.kept_at)
            if not (self._stored.exists(link.key) or (onward and self._link(onward_link))):
                self._write_out(link)
            if self._stored.exists(link.key):
                onward = link.key
            self._unlink(link)

    def _write_out(self, link: Link) -> None:
        """Give an object bytes of its own."""
        try:
            with closing(self.open(link.key)) as reader, tempfile.TemporaryFile(dir=self._room, buffering=0) as file:
                found = _sum_up(reader, link.sums.size, file.write)
                if found == link.sums:
                    self._stored.put(link.key, Path(f"/proc/self/fd/{file.fileno()}"), found)
        except OSError as error:
            raise from_os_error(error, f"writing out {link.key}") from error
        if found != link.sums:
            raise CorruptError(f"{link.key}: its bytes are not those that were kept. Run kgfs check --deep.")
        border("prefix-written")

    # ------------------------------------------------------------------------------------- writing

    def put(self, key: str, content: bytes | Path, sums: Sums | None = None, *, move: bool = False) -> Sums:
        with os_errors(f"keeping {key}"):
            size = content.stat().st_size if isinstance(content, Path) else len(content)
        if size >= MIN_LINKED and is_linkable(key) and self._holder(key) and not self._stored.exists(key):
            sums = sums or sums_of(content)
            if self._linked(key).sums.sha256 != sums.sha256:
                raise ExistsError(f"{key}: another content is kept under this key.")
            if move and isinstance(content, Path):
                content.unlink(missing_ok=True)
            return sums
        return self._stored.put(key, content, sums, move=move)

    def sweep(self, begun_before: float | None = None) -> None:
        self._stored.sweep(begun_before)

    def left_over(self) -> Iterator[tuple[str, float]]:
        return self._stored.left_over()

    def forget(self, key: str) -> None:
        self._stored.forget(key)

    def leave_room(self) -> None:
        self._stored.leave_room()

    # ------------------------------------------------------------------------------------- reading

    def stat(self, key: str) -> Sums:
        try:
            return self._stored.stat(key)
        except MissingError:
            return self._linked(key).sums

    def exists(self, key: str) -> bool:
        return self._stored.exists(key) or (is_linkable(key) and bool(self._holder(key)))

    def get(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        try:
            return self._stored.get(key, start, length)
        except MissingError:
            if not is_linkable(key):
                raise
        with closing(self.open(key)) as reader:
            return reader.read_at(start, max(0, end_of_span(reader.sums.size, start, length) - start))

    def open(self, key: str) -> Reader:
        try:
            return self._stored.open(key)
        except MissingError:
            link = self._linked(key)
        for _ in range(2):  # where the bytes were last seen, they may have moved meanwhile
            try:
                holder = self._holder(key, is_linked=True) or link.successor
                return PrefixReader(key, self._stored.open(holder), link.sums)
            except MissingError:
                with self._lock:
                    self._holders.pop(key, None)
        try:
            return self._stored.open(key)  # it was written out meanwhile
        except MissingError:
            raise CorruptError(f"{key}: its bytes stand in {link.successor}, which is lost. Run kgfs check.") from None

    def cached(self, key: str, sha256: str, size: int) -> bytes | None:
        return self._stored.cached(key, sha256, size)

    def has_sums(self, key: str) -> bool:
        return self._stored.has_sums(key) or bool(links_of(self._stored, key))

    def salvage(self, key: str) -> bytes:
        try:
            return self._stored.salvage(key)
        except MissingError:
            link = self._linked(key)
            return self._stored.salvage(self._holder(key, is_linked=True) or link.successor)[: link.sums.size]

    def keys(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        stored = (found for found in self._stored.keys(prefix) if not found[0].startswith(LINKS))
        may_match = LINKABLE.startswith(prefix) or prefix.startswith(LINKABLE)
        before = ""
        for key, size in heapq.merge(stored, sizes_of_linked(self._stored, prefix) if may_match else ()):
            if key != before:
                yield key, size
            before = key

    def names(self, folder: str = "") -> list[str]:
        names = set(self._stored.names(folder))
        if not folder:
            return sorted(names - {LINKS})
        if f"{folder}/".startswith(LINKABLE):
            names |= {linked_name(name) for name in self._stored.names(OF + folder)}
        return sorted(names)

    def entry(self, path: str) -> GarageEntry:
        try:
            return self._stored.entry(path)
        except MissingError:
            link = self._linked(path)
            return GarageEntry(folder=False, size=link.sums.size, kept_at=link.kept_at)

    def _linked(self, key: str) -> Link:
        """Return a link of an object, or raise MissingError if there is none."""
        found = next(iter(links_of(self._stored, key)), None)
        if found is None:
            raise MissingError(f"{key}: no such object.")
        return found

    def _holder(self, key: str, *, is_linked: bool = False) -> str:
        """Return the key of the stored object that begins with the bytes of a linked one; '' if there is none, or if the
        object is not linked, which is looked up unless the caller says that it ``is_linked``."""
        with self._lock:
            known = self._holders.get(key, "")
        # Another process may have deleted the object since, and what held its bytes stays.
        if known and self._stored.exists(known) and (is_linked or links_of(self._stored, key)):
            return known
        seen, left = {key}, [key]
        while left:
            for link in links_of(self._stored, left.pop()):
                if self._stored.exists(link.successor):
                    with self._lock:
                        if len(self._holders) >= _REMEMBERED:
                            self._holders.clear()
                        self._holders[key] = link.successor
                    return link.successor
                if link.successor not in seen:
                    seen.add(link.successor)
                    left.append(link.successor)
        return ""


def by_length(objects: Objects, keys: Sequence[str]) -> list[str]:
    """Return the keys in the order in which they are best deleted: the shorter objects first, for none of them is
    then written out only to be deleted."""
    sizes: dict[str, int] = {}
    for key in keys:
        with suppress(MissingError):
            sizes[key] = objects.entry(key).size if is_linkable(key) else 0
    return sorted(keys, key=lambda key: sizes.get(key, 0))


def everything(stored: Objects) -> list[str]:
    """Return the keys of all stored objects, with the records of links.

    If an object was linked while this listed, its link and its successor are in the list.
    """
    found = dict.fromkeys(key for key, _ in stored.keys(""))
    left = list(dict.fromkeys(key.removeprefix(OF).rsplit("~", 2)[0] for key, _ in stored.keys(OF)))
    seen = set(left)
    while left:
        for link in links_of(stored, left.pop()):
            found |= dict.fromkeys((link.on, link.of))
            if stored.exists(link.successor):
                found.setdefault(link.successor, None)
            elif link.successor not in seen:  # it was linked itself since the links were listed
                seen.add(link.successor)
                left.append(link.successor)
    return list(found)


def _record_name(key: str) -> str:
    """Return the longest name that the record of a link of this object may have."""
    return f"{key.rpartition('/')[2]}~{2**63:x}~{digest(key)}"


def _sum_up(reader: Reader, size: int, write: Callable[[memoryview], int | None] | None = None) -> Sums:
    """Return the checksums of the first ``size`` bytes of an object, each of which is given to ``write``."""
    summer = Summer()
    for start in range(0, size, BLOCK):
        piece = memoryview(reader.read_at(start, min(BLOCK, size - start)))
        summer.update(piece)
        while write is not None and piece:
            piece = piece[write(piece) :]
    return summer.sums()
