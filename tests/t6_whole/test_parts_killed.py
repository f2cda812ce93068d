"""What a killed or failed reading left of the parts of a mail, a mailbox or a transcript goes with it: every byte is searched."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.stores.part_notes import NOTES
from tests.support.mails import parent
from tests.support.peers.homes import SERVERS, lifecycle
from tests.support.running import LET_GO_SOON, Place
from tests.support.traces import traces

pytestmark = lifecycle

"""At all but the last one the catalog knows of no part of what was deposited; but for a transcript, whose only texts are those
of its segments."""


@pytest.fixture
def small(place: Place) -> Place:
    """Without models."""
    place.environment |= LET_GO_SOON | {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}
    return place


def ingest_killed(place: Place, tmp_path: Path, path: str, content: bytes, border: str) -> None:
    source = tmp_path / "source"
    source.write_bytes(content)
    place.environment["KGFS_FAIL_AT"] = border
    with pytest.raises(AssertionError, match="exited with -9"):
        place.run("ingest", source, "--ontology", "Notes", "--as", path)
    del place.environment["KGFS_FAIL_AT"]


def noted(place: Place) -> list[str]:
    with open_home(load(place.home)) as stores:
        return [key for key, _ in stores.garage.objects.keys(NOTES)]


def originals(place: Place) -> list[str]:
    with open_home(load(place.home)) as stores:
        return [key for key, _ in stores.garage.objects.keys("sources/")]


def is_purged_whole(place: Place, tmp_path: Path, kind: str, border: str) -> None:
    path, content = parent(kind, "quxpart")
    ingest_killed(place, tmp_path, path, content, border)
    if kind != "transcript" or border not in ("text-kept", "text-published"):
        assert noted(place), "the note stays until the catalog knows the parts"
    assert border == "parts-noted" or len(originals(place)) > 1
    place.run("forget", f"Notes/{path}", "--purge", "--yes")
    assert traces(place.home, "quxpart") == []
    assert originals(place) == [] == noted(place)
    place.run("check", "--deep")


@pytest.mark.claim("GONE-6")
@pytest.mark.parametrize("border", ["part-put", "parsed", "parts-found"])
def test_no_byte_is_left_of_the_parts_of_a_killed_reading(small: Place, tmp_path: Path, border: str) -> None:
    is_purged_whole(small, tmp_path, "mail", border)


@pytest.mark.claim("GONE-6")
def test_no_byte_is_left_where_the_reading_of_a_part_is_killed(small: Place, tmp_path: Path) -> None:
    """A mailbox has two mails, the first of which has two attachments."""
    is_purged_whole(small, tmp_path, "mailbox", "part-put:3")


@pytest.mark.claim("GONE-6")
def test_no_byte_is_left_of_a_transcript_whose_reading_was_killed(small: Place, tmp_path: Path) -> None:
    is_purged_whole(small, tmp_path, "transcript", "parsed")


@pytest.mark.peers(SERVERS)
@pytest.mark.claim("GONE-6")
def test_no_byte_is_left_in_a_bucket(small: Place, tmp_path: Path) -> None:
    is_purged_whole(small, tmp_path, "mail", "parsed")
