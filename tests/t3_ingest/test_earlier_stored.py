"""What an earlier version stored is understood for good: names of fields, formats, ids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.app import api
from kgfs.app.home import open_stores
from kgfs.config import load
from kgfs.domain.identity import chunk_id_of
from kgfs.ingest.lifecycle.purge import decode_redaction, encode_redaction
from kgfs.models.extractor.output import decode, encode
from kgfs.stores.readings import decode_decisions, decode_reading
from kgfs.stores.stores import Stores
from tests.support.earlier.opening import FILES, expected, unpacked

pytestmark = pytest.mark.claim("AGE-1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(FILES, tmp_path_factory.mktemp("earlier")) / "home"


@pytest.fixture
def stores(home: Path) -> Iterator[Stores]:
    with open_stores(load(home)) as stores:
        yield stores


def test_what_is_decoded_and_encoded_again_is_the_same(stores: Stores) -> None:
    """So a Reading keeps its id, which its own name in the garage is, and a field that is renamed is noticed."""
    objects = stores.garage.objects
    for key, _ in objects.keys("readings/"):
        reading = decode_reading(objects.get(key), key)
        assert reading.encode() == objects.get(key)
        assert reading.key == key
    for key, _ in objects.keys("decisions/"):
        assert decode_decisions(objects.get(key), key).encode() == objects.get(key)
    for key, _ in objects.keys("redactions/"):
        assert encode_redaction(decode_redaction(objects.get(key), key)) == objects.get(key)
    for key, _ in objects.keys("records/"):
        for line in objects.get(key).splitlines():
            raw = json.loads(line)["raw_output"]
            found = decode(raw)  # in the form of extractors before version 3, which is written no more
            assert len(found.concepts) == len(json.loads(raw)["concepts"])
            assert decode(encode(found)) == found
    tops = {key.split("/")[0] for key in expected(FILES)["objects"]}
    assert {"readings", "decisions", "records", "redactions"} <= tops


@pytest.mark.claim("CITE-1")
def test_every_chunk_id_that_was_issued_is_cited(home: Path) -> None:
    """Also of documents that had left the graph before there was an index."""
    issued = {
        (chunk_id_of(key.split("/")[1], start, end), key.split("/")[1], start, end)
        for key, spans in expected(FILES)["chunks"].items()
        for start, end in spans
    }
    assert len(issued) > 40
    shown = []
    for chunk_id, doc_id, start, end in sorted(issued):
        found = api.cite(load(home), chunk_id)
        assert (found.doc_id, found.char_start, found.char_end) == (doc_id, start, end)
        assert found.text is not None
        assert len(found.text) == end - start
        shown.append(found.shown)
    assert 0 < shown.count(False) < len(shown)
