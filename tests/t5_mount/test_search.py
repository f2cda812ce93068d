"""Claims of docs/semantics.md about search/: SEARCH."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from errno import EAGAIN, EEXIST, EISDIR, ENOENT, ENOTCONN, ENOTEMPTY, EPERM, EROFS, ETIMEDOUT
from pathlib import Path

import pytest

from tests.support.mounting import mounted_place, run, settled
from tests.support.running import Place, until
from tests.support.scenarios.filesystem import fails_with
from tests.support.seeing import in_time

pytestmark = pytest.mark.mounted
claim = pytest.mark.claim

ZEN = "Zen is a school of Buddhism.\n\nA koan is a riddle that Zen teachers use.\n"
AT_ONCE = 16


def fill(place: Place) -> None:
    for number in range(4):
        folder = place.ontology("Zen") / "documents" / f"folder {number}"
        folder.mkdir()
        for other in range(4):
            (folder / f"note {other}.txt").write_text(f"{ZEN}Teacher {number}{other} says so.\n")
    (place.ontology("Tea") / "tea.txt").write_text("Tea is a drink. Monks drink it.\n")
    settled(place)
    place.run("worker", "--until-idle")
    until((place.mountpoint / "Zen" / "concepts" / "koan.concept").exists)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    top = tmp_path_factory.mktemp("search")
    # Who was answered had been detached; a wrong filter is told.
    declared = ("TimedOutError", r"fuse_reply_\* failed with", "is no filter")
    with mounted_place(top, "--no-worker", declared=declared) as found:
        fill(found)
        yield found


def asked(place: Place) -> int:
    """How many searches there were so far."""
    metrics = (place.mountpoint / ".kgfs" / "metrics.prom").read_text()
    found = re.search(r"^kgfs_searches_total (\d+)$", metrics, re.MULTILINE)
    assert found
    return int(found[1])


# ------------------------------------------------------------------------------------------------ what is there


@claim("SEARCH-1")
def test_results_are_ordinary_files(place: Place) -> None:
    found = place.mountpoint / "Zen" / "search" / "what is a koan?"
    assert found.is_dir()
    names = sorted(os.listdir(found))
    assert names[0].startswith("01~note-") and names[-3:] == ["passages", "results.json", "results.md"]
    page_two = Path(f"{found}/page-2/results.json")
    for path in (*(found / name for name in names if name != "passages"), *(found / "passages").iterdir(), page_two):
        assert path.stat().st_size == len(path.read_bytes())
    page = json.loads((found / "results.json").read_text())
    first = page["results"][0]
    chunks = first["chunks"]
    original = (place.mountpoint / "Zen" / first["document"]).read_text()
    assert first["full_content"] == original[chunks[0]["char_start"] : chunks[-1]["char_end"]]
    assert "==koan==" in (found / first["file"]).read_text() and "==koan==" in (found / "results.md").read_text()
    assert {one["ontology"] for one in page["results"]} == {"Zen"}
    both = json.loads(Path(f"{place.mountpoint}/search/koan drink/results.json").read_text())
    assert {one["ontology"] for one in both["results"]} == {"Zen", "Tea"}
    hit = json.loads((found / "passages" / "results.json").read_text())["hits"][0]
    original = (place.mountpoint / "Zen" / hit["document"]).read_text()
    assert original[hit["char_start"] : hit["char_end"]] == hit["text"]
    assert "==koan==" in (found / "passages" / hit["file"]).read_text()


@claim("SEARCH-1")
@pytest.mark.parametrize("words", ["never seen before", "straight to a file"])
def test_a_path_leads_straight_to_its_results(place: Place, words: str) -> None:
    assert run("cat", f"{place.mountpoint}/Tea/search/{words}/results.md").startswith(f"# {words}\n")


@claim("SEARCH-2")
def test_walking_the_tree_starts_no_search(place: Place) -> None:
    os.utime(place.mountpoint / "Tea" / "search" / "drink")
    os.utime(place.mountpoint / "search" / "monk")
    before = asked(place)
    for words in (
        ("find", place.mountpoint),
        ("find", "-L", place.mountpoint, "-size", "+1"),
        ("grep", "-r", "koan", place.mountpoint / "Zen"),
        ("grep", "-R", "koan", place.mountpoint / "Tea" / "concepts"),
        ("ls", "-laR", place.mountpoint),
        ("du", "-a", place.mountpoint),
        ("ls", "-la", place.mountpoint / "Tea" / "search", place.mountpoint / "search"),
        ("stat", place.mountpoint / "Tea" / "search" / "drink", place.mountpoint / "Zen" / "search" / "unheard of"),
    ):
        subprocess.run(words, stdout=subprocess.DEVNULL, check=False, timeout=60)
    assert asked(place) == before
    for name in (".git", ".DS_Store", "._drink", ".Trash-1000", "desktop.ini", "autorun.inf", "Thumbs.db"):
        for folder in (place.mountpoint / "search", place.mountpoint / "Zen" / "search"):
            with fails_with(ENOENT):
                os.listdir(folder / name)
    assert asked(place) == before
    assert run("find", place.mountpoint / "Tea" / "search", "-name", "results.md").count("results.md") == 2
    assert asked(place) == before + 1  # whoever walks into it has asked for it


@claim("SEARCH-3")
def test_searches_are_saved_by_touch(place: Place) -> None:
    search = place.ontology("Saving") / "search"
    assert os.listdir(search) == [] and "search" not in os.listdir(search.parent)
    run("touch", search / "what is zen?")
    run("touch", search / "what is zen?")
    assert os.listdir(search) == ["what is zen?"]
    with fails_with(EEXIST):
        (search / "another").mkdir()
    with fails_with(EROFS):
        (search / "another" / "07~file.md").touch()
    with fails_with(EROFS):
        (search / "another" / "results.md").unlink()
    with fails_with(EROFS):
        (search / "another").chmod(0o700)
    with fails_with(EISDIR):
        search.write_text("x")
    with fails_with(EPERM):
        (search / ".hidden").mkdir()
    with fails_with(ENOENT):
        (search / "another").rmdir()
    with fails_with(ENOTEMPTY):
        search.parent.rmdir()
    run("touch", search / "another" / "and one within it")
    assert sorted(os.listdir(search)) == ["another", "what is zen?"]
    with fails_with(ENOTEMPTY):
        (search / "another").rmdir()
    (search / "another" / "and one within it").rmdir()
    (search / "what is zen?").rmdir()
    assert os.listdir(search) == [] and os.listdir(search / "what is zen?") != []
    run("touch", search / "again")
    run("rm", "-rf", search.parent)
    assert not search.parent.exists()


@claim("SEARCH-3")
def test_saved_searches_are_facts(place: Place) -> None:
    run("touch", f"{place.mountpoint}/Tea/search/kept é\n")
    second = Place(place.home, place.mountpoint.with_name("second"), place.environment)
    second.mountpoint.mkdir()
    try:
        second.mount("--no-worker")
        assert "kept é\n" in os.listdir(second.mountpoint / "Tea" / "search")
        (second.mountpoint / "Tea" / "search" / "kept é\n").rmdir()
        in_time(lambda: "kept é\n" not in os.listdir(place.mountpoint / "Tea" / "search"))
    finally:
        second.run("umount", second.mountpoint, expect=None)


@claim("SEARCH-4")
def test_what_is_found_follows_the_documents(place: Place) -> None:
    top = place.ontology("Growing")
    page = top / "search" / "satori" / "results.md"
    (top / "a.txt").write_text("Satori is sudden. Zen knows satori.\n")
    with page.open("rb") as opened:
        before = opened.read()
        assert b"Nothing found" in before
        settled(place)
        place.run("worker", "--until-idle")
        in_time(lambda: b"documents/a.txt" in page.read_bytes())
        opened.seek(0)
        assert opened.read() == before and os.fstat(opened.fileno()).st_size == len(before)
    assert page.stat().st_size == len(page.read_bytes())
    (top / "documents" / "a.txt").rename(top / "documents" / "b.txt")
    in_time(lambda: b"documents/b.txt" in page.read_bytes())
    assert page.stat().st_size == len(page.read_bytes())
    assert (page.parent / "01~b.md").exists()


@claim("SEARCH-5")
@pytest.mark.models
def test_meaning_is_looked_at_while_a_worker_lives(tmp_path: Path) -> None:
    models = {"KGFS_MODELS_EMBEDDER": "auto"}
    with mounted_place(tmp_path, "--no-worker", env=models) as place:
        (place.ontology("Animals") / "cat.txt").write_text("A kitten sleeps on the sofa all day and purrs.\n")
        settled(place)
        worker = place.start("worker")
        try:
            place.run("wait", "--timeout", "240")
            page = place.mountpoint / "Animals" / "search" / "a young cat is sleeping" / "passages" / "results.json"
            found = json.loads(page.read_text())
            assert found["by"] == ["full text", "meaning"]
            assert found["hits"][0]["cosine"] > 0.3
            assert json.loads(place.run("search", "--json", "a young feline naps").stdout)["results"]
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()
        page = place.mountpoint / "Animals" / "search" / "kitten" / "results.md"
        assert "1 document in Animals, by full text only (No worker listens" in page.read_text()
        reported = place.run("search", "kitten", "--ontology", "Animals")
        assert "cat.txt:1-1" in reported.stdout and "full text only" in reported.stderr
        assert place.run("search", "xylophone").stdout == ""
        place.run("search", "kitten", "--ontology", "Nobody", expect=4)


# ------------------------------------------------------------------------------------------------- slow questions


@pytest.fixture
def slow(place: Place, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    """The same home once more, where each question takes so many seconds."""
    slowness = {"KGFS_SLOW_AT": f"searching:{getattr(request, 'param', 5)}"}
    found = Place(place.home, tmp_path / "mnt", {**place.environment, **slowness})
    found.mountpoint.mkdir()
    try:
        yield found.mount("--no-worker")
    finally:
        found.run("umount", found.mountpoint, "--lazy", expect=None)


class Askers:
    """Threads that look into folders of search/, all of them at once, and what came of it."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.answers: list[int] = []
        """0, or the errno."""
        self._threads = [threading.Thread(target=self._ask, args=(folder,)) for folder in folders]
        for thread in self._threads:
            thread.start()

    def _ask(self, folder: Path) -> None:
        try:
            os.listdir(folder)
            self.answers.append(0)
        except OSError as error:
            self.answers.append(error.errno or -1)

    def join(self) -> list[int]:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        return sorted(self.answers)


def at_once(count: int, act: Callable[[int], None]) -> None:
    """Until all are done."""
    threads = [threading.Thread(target=act, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


@claim("SEARCH-6", "SEARCH-7")
@pytest.mark.parametrize("slow", [8], indirect=True)
def test_a_slow_question_delays_nobody_else(slow: Place) -> None:
    top = slow.mountpoint / "Zen"

    def elsewhere(number: int) -> None:
        folder = top / "documents" / f"folder {number % 4}"
        for other in range(10):
            (folder / f"note {other % 4}.txt").read_bytes()
            (top / "search" / f"unasked {number} {other}").stat()
        os.listdir(folder)
        (top / "koan.concept" / "concept.md").read_bytes()
        with suppress(FileNotFoundError):
            (top / f"missing {number} {time.monotonic()}").stat()

    at_once(70, elsewhere)
    askers = Askers([top / "search" / f"koan {number}" for number in range(40)])
    until(lambda: askers.answers.count(EAGAIN) == 40 - AT_ONCE)
    at_once(70, elsewhere)
    assert 0 not in askers.answers, "the slow questions were over before the others were done"
    assert askers.join() == [0] * AT_ONCE + [EAGAIN] * (40 - AT_ONCE)


@claim("SEARCH-6", "SEARCH-7")
@pytest.mark.parametrize("slow", [60], indirect=True)
def test_whoever_is_killed_leaves_its_place(slow: Place) -> None:
    search = slow.mountpoint / "Zen" / "search"
    # Whatever is started in the background inherits that SIGINT is ignored.
    listing = ["env", "--default-signal=INT", "ls"]
    asking = [subprocess.Popen([*listing, search / f"koan {n}"], stderr=subprocess.PIPE) for n in range(AT_ONCE)]
    try:
        until(lambda: asked(slow) == AT_ONCE)
        with fails_with(EAGAIN):
            os.listdir(search / "one more")
        for number, kill in enumerate((signal.SIGKILL, signal.SIGINT, signal.SIGTERM)):
            asking[number].send_signal(kill)
        for number in range(3):
            asking[number].wait(60)
        assert all(asker.poll() is None for asker in asking[3:]), "they waited for the answer, which no other has yet"
        more = Askers([search / f"more {number}" for number in range(3)])
        time.sleep(0.5)
        assert more.answers == [], "they got the places"
        for number, asker in enumerate(asking[3:]):
            _, reported = asker.communicate(timeout=30)
            assert asker.returncode and b"timed out" in reported, number
        assert more.join() == [ETIMEDOUT] * 3
    finally:
        for asker in asking:
            asker.kill()
            asker.communicate()


@claim("SEARCH-8")
@pytest.mark.logs("is in use by")  # where who asked has not gone yet
@pytest.mark.parametrize("slow", [60], indirect=True)
@pytest.mark.parametrize("how", ["signal", "lazy"])
def test_unmounting_waits_for_no_question(place: Place, slow: Place, how: str) -> None:
    (mount,) = [pid for pid in slow.pids() if str(slow.mountpoint).encode() in cmdline(pid)]
    search = slow.mountpoint / "Zen" / "search"
    askers = Askers([search / f"koan {number}" for number in range(AT_ONCE)])
    until(lambda: asked(slow) == AT_ONCE)
    if how == "signal":
        os.kill(mount, signal.SIGTERM)
        answers = askers.join()
        assert answers == [ENOTCONN] * AT_ONCE
        until(lambda: mount not in slow.pids())
    else:
        slow.run("umount", slow.mountpoint, expect=5)
        slow.run("umount", slow.mountpoint, "--lazy")
        assert not os.path.ismount(slow.mountpoint)
        assert set(askers.join()) <= {ETIMEDOUT, ENOTCONN, errno.ECONNABORTED}
        until(lambda: mount not in slow.pids())


def cmdline(pid: int) -> list[bytes]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
