"""The file of bookmarks that processes share: none of them takes away what another has written."""

from __future__ import annotations

import base64
import errno
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgfs.errors import AwayError, FullError, StoreError
from tests.support.graph_stores import own
from tests.support.running import ROOT
from tests.support.small_disk import small_file_system

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place

WRITING = """
import sys
from pathlib import Path
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.neo4j.speaking import Speaking

where = eval(sys.argv[1], {"PosixPath": Path})
speaking = Speaking(Place(**where))

def work(tx):
    tx.run("CREATE (:Noted {by: 'child', of: $of})", of=where["namespace"]).consume()
    print("written", flush=True)
    sys.stdin.readline()

speaking.once(work, writes=True)
print("committed", flush=True)
sys.stdin.readline()
speaking.close()
"""
"""A transaction that ends when it is told to."""
COUNTING = """
import sys
from pathlib import Path
from kgfs.stores.graph.neo4j.bookmarks import Kept
from tests.t1_stores.test_graph_bookmarks import newest, told

name, most = sys.argv[1], 0
print("ready", flush=True)
sys.stdin.readline()
for number in range(1, int(sys.argv[3]) + 1):
    manager = Kept(Path(sys.argv[2])).manager  # that of a new process
    seen = manager.get_bookmarks()
    most = max(most, len(seen))
    known = newest(seen)
    if known[name] != number - 1:
        sys.exit(f"{name} wrote {number - 1} and sees {known[name]}")
    known[name] = number
    manager.update_bookmarks(seen, {told(known)})
print(most)
"""
"""A process that sees nothing but the file, where each bookmark says what is known who has got so far."""


def told(known: Counter[str]) -> str:
    return ",".join(f"{name}={number}" for name, number in sorted(known.items()))


def newest(bookmarks: set[str]) -> Counter[str]:
    """What is known at the least where all of these are."""
    found: Counter[str] = Counter()
    for name, number in re.findall(r"(\w+)=(\d+)", " ".join(bookmarks)):
        found[name] = max(found[name], int(number))
    return found


def put_ahead(path: Path) -> None:
    """Have the file speak of what the server has not done yet, and will not for a long time."""
    kind, _, value = path.read_text().split()[0].partition(":")
    known = base64.b64decode(value + "==")
    later = known[:19] + b"\xca\x7f\xff\xff\xff\x90"  # the database's id, and the number of its last transaction
    path.write_text(f"{kind}:{base64.b64encode(later).decode()}")


def spoken_with(program: str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, *words]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def say(process: subprocess.Popen[str]) -> None:
    """That it may go on."""
    assert process.stdin
    print("go on", file=process.stdin, flush=True)


def test_nothing_that_any_process_wrote_is_lost_nor_kept_for_ever(tmp_path: Path) -> None:
    from kgfs.stores.graph.neo4j.bookmarks import Kept

    path, names, rounds = tmp_path / "bookmarks", ["one", "two", "three"], 300
    begun = [spoken_with(COUNTING, name, str(path), str(rounds)) for name in names]
    assert [heard(process) for process in begun] == ["ready"] * 3
    for process in begun:
        say(process)
    said = [process.communicate()[0] for process in begun]
    assert [process.returncode for process in begun] == [0, 0, 0]
    assert max(int(most) for most in said) <= len(names)
    manager = Kept(path).manager
    assert manager
    assert newest(set(manager.get_bookmarks())) == dict.fromkeys(names, rounds)


def test_a_write_is_known_to_others_though_somebody_else_ends_after_it(neo4j_place: Place, tmp_path: Path) -> None:
    """Both began when neither was done, so neither waits for the other; who asks then waits for both."""
    from kgfs.stores.graph.neo4j.bookmarks import Kept
    from kgfs.stores.graph.neo4j.speaking import Speaking

    place = replace(own(neo4j_place), bookmarks=tmp_path / "bookmarks")
    manager = Kept(place.bookmarks).manager
    assert manager
    child = spoken_with(WRITING, repr(asdict(place)))
    try:
        assert heard(child) == "written"
        with closing(Speaking(place)) as ours, closing(Speaking(place)) as reader:
            ours.write(lambda tx: tx.run("CREATE (:Noted {by: 'parent', of: $of})", of=place.namespace).consume())
            [mine] = manager.get_bookmarks()
            say(child)
            assert heard(child) == "committed"
            both = set(manager.get_bookmarks())
            assert mine in both and len(both) == 2
            found = reader.one("MATCH (n:Noted {of: $of}) RETURN collect(n.by) AS by", of=place.namespace)
            assert found and sorted(found["by"]) == ["child", "parent"]
            assert len(set(manager.get_bookmarks())) == 1, "who waited for both has one for both"
    finally:
        child.communicate()
    assert child.returncode == 0


@pytest.mark.claim("GRAPH-6")
def test_what_one_process_forgets_no_other_asks_for(tmp_path: Path) -> None:
    from kgfs.stores.graph.neo4j.bookmarks import Kept

    one, other = Kept(tmp_path / "bookmarks"), Kept(tmp_path / "bookmarks")
    assert one.manager and other.manager
    other.manager.update_bookmarks(set(), {"later"})
    one.forget()
    one.forget()
    assert set(other.manager.get_bookmarks()) == set()


# ------------------------------------------------------------------------- a file that cannot be written or read


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path, "64k") as point:
        yield point


def fill(disk: Path) -> Path:
    """A file that leaves no room for the bytes of another, only for its name."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, pytest.raises(OSError) as met:
        while True:
            file.write(bytes(4096))
    assert met.value.errno == errno.ENOSPC
    return ballast


def test_a_full_disk_is_said_with_the_file_and_what_was_known_stays(small_disk: Path) -> None:
    from kgfs.stores.graph.neo4j.bookmarks import Kept

    path = small_disk / "bookmarks"
    manager = Kept(path).manager
    assert manager
    manager.update_bookmarks(set(), {"before"})
    ballast = fill(small_disk)
    with pytest.raises(FullError, match=re.escape(str(path))):
        manager.update_bookmarks({"before"}, {"after"})
    assert set(manager.get_bookmarks()) == {"before"}
    ballast.unlink()
    manager.update_bookmarks({"before"}, {"after"})
    assert set(manager.get_bookmarks()) == {"after"}


def test_a_folder_that_is_none_is_said_with_the_file(tmp_path: Path) -> None:
    from kgfs.stores.graph.neo4j.bookmarks import Kept

    path = tmp_path / "file" / "bookmarks"
    path.parent.write_text("")
    kept = Kept(path)
    assert kept.manager
    for call in (kept.manager.get_bookmarks, lambda: kept.manager.update_bookmarks(set(), {"new"}), kept.forget):
        with pytest.raises(StoreError, match=re.escape(str(path))) as met:
            call()
        assert met.value.errno == errno.ENOTDIR and not isinstance(met.value, AwayError)


def test_bytes_that_are_no_text_are_no_bookmarks(tmp_path: Path) -> None:
    from kgfs.stores.graph.neo4j.bookmarks import Kept

    path = tmp_path / "bookmarks"
    path.write_bytes(b"FB:\xff\xfe")
    manager = Kept(path).manager
    assert manager
    assert set(manager.get_bookmarks()) == set()
    manager.update_bookmarks(set(), {"new"})
    assert set(manager.get_bookmarks()) == {"new"}


def test_a_write_that_was_done_while_the_disk_was_full_says_so_and_is_found_done(
    neo4j_place: Place, small_disk: Path
) -> None:
    """The server is not blamed, and goes on being asked over the same connections when there is room again."""
    from neo4j import ManagedTransaction

    from kgfs.stores.graph.neo4j.speaking import Speaking

    alone = own(neo4j_place)
    place = replace(alone, bookmarks=small_disk / "bookmarks")
    said = re.escape(f"{place.bookmarks}: no space left on the device")
    done: list[bool] = []

    def work(tx: ManagedTransaction) -> None:
        found = tx.run("MATCH (n:Noted {of: $of}) RETURN count(n) AS n", of=place.namespace).single(strict=True)
        done.append(found["n"] == 1)
        if not done[-1]:
            tx.run("CREATE (:Noted {by: 'us', of: $of})", of=place.namespace).consume()

    count = "MATCH (n:Noted {of: $of}) RETURN count(n) AS n"
    more = "CREATE (n:Noted {by: 'us', of: $of}) RETURN n.by AS by"
    with closing(Speaking(place)) as ours, closing(Speaking(alone)) as other:
        ballast = fill(small_disk)
        with pytest.raises(FullError, match=said):
            ours.write(work)
        assert (found := other.one(count, of=place.namespace)) and found["n"] == 1
        with pytest.raises(FullError, match=said):
            ours.once(work, writes=True)
        with pytest.raises(FullError, match=said):
            ours.write_one(more, place.timeout, of=place.namespace)
        assert (found := other.one(count, of=place.namespace)) and found["n"] == 2
        with pytest.raises(FullError, match=said):
            ours.one(count, of=place.namespace)
        ballast.unlink()
        assert (found := ours.one(count, of=place.namespace)) and found["n"] == 2
    assert done == [False, True]
    assert place.bookmarks and place.bookmarks.read_text()
