"""``kgfs concept``: through the shell, while a mount shows it, and killed in the middle."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.mounting import STATISTICS
from tests.support.peers.homes import lifecycle
from tests.support.running import LET_GO_SOON, Place, one_line, until
from tests.support.seeing import in_time

pytestmark = lifecycle

TEXTS = {
    "gc.txt": "A garbage collector is a program that reclaims memory. The garbage collector visits objects.\n" * 3,
    "tracer.txt": "A tracing collector is a program that visits objects. The tracing collector reclaims memory.\n" * 3,
}


@pytest.fixture
def read_home(tmp_path: Path, home: Path) -> Iterator[Place]:
    """A home with two documents that were read by statistics."""
    (tmp_path / "mnt").mkdir()
    place = Place(home, tmp_path / "mnt", STATISTICS)
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    place.run("ingest", *(tmp_path / name for name in TEXTS), "--ontology", "Memory")
    yield place
    place.close()


def shown(place: Place, concept: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(place.run("concept", "show", "Memory", concept, "--json").stdout)
    return rows


@pytest.mark.claim("WORD-2", "WORD-3")
def test_merge_and_split_through_the_shell(read_home: Place) -> None:
    place = read_home
    assert [row["paths"] for row in shown(place, "garbage-collector")] == [["gc.txt"]]
    planned = json.loads(
        place.run(
            *("concept", "merge", "Memory", "garbage-collector", "tracing-collector"), "--dry-run", "--json"
        ).stdout
    )
    assert planned["concept"] == "garbage-collector"
    assert planned["evidence"] > 0
    assert len(shown(place, "garbage-collector")) == 1, "a dry run changes nothing"
    reported = place.run("concept", "merge", "Memory", "garbage-collector", "tracing-collector", expect=2)
    question = "so that tracing-collector.concept goes and garbage-collector.concept stays?"
    assert question in reported.stderr and "give --yes" in reported.stderr and "Aborted" not in reported.stderr
    assert len(shown(place, "garbage-collector")) == 1
    words = ("concept", "merge", "Memory", "garbage-collector.concept", "tracing-collector.concept", "--yes")
    assert place.run(*words).stderr == "Merged into garbage-collector.concept: tracing-collector.concept.\n"
    rows = shown(place, "garbage-collector")
    assert [row["paths"] for row in rows] == [["gc.txt"], ["tracer.txt"]]
    assert "There is no concept" in one_line(
        place.run("concept", "show", "Memory", "tracing-collector", expect=4).stderr
    )
    place.run("rebuild", "--yes")
    assert shown(place, "garbage-collector") == rows
    words = ("concept", "split", "Memory", "garbage-collector")
    assert "Its labels are" in one_line(place.run(*words, "--yes", expect=3).stderr)
    assert "Its labels are" in one_line(place.run(*words, "--label", "nothing", "--yes", expect=4).stderr)
    done = place.run(*words, "--document", "Memory/tracer.txt", "--label", str(rows[1]["label"]), "--yes", "--json")
    assert json.loads(done.stdout)["concept"] == "tracing-collector"
    assert done.stderr == "Split off garbage-collector.concept: tracing-collector.concept.\n"
    assert [row["paths"] for row in shown(place, "tracing-collector")] == [["tracer.txt"]]
    assert place.run("concept", "merge", "Nothing", "a", "b", expect=4).stderr


@pytest.mark.mounted
@pytest.mark.claim("WORD-1", "WORD-2")
def test_a_mount_shows_it_at_once_and_its_worker_goes_on(read_home: Place) -> None:
    place = read_home.mount()
    concepts = place.mountpoint / "Memory" / "concepts"
    until(lambda: place.status()["worker"]["note"].get("state") == "idle")
    assert (concepts / "tracing-collector.concept" / "concept.md").read_text()
    before = len(list((concepts / "garbage-collector.concept" / "evidence").iterdir()))
    place.run("concept", "merge", "Memory", "garbage-collector", "tracing-collector", "--yes")
    in_time(lambda: not (concepts / "tracing-collector.concept").exists())
    assert len(list((concepts / "garbage-collector.concept" / "evidence").iterdir())) > before
    assert "tracing-collector.concept" not in os.listdir(concepts)
    page = (concepts / "garbage-collector.concept" / "concept.md").read_text()
    assert "tracing collector" in page.lower()
    for number in (concepts / "garbage-collector.concept" / "evidence").iterdir():
        assert (number / "source.txt").read_bytes()
        assert len((number / "source.txt").read_bytes()) == (number / "source.txt").stat().st_size
    document = place.mountpoint / "Memory" / "documents" / "more.txt"
    document.write_text("The tracing collector is slow. A tracing collector visits objects and reclaims memory.\n" * 3)
    place.wait()
    assert not (concepts / "tracing-collector.concept").exists()
    assert any("more.txt" in str(row["paths"]) for row in shown(place, "garbage-collector"))


@pytest.mark.parametrize("border", ["word-kept", "word-recorded", "word-carried-out"])
@pytest.mark.claim("WORD-3")
def test_killed_at_each_border_it_is_done_or_not(read_home: Place, border: str) -> None:
    place = read_home
    words = ("concept", "merge", "Memory", "garbage-collector", "tracing-collector", "--yes")
    place.run(*words, env=LET_GO_SOON | {"KGFS_FAIL_AT": border}, expect=-signal.SIGKILL)
    if border != "word-kept":
        place.run("worker", "--until-idle", expect=None)
        rows = shown(place, "garbage-collector")
        assert len(rows) == 2
        place.run("rebuild", "--yes")
        assert shown(place, "garbage-collector") == rows
    else:
        assert len(shown(place, "garbage-collector")) == 1
        place.run(*words)
        assert len(shown(place, "garbage-collector")) == 2
