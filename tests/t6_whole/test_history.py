"""The scripted history of bench/history, on a corpus that is read in no time, and what its proofs are worth."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from bench.history.choices import choose, edit_of
from bench.history.traces import phrases, traces
from bench.history.walk import differences, walk
from tests.support.peers.homes import lifecycle
from tests.support.running import ROOT

pytestmark = lifecycle

SUBJECTS = ("zen", "koan", "garden", "temple", "riddle", "teacher", "practice", "silence", "moon", "finger")


def told(subject: str, other: str) -> str:
    return (
        f"# The {subject} of the mountain\n\n"
        f"A {subject} is a kind of {other} that people speak about in the evening.\n"
        f"Direct experience of the {subject} comes before words of the {other}.\n\n"
        f"The {subject} uses the {other}, and the {other} requires direct experience.\n"
        f"Nobody has seen a {subject} twice in this {other} of the long valley.\n"
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (folder := tmp_path / "corpus").mkdir()
    for number, subject in enumerate(SUBJECTS):
        (folder / f"{number}-{subject}.md").write_text(told(subject, SUBJECTS[number - 3]))
    return folder


@pytest.mark.slow
@pytest.mark.mounted
def test_the_whole_life_of_a_small_corpus(corpus: Path, home: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "KGFS_MODELS_EXTRACTOR": "statistics",
        "KGFS_MODELS_EMBEDDER": "none",
        "KGFS_PIPELINE_SETTLE": "0.5",
    }
    out = tmp_path / "history.json"
    numbers = ("--edit", "4", "--delete", "2", "--rename", "4", "--purge", "3")
    done = subprocess.run(
        [sys.executable, "-m", "bench.history", corpus, "--keep", home, "--json", out, "--scratch", tmp_path, *numbers],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("Proved: originals, purge, rebuilt == incremental.\n")
    steps = {row["step"]: row for row in json.loads(out.read_text())["steps"]}
    assert steps["ingest"]["after"]["documents"] == steps["edit"]["after"]["documents"] == 10
    assert steps["delete"]["after"]["documents"] == 8
    assert steps["purge"]["after"]["documents"] == 5
    assert (steps["edit"]["read"], steps["delete"]["read"]) == (4, 0)
    assert steps["rename"]["read"] == 2
    assert steps["rename"]["extracted"] == 0
    for strategy in ("random", "popularity", "hybrid"):
        assert steps[f"regenerate {strategy}"]["notes"]["compared"]["now"] == [f"statistics/1, {strategy}"]
        assert steps[f"regenerate {strategy}"]["extracted"] == 0
    assert steps["look"]["notes"]["entries"]["source.txt"] == steps["rebuild"]["after"]["instances"]


def test_choices_are_the_same_each_time_and_leave_what_they_must() -> None:
    files = [f"{number}.md" for number in range(40)]
    chosen = choose(files, 10, 5, 5, 10, 1)
    assert chosen == choose(files, 10, 5, 5, 10, 1) != choose(files, 10, 5, 5, 10, 2)
    assert not set(chosen.deleted) & {*chosen.renamed, *chosen.purged}
    assert set(chosen.purged_from_trash) <= set(chosen.deleted)
    assert len({*chosen.purged, *chosen.purged_from_trash}) == 10
    text = told("zen", "koan")
    changed = edit_of("a.md", text, 1).apply(text)
    assert sum(was != now for was, now in zip(text.split("\n"), changed.split("\n"), strict=True)) == 1
    with pytest.raises(SystemExit):
        choose(files[:10], 10, 5, 5, 10, 1)


def test_every_difference_between_two_trees_is_seen(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("same", "content", "time", "mode", "folder/gone"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("same")
    before = walk(tmp_path)
    assert differences(before, walk(tmp_path)) == []
    times = (tmp_path / "content").stat()
    (tmp_path / "content").write_text("CONTENT")
    os.utime(tmp_path / "content", ns=(times.st_atime_ns, times.st_mtime_ns))
    os.utime(tmp_path / "time", ns=(1, 1))
    (tmp_path / "mode").chmod(0o600)
    (tmp_path / "folder/gone").rename(tmp_path / "folder/new")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("time")
    found = [line.split(" ")[:2] for line in differences(before, walk(tmp_path))]
    assert ["gone:", "folder/gone"] in found
    assert ["new:", "folder/new"] in found
    assert {path.rstrip(":") for what, path in found if what == "changed:"} == {
        "content",
        "time",
        "mode",
        "folder",
        "link",
    }


def test_traces_are_found_in_databases_and_in_other_encodings(tmp_path: Path) -> None:
    text, shared = "the quince monastery stands alone in winter\n", "a koan is a riddle that nobody needs to solve\n"
    wanted = phrases({"quince.md": [text + shared]}, [shared], 1)
    assert wanted == {"quince.md": [text.strip()]}
    (tmp_path / "kept").write_text(shared)
    assert traces(tmp_path, wanted) == []
    (tmp_path / "wide").write_bytes(text.upper().encode("utf-16"))
    with sqlite3.connect(tmp_path / "rows.sqlite") as database:
        database.execute("CREATE TABLE rows (text)")
        database.execute("INSERT INTO rows VALUES (?)", (text,))
    database.close()
    assert {line.partition(":")[0] for line in traces(tmp_path, wanted)} == {"wide", "rows.sqlite"}
