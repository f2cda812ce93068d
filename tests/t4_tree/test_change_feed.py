"""The kernel is told whatever changed: by others, by a worker, or by this mount where it has two names for a thing."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from kgfs.errors import KgfsError, MissingError
from kgfs.tree.change_feed import ChangeFeed, everything
from kgfs.tree.documents import DocumentsFolder
from kgfs.tree.invalidation import StaleEntry
from kgfs.tree.node import ROOT_INODE, AttrChange, Caller, Folder
from kgfs.tree.vfs import Vfs, space_of
from tests.support.claims import Told
from tests.support.library import ME, Library, library_at
from tests.support.scenarios.kernel import Kernel

if TYPE_CHECKING:
    pass

NAMES = ["a.txt", "b.txt", "b.txt.md", "b.md", "c", "c@"]
FOLDERS = ["", "sub/", "sub/deep/"]
ABSENT = [
    *NAMES,
    "zen.concept",
    "koan.concept",
    "a.txt.md",
    "a.txt@",
    "1",
    "2",
    "IS_A",
    "text.txt",
    "1.txt",
    "2.txt",
    "claims",
    "metric",
]
WORDS = {"Zen": "Zen is here", "Koan": "a koan", "Monk": "the monk"}


class Life:
    """Random things that happen to a home, from outside and through the mount."""

    def __init__(self, library: Library, seed: int) -> None:
        self.library = library
        self.random = random.Random(seed)
        self.vfs = Vfs(library.root, lambda: space_of("/"))
        self.news = ChangeFeed(library.context, self.vfs)
        self.kernel = Kernel(self.vfs)
        self.commits = 0

    def _folder(self, path: str) -> Folder | None:
        node = self.library.find(f"Zen/documents/{path}".rstrip("/"))
        return node if isinstance(node, Folder) else None

    def _path(self) -> tuple[str, str]:
        return self.random.choice(FOLDERS), self.random.choice(NAMES)

    def _content(self) -> bytes:
        words = self.random.sample(sorted(WORDS.values()), self.random.randint(1, 3))
        return (", ".join(words) + f" {self.random.randint(0, 3)}\n").encode()

    # From outside: through nodes the kernel has nothing to do with.

    def write(self) -> None:
        folder, name = self._path()
        if self._folder(folder) is not None:
            self.library.write(f"Zen/documents/{folder}{name}", self._content())

    def make_folder(self) -> None:
        at, name = self.random.choice([("", "sub"), ("sub/", "deep"), ("", "b.txt@")])
        folder = self._folder(at)
        if folder is not None:
            folder.make_folder(name, 0o755, ME)

    def remove(self) -> None:
        at, name = self._path()
        folder = self._folder(at)
        if folder is not None:
            folder.remove_file(name)

    def move(self) -> None:
        (at, name), (to, new_name) = self._path(), self._path()
        folder, goal = self._folder(at), self._folder(to)
        if folder is not None and goal is not None:
            folder.move(name, goal, new_name, replace=True)

    def move_folder(self) -> None:
        documents = self._folder("")
        assert documents is not None
        old, new = self.random.sample(["sub", "other"], 2)
        documents.move(old, documents, new, replace=False)

    def change(self) -> None:
        at, name = self._path()
        node = self.library.find(f"Zen/documents/{at}{name}")
        if node is not None:
            node.change(AttrChange(mode=self.random.choice([0o600, 0o644]), mtime=self.random.randint(1, 10**18)))

    def settle(self) -> None:
        self.library.settle()

    def read(self) -> None:
        """What a worker does with all that is owed."""
        stores = self.library.stores
        for job in stores.catalog.jobs.all():
            document = stores.catalog.names.document(job.doc_id)
            assert document is not None
            self.commits += 1
            if job.kind == "forget":
                self.library.pipeline.forget(document, f"forget-{self.commits}")
                continue
            live = [stores.catalog.names.path(name.id) for name in stores.catalog.names.names_of(job.doc_id)]
            if not live:
                continue
            text = stores.garage.objects.get(document.key).decode()
            quotes = {label: [words] for label, words in WORDS.items() if words in text}
            related = [("Zen", "IS_A", "Koan", WORDS["Koan"])] if {"Zen", "Koan"} <= quotes.keys() else []
            claims = [
                Told(
                    f"{label} grew by {len(text) % 3} %.", words, label, rejected="of a monk" if label == "Monk" else ""
                )
                for label, [words] in quotes.items()
            ]
            self.library.publish(f"Zen/documents/{live[0]}", quotes, related, claims=claims)

    def other_ontology(self) -> None:
        found = self.library.root.lookup("Other")
        if found is None:
            self.library.root.make_folder("Other", 0o755, ME)
        else:
            self.library.root.remove_folder("Other")

    def rename_ontology(self) -> None:
        self.library.root.move("Zen", self.library.root, "Tao", replace=False)
        self.library.root.move("Tao", self.library.root, "Zen", replace=False)

    outside = (write, write, write, make_folder, remove, move, move_folder, change, settle, read, read)
    rare = (other_ontology, rename_ontology)

    # Through the mount.

    async def _inode(self, path: str) -> int:
        inode = ROOT_INODE
        for part in [part for part in path.split("/") if part]:
            inode = await self.kernel.lookup(inode, part.encode())
            if not inode:
                raise MissingError(path)
        return inode

    async def act(self) -> None:
        at, name = self._path()
        place = self.random.choice([f"Zen/documents/{at}", "Zen"])
        parent = await self._inode(place)
        what = self.random.randrange(4)
        if what == 0:
            await self.kernel.write(parent, name.encode(), self._content())
        elif what == 1 and await self.kernel.lookup(parent, name.encode()):
            await self.kernel.remove(parent, name.encode())
        elif what == 2 and await self.kernel.lookup(parent, name.encode()):
            goal = await self._inode(self.random.choice(["Zen/documents", "Zen", place]))
            await self.kernel.rename(parent, name.encode(), goal, self.random.choice(NAMES).encode())
        elif what == 3:
            await self.kernel.mkdir(await self._inode("Zen/documents"), b"sub")

    async def step(self) -> str:
        chosen = self.random.random()
        happening = "through the mount"
        try:
            if chosen < 0.3:
                await self.act()
            else:
                outside = self.random.choice(self.outside if chosen < 0.95 else self.rare)
                happening = outside.__name__
                outside(self)
        except KgfsError as error:
            happening += f" ({type(error).__name__})"
        return happening


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        library.ontology()
        yield library


@pytest.mark.parametrize("seed", range(12))
async def test_nothing_stale_is_ever_remembered(seed: int, library: Library) -> None:
    life = Life(library, seed)
    happened = []
    for _ in range(12):
        await life.kernel.look_at_everything(name.encode() for name in ABSENT)
        assert life.kernel.wrong() == []
        happened.append(await life.step())
        life.kernel.forget([*life.vfs.take_stale(), *life.news.poll()])
        assert life.kernel.wrong() == [], happened[-12:]


async def test_quiet_means_no_news(library: Library) -> None:
    life = Life(library, 1)
    await life.kernel.look_at_everything()
    assert life.news.poll() == []


async def test_a_folder_made_here_is_not_taken_from_those_who_stand_in_it(library: Library) -> None:
    life = Life(library, 1)
    documents = await life._inode("Zen/documents")
    await life.kernel.mkdir(documents, b"new")
    await life.kernel.mkdir(ROOT_INODE, b"Another")
    await life.kernel.mkdir(await life._inode("Zen/documents/new"), b"deeper")
    await life.kernel.rename(documents, b"new", documents, b"renamed")
    stale = [*life.vfs.take_stale(), *life.news.poll()]
    kept = {(documents, b"renamed"), (ROOT_INODE, b"Another"), (ROOT_INODE, b"Zen")}
    assert not kept & {(item.parent, item.name) for item in stale if isinstance(item, StaleEntry)}


async def test_a_content_written_here_keeps_its_pages(library: Library) -> None:
    life = Life(library, 1)
    documents = await life._inode("Zen/documents")
    await life.kernel.write(documents, b"a.txt", b"mine")
    inode = await life._inode("Zen/documents/a.txt")
    assert not any(getattr(item, "data", False) and item.inode == inode for item in life.news.poll())


async def test_one_who_is_far_behind_forgets_everything_but_where_people_stand(library: Library) -> None:
    library.write("Zen/documents/sub/a.txt", b"a\n") if library.find("Zen/documents/sub") else None
    life = Life(library, 3)
    for _ in range(10):
        await life.step()
    await life.kernel.look_at_everything(name.encode() for name in ABSENT)
    life.kernel.forget(everything(life.vfs.inodes))
    assert not life.kernel.attrs
    folders = {await life._inode(path) for path in ("Zen", "Zen/documents", "Zen/concepts")}
    assert folders <= set(life.kernel.entries.values())
    assert 0 not in life.kernel.entries.values()
    for _ in range(10):
        await life.step()
    life.kernel.forget(everything(life.vfs.inodes))
    assert life.kernel.wrong() == []


async def test_news_of_a_folder_that_is_just_being_made_here(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fact is in the feed before the kernel has its answer."""
    life = Life(library, 1)
    documents = await life._inode("Zen/documents")
    recorded, answer = threading.Event(), threading.Event()
    really = DocumentsFolder.make_folder

    def slowly(self: DocumentsFolder, name: str, mode: int, caller: Caller) -> Folder:
        made = really(self, name, mode, caller)
        recorded.set()
        answer.wait(10)
        return made

    monkeypatch.setattr(DocumentsFolder, "make_folder", slowly)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(life.kernel.mkdir, documents, b"new")
        await trio.to_thread.run_sync(recorded.wait)
        stale = life.news.poll()
        answer.set()
    stale += [*life.news.poll(), *life.vfs.take_stale()]
    assert StaleEntry(documents, b"new") not in stale
    life.kernel.forget(stale)
    assert life.kernel.wrong() == []


async def test_news_that_failed_half_way_make_everything_stale_once(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = Life(library, 1)
    await life.kernel.look_at_everything(name.encode() for name in ABSENT)
    library.write("Zen/documents/a.txt", b"from outside")
    with monkeypatch.context() as broken:
        broken.setattr(life.news._translator, "of_fact", lambda fact: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            life.news.poll()
    assert life.kernel.wrong() != []
    life.kernel.forget(life.news.poll())
    assert life.kernel.wrong() == []
    assert life.news.poll() == []
