"""What a scan of a watched folder means: what is taken, moved, removed and held back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.ingest import timing
from kgfs.ingest.watching.notes import FEWEST_HELD, Noted, Plan, plan
from kgfs.ingest.watching.scan import Ignoring, Scan, Seen, is_being_written, scan

NOW = 1_000_000 * 10**9
OLD = NOW - 3600 * 10**9
DEVICE = 7


def seen(number: int, mtime: int = OLD) -> Seen:
    return Seen(mtime, 10, number)


def found(files: dict[str, Seen], device: int = DEVICE, unread: tuple[str, ...] = ()) -> Scan:
    return Scan(device, files, [], list(unread))


def noted(*names: str) -> dict[str, Noted]:
    return {name: Noted(seen(number), OLD) for number, name in enumerate(names)}


def planned(before: dict[str, Noted], now: Scan, *, confirmed: bool = False) -> Plan:
    return plan(before, DEVICE, now, NOW, confirmed=confirmed)


def test_new_changed_renamed_and_removed() -> None:
    before = noted("a", "b", "c", "d")
    after = found({"a": seen(0), "b": Seen(OLD + 5, 11, 1), "sub/c": seen(2), "e": seen(9)})
    assert planned(before, after) == Plan((("c", "sub/c"),), ("b", "e"), ("d",))


def test_what_has_just_changed_waits() -> None:
    decided = planned({}, found({"a": seen(1, NOW - 10**9 // 4), "b": seen(2, NOW + 10**12), "c": seen(3)}))
    assert decided.take == ("b", "c")  # a clock that runs ahead keeps nothing out
    assert decided.again == pytest.approx(timing.WATCH_QUIET - 0.25)


def test_a_growing_transcript_is_taken_at_most_once_in_five_minutes() -> None:
    before = {"s.jsonl": Noted(seen(1), NOW - 60 * 10**9), "n.md": Noted(seen(2), NOW - 60 * 10**9)}
    decided = planned(before, found({"s.jsonl": Seen(OLD + 1, 99, 1), "n.md": Seen(OLD + 1, 99, 2)}))
    assert decided.take == ("n.md",)
    assert decided.again == pytest.approx(timing.WATCH_GROWING - 60)


MANY = tuple(f"{number:02}" for number in range(2 * FEWEST_HELD))


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (("a",), found({}), "empty"),
        (("a", "b"), found({"a": seen(0)}, device=8), "filesystem"),
        (MANY, found({name: seen(n) for n, name in enumerate(MANY[: FEWEST_HELD - 1])}), "at once"),
    ],
)
def test_a_loss_removes_nothing_until_it_is_confirmed(before: tuple[str, ...], after: Scan, word: str) -> None:
    held = planned(noted(*before), after)
    assert held.remove == ()
    assert word in held.held
    confirmed = planned(noted(*before), after, confirmed=True)
    assert confirmed.remove == tuple(name for name in before if name not in after.files)
    assert confirmed.held == ""


def test_half_of_many_and_most_of_few_are_removed() -> None:
    half = planned(noted(*MANY), found({name: seen(n) for n, name in enumerate(MANY[:FEWEST_HELD])}))
    assert len(half.remove) == FEWEST_HELD
    assert planned(noted("a", "b", "c"), found({"a": seen(0)})).remove == ("b", "c")


def test_a_renamed_folder_is_no_loss() -> None:
    after = found({f"new/{name}": seen(n) for n, name in enumerate(MANY)})
    decided = planned(noted(*MANY), after)
    assert (len(decided.move), decided.take, decided.remove, decided.held) == (len(MANY), (), (), "")


def test_what_cannot_be_listed_counts_as_there() -> None:
    assert planned(noted("a", "sub/b"), found({"a": seen(0)}, unread=("sub/",))).remove == ()


names = st.sampled_from([f"{folder}{name}" for folder in ("", "x/") for name in "abcde"])
files = st.dictionaries(names, st.builds(seen, st.integers(0, 5)), max_size=8)


@given(before=files, after=files)
def test_a_plan_that_was_carried_out_leaves_nothing_to_do(before: dict[str, Seen], after: dict[str, Seen]) -> None:
    notes = {path: Noted(about, OLD) for path, about in before.items()}
    decided = planned(notes, found(after), confirmed=True)
    for former, present in decided.move:
        notes[present] = Noted(after[present], NOW)
        del notes[former]
    for path in decided.remove:
        del notes[path]
    for path in decided.take:
        notes[path] = Noted(after[path], NOW)
    assert {path: one.seen for path, one in notes.items()} == after
    assert planned(notes, found(after)) == Plan()


def test_scan_leaves_out_what_git_would(tmp_path: Path) -> None:
    for path, content in {
        ".gitignore": "*.log\n!keep.log\nbuild/\n/top.md\n",
        ".kgfsignore": "secret*\n",
        "a.md": "",
        "b.log": "",
        "keep.log": "",
        "top.md": "",
        "secret.md": "",
        ".obsidian/app.json": "",
        "build/c.md": "",
        "sub/.gitignore": "!b.log\n",
        "sub/b.log": "",
        "sub/top.md": "",
        "sub/build/d.md": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    result = scan(tmp_path)
    assert set(result.files) == {"a.md", "keep.log", "sub/b.log", "sub/top.md"}
    assert set(result.folders) == {tmp_path, tmp_path / "sub"}
    assert not Ignoring().ignores("anything")


def test_a_file_that_is_open_for_writing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "growing.txt"
    with path.open("w"):
        assert is_being_written(path)
    with path.open():
        assert not is_being_written(path)
