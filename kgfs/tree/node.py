"""What every entry of the tree is. Views subclass these; ``vfs`` and the views know nothing else of each other.

All methods are synchronous. *Quick* ones (local indexed reads) never wait. Those that *may block* are called inline first,
on the event loop, and again in a thread where they raise WouldBlock (:mod:`kgfs.stores.blocking`), as does any that turns out
to need a server. Those that *block* are called in a thread. Names are encoded (``domain.names.encode_name``).
What a view does not allow raises the error the design states: derived things DerivedError (EROFS).
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kgfs.compute.patience import Patience
from kgfs.errors import DerivedError, MissingError, NoSuchAttributeError, UnsupportedError
from kgfs.stores.journal.contract import Pending

ROOT_INODE = 1

_NUMBERS = 1 << 61


@dataclass(slots=True)
class Attr:
    """Never changed once it is made. It is not frozen because that takes three times as long to make."""

    inode: int
    mode: int
    """Type and permission bits, as in st_mode."""
    nlink: int
    uid: int
    gid: int
    size: int
    atime: int
    mtime: int
    ctime: int
    """Unix time in nanoseconds."""
    direct_io: bool = False
    """Neither size nor name is to be relied on (``.kgfs/``, and files that change while they are open)."""


@dataclass(frozen=True, slots=True)
class AttrChange:
    """What setattr asks for; None leaves a thing alone."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    atime: int | None = None
    mtime: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: becomes the owner of what is made."""

    uid: int
    gid: int
    pid: int = 0


def inode_of(key: Hashable) -> int:
    """The inode number of a derived node: a hash of its key, the same after every mount. Bit 61 is clear, so it never
    meets a name id of documents/ (see ``domain.identity.new_id``), and it is never 0 or ROOT_INODE."""
    if type(key) is tuple and key[0] == "concept":
        return inode_of_concept(str(key[1]))
    digest = hashlib.blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % _NUMBERS | 2


def inode_of_concept(concept_id: str) -> int:
    """The same for a concept's folder, of which there may be a million: the id is the beginning of a hash itself. They
    are in the order of their ids: whoever lists many (find, rm) goes through them by inode number."""
    try:
        number = int(concept_id, 16)
    except ValueError:  # of another kind of graph
        return inode_of(("concept.", concept_id))
    return (number >> 3) % _NUMBERS | 2


class Node:
    """One thing in the tree. Cheap to make; two nodes with one key are the same thing."""

    __slots__ = ()

    @property
    def inode(self) -> int:
        raise NotImplementedError

    def attr(self) -> Attr:
        """*Quick*, exact size and true times. MissingError once the thing is gone."""
        raise NotImplementedError

    def attr_again(self) -> Attr:
        """The same of what the kernel knows already. It is told to forget that when a change is heard of, so they may be as
        of the last news; what it is told first, or a listing keeps, may not."""
        return self.attr()

    def group(self) -> tuple[str, Hashable] | None:
        """A kind, and what of it, under which all such nodes are found that the kernel knows (:meth:`.Inodes.group`), for changes
        that concern them together. It stays while the node lives. None where no change does."""
        return None

    def change(self, wanted: AttrChange) -> Attr:
        """chmod, chown, utimens, truncate by path. *Blocks*."""
        raise DerivedError("This is derived from the documents and cannot be changed. Change the documents instead.")

    def attributes(self) -> Sequence[str]:
        """Names of extended attributes, all in ``user.``. *Quick*."""
        return ()

    def attribute(self, name: str) -> bytes:
        """*Quick*."""
        raise NoSuchAttributeError(f"No extended attribute {name}.")

    def set_attribute(self, name: str, value: bytes) -> None:
        """*Blocks*."""
        raise UnsupportedError("kgfs keeps no extended attributes of others.")


class Folder(Node):
    __slots__ = ()

    def lookup(self, name: str) -> Node | None:
        """*Quick*. Also finds unlisted entries."""
        raise NotImplementedError

    def find(self, name: str) -> tuple[Node, Attr] | None:
        """What ``lookup`` finds, with its attributes. *Quick*."""
        node = self.lookup(name)
        if node is None:
            return None
        try:
            return node, node.attr()
        except MissingError:  # it left between the two questions
            return None

    def entries(self) -> Sequence[tuple[str, Node]]:
        """The whole listing in a stable order, without ``.`` and ``..``. *Quick* in proportion to its length."""
        raise NotImplementedError

    is_search = False
    """Whether :meth:`work_out` may take seconds: it is then waited for apart from all else, and can be given up."""

    def work_out(self, deadline: Patience | None = None) -> Folder:
        """The folder to look into: itself or, where its entries take long to work out, a folder of the same key that has
        them, for this one look. *May block*, until ``deadline``."""
        return self

    def token(self) -> Hashable | None:
        """Changes whenever the listing, or an attribute shown in it, may have; None means never reuse a listing."""
        return None

    def make_file(self, name: str, mode: int, caller: Caller) -> File:
        """*May block*. ExistsError if the name is taken. All below *block*."""
        raise DerivedError("This folder is derived from the documents. Make files in documents/ instead.")

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        raise DerivedError("This folder is derived from the documents. Make folders in documents/ instead.")

    def make_link(self, name: str, target: str, caller: Caller) -> Link:
        raise DerivedError("This folder is derived from the documents. Make links in documents/ instead.")

    def remove_file(self, name: str) -> None:
        """A file or a link."""
        raise DerivedError("This is derived from the documents and leaves with them.")

    def remove_folder(self, name: str) -> None:
        raise DerivedError("This is derived from the documents and leaves with them.")

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        """Rename an entry of this folder into ``goal``. With ``replace`` false an existing goal is ExistsError."""
        raise DerivedError("This is derived from the documents and cannot be renamed.")

    def sync(self) -> None:
        """fsync: what was made, moved or removed here is durable when it returns. Derived folders have nothing to do."""

    def receiving(self, name: str, *, folder: bool) -> Folder:
        """The folder that really takes what is renamed to ``name`` in this one (a ``folder``, or a file or link); or
        why none does. For the views' own use in ``move``."""
        raise DerivedError("This folder is derived from the documents. Move things within documents/ instead.")


class File(Node):
    __slots__ = ()

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        """*May block*. Writing to a derived file is DerivedError."""
        raise NotImplementedError


class Link(Node):
    __slots__ = ()

    def target(self) -> bytes:
        """*Quick*."""
        raise NotImplementedError


class Handle:
    """An open file. Calls for one handle may come from several threads in turn, not at once; what is read inline may be read
    also while others are at it."""

    __slots__ = ()

    keep_cache: bool = False
    """Whether pages the kernel has of this inode from before are still right."""
    direct_io: bool = False

    def read(self, offset: int, length: int) -> bytes:
        """*May block*."""
        raise NotImplementedError

    def write(self, offset: int, data: bytes) -> int:
        """*May block*."""
        raise DerivedError("This file is derived from the documents and cannot be written.")

    def truncate(self, size: int) -> None:
        """*Blocks*."""
        raise DerivedError("This file is derived from the documents and cannot be written.")

    def flush(self) -> Pending | None:
        """At each close(): what was written since the last flush becomes durable, or the error is raised. *May block*. Made
        inline it may return what is pending, which its caller waits for."""
        return None

    def sync(self) -> None:
        """fsync. *Blocks*."""
        self.flush()

    def release(self) -> None:
        """The last descriptor is gone. Flushes again if writes followed the last flush. *May block*."""


class Fixed(Handle):
    """A handle on bytes that stay as they are while it is open; later changes are for later opens."""

    __slots__ = ("content_id", "direct_io", "keep_cache")

    def __init__(self, content_id: Hashable, *, direct_io: bool = False) -> None:
        self.content_id = content_id
        """Names the bytes: handles of one inode with the same one show the same."""
        self.keep_cache = False
        """The vfs knows what was opened before, and sets it."""
        self.direct_io = direct_io
        """Set by the vfs, too, where the kernel believes in another size."""

    @property
    def size(self) -> int:
        """How many bytes there are."""
        raise NotImplementedError


class Rendered(Fixed):
    """Bytes that were rendered when it was opened."""

    __slots__ = ("_content",)

    def __init__(self, content: bytes, *, direct_io: bool = False) -> None:
        super().__init__((len(content), hash(content)), direct_io=direct_io)
        self._content = content

    @property
    def size(self) -> int:
        return len(self._content)

    def read(self, offset: int, length: int) -> bytes:
        return self._content[offset : offset + length]


FOLDER_MODE = stat.S_IFDIR | 0o755
FILE_MODE = stat.S_IFREG | 0o644
LINK_MODE = stat.S_IFLNK | 0o777
"""Modes of derived things: with 0555 the kernel would answer EACCES to the owner where EROFS is the truth."""
