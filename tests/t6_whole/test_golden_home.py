"""The golden home opens with all that it showed when it was made; one of another format is refused and left as it is."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kgfs.app import api
from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.domain.identity import chunk_id_of
from kgfs.ingest.lifecycle.purge import decode_redaction, encode_redaction
from kgfs.models.extractor.output import decode, encode
from kgfs.stores.readings import decode_decisions, decode_reading
from tests.support.golden.opening import ARCHIVE, Golden, unpacked

LARGEST = 150_000
"""Bytes of the archive."""


@pytest.fixture
def seen(tmp_path: Path) -> dict[str, Any]:
    return unpacked(tmp_path)[1]


@pytest.fixture
def home(seen: dict[str, Any], tmp_path: Path) -> Iterator[Golden]:
    home = Golden(tmp_path / "home", tmp_path / "mnt")
    yield home
    home.close()


def assert_same(now: dict[str, Any], before: dict[str, Any]) -> None:
    """Compare by parts: the difference of two homes is too long to be read."""
    for name, ontology in before["ontologies"].items():
        for part, what in ontology.items():
            assert now["ontologies"][name][part] == what, f"{part} of {name}"
    assert now == before


@pytest.mark.mounted
@pytest.mark.root
def test_it_shows_what_it_showed(home: Golden, seen: dict[str, Any]) -> None:
    """Originals, names, times, versions, doc_ids, directory names of concepts, numbers, places and quotes of evidence."""
    assert ARCHIVE.stat().st_size <= LARGEST
    assert_same(home.see(), seen)
    home.run("check", "--deep")
    home.run("rebuild", "--yes")
    assert_same(home.see(), seen)


def test_what_is_decoded_and_encoded_again_is_the_same(home: Golden) -> None:
    """So a Reading keeps its id, which its own name in the garage is, and a field that is renamed is noticed."""
    with open_home(load(home.home)) as stores:
        objects = stores.garage.objects
        for key, _ in objects.keys("readings/"):
            reading = decode_reading(objects.get(key), key)
            assert (reading.key, reading.encode()) == (key, objects.get(key))
        for key, _ in objects.keys("decisions/"):
            assert decode_decisions(objects.get(key), key).encode() == objects.get(key)
        redactions = list(objects.keys("redactions/"))
        assert redactions
        for key, _ in redactions:
            assert encode_redaction(decode_redaction(objects.get(key), key)) == objects.get(key)
        for key, _ in objects.keys("records/"):
            for line in objects.get(key).splitlines():
                raw = json.loads(line)["raw_output"]
                assert encode(decode(raw)) == raw


@pytest.mark.claim("CITE-1")
def test_every_chunk_id_that_was_issued_is_cited(home: Golden, seen: dict[str, Any]) -> None:
    issued = {
        (chunk_id_of(key.split("/")[1], start, end), key.split("/")[1], start, end)
        for key, spans in seen["chunks"].items()
        for start, end in spans
    }
    assert len(issued) > 30
    shown = []
    for chunk_id, doc_id, start, end in sorted(issued):
        found = api.cite(load(home.home), chunk_id)
        assert (found.doc_id, found.char_start, found.char_end) == (doc_id, start, end)
        assert found.text is not None
        assert len(found.text) == end - start
        shown.append(found.shown)
    assert 0 < shown.count(False) < len(shown)


@pytest.mark.parametrize("other", ["note", "front.sqlite", "graph.sqlite"])
def test_one_of_another_format_is_refused_and_nothing_is_written(home: Golden, other: str) -> None:
    if other == "note":
        note = home.home / "run" / "stores.json"
        note.write_text(json.dumps({**json.loads(note.read_text()), "format": "99"}))
    else:
        with closing(sqlite3.connect(home.home / other)) as database:
            database.execute("PRAGMA user_version=99")
    before = contents(home.home)
    for verb in (
        ("status",),
        ("search", "tide"),
        ("ingest", "/etc/hostname"),
        ("rebuild", "--yes"),
        ("check", "--repair"),
    ):
        refused = home.run(*verb, expect=7)
        assert refused.stderr.count("mount it with the version that made it, and copy its documents/.") == 1, verb
    assert contents(home.home) == before


def contents(folder: Path) -> dict[Path, str]:
    """Return the hash of each file that a home keeps; its locks and logs are not among them."""
    files = (
        path for path in folder.rglob("*") if (path.is_file() and "garage" in path.parts) or path.suffix == ".sqlite"
    )
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
