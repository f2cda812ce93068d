"""Homes that earlier versions made open for good, with all that they showed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.models.embedder import FP32
from kgfs.stores.worker_lock import worker_note
from tests.support.earlier.opening import BUCKET, FILES, Earlier, bind, expected, put_objects, unpacked
from tests.support.mounting import STATISTICS
from tests.support.peers.buckets import Server
from tests.support.running import until

pytestmark = [pytest.mark.mounted, pytest.mark.root]

ALSO = "The lamp room of the lighthouse has a new lens. The lens came from the harbour master.\n"


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Earlier]:
    home = Earlier(unpacked(FILES, tmp_path) / "home", tmp_path / "mnt")
    yield home
    home.close()


@pytest.fixture
def sharing(seaweedfs: Server, tmp_path: Path) -> Iterator[list[Earlier]]:
    """Two homes on one bucket."""
    top, place = unpacked(BUCKET, tmp_path), seaweedfs.place
    put_objects(top / "bucket", place)
    homes = [Earlier(top / name, tmp_path / f"{name}.mnt", dict(STATISTICS)) for name in ("home", "other")]
    for home in homes:
        bind(home.home, place)
    yield homes
    for home in homes:
        home.close()


def assert_same(seen: dict[str, Any], before: dict[str, Any]) -> None:
    """Compare by parts: the difference of two homes is too long to be read."""
    for name, ontology in before["ontologies"].items():
        for part, what in ontology.items():
            assert seen["ontologies"][name][part] == what, f"{part} of {name}"
    assert seen == before


def assert_sound(home: Earlier) -> None:
    """Expect the exit code 0: nothing is damaged. What ordinary use left behind is harmless."""
    home.run("check", "--deep")


@pytest.mark.claim("AGE-1")
def test_a_home_in_files_shows_what_it_showed(files: Earlier) -> None:
    before = expected(FILES)
    assert_same(files.see(), before)
    assert_sound(files)
    files.run("rebuild", "--yes")
    assert_same(files.see(), before)
    assert_sound(files)


@pytest.mark.claim("AGE-1")
def test_a_home_in_files_goes_on(files: Earlier) -> None:
    """Facts of before and of today follow one another in its ledger."""
    files.mountpoint.mkdir()
    files.mount()
    (files.mountpoint / "Harbour" / "documents" / "lens.txt").write_text(ALSO)
    files.wait()
    assert worker_note(files.home / "run")["embedder"] == FP32, "a new document gets vectors by the home's own model"
    files.umount()
    ledger = (files.home / "garage" / "ledger" / "0000000000000001.log").read_text()
    assert '{"fact":"DocumentRead"' in ledger
    assert '{"fact":"document.read"' in ledger
    seen, before = files.see(), expected(FILES)
    assert seen["ontologies"]["Bee keeping"] == before["ontologies"]["Bee keeping"]
    assert before["objects"].items() <= seen["objects"].items()
    files.run("rebuild", "--yes")
    assert_same(files.see(), seen)
    assert_sound(files)


def chunk_ids(seen: Any) -> set[str]:
    """Return every chunk_id that what a home showed has in it."""
    if isinstance(seen, dict):
        own = {seen["chunk_id"]} if isinstance(seen.get("chunk_id"), str) else set()
        return own.union(*map(chunk_ids, seen.values()))
    return set().union(*map(chunk_ids, seen)) if isinstance(seen, list) else set()


def test_what_an_earlier_version_could_not_read_is_offered_and_read(files: Earlier) -> None:
    """What was read as if it were plain text, too; citations from before go on resolving."""
    offered = files.run("reprocess", "--dry-run").stdout
    assert {"Harbour/survey.pdf", "Harbour/letter.docx", "Harbour/pages/berths.html", "Harbour/mail/engine.eml"} <= {
        *offered.splitlines()
    }
    files.run("reprocess", "--yes")
    parsers = {
        "survey.pdf": "pdf/3",
        "letter.docx": "docx/2",
        "pages/berths.html": "html/2",
        "mail/engine.eml": "eml/3",
        "mail/2026-03.mbox": "mbox/2",
        "notebooks/tides.ipynb": "notebook/1",
    }
    for path, parser in parsers.items():
        page = json.loads(files.run("status", f"Harbour/{path}", "--json").stdout)
        assert (page["state"], page["reading"]["parser"]) == ("done", parser), path
    issued = chunk_ids(expected(FILES))
    assert issued
    for chunk_id in issued:
        assert json.loads(files.run("cite", chunk_id, "--json").stdout)["text"]
    assert_sound(files)


@pytest.mark.claim("AGE-1")
def test_two_homes_on_one_bucket_show_what_they_showed(sharing: list[Earlier]) -> None:
    before = expected(BUCKET)
    for home in sharing:
        assert_same(home.see(), before)
        assert_sound(home)
        home.run("rebuild", "--yes")
        assert_same(home.see(), before)
        assert_sound(home)


@pytest.mark.long
@pytest.mark.claim("AGE-1")
def test_two_homes_on_one_bucket_are_upgraded_one_after_the_other(sharing: list[Earlier]) -> None:
    """The one that comes second finds what the first did meanwhile."""
    first, second = sharing
    for home in sharing:
        home.mountpoint.mkdir()
    first.mount()
    (first.mountpoint / "Harbour" / "documents" / "lens.txt").write_text(ALSO)
    first.wait()
    second.mount()
    until(lambda: (second.mountpoint / "Harbour" / "text" / "lens.txt.md").exists())
    for home in sharing:
        home.umount()
    assert_same(second.see(), first.see())
    for home in sharing:
        assert_sound(home)
