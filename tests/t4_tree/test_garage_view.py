"""The garage view without a kernel: the same Vfs as a mount, walked by the scenarios' driver."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.listing import object_path
from kgfs.tree import keys
from kgfs.tree.garage import GarageRoot, GarageView, below
from kgfs.tree.garage_feed import GarageFeed
from kgfs.tree.invalidation import StaleEntry, StaleInode
from kgfs.tree.node import ROOT_INODE, inode_of
from kgfs.tree.vfs import Vfs, space_of
from kgfs.tree.views import TREE
from tests.support.library import ME, Library, library_at
from tests.support.scenarios.driver import read_file
from tests.support.scenarios.memory import Loop, MemoryDriver

ZEN = b"Zen is a school of Buddhism. It uses koans.\n"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as found:
        found.root.make_folder("Zen", 0o755, ME)
        yield found


@pytest.fixture
def vfs(library: Library) -> Vfs:
    view = GarageView(library.stores, 1, 2, 3, TREE)
    return Vfs(GarageRoot(view), lambda: space_of("/"))


@pytest.fixture
def driver(vfs: Vfs) -> Iterator[MemoryDriver]:
    loop = Loop()
    yield MemoryDriver(loop, vfs)
    loop.stop()


def walk(driver: MemoryDriver, folder: bytes = b"") -> Iterator[bytes]:
    for name in driver.listdir(folder):
        path = folder + b"/" + name if folder else name
        if stat.S_ISDIR(driver.stat(path).mode):
            yield from walk(driver, path)
        else:
            yield path


def test_everything_kept_is_there_byte_for_byte(library: Library, driver: MemoryDriver) -> None:
    library.add("Zen/documents/zen.txt", ZEN, {"koan": ["It uses koans."]})
    objects = library.stores.garage.objects
    shown = {path.decode(): read_file(driver, path) for path in walk(driver) if not path.startswith(b"ledger/")}
    assert shown == {key: objects.get(key) for key, _ in objects.keys("")}
    assert {path.split("/")[0] for path in shown} == {"sources", "readings", "decisions"}
    for path, content in shown.items():
        found = driver.stat(path.encode())
        assert found.size == len(content)
        assert found.mtime_ns == objects.entry(path).kept_at > 10**18


def test_the_ledger_is_there_and_grows(library: Library, driver: MemoryDriver) -> None:
    library.write("Zen/documents/zen.txt", ZEN)
    from kgfs.stores.ship import ship_once

    ship_once(library.stores.catalog, library.stores.garage.ledger)
    [name] = driver.listdir(b"ledger")
    opened = driver.open(b"ledger/" + name, os.O_RDONLY)
    first = opened.read(1 << 20, 0)
    assert first.count(b"\n") == library.stores.catalog.seq()
    assert driver.stat(b"ledger/" + name).size == len(first)
    library.settle()
    ship_once(library.stores.catalog, library.stores.garage.ledger)
    assert b"version.minted" in opened.read(1 << 20, len(first))
    opened.close()
    assert b"version.minted" in read_file(driver, b"ledger/" + name)


def test_originals_say_whose_they_are(library: Library, driver: MemoryDriver) -> None:
    library.write("Zen/documents/zen.txt", ZEN)
    library.settle()
    document = library.document("Zen/documents/zen.txt")
    path = document.key.encode()
    assert driver.getxattr(path, "user.kgfs.sha256") == document.sha256.encode()
    assert driver.getxattr(path, "user.kgfs.doc_id") == document.doc_id.encode()
    assert driver.getxattr(path, "user.kgfs.ontology") == b"Zen"
    assert driver.getxattr(path, "user.kgfs.key") == path
    assert sorted(driver.listxattr(path)) == sorted(
        f"user.kgfs.{name}" for name in ("sha256", "doc_id", "ontology", "key")
    )
    for absent in ("user.kgfs.state", "user.other"):
        with pytest.raises(OSError, match=r".") as failure:
            driver.getxattr(path, absent)
        assert failure.value.errno == errno.ENODATA


def test_what_is_kept_now_is_seen_now(library: Library, driver: MemoryDriver) -> None:
    assert driver.listdir() == [b"ledger"]
    with pytest.raises(OSError, match=r"."):
        driver.stat(b"sources/Zen")
    library.write("Zen/documents/zen.txt", ZEN)
    library.settle()
    assert driver.listdir() == [b"ledger", b"sources"]
    assert driver.listdir(b"sources/Zen") == [library.document("Zen/documents/zen.txt").key.encode().split(b"/")[-1]]


def test_a_key_with_a_percent_sign_has_it_in_its_name(library: Library, driver: MemoryDriver) -> None:
    library.stores.garage.objects.put("texts/a%41b.txt", b"x")
    assert driver.listdir(b"texts") == [b"a%41b.txt"]
    assert read_file(driver, b"texts/a%41b.txt") == b"x"


def test_names_that_are_no_keys_are_absent(driver: MemoryDriver) -> None:
    for name in (b"a b", b"@tmp", b"\xff", b"\n", b"%41", "ü".encode()):
        with pytest.raises(OSError, match=r".") as failure:
            driver.stat(name)
        assert failure.value.errno == errno.ENOENT


def test_rot_is_an_error_and_never_wrong_bytes(library: Library, driver: MemoryDriver) -> None:
    content = os.urandom(2 * BLOCK)
    library.write("Zen/documents/big.bin", content)
    library.settle()
    key = library.document("Zen/documents/big.bin").key
    file = object_path(library.context.config.garage / "objects", key)
    file.chmod(0o600)
    with file.open("r+b") as raw:
        raw.seek(BLOCK + 5)
        raw.write(bytes([content[BLOCK + 5] ^ 1]))
    opened = driver.open(key.encode(), os.O_RDONLY)
    assert opened.read(BLOCK, 0) == content[:BLOCK]
    with pytest.raises(OSError, match=r".") as failure:
        opened.read(100, BLOCK + 1000)
    assert failure.value.errno == errno.EIO
    opened.close()


def test_what_left_or_grew_is_news(library: Library, vfs: Vfs, driver: MemoryDriver) -> None:
    library.write("Zen/documents/zen.txt", ZEN)
    library.settle()
    from kgfs.stores.ship import ship_once

    ship_once(library.stores.catalog, library.stores.garage.ledger)
    news = GarageFeed(GarageView(library.stores, 1, 2, 3, TREE), vfs)
    key = library.document("Zen/documents/zen.txt").key
    parent, name = ROOT_INODE, b""
    inodes = []
    for part in [*key.split("/"), ""]:
        if not part:
            break
        attr = driver.loop.run(lambda parent=parent, part=part: vfs.lookup(parent, part.encode()))  # type: ignore[misc]
        inodes.append((parent, part.encode(), attr.inode))
        parent = attr.inode
    ledger = driver.loop.run(lambda: vfs.lookup(ROOT_INODE, b"ledger"))
    [segment] = library.stores.garage.ledger.segments()
    assert ledger is not None
    driver.loop.run(lambda: vfs.lookup(ledger.inode, segment.name.encode()))
    news.poll()
    assert news.poll() == []
    library.write("Zen/documents/other.txt", b"more")
    ship_once(library.stores.catalog, library.stores.garage.ledger)
    assert StaleInode(inode_of(keys.kept(below("ledger", segment.name))), data=True) in news.poll()
    library.stores.garage.objects.delete(key)
    parent, name, inode = inodes[-1]
    found = [*news.poll(), *news.poll()]
    assert StaleEntry(parent, name) in found
    assert StaleInode(inode, data=True) in found


def test_a_large_folder_is_listed_by_name_alone(library: Library) -> None:
    view = GarageView(library.stores, 1, 2, 3, TREE)
    root = GarageRoot(view)
    for number in range(50):
        library.stores.garage.objects.put(f"records/d/{number:032x}.json", b"{}")
    folder = root.lookup("records")
    assert folder is not None
    listed = folder.lookup("d").entries()  # type: ignore[attr-defined]
    assert len(listed) == 50
    assert [name for name, _ in listed][:2] == [f"{0:032x}.json", f"{1:032x}.json"]
    assert listed[0][1] is not listed[0][1], "nodes are made as they are asked for"
    assert sys.getsizeof(listed) < 1000
