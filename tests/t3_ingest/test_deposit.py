"""The use cases of depositing: ontologies, names, and files taken in without a mount.

``kgfs ingest FOLDER``: the transcripts below it, and nothing else.

Many files taken in at once: the same as one by one, with far fewer waits for the disk.

Rows of names that are remembered, and no longer than they are right.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from kgfs.app.ingesting import ONTOLOGY, Deposit, with_transcripts
from kgfs.config import Config
from kgfs.domain.documents import NameKind, StorageTier
from kgfs.domain.names import encode_name
from kgfs.errors import (
    BadInputError,
    ExistsError,
    IsAFolderError,
    KgfsError,
    MissingError,
    NameTooLongError,
    NotAFolderError,
    NotEmptyError,
    RefusedError,
    UnavailableError,
)
from kgfs.ingest.writing.intake import TOGETHER, Ingested, check_source
from kgfs.ingest.writing.open_file import MAX_REMEMBERED, RecentNames
from kgfs.settings import Tree
from tests.support.depositing import Desk, desk_at

BIG = b"0123456789abcdef" * 20_000


# ---------------------------------------------------------------------------------------- ontologies


def test_an_ontology_has_a_documents_folder(desk: Desk) -> None:
    made = desk.deposits.make_ontology("Zen & the Art", 0o750, 5, 6)
    root = desk.row(made.root)
    assert (root.kind, root.parent, root.mode, root.uid, root.gid) == (NameKind.FOLDER, 0, 0o750, 5, 6)
    assert made.prefix == "Zen-the-Art"
    assert desk.catalog.names.ontology_named("Zen & the Art") == made


@pytest.mark.parametrize("name", ["README.md", "AGENTS.md", ".kgfs", "search", "ask", ".git", ".Trash-0"])
def test_taken_names_make_no_ontology(desk: Desk, name: str) -> None:
    with pytest.raises(RefusedError) as caught:
        desk.deposits.make_ontology(name, 0o755, 0, 0)
    assert caught.value.errno == errno.EPERM
    made = desk.ontology()
    with pytest.raises(RefusedError):
        desk.deposits.rename_ontology(made.id, name)


def test_impossible_names_are_refused(desk: Desk) -> None:
    root = desk.ontology().root
    for name in ("", ".", "..", "a/b", "%00"):
        with pytest.raises(BadInputError):
            desk.deposits.make_file(root, name, 0o644, 0, 0)
    with pytest.raises(NameTooLongError):
        desk.deposits.make_ontology("x" * 256, 0o755, 0, 0)
    desk.deposits.make_file(root, encode_name(b"\xff\n" + b"x" * 253), 0o644, 0, 0)
    with pytest.raises(NameTooLongError):
        desk.deposits.make_file(root, encode_name(b"\xff\n" + b"x" * 254), 0o644, 0, 0)


def test_prefixes_are_never_shared_nor_used_again(desk: Desk) -> None:
    one = desk.deposits.make_ontology("A B", 0o755, 0, 0)
    two = desk.deposits.make_ontology("A-B!", 0o755, 0, 0)
    odd = desk.deposits.make_ontology("禅", 0o755, 0, 0)
    other = desk.deposits.make_ontology("道", 0o755, 0, 0)
    assert len({one.prefix, two.prefix, odd.prefix, other.prefix}) == 4
    desk.deposits.make_file(odd.root, "a.txt", 0o644, 0, 0)
    name = desk.file("a.txt", b"bytes", one.root)
    desk.settle()
    desk.deposits.remove(name.id)
    desk.deposits.remove_ontology(one.id)
    again = desk.deposits.make_ontology("A B", 0o755, 0, 0)
    assert again.prefix not in (one.prefix, two.prefix)


def away(*_: object) -> NoReturn:
    raise UnavailableError("The bucket is away.")


def test_an_ontology_is_made_without_a_word_to_its_garage(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for question in ("keys", "names", "entry", "exists"):
        monkeypatch.setattr(desk.stores.garage.objects, question, away)
    assert desk.ontology("Zen").prefix == "Zen"


@pytest.mark.parametrize("size", [10, len(BIG)])
def test_what_is_overwritten_is_not_fetched_before(desk: Desk, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    name = desk.file("a.txt", BIG[:size])
    desk.settle()
    monkeypatch.setattr(desk.stores.garage.objects, "open", away)
    desk.write(name.id, b"new")
    assert desk.read(name.id) == b"new"


def test_a_renamed_ontology_keeps_its_keys(desk: Desk) -> None:
    made = desk.ontology()
    renamed = desk.deposits.rename_ontology(made.id, "Renamed")
    assert (renamed.id, renamed.prefix, renamed.root, renamed.name) == (made.id, made.prefix, made.root, "Renamed")
    name = desk.file("a.txt", b"bytes", made.root)
    desk.settle()
    assert desk.row(name.id).key.startswith("sources/Notes/")
    desk.ontology("Other")
    with pytest.raises(ExistsError):
        desk.deposits.rename_ontology(made.id, "Other")


def test_only_an_empty_ontology_is_removed(desk: Desk) -> None:
    made = desk.ontology()
    name = desk.file("a.txt", b"bytes")
    with pytest.raises(NotEmptyError):
        desk.deposits.remove_ontology(made.id)
    desk.deposits.remove(name.id)
    desk.deposits.remove_ontology(made.id)
    assert desk.catalog.names.ontologies() == []
    with pytest.raises(MissingError):
        desk.deposits.remove_ontology(made.id)


# --------------------------------------------------------------------------------------------- names


def test_documents_itself_stays(desk: Desk) -> None:
    one, other = desk.ontology(), desk.ontology("Other")
    with pytest.raises(RefusedError):
        desk.deposits.remove(one.root)
    with pytest.raises(RefusedError):
        desk.deposits.move(one.root, other.root, "stolen", replace=False)


def test_moving_onto_itself_changes_nothing(desk: Desk) -> None:
    name = desk.file(content=b"bytes")
    before = desk.catalog.seq()
    desk.deposits.move(name.id, name.parent, "a.txt", replace=True)
    assert desk.catalog.seq() == before


def test_a_replaced_working_copy_is_cleared_away(desk: Desk) -> None:
    big, small, new = desk.file("big", BIG), desk.file("small", b"s"), desk.file("new", b"new")
    desk.deposits.move(new.id, new.parent, "big", replace=True)
    assert desk.spool_files() == []
    desk.deposits.remove(small.id)
    desk.settle()
    assert desk.catalog.inbox(small.sha256) is None
    assert desk.deposits.shown(big.id) is None


def test_links_are_kept_as_they_are(desk: Desk) -> None:
    link = desk.deposits.make_link(desk.ontology().root, "link.txt", "../nowhere/%FF", 3, 4)
    assert (link.kind, link.target, link.uid, link.gid, link.mode) == (NameKind.LINK, "../nowhere/%FF", 3, 4, 0o777)
    desk.settle()
    assert desk.row(link.id).settled
    with pytest.raises(BadInputError):
        desk.deposits.open(link.id)
    with pytest.raises(IsAFolderError):
        desk.deposits.open(desk.ontology().root)


def test_keep_cache_tells_whether_the_bytes_are_those_of_the_last_open(desk: Desk) -> None:
    def opened() -> bool:
        file = desk.deposits.open(name.id)
        file.release()
        return file.keep_cache

    name = desk.file(content=b"bytes")
    assert opened()  # what this mount wrote is what its kernel has
    desk.settle()
    assert opened()
    with desk_at(desk.config.home) as other:
        other.write(name.id, b"other")
    assert not opened()
    assert opened()


def test_two_mounts_see_each_others_writes_at_the_next_open(desk: Desk) -> None:
    name = desk.file(content=BIG)
    reader = desk.deposits.open(name.id)
    with desk_at(desk.config.home) as other:
        assert other.read(name.id) == BIG
        other.write(name.id, b"other")
        assert desk.read(name.id) == b"other"
        other.deposits.remove(name.id)
    with pytest.raises(MissingError):
        desk.deposits.content(name.id)
    reader.release()


def test_content_is_found_wherever_it_stands(desk: Desk) -> None:
    for content in (b"", b"small", BIG):
        name = desk.file(f"{len(content)}.txt", content)
        for _ in range(2):
            found = desk.deposits.content(name.id)
            assert found.size == len(content)
            assert found.read_at(0, len(content) + 1) == content
            found.close()
            desk.settle()


# -------------------------------------------------------------------------------------------- ingest


def ingest(desk: Desk, source: Path, as_path: str | None = None, ontology: str = "Notes") -> Ingested:
    return desk.deposits.ingest_file(source, ontology, as_path)


@pytest.mark.parametrize("content", [b"small", BIG])
def test_a_file_is_taken_in_and_settled_at_once(desk: Desk, tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "Some Notes.md"
    source.write_bytes(content)
    source.chmod(0o640)
    os.utime(source, ns=(1, 123_456_789))
    told: list[int] = []
    done = desk.deposits.ingest_file(source, "New", None, told.append)
    ontology = desk.catalog.names.ontology_named("New")
    assert ontology is not None
    name = desk.catalog.names.resolve(ontology.id, "Some Notes.md")
    assert name is not None
    assert done == Ingested("Some Notes.md", name.doc_id, "insert", "new document")
    assert (name.mode, name.mtime, name.settled, name.place) == (0o640, 123_456_789, True, StorageTier.GARAGE)
    assert sum(told) == len(content)
    assert desk.read(name.id) == content
    assert desk.spool_files() == []
    assert desk.catalog.inbox(name.sha256) is None
    assert desk.catalog.jobs.owed() == 1


def test_missing_folders_are_made(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes(b"bytes")
    done = ingest(desk, source, "2026/november/notes 100%.txt")
    assert done.path == "2026/november/notes 100%25.txt"
    found = desk.catalog.names.resolve(desk.ontology().id, done.path)
    assert found is not None
    ingest(desk, source, "2026/other.txt")
    assert [name.name for name in desk.catalog.names.children(desk.ontology().root)] == ["2026"]


def test_again_later_and_elsewhere(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes(b"one")
    first = ingest(desk, source)
    before = desk.catalog.seq()
    assert ingest(desk, source).decision == "skip"
    assert desk.catalog.seq() == before
    assert ingest(desk, source, "b.txt").decision == "in_progress"
    source.write_bytes(b"two")
    second = ingest(desk, source)
    assert (second.decision, second.reason) == ("update", "new bytes, version 2 of the path")
    assert second.doc_id != first.doc_id
    name = desk.catalog.names.resolve(desk.ontology().id, "a.txt")
    assert name is not None
    assert [version.doc_id for version in desk.catalog.names.versions(name.id)] == [first.doc_id, second.doc_id]


def test_a_version_from_elsewhere_has_a_new_inode(desk: Desk, tmp_path: Path) -> None:
    name = desk.file(content=BIG)
    reader = desk.deposits.open(name.id)
    source = tmp_path / "a.txt"
    source.write_bytes(b"new")
    with desk_at(desk.config.home) as command:
        ingest(command, source)
    assert reader.read(0, 5) == BIG[:5]
    reader.release()
    found = desk.catalog.names.resolve(desk.ontology().id, "a.txt")
    assert found is not None
    assert found.id != name.id
    assert desk.read(found.id) == b"new"


def test_no_documents_are_taken_in_too(desk: Desk, tmp_path: Path) -> None:
    empty, hidden = tmp_path / "empty.txt", tmp_path / ".hidden"
    empty.write_bytes(b"")
    hidden.write_bytes(b"h")
    assert ingest(desk, empty) == Ingested("empty.txt", "", "none", "an empty file is no document")
    done = ingest(desk, hidden)
    assert (done.doc_id, done.decision) == ("", "none")
    name = desk.catalog.names.resolve(desk.ontology().id, ".hidden")
    assert name is not None
    assert desk.read(name.id) == b"h"
    assert name.place is StorageTier.GARAGE


@pytest.mark.parametrize("as_path", ["/etc/passwd", "../up", "a/../b", "a//b", "a/", "", ".", "./a", "a\0b", "a/./b"])
def test_paths_that_leave_or_mean_nothing_are_refused(desk: Desk, tmp_path: Path, as_path: str) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes(b"bytes")
    before = desk.ontology(), desk.catalog.seq()
    with pytest.raises(BadInputError) as caught:
        ingest(desk, source, as_path)
    assert caught.value.exit_code == 3
    assert desk.catalog.seq() == before[1]


def test_sources_that_cannot_be_read(desk: Desk, tmp_path: Path) -> None:
    fifo, link, loop = tmp_path / "fifo", tmp_path / "link", tmp_path / "loop"
    os.mkfifo(fifo)
    link.symlink_to(tmp_path / "nowhere")
    loop.symlink_to(loop)
    cases: list[tuple[Path, type[KgfsError], str]] = [
        (tmp_path, BadInputError, "is a folder"),
        (fifo, BadInputError, "not an ordinary file"),
        (Path("/dev/null"), BadInputError, "not an ordinary file"),
        (link, MissingError, "points to nothing"),
        (loop, BadInputError, "cannot be read"),
        (tmp_path / "gone", MissingError, "no such file"),
        (Path("/dev/null/below"), BadInputError, "cannot be read"),
    ]
    for source, kind, words in cases:
        with pytest.raises(kind, match=words) as caught:
            ingest(desk, source, "a.txt")
        assert str(source) in str(caught.value)
    assert desk.catalog.names.children(desk.ontology().root) == []


_AS_NOBODY = """
import os, sys
from pathlib import Path
from kgfs.errors import BadInputError
from tests.support.depositing import desk_at
os.setuid(65534)
with desk_at(Path(sys.argv[1])) as desk:
    try:
        desk.deposits.ingest_file(Path(sys.argv[2]), "Notes")
    except BadInputError as error:
        print(error.errno, error)
"""


@pytest.mark.root
def test_an_unreadable_source_names_itself(tmp_path: Path) -> None:
    base = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        os.chown(base, 65534, 65534)
        source = base / "secret.txt"
        source.write_bytes(b"secret")
        source.chmod(0o600)
        done = subprocess.run(
            [sys.executable, "-c", _AS_NOBODY, str(base / "home"), str(source)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{errno.EACCES} {source} cannot be read")
    finally:
        subprocess.run(["rm", "-rf", str(base)], check=True)


def test_what_stands_in_the_way_is_named(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_bytes(b"bytes")
    ingest(desk, source, "taken/a.txt")
    with pytest.raises(IsAFolderError, match="taken"):
        ingest(desk, source, "taken")
    with pytest.raises(NotAFolderError, match=r"a\.txt"):
        ingest(desk, source, "taken/a.txt/below")
    with pytest.raises(RefusedError):
        ingest(desk, source, ontology=".hidden")


def test_several_commands_at_once(desk: Desk, tmp_path: Path) -> None:
    """The same path, the same and other bytes, from four processes' worth of threads: all versions, no loss."""
    sources = []
    for number in range(8):
        sources.append(tmp_path / f"{number}.txt")
        sources[-1].write_bytes(b"%d" % (number % 4) * 70_000)
    errors: list[BaseException] = []

    def run(part: list[Path]) -> None:
        try:
            with desk_at(desk.config.home) as command:
                for source in part:
                    ingest(command, source, "sub/a.txt")
        except KgfsError as error:
            errors.append(error)

    desk.ontology()
    threads = [threading.Thread(target=run, args=(sources[start::4],)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    name = desk.catalog.names.resolve(desk.ontology().id, "sub/a.txt")
    assert name is not None
    versions = desk.catalog.names.versions(name.id)
    assert {version.sha256 for version in versions} == {
        hashlib.sha256(b"%d" % number * 70_000).hexdigest() for number in range(4)
    }
    assert desk.read(name.id)[:1] in b"0123"
    assert [name.name for name in desk.catalog.names.children(name.parent)] == ["a.txt"]
    assert desk.spool_files() == []


@pytest.mark.claim("REN-1")
@pytest.mark.parametrize("by", ["another file", "nothing"])
def test_a_file_is_moved_over_one_that_another_process_replaces_meanwhile(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    root, done = desk.ontology().root, list[str]()
    standing, saved = desk.file("a.txt", b"before"), desk.file("a.tmp", b"saved")

    def replaced(*_: object) -> None:
        if not done:
            done.append(by)
            desk.deposits.remove(standing.id)
            if by == "another file":
                desk.file("a.txt", b"of another")

    monkeypatch.setattr(desk.deposits, "_check_duplicate", replaced)
    desk.deposits.move(saved.id, root, "a.txt", replace=True)
    (name,) = desk.catalog.names.children(root)
    assert (name.name, desk.read(name.id)) == ("a.txt", b"saved")


CLAUDE = json.dumps({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Hello."}})
CODEX = json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "c"}})


def test_the_transcripts_below_a_folder_are_found_by_their_content(tmp_path: Path) -> None:
    for path, line in {
        "-home-me/a.jsonl": CLAUDE,
        "2026/03/rollout-c.jsonl": CODEX,
        "2026/rows.jsonl": '{"a": 1}',
        "2026/.hidden.jsonl": CLAUDE,
        "notes.txt": CLAUDE,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{line}\n")
    files, asked = with_transcripts([tmp_path], Deposit())
    assert [asked.named[path] for path in files] == ["-home-me/a.jsonl", "2026/03/rollout-c.jsonl"]
    assert asked.ontology == ONTOLOGY
    both, asked = with_transcripts([tmp_path, tmp_path / "notes.txt"], Deposit(ontology="Mine"))
    assert len(both) == 3 and asked.ontology == "Mine" and tmp_path / "notes.txt" not in asked.named


def test_a_folder_without_transcripts_and_a_place_for_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Notes.\n")
    files, asked = with_transcripts([tmp_path], Deposit(ontology="Mine"))
    assert files == [tmp_path]
    assert not asked.named
    with pytest.raises(BadInputError, match="has no transcripts"):
        check_source(tmp_path)
    with pytest.raises(BadInputError, match="--as"):
        with_transcripts([tmp_path], Deposit(ontology="Mine", as_path="a.txt"))


def sources(folder: Path, contents: dict[str, bytes]) -> list[Path]:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def taken(desk: Desk, files: list[Path], *, force: bool = False) -> list[tuple[str, str]]:
    """(name, decision or kind of error) of each, in order."""
    done = list(desk.deposits.ingest_files([(file, file.name) for file in files], "Notes", force=force))
    return [(path.name, told.decision if isinstance(told, Ingested) else type(told).__name__) for path, told in done]


def test_many_wait_for_the_journal_once_a_batch(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sources(tmp_path, {f"{n}.txt": b"number %d" % n for n in range(3 * TOGETHER)})
    desk.ontology("Notes")
    monkeypatch.setattr("kgfs.stores.timing.SYNC_WITHIN", 3600.0)  # what the second's passing syncs is not counted
    syncs: list[str] = []
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda descriptor: syncs.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    assert {decision for _, decision in taken(desk, files)} == {"insert"}
    # Each object of the garage has its own, side by side with others; the catalog, one after the other, one a batch.
    assert sum(path.endswith("front.sqlite-wal") for path in syncs) <= len(files) // TOGETHER + 1
    assert desk.catalog.names.unsettled(quiet_before=2**63 - 1) == []


def test_each_is_told_of_what_would_be_alone(desk: Desk, tmp_path: Path) -> None:
    files = sources(
        tmp_path,
        {"a.txt": b"one", "b.txt": b"one", "c.txt": b"", "other/a.txt": b"two", "large.txt": b"x" * 200_000},
    )
    files.insert(2, tmp_path / "missing.txt")
    assert sorted(taken(desk, files)) == [
        ("a.txt", "insert"),
        ("a.txt", "update"),
        ("b.txt", "in_progress"),
        ("c.txt", "none"),
        ("large.txt", "insert"),
        ("missing.txt", "MissingError"),
    ]
    standing = desk.catalog.names.child(desk.ontology().root, "a.txt")
    assert standing is not None
    assert desk.read(standing.id) == b"two"
    assert desk.spool_files() == []
    assert taken(desk, [tmp_path / "b.txt", tmp_path / "c.txt"]) == [("b.txt", "skip"), ("c.txt", "none")]


@pytest.mark.logs("refuse DuplicateError")
def test_what_is_refused_is_told_of_and_the_others_go_on(home: Path, tmp_path: Path) -> None:
    with desk_at(home, Config(home, tree=Tree(on_duplicate="refuse"))) as desk:
        files = sources(tmp_path, {"a.txt": b"one", "b.txt": b"one", "c.txt": b"three"})
        assert taken(desk, files) == [("a.txt", "insert"), ("b.txt", "DuplicateError"), ("c.txt", "insert")]


def test_a_name_that_somebody_has_open_is_left_to_its_writer(desk: Desk, tmp_path: Path) -> None:
    """It is replaced as by a rename: the writer goes on with the bytes it has."""
    files = sources(tmp_path, {"a.txt": b"one", "b.txt": b"two"})
    open_file = desk.deposits.open(desk.file("a.txt", b"before").id, write=True)
    assert taken(desk, files) == [("a.txt", "insert"), ("b.txt", "insert")]
    assert open_file.read(0, 10) == b"before"
    open_file.release()


@pytest.fixture
def asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ids that the catalog was asked for."""
    ids: list[int] = []
    names = type(desk.catalog.names)
    name = names.name
    monkeypatch.setattr(names, "name", lambda self, name_id: (ids.append(name_id), name(self, name_id))[1])
    return ids


def test_nothing_is_remembered_where_no_news_are_heard(desk: Desk, asked: list[int]) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    asked.clear()
    assert recent.name(row.id) == recent.name(row.id) == row
    assert asked == [row.id, row.id]


def test_a_row_is_read_once_until_news_are_heard(desk: Desk, asked: list[int]) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    recent.heard(1)
    asked.clear()
    assert recent.name(row.id) == recent.name(row.id) == row
    assert asked == [row.id]
    recent.heard(1)
    recent.name(row.id)
    assert asked == [row.id]
    recent.heard(2)
    recent.name(row.id)
    assert asked == [row.id, row.id]


def test_what_this_process_changes_counts_at_once(desk: Desk) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    recent.heard(1)
    recent.name(row.id)
    desk.deposits.set_attributes(row.id, mode=0o600)
    found = recent.name(row.id)
    assert found is not None
    assert found.mode == 0o600
    desk.deposits.remove(row.id)
    assert recent.name(row.id) is None


def test_what_another_process_changes_counts_from_when_it_is_heard(home: Path, desk: Desk) -> None:
    row, recent = desk.file("a.txt"), RecentNames(desk.catalog)
    recent.heard(1)
    recent.name(row.id)
    with desk_at(home) as other:
        other.deposits.set_attributes(row.id, mode=0o600)
    assert recent.name(row.id) == row
    recent.heard(2)
    assert recent.name(row.id) != row


def test_a_listing_is_remembered(desk: Desk, asked: list[int]) -> None:
    rows, recent = [desk.file(f"{n}.txt") for n in range(3)], RecentNames(desk.catalog)
    recent.heard(1)
    asked.clear()
    assert recent.children(rows[0].parent, "", 10) == rows
    assert [recent.name(row.id) for row in rows] == rows
    assert asked == []


def test_a_missing_name_is_asked_for_each_time(desk: Desk, asked: list[int]) -> None:
    recent = RecentNames(desk.catalog)
    recent.heard(1)
    asked.clear()
    assert recent.name(MAX_REMEMBERED) is recent.name(MAX_REMEMBERED) is None
    assert asked == [MAX_REMEMBERED, MAX_REMEMBERED]


def test_what_a_listing_keeps_is_read_anew(home: Path, desk: Desk) -> None:
    """Listings are kept by the number of the newest fact, which is known before its news are heard."""
    row, deposits = desk.file("a.txt"), desk.deposits
    deposits.recent.heard(1)
    assert deposits.shown(row.id, lately=True) == row
    with desk_at(home) as other:
        other.deposits.set_attributes(row.id, mode=0o600)
    assert deposits.shown(row.id, lately=True) == row
    found = deposits.shown(row.id)
    assert found is not None
    assert found.mode == 0o600
