"""What the scenarios do not see of the Vfs: lookup counts, caches, races between mounts, giving up."""

from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress

import pytest
import trio
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgfs.domain.names import encode_name
from kgfs.errors import (
    BadInputError,
    ExistsError,
    GoneError,
    IsAFolderError,
    MissingError,
    NotAFolderError,
    StoppingError,
    UnsupportedError,
)
from kgfs.stores.thread_slots import release_slot
from kgfs.tree.inodes import Inodes
from kgfs.tree.invalidation import StaleEntry
from kgfs.tree.listing import Listing, Listings
from kgfs.tree.node import (
    FILE_MODE,
    FOLDER_MODE,
    ROOT_INODE,
    Attr,
    AttrChange,
    Caller,
    File,
    Folder,
    Handle,
    Node,
    Rendered,
)
from kgfs.tree.vfs import Vfs, _encoded, space_of
from tests.support.scenarios.small_tree import Fixed, FixedFile, Tree

ME = Caller(1000, 1000)


@pytest.fixture
def tree() -> Tree:
    return Tree(many=100)


@pytest.fixture
def vfs(tree: Tree) -> Vfs:
    return Vfs(tree.root, lambda: space_of("/"))


async def inode(vfs: Vfs, path: str) -> int:
    at = ROOT_INODE
    for part in path.split("/"):
        attr = await vfs.lookup(at, part.encode())
        assert attr is not None, path
        at = attr.inode
    return at


# ------------------------------------------------------------------------------------------- what is told


async def test_lookups_are_counted_and_given_back(vfs: Vfs) -> None:
    for _ in range(3):
        hello = await inode(vfs, "derived/hello.txt")
    vfs.forget([(hello, 2)])
    assert hello in vfs.inodes
    vfs.forget([(hello, 1)])
    assert hello not in vfs.inodes
    with pytest.raises(MissingError):
        await vfs.getattr(hello)
    vfs.forget([(ROOT_INODE, 1), (424242, 7)])
    assert ROOT_INODE in vfs.inodes


async def test_a_listing_counts_only_what_was_accepted(vfs: Vfs) -> None:
    many = await inode(vfs, "derived/many")
    known = len(vfs.inodes)
    fh = await vfs.opendir(many)
    listing, _ = await vfs.folders.listing(fh, 0)
    assert len(listing) == 100
    for position in range(10):
        entry = listing.entry(position)
        assert entry is not None
        vfs.folders.told(fh, entry)
    assert len(vfs.inodes) == known + 10


class Lagging(Fixed):
    """documents/ with a token that moves only when news of it are heard."""

    heard = 0

    def __init__(self, tree: Tree) -> None:
        super().__init__("lagging", {}, ROOT_INODE)
        self._documents = tree.documents

    def lookup(self, name: str) -> Node | None:
        return self._documents.lookup(name)

    def entries(self) -> Sequence[tuple[str, Node]]:
        return self._documents.entries()

    def token(self) -> Hashable:
        return self.heard

    def move(self, name: str, goal: Folder, new_name: str, *, replace: bool) -> None:
        self._documents.move(name, self._documents, new_name, replace=replace)

    def remove_file(self, name: str) -> None:
        self._documents.remove_file(name)


HAPPENINGS = st.lists(
    st.sampled_from(
        [
            *(("page", 0, 2), ("page", 0, 2), ("page", 1, 2), ("forget", 0, 1), ("forget", 0, 2), ("lookup", 0, 0)),
            *(("grow", 0, 0), ("getattr", 0, 0), ("move", 0, 0), ("remove", 0, 0), ("news", 0, 0)),
        ]
    ),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@example([("page", 0, 2), ("grow", 0, 0), ("getattr", 0, 0), ("page", 0, 2)])
@example([("page", 0, 2), ("grow", 0, 0), ("lookup", 0, 0), ("page", 0, 2)])
@given(HAPPENINGS)
def test_pages_of_a_listing_are_counted_as_their_entries_one_by_one(happenings: list[tuple[str, int, int]]) -> None:
    def known_after(*, by_pages: bool) -> list[tuple[object, ...]]:
        tree = Tree()
        root = Lagging(tree)
        vfs = Vfs(root, lambda: space_of("/"))
        numbers: list[int] = []

        async def live() -> None:
            for name in ("a", "b"):
                tree.put(name, b"x")
            numbers.extend([await inode(vfs, "a"), await inode(vfs, "b")])
            for what, first, end in happenings:
                with suppress(MissingError, GoneError):
                    await happen(what, first, end)

        async def happen(what: str, first: int, end: int) -> None:
            if what == "page":
                await page(first, end)
            elif what == "forget":
                vfs.forget([(numbers[0], end)])
            elif what == "grow":
                await vfs.setattr(numbers[0], AttrChange(size=6))
            elif what == "getattr":
                await vfs.getattr(numbers[0])
            elif what == "lookup":
                await vfs.lookup(ROOT_INODE, b"a")
            elif what == "move":
                await vfs.rename(ROOT_INODE, b"a", ROOT_INODE, b"moved", 0)
            elif what == "remove":
                await vfs.unlink(ROOT_INODE, b"a")
            else:
                root.heard += 1

        async def page(first: int, end: int) -> None:
            fh = await vfs.opendir(ROOT_INODE)
            listing, _ = await vfs.folders.listing(fh, 0)
            end = min(end, len(listing))
            if by_pages:
                vfs.folders.told_listed(fh, first, end)
            else:
                for entry in map(listing.entry, range(first, end)):
                    if entry is not None:
                        vfs.folders.told(fh, entry)
            vfs.releasedir(fh)

        trio.run(live)
        return [
            (known.count, known.size, sorted(known.places()), known.unlinked is None) if known is not None else ()
            for known in map(vfs.inodes.get, numbers)
        ]

    assert known_after(by_pages=True) == known_after(by_pages=False)


def test_the_table_shrinks_as_it_empties() -> None:
    inodes = Inodes(Fixed("root", {}, ROOT_INODE))
    for number in range(2, 10_002):
        inodes.tell(FixedFile(number, b""), number, ROOT_INODE, b"%d" % number)
    large = inodes._table.__sizeof__()
    assert not inodes.take_emptied()
    inodes.forget([(number, 1) for number in range(2, 10_000)])
    assert inodes.take_emptied()
    assert not inodes.take_emptied()
    assert len(inodes) == 3
    assert inodes._table.__sizeof__() < large / 20


def test_at_most_so_many_names_are_believed_absent() -> None:
    inodes = Inodes(Fixed("root", {}, ROOT_INODE), max_negative=3)
    assert [inodes.tell_absent(1, name) for name in (b"a", b"b", b"c", b"a")] == [None] * 4
    assert inodes.tell_absent(1, b"d") == (1, b"b"), "the one longest not asked for is to be forgotten"
    assert not inodes.believed_absent(1, b"b")
    assert inodes.believed_absent(1, b"a")


async def test_the_kernel_is_told_to_forget_absent_names_beyond_the_bound(tree: Tree) -> None:
    vfs = Vfs(tree.root, lambda: space_of("/"))
    vfs.inodes = Inodes(tree.root, max_negative=1)
    assert await vfs.lookup(ROOT_INODE, b"one") is None
    assert await vfs.lookup(ROOT_INODE, b"two") is None
    assert vfs.take_stale() == [StaleEntry(ROOT_INODE, b"one")]
    assert vfs.take_stale() == []


class Volatile(Fixed):
    def token(self) -> Hashable | None:
        return None


async def test_nothing_is_remembered_of_a_folder_that_cannot_say_when_it_changes() -> None:
    vfs = Vfs(Volatile("root", {"a": FixedFile("a", b"")}, ROOT_INODE), lambda: space_of("/"))
    with pytest.raises(MissingError):
        await vfs.lookup(ROOT_INODE, b"absent")
    assert vfs.inodes.negatives() == []
    fh = await vfs.opendir(ROOT_INODE)
    first, _ = await vfs.folders.listing(fh, 0)
    again, stale = await vfs.folders.listing(fh, 1)
    assert again is first and stale


class Counting(Fixed):
    listed = 0
    version = 0

    def entries(self) -> Sequence[tuple[str, Node]]:
        self.listed += 1
        return super().entries()

    def token(self) -> Hashable:
        return self.version


def current(listings: Listings, inode: int, folder: Folder) -> Listing:
    """As an open of the folder gets it."""
    return listings.get(inode, folder.token()) or listings.add(inode, folder.token(), folder.entries())


def test_a_listing_is_read_again_only_when_its_token_moved() -> None:
    folder = Counting("folder", {"a": FixedFile("a", b"")})
    listings = Listings()
    assert current(listings, 7, folder) is current(listings, 7, folder)
    assert folder.listed == 1
    folder.version += 1
    current(listings, 7, folder)
    assert folder.listed == 2


def test_cached_listings_are_bounded() -> None:
    folders = [Counting(number, {f"{i}": FixedFile(i, b"") for i in range(10)}) for number in range(5)]
    listings = Listings(max_entries=30)
    for number, folder in enumerate(folders):
        current(listings, number, folder)
    assert listings._held == 30
    current(listings, 4, folders[4])
    current(listings, 0, folders[0])
    assert (folders[4].listed, folders[0].listed) == (1, 2)
    large = Counting("large", {f"{i}": FixedFile(i, b"") for i in range(31)})
    assert len(current(listings, 9, large)) == 31
    assert (listings._held, 9 in listings._by_inode) == (30, False)


async def test_of_a_listing_that_is_too_large_to_be_kept_nothing_is_kept_once_it_was_told(vfs: Vfs) -> None:
    many = await inode(vfs, "derived/many")
    for listings, kept in ((Listings(), 10), (Listings(max_entries=99), 0)):
        vfs.folders._listings = listings
        fh = await vfs.opendir(many)
        listing, _ = await vfs.folders.listing(fh, 0)
        first = listing.entry(0)
        assert first is not None
        vfs.folders.told_listed(fh, 0, 10)
        assert sum(entry is not None for entry in listing._entries) == kept
        assert sum(known is not None for known in listing.told) == kept
        again = listing.entry(0)
        assert again is not None and again.attr == first.attr
        assert vfs.inodes.known(first.attr.inode).count == (1 if kept else 2)


async def test_an_entry_that_changed_under_a_listing_is_told_as_it_is_now(tree: Tree, vfs: Vfs) -> None:
    documents = await inode(vfs, "documents")
    for name in ("a", "b", "c"):
        tree.put(name, b"one")
    fh = await vfs.opendir(documents)
    _, stale = await vfs.folders.listing(fh, 0)
    assert not stale
    tree.put("b", b"longer")
    tree.take_away("c")
    _, stale = await vfs.folders.listing(fh, 1)
    assert stale
    page = dict(await vfs.folders.page(fh, 1))
    now = page.get(1)
    assert now is not None and now.attr.size == 6
    assert 2 not in page


# -------------------------------------------------------------------------------------- races, refusals


async def test_a_file_that_somebody_made_meanwhile_is_opened(tree: Tree, vfs: Vfs) -> None:
    documents = await inode(vfs, "documents")
    assert await vfs.lookup(documents, b"shared") is None
    tree.put("shared", b"theirs")
    fh, attr = await vfs.create(documents, b"shared", 0o644, os.O_RDWR | os.O_CREAT, ME)
    assert attr.size == 6
    assert await vfs.files.read(fh, 0, 10) == b"theirs"
    await vfs.files.release(fh)
    assert StaleEntry(documents, b"shared") in vfs.take_stale(), "what the kernel believed was wrong"
    with pytest.raises(ExistsError):
        await vfs.create(documents, b"shared", 0o644, os.O_RDWR | os.O_CREAT | os.O_EXCL, ME)
    fh, attr = await vfs.create(documents, b"shared", 0o644, os.O_RDWR | os.O_CREAT | os.O_TRUNC, ME)
    assert attr.size == 0
    await vfs.files.release(fh)


async def test_what_somebody_removed_meanwhile_is_missing_and_forgotten(tree: Tree, vfs: Vfs) -> None:
    tree.put("shared", b"theirs")
    documents = await inode(vfs, "documents")
    await inode(vfs, "documents/shared")
    tree.take_away("shared")
    for call in (vfs.unlink(documents, b"shared"), vfs.rename(documents, b"shared", documents, b"other", 0)):
        with pytest.raises(MissingError):
            await call
        assert StaleEntry(documents, b"shared") in vfs.take_stale()


async def test_handles_of_the_wrong_kind(vfs: Vfs) -> None:
    derived, hello = await inode(vfs, "derived"), await inode(vfs, "derived/hello.txt")
    link = await inode(vfs, "derived/link")
    with pytest.raises(IsAFolderError):
        await vfs.files.open(derived, os.O_RDONLY)
    with pytest.raises(BadInputError):
        await vfs.files.open(link, os.O_RDONLY)
    with pytest.raises(BadInputError):
        await vfs.readlink(hello)
    with pytest.raises(NotAFolderError):
        await vfs.opendir(hello)
    with pytest.raises(NotAFolderError):
        await vfs.lookup(hello, b"x")
    fh = await vfs.opendir(derived)
    with pytest.raises(MissingError):
        await vfs.files.read(fh, 0, 1)
    with pytest.raises(MissingError):
        await vfs.files.read(999, 0, 1)
    vfs.releasedir(fh)
    with pytest.raises(MissingError):
        await vfs.folders.listing(fh, 0)


async def test_extended_attributes_outside_user_are_not_looked_for(vfs: Vfs) -> None:
    hello = await inode(vfs, "derived/hello.txt")
    assert await vfs.listxattr(hello) == [b"user.kgfs.length"]
    assert await vfs.getxattr(hello, b"user.kgfs.length") == b"15"
    for name in (b"security.capability", b"system.posix_acl_access", b"trusted.x"):
        with pytest.raises(UnsupportedError):
            await vfs.getxattr(hello, name)
    with pytest.raises(UnsupportedError):
        await vfs.removexattr(hello, b"user.kgfs.length")


# ---------------------------------------------------------------------------------------------- waiting


async def test_a_slow_read_is_given_up_when_the_mount_stops(tree: Tree, vfs: Vfs) -> None:
    fh = await vfs.files.open(await inode(vfs, "derived/slow.txt"), os.O_RDONLY)
    failed = []

    async def read() -> None:
        try:
            await vfs.files.read(fh, 0, 10)
        except StoppingError as error:
            failed.append(error)

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await trio.to_thread.run_sync(tree.entered_slow.wait)
            vfs.stop_waiting()
        await vfs.files.release(fh)
        hello = await vfs.files.open(await inode(vfs, "derived/failing.txt"), os.O_RDONLY)
        with pytest.raises(StoppingError):
            await vfs.files.read(hello, 0, 10)
    assert len(failed) == 1
    tree.slow.set()


async def test_slow_reads_make_no_writer_wait(tree: Tree) -> None:
    vfs = Vfs(tree.root, lambda: space_of("/"), threads=1)
    slow = await vfs.files.open(await inode(vfs, "derived/slow.txt"), os.O_RDONLY)
    documents = await inode(vfs, "documents")
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(vfs.files.read, slow, 0, 10)
            await trio.to_thread.run_sync(tree.entered_slow.wait)
            fh, _ = await vfs.create(documents, b"a", 0o644, os.O_WRONLY, ME)
            assert await vfs.files.write(fh, 0, b"not held up") == 11
            await vfs.files.release(fh)
            tree.slow.set()


class Elsewhere(Handle):
    """What is there a server keeps that is silent until it is told to go on. Who waits for it has the file alone."""

    def __init__(self) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()

    def sync(self) -> None:
        release_slot()
        self.entered.set()
        self.go_on.wait(30)

    flush = sync

    def read(self, offset: int, length: int) -> bytes:
        self.sync()
        return b"kept"

    def write(self, offset: int, data: bytes) -> int:
        self.sync()
        return len(data)

    def truncate(self, size: int) -> None:
        self.sync()


class ElsewhereFile(FixedFile):
    def __init__(self, handle: Elsewhere) -> None:
        super().__init__("elsewhere", b"kept")
        self._handle = handle

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        self._handle.sync()
        return self._handle


@pytest.mark.claim("AWAY-2")
@pytest.mark.parametrize("what", ["open", "read", "write", "flush", "fsync", "ftruncate"])
async def test_what_waits_for_a_server_makes_nothing_else_wait(tree: Tree, what: str) -> None:
    vfs = Vfs(tree.root, lambda: space_of("/"), threads=1)
    documents, hello = await inode(vfs, "documents"), await inode(vfs, "derived/hello.txt")
    tree.slow.set()
    other = await vfs.files.open(await inode(vfs, "derived/slow.txt"), os.O_RDONLY)
    silent = Elsewhere()
    vfs.inodes.known(hello).node = ElsewhereFile(silent)
    fh = vfs.files.opened(silent, hello, os.O_WRONLY)
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "open": lambda: vfs.files.open(hello, os.O_RDONLY),
        "read": lambda: vfs.files.read(fh, 0, 10),
        "write": lambda: vfs.files.write(fh, 0, b"more"),
        "flush": lambda: vfs.files.flush(fh),
        "fsync": lambda: vfs.files.fsync(fh),
        "ftruncate": lambda: vfs.setattr(hello, AttrChange(size=0), fh),
    }
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(calls[what])
            await trio.to_thread.run_sync(silent.entered.wait)
            try:
                with trio.fail_after(10):
                    await vfs.mkdir(documents, b"folder", 0o755, ME)
                    assert await vfs.files.read(other, 0, 10)
            finally:
                silent.go_on.set()


async def test_what_is_still_open_for_writing_is_released_at_the_end(vfs: Vfs) -> None:
    documents = await inode(vfs, "documents")
    fh, _ = await vfs.create(documents, b"a", 0o644, os.O_WRONLY, ME)
    await vfs.files.write(fh, 0, b"unfinished")
    await vfs.files.open(await inode(vfs, "documents/a"), os.O_RDONLY)
    vfs.stop_waiting()
    assert await vfs.files.release_all() == []
    assert vfs.handles.writers() == []


async def test_calls_of_one_handle_are_never_at_once(vfs: Vfs, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = await inode(vfs, "documents")
    fh, _ = await vfs.create(documents, b"a", 0o644, os.O_RDWR, ME)
    inside, most = threading.Semaphore(0), []
    busy = threading.Lock()

    def write(offset: int, data: bytes) -> int:
        most.append(busy.acquire(blocking=False))
        inside.acquire(timeout=0.01)
        busy.release()
        return len(data)

    monkeypatch.setattr(vfs.files.handle(fh), "write", write)
    async with trio.open_nursery() as nursery:
        for number in range(8):
            nursery.start_soon(vfs.files.write, fh, number, b"x")
    assert most == [True] * 8


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=1, max_size=60))
def test_the_quick_way_to_encode_a_name_is_the_exact_one(raw: bytes) -> None:
    assert _encoded(raw) == encode_name(raw)


async def test_pages_are_kept_only_of_the_bytes_that_are_opened() -> None:
    """Also where a handle from before a change goes on reading after it."""
    page = Page()
    vfs = Vfs(OneFile(page), lambda: space_of("/"))
    found = await vfs.lookup(ROOT_INODE, b"page")
    assert found is not None

    async def opened() -> tuple[int, bool]:
        fh = await vfs.files.open(found.inode, os.O_RDONLY)
        return fh, vfs.files.handle(fh).keep_cache

    first, kept = await opened()
    assert not kept
    again, kept = await opened()
    assert kept
    page.content = b"two"
    second, kept = await opened()
    assert not kept
    third, kept = await opened()
    assert not kept, "the first two may have read old pages meanwhile"
    for fh in (first, again, second, third):
        await vfs.files.release(fh)
    last, kept = await opened()
    assert not kept
    assert (await opened())[1]
    assert await vfs.files.read(last, 0, 10) == b"two"
    assert await vfs.files.read((await opened())[0], 1, 1) == b"w"


async def test_what_left_since_the_kernel_found_it_is_to_be_looked_up_again() -> None:
    """ESTALE, which the kernel answers with another lookup; those who have it open go on with what they opened."""
    page = Leaving()
    vfs = Vfs(OneFile(page), lambda: space_of("/"))
    assert await vfs.lookup(ROOT_INODE, b"page") is not None
    fh = await vfs.files.open(7, os.O_RDONLY)
    page.left = True
    found = await vfs.getattr(7)
    assert (found.inode, found.size, found.nlink) == (7, 3, 0)
    assert await vfs.files.read(fh, 0, 10) == b"one"
    with pytest.raises(GoneError):
        await vfs.files.open(7, os.O_RDONLY)
    await vfs.files.release(fh)
    with pytest.raises(GoneError):
        await vfs.getattr(7)


async def test_a_folder_that_left_still_answers_those_who_have_it_open() -> None:
    """opendir(3) asks for its attributes right after opening it, by descriptor: there is no name to look up again."""
    folder = LeavingFolder()
    vfs = Vfs(OneFile(folder), lambda: space_of("/"))
    assert await vfs.lookup(ROOT_INODE, b"page") is not None
    fh = await vfs.opendir(8)
    folder.left = True
    found = await vfs.getattr(8)
    assert (found.inode, found.mode, found.nlink) == (8, FOLDER_MODE, 0)
    vfs.releasedir(fh)
    with pytest.raises(GoneError):
        await vfs.getattr(8)


class Page(File):
    def __init__(self) -> None:
        self.content = b"one"

    @property
    def inode(self) -> int:
        return 7

    def attr(self) -> Attr:
        return Attr(7, FILE_MODE, 1, 0, 0, len(self.content), 0, 0, 0)

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        return Rendered(self.content)


class Leaving(Page):
    left = False

    def attr(self) -> Attr:
        if self.left:
            raise MissingError("It left.")
        return super().attr()

    def open(self, *, read: bool, write: bool, truncate: bool, append: bool = False) -> Handle:
        self.attr()
        return super().open(read=read, write=write, truncate=truncate, append=append)


class LeavingFolder(Folder):
    left = False

    @property
    def inode(self) -> int:
        return 8

    def attr(self) -> Attr:
        if self.left:
            raise MissingError("It left.")
        return Attr(8, FOLDER_MODE, 1, 0, 0, 0, 0, 0, 0)

    def lookup(self, name: str) -> Node | None:
        return None

    def entries(self) -> list[tuple[str, Node]]:
        return []


class OneFile(Folder):
    def __init__(self, page: Page | LeavingFolder) -> None:
        self.page = page

    @property
    def inode(self) -> int:
        return ROOT_INODE

    def lookup(self, name: str) -> Node | None:
        return self.page if name == "page" else None
