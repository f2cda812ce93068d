"""Claims of docs/semantics.md about ask/: ASK."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mounting import mounted_place, run, settled
from tests.support.running import Place
from tests.support.scenarios.filesystem import fails_with
from tests.support.seeing import in_time

pytestmark = pytest.mark.mounted
claim = pytest.mark.claim

ZEN = "Zen is a school of Buddhism.\n\nA koan is a riddle that Zen teachers use.\n"
TEA = "Tea is a drink.\n\nMonks drink tea at dawn, because it keeps them awake.\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with mounted_place(tmp_path_factory.mktemp("ask"), "--no-worker", declared=("is no filter",)) as found:
        (found.ontology("Zen") / "zen.txt").write_text(ZEN)
        (found.ontology("Tea") / "tea.txt").write_text(TEA)
        settled(found)
        found.run("worker", "--until-idle")
        yield found


@claim("ASK-1")
def test_an_answer_is_read_with_cat_and_its_links_open(place: Place) -> None:
    folder = place.mountpoint / "Tea" / "ask" / "Why do monks drink tea?"
    assert sorted(os.listdir(folder)) == ["answer.json", "answer.md", "context.md"]
    data = json.loads(run("cat", f"{folder}/answer.json"))
    first = data["quotes"][0]
    assert data["state"] == "done" and first["text"] == TEA[first["char_start"] : first["char_end"]]
    assert first["text"] == "Monks drink tea at dawn, because it keeps them awake."
    md = (folder / "answer.md").read_text()
    assert "[C:" not in md and (folder / "answer.md").stat().st_size == len(md.encode())
    view = md.partition("[View](")[2].partition(")")[0]
    assert view.endswith("tea.txt.md") and "Monks drink tea at dawn" in (folder / view).read_text()
    assert (folder / view.removesuffix(".md")).read_text() == TEA
    assert "Not found in sources" in (place.mountpoint / "ask" / "Where is Ulan Bator?" / "answer.md").read_text()
    split = place.mountpoint / "ask" / "Why do monks" / "drink tea?" / "answer.json"
    assert json.loads(split.read_text())["question"] == "Why do monks drink tea?"
    with fails_with(errno.EINVAL):
        os.listdir(place.mountpoint / "ask" / "tea colour:green")
    assert f"{place.mountpoint}/ask" not in run("find", str(place.mountpoint))
    assert place.run("ask", "Why do monks drink tea?").stdout.count("awake. [1]") == 1


@claim("ASK-2")
def test_a_slow_answer_is_pending_first(place: Place, tmp_path: Path) -> None:
    slow = Place(place.home, tmp_path / "mnt", {**place.environment, "KGFS_SLOW_AT": "asking:12"})
    slow.mountpoint.mkdir()
    try:
        slow.mount("--no-worker")
        page = slow.mountpoint / "Tea" / "ask" / "Why do monks drink tea?" / "answer.json"
        started = time.monotonic()
        assert json.loads(page.read_text())["state"] == "pending" and time.monotonic() - started < 8
        assert "No answer within 1 second" in slow.run("ask", "Why drink tea?", "--timeout", "1", expect=8).stderr
        in_time(lambda: json.loads(page.read_text())["state"] == "done")
        assert "kgfs_questions_total 1\n" in (slow.mountpoint / ".kgfs" / "metrics.prom").read_text()
    finally:
        slow.run("umount", slow.mountpoint, expect=None)


@claim("ASK-3")
def test_a_saved_question_keeps_its_answer_until_it_is_asked_anew(place: Place) -> None:
    folder = place.mountpoint / "Zen" / "ask"
    page = folder / "What is a koan?" / "answer.json"
    run("touch", str(page.parent))
    assert os.listdir(folder) == ["What is a koan?"]
    before = json.loads(page.read_text())
    (place.mountpoint / "Zen" / "more.txt").write_text("A koan is what cannot be answered.\n")
    settled(place)
    place.run("worker", "--until-idle")
    in_time(lambda: "more.txt" in (place.mountpoint / "Zen" / "search" / "koan" / "results.md").read_text())
    assert json.loads(page.read_text()) == before and "epoch" in page.with_name("answer.md").read_text()
    assert (
        json.loads(place.run("ask", "What is a koan?", "--ontology", "Zen", "--json").stdout)["epoch"] > before["epoch"]
    )
    in_time(lambda: json.loads(page.read_text())["epoch"] > before["epoch"])
    with fails_with(errno.EEXIST):
        (folder / "What is a koan?").mkdir()
    (folder / "What is a koan?").rmdir()
    assert os.listdir(folder) == []
    assert subprocess.run(["touch", str(page)], check=False, capture_output=True).returncode != 0
