"""Identity as programs see it through a mount: duplicates, moves, versions brought back."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from errno import EEXIST
from pathlib import Path

import pytest

from kgfs.stores.catalog.facts import DocumentRead
from tests.support.mounting import Library, catalog_of, mounted_place, run, sha
from tests.support.running import Place, until
from tests.support.scenarios.filesystem import fails_with
from tests.support.seeing import in_time, mounted_again

pytestmark = pytest.mark.mounted
claim = pytest.mark.claim

NOTE = "The garbage collector is a program that reclaims memory. Reference counting is a form of garbage collection.\n"


@claim("DUP-1")
@pytest.mark.logs("was refused")
def test_duplicates_are_refused_where_that_is_wanted(tmp_path: Path) -> None:
    refusing = {"KGFS_TREE_ON_DUPLICATE": "refuse"}
    with (
        mounted_place(tmp_path / "place", "--no-worker", env=refusing, declared=("was refused",)) as place,
        catalog_of(place) as catalog,
    ):
        library = Library(place, catalog, "A")
        library.top.mkdir()
        documents = library.documents
        (documents / "a.txt").write_text(NOTE)
        (documents / "other.txt").write_text("Other bytes.\n")
        library.settled()
        reported = run("cp", documents / "a.txt", documents / "b.txt", code=1)
        assert os.strerror(EEXIST) in reported
        until(lambda: (documents / "b.txt").read_bytes() == b"")  # as empty as cp made it
        assert os.strerror(EEXIST) in run("cp", documents / "a.txt", documents / "other.txt", code=1)
        until(lambda: (documents / "other.txt").read_text() == "Other bytes.\n")
        assert (documents / "other.txt").stat().st_size == 13
        (documents / ".hidden").write_text(NOTE)
        with fails_with(EEXIST):
            (documents / ".hidden").rename(documents / "c.txt")
        descriptor = os.open(documents / "d.txt", os.O_CREAT | os.O_WRONLY)
        os.write(descriptor, NOTE.encode())
        with fails_with(EEXIST):
            os.fsync(descriptor)
        with fails_with(EEXIST):
            os.close(descriptor)
        log = (place.mountpoint / ".kgfs" / "errors.ndjson").read_text()
        refused = [line for line in map(json.loads, log.splitlines()) if line["where"] == "refuse"]
        assert [line["path"] for line in refused] == ["b.txt", "other.txt", "c.txt", "d.txt"]
        assert {line["sha256"] for line in refused} == {sha(NOTE.encode())}
        assert all(line["at"] and line["held_by"] == "a.txt" for line in refused)
        library.settled()
        assert {path for path, _, _ in library.minted()} == {"a.txt", "other.txt"}
        outside = tmp_path / "copy.txt"
        outside.write_text(NOTE)
        reported = place.run("ingest", outside, "--ontology", "A", "--no-wait", expect=5).stderr
        assert "copy.txt" in reported


# ---------------------------------------------------------------------------------- evidence follows the names


def cited(top: Path) -> tuple[list[str], bool, str]:
    """What the first piece of evidence of an ontology shows: paths, whether it is stale, and where its link leads. All
    that is shown with it agrees."""
    concept = min(top.joinpath("concepts").iterdir())
    piece = concept / "evidence" / min(os.listdir(concept / "evidence"), key=int)
    citation = json.loads((piece / "citation.json").read_text())
    header = [line.partition(": ") for line in (piece / "source.txt").read_text().partition("\n\n")[0].splitlines()]
    assert [path for key, _, path in header if key == "file"] == [citation["document"]]
    assert [path for key, _, path in header if key in ("file", "also")] == (citation["paths"] or [citation["document"]])
    original = (piece / "document").read_bytes()
    assert sha(original) == citation["content_hash"]
    leads_to = (piece / "document").resolve().relative_to(top.resolve())
    assert os.stat(piece / "source.txt").st_size == len((piece / "source.txt").read_bytes())
    return citation["paths"], citation["stale"], str(leads_to)


def follows(top: Path, paths: list[str]) -> bool:
    """Whether the evidence shows these paths, and its link leads to the first. In the moment of a change its files, read
    one after the other, may say different things."""
    try:
        return cited(top) == (paths, False, paths[0])
    except (OSError, ValueError, AssertionError):
        return False


@claim("REN-6")
def test_evidence_follows_what_another_process_renames(tmp_path: Path) -> None:
    with mounted_place(tmp_path / "place") as place, mounted_again(place, "second") as second:
        top, theirs = place.ontology("A"), second.mountpoint / "A" / "documents"
        (top / "documents" / "notes").mkdir()
        (top / "documents" / "notes" / "a.txt").write_text(NOTE)
        place.wait()
        in_time(lambda: follows(top, ["documents/notes/a.txt"]))
        steps = place.status()["seq"]
        (theirs / "notes" / "a.txt").rename(theirs / "notes" / "b.txt")
        in_time(lambda: follows(top, ["documents/notes/b.txt"]))
        (theirs / "notes").rename(theirs / "kept")
        in_time(lambda: follows(top, ["documents/kept/b.txt"]))
        run("cp", theirs / "kept" / "b.txt", theirs / "again.txt")
        place.wait()
        in_time(lambda: follows(top, ["documents/kept/b.txt", "documents/again.txt"]))
        (theirs / "kept" / "b.txt").unlink()
        in_time(lambda: follows(top, ["documents/again.txt"]))
        assert place.status()["seq"] > steps
        with catalog_of(place) as catalog:
            facts = catalog.facts(0, 10_000)
            assert facts is not None
            read = [fact for _, fact in facts if isinstance(fact, DocumentRead)]
        assert len(read) == 1, "read once, whatever it was called"


# ---------------------------------------------------------------------------------------------- versions


def packs(place: Place) -> list[str]:
    return sorted(path.name for path in (place.home / "garage" / "objects" / "records").rglob("*.jsonl"))


@claim("VER-6")
def test_a_version_copied_back_is_current_and_known(tmp_path: Path) -> None:
    with mounted_place(tmp_path / "place") as place:
        top = place.ontology("A")
        file, folder = top / "documents" / "a.txt", top / "versions" / "a.txt@"
        for content in (NOTE, NOTE.replace("memory", "storage")):
            file.write_text(content)
            place.wait()
        first = os.getxattr(top / "documents" / "a.txt", "user.kgfs.doc_id")
        asked = packs(place)
        run("cp", folder / "1.txt", file)
        place.wait()
        in_time(lambda: follows(top, ["documents/a.txt"]))
        assert file.read_text() == NOTE
        assert os.getxattr(file, "user.kgfs.decision") == b"revive"
        assert os.getxattr(file, "user.kgfs.state") == b"done"
        assert os.getxattr(file, "user.kgfs.doc_id") != first
        assert sorted(os.listdir(folder)) == ["1.txt", "2.txt", "3.txt"]
        assert packs(place) == asked, "nothing was extracted again"
        told = json.loads(place.run("history", file, "--json").stdout)
        assert [(version["n"], version["current"]) for version in told] == [(1, False), (2, False), (3, True)]
        assert json.loads(place.run("status", folder / "2.txt", "--json").stdout)["version"] == 2
        assert "-The garbage collector" in place.run("diff", file, "2", "3").stdout
        (top / "documents" / "junk.txt").write_bytes(NOTE.encode())  # a second name, that gets junk
        place.wait()
        (top / "documents" / "junk.txt").write_bytes(bytes(range(256)))
        place.wait()
        assert os.getxattr(top / "documents" / "junk.txt", "user.kgfs.state") == b"unsupported"
        in_time(lambda: follows(top, ["documents/a.txt"]))
        file.write_bytes(bytes(range(255)))
        place.wait()
        in_time(lambda: cited(top)[1])
        assert cited(top)[2].startswith("versions/")
        assert (top / "versions" / "a.txt@" / "3.txt").read_text() == NOTE


@claim("VIS-8")
def test_evidence_is_never_missing_while_versions_replace_each_other(tmp_path: Path) -> None:
    """A reader in a loop finds evidence at every moment, whole, of one version or the next."""
    versions = [f"{NOTE}This is version number {n} of the text about the garbage collector.\n" for n in range(8)]
    with mounted_place(tmp_path / "place", env={"KGFS_PIPELINE_SETTLE": "0.05"}) as place:
        top = place.ontology("A")
        file, folder = top / "documents" / "a.txt", top / "concepts" / "garbage-collector.concept" / "evidence"
        file.write_text(versions[0])
        place.wait()
        in_time(folder.exists)
        hashes = {sha(version.encode()): n for n, version in enumerate(versions)}
        seen: list[int] = []
        stop, empty = threading.Event(), 0

        def look() -> None:
            nonlocal empty
            while not stop.is_set():
                numbers = sorted(os.listdir(folder), key=int)
                empty += not numbers
                for number in numbers:
                    try:
                        cited = json.loads((folder / number / "citation.json").read_bytes())
                        assert cited["quote"] == (folder / number / "quote.txt").read_bytes().decode()
                        assert (folder / number / "source.txt").read_bytes()
                    except (FileNotFoundError, OSError):  # replaced since it was listed: the next listing has the next
                        continue
                    seen.append(hashes[cited["content_hash"]])

        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(look)
            try:
                for version in versions[1:]:
                    file.write_text(version)
                    place.wait()
                until(lambda: 7 in seen or reader.done())
            finally:
                stop.set()
            reader.result()
        assert empty == 0
        assert seen == sorted(seen), "never an older version after a newer one"
        assert set(seen) >= {0, 7}
