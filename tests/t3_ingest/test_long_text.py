"""Texts that are too long for concepts are found by their words."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from kgfs.domain.documents import State
from kgfs.ingest.lifecycle import backfill
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.matching import earlier
from kgfs.ingest.reading import draft
from kgfs.ingest.storing.settle import alive_sessions
from kgfs.ingest.working import pipeline
from kgfs.knowledge.check import check
from kgfs.stores import readings
from kgfs.stores.readings import load_reading, text_of
from tests.support.working import OTHER, TEXT, Counting, Embedding, deposit, documents, states, work


def test_a_text_that_is_too_long_for_concepts_is_found_by_its_words_and_says_so(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (draft, backfill, pipeline, earlier):
        monkeypatch.setattr(module, "LONGEST_PROSE", len(TEXT))
    config, compute = load(home), Counting()
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, long=TEXT + OTHER, short=TEXT)
        work(config, stores, compute)
        assert states(stores) == {State.DONE: 2} and compute.asked == [TEXT]
        long = next(document for document in documents(stores) if document.source_id.endswith("/long.txt"))
        reading = load_reading(stores.garage.objects, long.doc_id, long.reading)
        assert "no concepts were looked for. Split it" in reading.note and not reading.concepts
        with open_deposits(config, stores):
            pass  # ships the facts
        embedding = Embedding()
        for document in documents(stores):
            shown = load_reading(stores.garage.objects, document.doc_id, document.reading)
            backfill.give(stores.garage.objects, embedding, document, shown, windows=True)
        assert TEXT in embedding.embedded and not any(OTHER in words for words in embedding.embedded)
        for again in (False, True):
            if again:
                rebuild(stores)
            assert {row.full_text for row, _ in stores.graph.find_text("roots")} == {TEXT + OTHER}
            assert stores.graph.concepts_of(long.doc_id) == [] and stores.graph.named.only_named(long.doc_id) == set()
            assert check(config, stores, alive_sessions(config.run), worker=False, deep=True) == []


def test_a_long_text_is_decoded_in_pieces(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "LONG", 0)
    monkeypatch.setattr(readings, "DECODED", 3)
    text = "\ufeffÄrger – naïve words 𝄞 and 検索.\r\nThey stand here.\n"
    written = {"utf-8": text, "utf-16-le": text, "windows-1252": "Größe, naïve and déjà vu. It stands here.\n"}
    config = load(home)
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            for encoding, words in written.items():
                (tmp_path / f"{encoding}.txt").write_bytes(words.encode(encoding))
                deposits.ingest_file(tmp_path / f"{encoding}.txt", "Test")
        work(config, stores, Counting())
        for document in documents(stores):
            reading = load_reading(stores.garage.objects, document.doc_id, document.reading)
            assert text_of(stores.garage.objects, document, reading) == written[reading.encoding]
