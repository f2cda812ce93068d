"""Define the base classes of all entries of the tree. Views subclass them; ``vfs`` and the views know nothing else of
each other.

All methods are synchronous. *Quick* methods (local indexed reads) never wait. Methods that *may block* are called
inline first, on the event loop, and again in a thread if they raise WouldBlock (:mod:`kgfs.stores.thread_slots`); so is
any method that turns out to need a server. Methods that *block* are called in a thread. Names are encoded
(``domain.names.encode_name``). An operation that a view does not allow raises the error that the design states; for
derived entries this is ReadOnlyError (EROFS).
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kgfs.compute.deadline import Deadline
from kgfs.errors import MissingError, NoSuchAttributeError, ReadOnlyError, UnsupportedError
from kgfs.stores.catalog.pending import Pending

ROOT_INODE = 1

_NUMBERS = 1 << 61


@dataclass(slots=True)
class Attr:
    """The attributes of a node. Never changed after they are made. The class is not frozen, because making a frozen
    instance takes three times as long.
    """

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
    """Unix time in nanoseconds, like ``atime`` and ``mtime``."""
    direct_io: bool = False
    """Whether the kernel must not cache size and name (``.kgfs/``, and files that change while they are open)."""


@dataclass(frozen=True, slots=True)
class AttrChange:
    """The changes that setattr requests; None leaves a field unchanged."""

    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    size: int | None = None
    atime: int | None = None
    mtime: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """The user and process of a request. The user becomes the owner of new files."""

    uid: int
    gid: int
    pid: int = 0


def inode_of(key: Hashable) -> int:
    """Return the inode number of a derived node: a hash of its key, the same after every mount.

    Bit 61 is clear, so the number never equals a name id of documents/ (see ``domain.identity.new_id``). It is never
    0 or ROOT_INODE.
    """
    if type(key) is tuple and key[0] == "concept":
        return inode_of_concept(str(key[1]))
    digest = hashlib.blake2b(repr(key).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % _NUMBERS | 2


def inode_of_concept(concept_id: str) -> int:
    """Return the inode number of a concept's folder. There may be a million, so the number is taken from the id,
    which is itself the beginning of a hash.

    The numbers have the order of the ids, because programs that list many entries (find, rm) process them by inode
    number.
    """
    try:
        number = int(concept_id, 16)
    except ValueError:  # an id of another kind of graph
        return inode_of(("concept.", concept_id))
    return (number >> 3) % _NUMBERS | 2


class Node:
    """A node of the tree. Cheap to make; two nodes with the same key are the same entry."""

    __slots__ = ()

    @property
    def inode(self) -> int:
        raise NotImplementedError

    def attr(self) -> Attr:
        """Return the attributes, with the exact size and times. *Quick*. Raise MissingError once the node is gone."""
        raise NotImplementedError

    def attr_again(self) -> Attr:
        """Return the attributes of a node that the kernel knows already, as :meth:`attr` does.

        They may be as old as the last poll for changes, because the kernel is told to forget them when a change is
        found. The first attributes for the kernel, and those in a listing, must not be old.
        """
        return self.attr()

    def group(self) -> tuple[str, Hashable] | None:
        """Return a kind and a subject under which all such nodes that the kernel knows are found
        (:meth:`.Inodes.group`), for changes that affect them together.

        The value never changes while the node exists. None if no change affects such nodes together.
        """
        return None

    def change(self, wanted: AttrChange) -> Attr:
        """Apply chmod, chown, utimens or truncate by path. *Blocks*."""
        raise ReadOnlyError("This is derived from the documents and cannot be changed. Change the documents instead.")

    def attributes(self) -> Sequence[str]:
        """Return the names of extended attributes, all in ``user.``. *Quick*."""
        return ()

    def attribute(self, name: str) -> bytes:
        """Return the value of an extended attribute. *Quick*. Raise NoSuchAttributeError if there is none."""
        raise NoSuchAttributeError(f"No extended attribute {name}.")

    def set_attribute(self, name: str, value: bytes) -> None:
        """Set an extended attribute. *Blocks*."""
        raise UnsupportedError("kgfs keeps no extended attributes of others.")


class Folder(Node):
    """A folder of the tree."""

    __slots__ = ()

    def lookup(self, name: str) -> Node | None:
        """Return the entry of that name, listed or not; None if there is none. *Quick*."""
        raise NotImplementedError

    def find(self, name: str) -> tuple[Node, Attr] | None:
        """Return the entry that ``lookup`` finds, with its attributes; None if there is none. *Quick*."""
        node = self.lookup(name)
        if node is None:
            return None
        try:
            return node, node.attr()
        except MissingError:  # the entry left between the two reads
            return None

    def entries(self) -> Sequence[tuple[str, Node]]:
        """Return the whole listing in a stable order, without ``.`` and ``..``. The cost is *quick* in proportion to
        its length.
        """
        raise NotImplementedError

    def as_copied_to(self) -> Folder:
        """Return the folder as a program sees it that copies a whole tree there; itself unless it is an ontology's."""
        return self

    is_search = False
    """Whether :meth:`work_out` may take seconds. The vfs then waits for it apart from all other requests, and can
    give it up.
    """

    def needs_work(self, name: str) -> bool:
        """Return whether :meth:`work_out` must be called before this name is looked up."""
        return self.is_search

    def work_out(self, deadline: Deadline | None = None) -> Folder:
        """Return the folder to read entries from. *May block*, until ``deadline``.

        This is the folder itself or, if its entries take long to compute, a folder of the same key that has them for
        this one request.
        """
        return self

    def token(self) -> Hashable | None:
        """Return a value that changes whenever the listing, or an attribute in it, may have changed; None means that
        a listing is never reused.
        """
        return None

    def make_file(self, name: str, mode: int, caller: Caller) -> File:
        """Make a file. *May block*. Raise ExistsError if the name is taken. All methods below *block*."""
        raise ReadOnlyError("This folder is derived from the documents. Make files in documents/ instead.")

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        raise ReadOnlyError("This folder is derived from the documents. Make folders in documents/ instead.")

    def make_link(self, name: str, target: str, caller: Caller) -> Link:
        raise ReadOnlyError("This folder is derived from the documents. Make links in documents/ instead.")

    def remove_file(self, name: str) -> None:
        """Remove a file or a link."""
        raise ReadOnlyError("This is derived from the documents and leaves with them.")

    def remove_folder(self, name: str) -> None:
        raise ReadOnlyError("This is derived from the documents and leaves with them.")

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        """Rename an entry of this folder into ``goal``. If ``replace`` is False and the goal exists, raise
        ExistsError.
        """
        raise ReadOnlyError("This is derived from the documents and cannot be renamed.")

    def sync(self) -> None:
        """Make what was made, moved or removed here durable before returning (fsync). Derived folders have nothing to
        do.
        """

    def receiving(self, name: str, *, folder: bool) -> Folder:
        """Return the folder that actually receives an entry (a ``folder``, or a file or link) which is renamed to
        ``name`` in this folder.

        Raise the reason if no folder does. Only views call this, in ``move``.
        """
        raise ReadOnlyError("This folder is derived from the documents. Move things within documents/ instead.")


class File(Node):
    """A file of the tree."""

    __slots__ = ()

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        """Open the file. *May block*. Raise ReadOnlyError for writing to a derived file."""
        raise NotImplementedError


class Link(Node):
    """A symbolic link of the tree."""

    __slots__ = ()

    def target(self) -> bytes:
        """Return the link's target. *Quick*."""
        raise NotImplementedError


class Handle:
    """An open file. Several threads may call one handle in turn, but not at the same time. A read that succeeds
    inline may also run while other calls do.
    """

    __slots__ = ()

    keep_cache: bool = False
    """Whether pages of this inode that the kernel cached earlier are still correct."""
    direct_io: bool = False

    def read(self, offset: int, length: int) -> bytes:
        """Read up to ``length`` bytes at ``offset``. *May block*."""
        raise NotImplementedError

    def write(self, offset: int, data: bytes) -> int:
        """Write the data at ``offset``, and return the number of bytes written. *May block*."""
        raise ReadOnlyError("This file is derived from the documents and cannot be written.")

    def truncate(self, size: int) -> None:
        """Set the file's size in bytes. *Blocks*."""
        raise ReadOnlyError("This file is derived from the documents and cannot be written.")

    def flush(self) -> Pending | None:
        """Make what was written since the last flush durable, or raise the error. Called at each close(). *May
        block*.

        If called inline, it may return a pending write, for which the caller waits.
        """
        return None

    def sync(self) -> None:
        """Make the file durable (fsync). *Blocks*."""
        self.flush()

    def release(self) -> None:
        """Close the handle after its last descriptor was closed. Flush again if writes followed the last flush. *May
        block*.
        """


class Fixed(Handle):
    """A handle on bytes that do not change while it is open. Later changes are visible to later opens."""

    __slots__ = ("content_id", "direct_io", "keep_cache")

    def __init__(self, content_id: Hashable, *, direct_io: bool = False) -> None:
        self.content_id = content_id
        """Identifies the bytes: handles of one inode with the same id show the same bytes."""
        self.keep_cache = False
        """Set by the vfs, which knows what was opened before."""
        self.direct_io = direct_io
        """Also set by the vfs if the kernel has cached another size."""

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        raise NotImplementedError


class Rendered(Fixed):
    """A handle on bytes that were rendered when it was opened."""

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
"""Modes of derived entries. With 0555 the kernel would answer EACCES to the owner, although EROFS is the correct
error.
"""
