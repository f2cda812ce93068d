"""cite/<chunk_id>/ on a mount: through versions, renames, removal, the emptied trash and a purge."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from errno import ENOENT, EROFS
from pathlib import Path
from typing import Any

import pytest

from tests.support.mounting import mounted_place
from tests.support.running import Place
from tests.support.scenarios.filesystem import fails_with
from tests.support.seeing import in_time

pytestmark = [pytest.mark.mounted, pytest.mark.claim("CITE-3")]

FIRST = "The tide mill of the harbour grinds grain. A tide mill needs a sluice gate.\n"
SECOND = "The sluice gate keeps the water of the mill pond. A sluice gate is made of oak.\n"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with mounted_place(tmp_path / "place") as place:
        (place.mountpoint / "Mills").mkdir()
        yield place


def saved(place: Place, name: str, text: str) -> Path:
    """Return the folder below cite/ of the first Source of a text, once it is read."""
    file = place.mountpoint / "Mills" / "documents" / name
    file.write_text(text)
    place.wait()
    found = json.loads((place.mountpoint / "Mills" / "search" / text / "results.json").read_text())["results"]
    chunks = [chunk for document in found for chunk in document["chunks"]]
    return place.mountpoint / "cite" / str(next(chunk["chunk_id"] for chunk in chunks if chunk["content"] in text))


def citation(folder: Path) -> dict[str, Any]:
    raw = (folder / "citation.json").read_bytes()
    assert len(raw) == (folder / "citation.json").stat().st_size
    found: dict[str, Any] = json.loads(raw)
    return found


def test_a_citation_is_found_for_good(place: Place) -> None:
    top = place.mountpoint
    first = saved(place, "mill.txt", FIRST)
    assert os.listdir(top / "cite") == [] and "cite" not in os.listdir(top)
    assert sorted(os.listdir(first)) == ["citation.json", "document", "text.txt"]
    assert (first / "text.txt").read_text() == FIRST
    assert (first / "document").read_text() == FIRST
    with fails_with(EROFS):
        (first / "note.txt").write_text("mine")
    with fails_with(ENOENT):
        os.listdir(top / "cite" / "0123456789ab")

    (top / "Mills" / "documents" / "mill.txt").rename(top / "Mills" / "documents" / "tide mill.txt")
    in_time(lambda: citation(first)["document"] == "documents/tide mill.txt")
    assert (first / "document").read_text() == FIRST

    second = saved(place, "tide mill.txt", SECOND)
    in_time(lambda: not citation(first)["shown"])
    assert citation(first)["document"] == "versions/tide mill.txt@/1.txt"
    assert citation(second)["shown"]
    assert ((first / "document").read_text(), (second / "document").read_text()) == (FIRST, SECOND)


def test_of_what_left_the_trash_only_the_place_stays_and_of_what_was_purged_nothing(place: Place) -> None:
    first, second = saved(place, "mill.txt", FIRST), saved(place, "gate.txt", SECOND)
    known = citation(first)
    (place.mountpoint / "Mills" / "documents" / "mill.txt").unlink()
    place.wait()
    assert (first / "text.txt").read_text() == FIRST
    place.run("trash", "empty", "--yes")
    in_time(lambda: os.listdir(first) == ["citation.json"])
    with fails_with(ENOENT):
        (first / "text.txt").read_text()
    gone = citation(first)
    assert gone["reason"] == "the original was emptied from the trash"
    for field in ("ontology", "doc_id", "content_hash", "line_start", "line_end", "char_start", "char_end"):
        assert gone[field] == known[field]

    place.run("forget", "Mills/gate.txt", "--purge", "--yes", "--cascade", "orphans")
    with fails_with(ENOENT):
        in_time(lambda: second.stat() is None)
    assert second.name not in os.listdir(second.parent)
