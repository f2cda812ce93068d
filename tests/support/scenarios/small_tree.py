"""A small tree in memory with every kind of node: what vfs, adapter and mount are tested on.

    documents/     writable; making slow.txt takes its time
    derived/       hello.txt, link, many/ (names), slow.txt, broken.txt (a bug), failing.txt (a store that fails)
    .kgfs/now      direct I/O

``put`` and ``take_away`` change ``documents/`` from outside, as another process would, and leave news.
"""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from kgfs.domain.identity import new_id
from kgfs.domain.names import decode_name
from kgfs.errors import (
    BadInputError,
    ExistsError,
    IsAFolderError,
    MissingError,
    NotAFolderError,
    NotEmptyError,
    StoreError,
)
from kgfs.stores.thread_slots import blocks
from kgfs.tree.invalidation import Invalidation, StaleEntry, StaleInode
from kgfs.tree.node import (
    FILE_MODE,
    FOLDER_MODE,
    LINK_MODE,
    ROOT_INODE,
    Attr,
    AttrChange,
    Caller,
    File,
    Folder,
    Handle,
    Link,
    Node,
    Rendered,
    inode_of,
)

SLOW = "slow.txt"
"""Making a file of that name in ``documents/`` takes until somebody sets ``Tree.slow``."""
BORN = 1_700_000_000_123_456_789


class Tree:
    """Shared by all nodes: one lock, one version that moves with every change."""

    def __init__(self, many: int = 0) -> None:
        self.lock = threading.RLock()
        self.version = 0
        self.slow = threading.Event()
        self.entered_slow = threading.Event()
        self._news: list[Invalidation] = []
        self.documents = MemoryFolder(self, 0o755, Caller(0, 0))
        derived = Fixed(
            "derived",
            {
                "hello.txt": FixedFile("hello", b"Hello, reader.\n"),
                "link": FixedLink("link", b"hello.txt"),
                "many": Fixed("many", {f"name-{i:06}.txt": FixedFile(("many", i), b"") for i in range(many)}),
                "slow.txt": Odd("slow", self._slow_read),
                "broken.txt": Odd("broken", self._broken_read),
                "failing.txt": Odd("failing", self._failing_read),
            },
        )
        shown = Fixed(".kgfs", {"now": Now("now", b"")})
        self.root = Fixed("root", {"documents": self.documents, "derived": derived, ".kgfs": shown}, ROOT_INODE)

    def own_by(self, caller: Caller) -> None:
        self.documents.held = replace(self.documents.held, uid=caller.uid, gid=caller.gid)

    def news(self) -> list[Invalidation]:
        with self.lock:
            news, self._news = self._news, []
            return news

    def put(self, name: str, content: bytes) -> None:
        """From outside: a new file, also where one stands; another content is another inode."""
        with self.lock:
            made = MemoryFile(self, 0o644, Caller(0, 0))
            made.content[:] = content
            made.held = replace(made.held, size=len(content))
            self.documents.children[name] = made
            self._moved(name)

    def take_away(self, name: str) -> None:
        with self.lock:
            self.documents.children.pop(name).gone = True
            self._moved(name)

    def _moved(self, name: str) -> None:
        self.version += 1
        self._news += [StaleEntry(self.documents.inode, name.encode()), StaleInode(self.documents.inode)]

    def _slow_read(self) -> bytes:
        self.entered_slow.set()
        self.slow.wait(30)
        return b"at last\n"

    def _broken_read(self) -> bytes:
        raise ZeroDivisionError("a bug in a view")

    def _failing_read(self) -> bytes:
        raise StoreError("the disk said no")


# ------------------------------------------------------------------------------------------- what never changes


class Fixed(Folder):
    def __init__(self, key: Hashable, children: dict[str, Node], inode: int = 0) -> None:
        self._inode, self._children = inode or inode_of(key), children

    @property
    def inode(self) -> int:
        return self._inode

    def attr(self) -> Attr:
        return Attr(self._inode, FOLDER_MODE, 2, 0, 0, 0, BORN, BORN, BORN)

    def lookup(self, name: str) -> Node | None:
        return self._children.get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        return list(self._children.items())

    def token(self) -> Hashable:
        return 0


class FixedFile(File):
    def __init__(self, key: Hashable, content: bytes) -> None:
        self._inode, self._content = inode_of(("file", key)), content

    @property
    def inode(self) -> int:
        return self._inode

    def attr(self) -> Attr:
        return Attr(self._inode, FILE_MODE, 1, 0, 0, len(self._content), BORN, BORN, BORN)

    def attributes(self) -> Sequence[str]:
        return ("user.kgfs.length",)

    def attribute(self, name: str) -> bytes:
        return str(len(self._content)).encode() if name == "user.kgfs.length" else super().attribute(name)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        if write:
            self.change(AttrChange(size=0))
        return Rendered(self._content)


class Now(FixedFile):
    """A file whose size is not to be relied on."""

    def attr(self) -> Attr:
        return replace(super().attr(), direct_io=True)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        return Rendered(f"{time.time_ns()}\n".encode(), direct_io=True)


class FixedLink(Link):
    def __init__(self, key: Hashable, target: bytes) -> None:
        self._inode, self._target = inode_of(("link", key)), target

    @property
    def inode(self) -> int:
        return self._inode

    def attr(self) -> Attr:
        return Attr(self._inode, LINK_MODE, 1, 0, 0, len(self._target), BORN, BORN, BORN)

    def target(self) -> bytes:
        return self._target


class Odd(FixedFile):
    """Reading it does what its function does, in a thread."""

    def __init__(self, key: Hashable, read: Callable[[], bytes]) -> None:
        super().__init__(key, b"x" * 100)
        self._read = read

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        return OddHandle(self._read)


class OddHandle(Handle):
    def __init__(self, read: Callable[[], bytes]) -> None:
        self._read = read

    def read(self, offset: int, length: int) -> bytes:
        blocks()
        return self._read()[offset : offset + length]


# ------------------------------------------------------------------------------------------------ what changes


class Held(Node):
    """What files, folders and links of ``documents/`` have in common."""

    def __init__(self, tree: Tree, mode: int, caller: Caller) -> None:
        now = time.time_ns()
        self.tree, self.gone = tree, False
        self.held = Attr(new_id(), mode, 1, caller.uid, caller.gid, 0, now, now, now)

    @property
    def inode(self) -> int:
        return self.held.inode

    def attr(self) -> Attr:
        if self.gone:
            raise MissingError("It is gone.")
        return self.held

    def change(self, wanted: AttrChange) -> Attr:
        with self.tree.lock:
            now = time.time_ns()
            attr = replace(self.attr(), ctime=now)
            for name in ("uid", "gid", "atime", "mtime"):
                if (value := getattr(wanted, name)) is not None:
                    attr = replace(attr, **{name: value})
            if wanted.mode is not None:
                attr = replace(attr, mode=stat.S_IFMT(attr.mode) | stat.S_IMODE(wanted.mode))
            self.held = attr
            self.tree.version += 1
            return attr


class MemoryFile(Held, File):
    def __init__(self, tree: Tree, mode: int, caller: Caller) -> None:
        super().__init__(tree, stat.S_IFREG | mode, caller)
        self.content = bytearray()

    def change(self, wanted: AttrChange) -> Attr:
        if wanted.size is not None:
            self.resize(wanted.size)
        return super().change(wanted)

    def resize(self, size: int) -> None:
        with self.tree.lock:
            del self.content[size:]
            self.content.extend(bytes(size - len(self.content)))
            self._touched()

    def put(self, offset: int, data: bytes) -> None:
        with self.tree.lock:
            self.content.extend(bytes(max(0, offset - len(self.content))))
            self.content[offset : offset + len(data)] = data
            self._touched()

    def _touched(self) -> None:
        now = time.time_ns()
        self.held = replace(self.held, size=len(self.content), mtime=now, ctime=now)
        self.tree.version += 1

    def attributes(self) -> Sequence[str]:
        return ("user.kgfs.length",)

    def attribute(self, name: str) -> bytes:
        return str(len(self.content)).encode() if name == "user.kgfs.length" else super().attribute(name)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        if truncate:
            self.resize(0)
        return MemoryHandle(self)


class MemoryHandle(Handle):
    keep_cache = True

    def __init__(self, file: MemoryFile) -> None:
        self._file = file

    def read(self, offset: int, length: int) -> bytes:
        with self._file.tree.lock:
            return bytes(self._file.content[offset : offset + length])

    def write(self, offset: int, data: bytes) -> int:
        self._file.put(offset, data)
        return len(data)

    def truncate(self, size: int) -> None:
        self._file.resize(size)


class MemoryLink(Held, Link):
    def __init__(self, tree: Tree, target: str, caller: Caller) -> None:
        super().__init__(tree, LINK_MODE, caller)
        self._target = decode_name(target)
        self.held = replace(self.held, size=len(self._target))

    def target(self) -> bytes:
        return self._target


class MemoryFolder(Held, Folder):
    def __init__(self, tree: Tree, mode: int, caller: Caller) -> None:
        super().__init__(tree, stat.S_IFDIR | mode, caller)
        self.held = replace(self.held, nlink=2)
        self.children: dict[str, Held] = {}

    def lookup(self, name: str) -> Node | None:
        return self.children.get(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        with self.tree.lock:
            return sorted(self.children.items())

    def token(self) -> Hashable:
        return self.tree.version

    def make_file(self, name: str, mode: int, caller: Caller) -> MemoryFile:
        if name == SLOW:
            blocks()
            self.tree.entered_slow.set()
            self.tree.slow.wait(30)
        made = MemoryFile(self.tree, mode, caller)
        self._add(name, made)
        return made

    def make_folder(self, name: str, mode: int, caller: Caller) -> MemoryFolder:
        made = MemoryFolder(self.tree, mode, caller)
        self._add(name, made)
        return made

    def make_link(self, name: str, target: str, caller: Caller) -> MemoryLink:
        made = MemoryLink(self.tree, target, caller)
        self._add(name, made)
        return made

    def remove_file(self, name: str) -> None:
        with self.tree.lock:
            if isinstance(self._child(name), MemoryFolder):
                raise IsAFolderError(f"{name} is a folder.")
            self._drop(name)

    def remove_folder(self, name: str) -> None:
        with self.tree.lock:
            child = self._child(name)
            if not isinstance(child, MemoryFolder):
                raise NotAFolderError(f"{name} is no folder.")
            if child.children:
                raise NotEmptyError(f"{name} is not empty.")
            self._drop(name)

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        with self.tree.lock:
            child = self._child(name)
            if not isinstance(goal, MemoryFolder):
                raise BadInputError("Only within documents/.")
            there = goal.children.get(new_name)
            if there is child:
                return
            if there is not None:
                if not replace:
                    raise ExistsError(f"{new_name} exists.")
                if isinstance(there, MemoryFolder) and there.children:
                    raise NotEmptyError(f"{new_name} is not empty.")
                goal._drop(new_name)
            del self.children[name]
            goal.children[new_name] = child
            self._touched()
            goal._touched()

    def _child(self, name: str) -> Held:
        try:
            return self.children[name]
        except KeyError:
            raise MissingError(f"{name} does not exist.") from None

    def _add(self, name: str, made: Held) -> None:
        with self.tree.lock:
            if self.gone:
                raise MissingError("The folder is gone.")
            if name in self.children:
                raise ExistsError(f"{name} exists.")
            self.children[name] = made
            self._touched()

    def _drop(self, name: str) -> None:
        self.children.pop(name).gone = True
        self._touched()

    def _touched(self) -> None:
        now = time.time_ns()
        self.held = replace(self.held, mtime=now, ctime=now)
        self.tree.version += 1
