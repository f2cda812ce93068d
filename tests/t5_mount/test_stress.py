"""Everybody at once: readers, a writer, a renamer, a second mount, the command line and the worker, on one home.

It ends with no hang, no error and no stale name: all that was committed elsewhere was seen in time, and at the end the
mount shows what a fresh one shows.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.mounting import mounted_place
from tests.support.running import Place, until
from tests.support.seeing import IN_TIME, alike, in_time, mounted_again
from tests.support.texts import ZEN

pytestmark = pytest.mark.mounted

SECONDS = float(os.environ.get("KGFS_STRESS_SECONDS", "15"))
"""How long they go on. A minute or an hour, now and then, finds what is rare."""

BUSY = 1.0
"""How much longer than promised a name may be stale here, where a dozen threads and four processes share the machine."""

WORDS = (
    "zen",
    "koan",
    "practice",
    "collector",
    "memory",
    "garbage",
    "algorithm",
    "tracing",
    "object",
    "riddle",
    "mind",
)


def text(chance: random.Random) -> str:
    sentences = (f"A {chance.choice(WORDS)} is a {chance.choice(WORDS)} of {chance.choice(WORDS)}." for _ in range(20))
    return " ".join(sentences) + "\n"


@dataclass
class Crowd:
    """Runs each member again and again, in a thread of its own, until the time is over or one fails."""

    ends: float
    failures: list[str] = field(default_factory=list)
    rounds: dict[str, int] = field(default_factory=dict)
    slowest: float = 0.0
    _threads: list[threading.Thread] = field(default_factory=list)

    def join_in(self, name: str, act: Callable[[random.Random], object], pause: float = 0.0) -> None:
        def run() -> None:
            chance = random.Random(name)
            self.rounds[name] = 0
            while time.monotonic() < self.ends and not self.failures:
                try:
                    act(chance)
                except Exception:  # noqa: BLE001  # whatever it is, the test fails with it
                    self.failures.append(f"{name}, round {self.rounds[name]}: {traceback.format_exc()}")
                self.rounds[name] += 1
                time.sleep(pause)

        self._threads.append(threading.Thread(target=run, name=name, daemon=True))

    def seen(self, true: Callable[[], object]) -> None:
        self.slowest = max(self.slowest, in_time(true, IN_TIME + BUSY))

    def go(self) -> None:
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join(max(0.0, self.ends - time.monotonic()) + 60)
        hung = [thread.name for thread in self._threads if thread.is_alive()]
        assert self.failures == [], "\n".join(self.failures)
        assert hung == []


def read_all(top: Path) -> None:
    """As ``grep -r`` would; a name may be gone when its turn comes, and nothing else may be wrong."""
    for folder, folders, files in os.walk(top):
        assert len(set(files)) == len(files), f"{folder} lists a name twice"
        assert set(files).isdisjoint(folders)
        for name in files:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    size, content = os.fstat(file.fileno()).st_size, file.read()
            except FileNotFoundError:
                continue
            if "/concepts/" in folder and name != "document":  # that one leads to a file of the writer
                assert content, f"{path} is empty; its size was {size}"


def write(documents: Path, chance: random.Random) -> None:
    """Through the mount itself: what was written is read at once."""
    path = documents / f"mine-{chance.randrange(20)}.txt"
    content = text(chance)
    path.write_text(content)
    assert path.read_text() == content
    assert path.stat().st_size == len(content)
    if chance.random() < 0.2:
        path.unlink()
        assert not path.exists()
        assert path.name not in os.listdir(documents)


def rename(documents: Path, chance: random.Random) -> None:
    """To and fro, also whole folders; at each step the name is where it was put and nowhere else."""
    room = documents / "rooms"
    (room / "a").mkdir(parents=True, exist_ok=True)
    content = text(chance)
    (room / "a/file.txt").write_text(content)
    os.rename(room / "a", room / "b")
    assert not (room / "a").exists()
    assert (room / "b/file.txt").read_text() == content
    os.rename(room / "b/file.txt", room / "free.txt")
    assert not (room / "b/file.txt").exists()
    (room / "aside").write_text("replaced")
    os.replace(room / "aside", room / "free.txt")
    assert (room / "free.txt").read_text() == "replaced"
    assert not (room / "aside").exists()
    os.rename(room / "b", room / "a")
    assert sorted(os.listdir(room)) == ["a", "free.txt"]


def change_elsewhere(crowd: Crowd, here: Path, there: Path, chance: random.Random) -> None:
    """Committed through ``there``; seen in time ``here``, where each name was believed absent or had other bytes."""
    one, other = f"theirs-{chance.randrange(8)}.txt", f"theirs-{chance.randrange(8, 16)}.txt"
    for name in (one, other):
        (here / name).exists()
    content = text(chance)
    (there / "aside").write_text(content)
    os.replace(there / "aside", there / one)
    crowd.seen(lambda: (here / one).exists() and (here / one).read_text() == content)
    crowd.seen(lambda: (here.parent / one).exists())
    os.rename(there / one, there / other)
    crowd.seen(lambda: not (here / one).exists() and (here / other).exists())
    crowd.seen(lambda: not (here.parent / one).exists() and one not in os.listdir(here))
    assert (here / other).read_text() == content
    if chance.random() < 0.5:
        (there / other).unlink()
        crowd.seen(lambda: not (here / other).exists() and other not in os.listdir(here))


def ingest(crowd: Crowd, place: Place, source: Path, chance: random.Random) -> None:
    content = text(chance)
    source.write_text(content)
    name = f"sub/taken-{chance.randrange(5)}.txt"
    path = place.mountpoint / "A/documents" / name
    path.exists()
    place.run("ingest", source, "--ontology", "A", "--as", name, "--no-wait")
    crowd.seen(lambda: path.exists() and path.read_text() == content)


@pytest.mark.slow
def test_everybody_at_once(tmp_path: Path) -> None:
    with mounted_place(tmp_path) as place:
        top = place.ontology("A")
        (top / "documents/zen.md").write_text(ZEN)
        with mounted_again(place, "second") as second:
            here, there = top / "documents", second.mountpoint / "A/documents"
            until(there.is_dir)
            crowd = Crowd(time.monotonic() + SECONDS)
            crowd.join_in("reader of all", lambda chance: read_all(top), 0.2)
            crowd.join_in("reader of documents", lambda chance: read_all(here), 0.05)
            crowd.join_in("reader of the second", lambda chance: read_all(second.mountpoint / "A/concepts"), 0.3)
            crowd.join_in("writer", lambda chance: write(here, chance), 0.02)
            crowd.join_in("renamer", lambda chance: rename(here, chance), 0.02)
            crowd.join_in("elsewhere", lambda chance: change_elsewhere(crowd, here, there, chance), 0.05)
            crowd.join_in("ingest", lambda chance: ingest(crowd, place, tmp_path / "taken.txt", chance), 2.0)
            crowd.go()
            assert all(crowd.rounds.values()), crowd.rounds
            print(f"rounds {crowd.rounds}; slowest news {crowd.slowest:.2f} s")
        place.wait()
        with mounted_again(place, "fresh") as fresh:
            in_time(lambda: alike(top, fresh.mountpoint / "A"))
        assert "zen.concept" in os.listdir(top / "concepts")


READER = """
import os, sys, time

top, ends, first = sys.argv[1], time.time() + float(sys.argv[2]), int(sys.argv[3])
reads = 0
while time.time() < ends:
    for position, name in enumerate(os.listdir(top)):
        for file in ("concept.md", "evidence/1/source.txt", "evidence/1/citation.json", "evidence/1/quote.txt"):
            try:
                opened = os.open(f"{top}/{name}/{file}", os.O_RDONLY)
            except FileNotFoundError:
                continue
            before = os.fstat(opened).st_size
            content = b"".join(iter(lambda: os.read(opened, 1000 if (reads + first) % 3 else 100), b""))
            after = os.fstat(opened).st_size
            os.close(opened)
            reads += 1
            if not before == after == len(content):
                sys.exit(f"{name}/{file}: {before} bytes before, {after} after, {len(content)} read, after {reads} reads")
print(reads)
"""


@pytest.mark.slow
@pytest.mark.claim("SIZE-1", "VIS-6")
def test_open_files_have_the_size_they_tell(tmp_path: Path) -> None:
    """Readers of concepts, while what they read is committed anew all the time."""
    with mounted_place(tmp_path) as place:
        top = place.ontology("A")
        (top / "documents/zen.md").write_text(ZEN)
        until(lambda: os.listdir(top / "concepts"))
        words = [sys.executable, "-c", READER, str(top / "concepts"), str(SECONDS / 3)]
        readers = [subprocess.Popen([*words, str(first)], stdout=subprocess.PIPE, text=True) for first in range(3)]
        chance, versions = random.Random(1), 0
        while any(reader.poll() is None for reader in readers):
            (top / f"documents/{chance.randrange(12)}.txt").write_text(text(chance))
            versions += 1
            time.sleep(0.2)
        reported = [reader.communicate()[0] for reader in readers]
        assert [reader.returncode for reader in readers] == [0, 0, 0]
        print(f"{sum(map(int, reported))} reads during {versions} writes")
