"""A format and an extractor are one module and one row each: a toy of both is read from deposit to evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.compute.contract import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import load
from kgfs.domain.documents import State
from kgfs.domain.text import Block, Text
from kgfs.errors import BadInputError
from kgfs.formats import table as formats
from kgfs.formats.contract import Format
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.models.contract import Extraction, Passage, RawConcept, RawQuote
from kgfs.models.extractor import output
from kgfs.models.extractor import table as extractors
from kgfs.settings import Models
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.readings import load_reading, text_of
from tests.support.knowledge_of import knowledge_in

MAGIC = b"\x00TOY\x00"
SENTENCE = "A gnomon is the part of a sundial that casts the shadow."


def _read_toy(name: str, content: bytes) -> Text:
    text = content.removeprefix(MAGIC).decode()
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Text(text, digest, "toy/1", "application/x-toy", "", "A toy", (Block("paragraph", 0, len(text)),))


TOY_FORMAT = Format(
    "toy/1", "application/x-toy", frozenset({"toy"}), _read_toy, signature=lambda content: content[:5] == MAGIC
)


class ToyExtractor:
    """Says that every passage is about its second word."""

    name, version, model, prompt_hash = "toy", "1", "toy", "0"
    billed = takes_known = False

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        return [output.encode(self._reported(passage.text)) for passage in passages]

    def parse(self, raw: str) -> Extraction:
        return output.decode(raw)

    @staticmethod
    def _reported(text: str) -> Extraction:
        label = text.split()[1]
        return Extraction((RawConcept(label, "term", 1.0, 1, (RawQuote(text, 0, len(text)),)),), ())


TOY_EXTRACTOR = extractors.Row("toy", False, lambda grammar, embedder: ToyExtractor())


def _add_row(table: ModuleType, name: str, row: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, name, (row, *getattr(table, name)))


def test_a_format_and_an_extractor_are_a_row_each(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _add_row(formats, "FORMATS", TOY_FORMAT, monkeypatch)
    _add_row(extractors, "EXTRACTORS", TOY_EXTRACTOR, monkeypatch)
    config = load(home)
    document = home.parent / "clock.bin"
    document.write_bytes(MAGIC + SENTENCE.encode())
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            deposits.ingest_file(document, "Clocks")
        compute, clock = LocalCompute(Models(embedder="none", extractor="toy")), StageClock()
        pipeline = Pipeline(config, stores, compute, clock, LocalEngine(compute, stores.garage.objects))
        Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True)
        [ontology] = stores.catalog.names.ontologies()
        [known] = stores.catalog.names.documents(ontology.id)
        shown = stores.graph.document(known.doc_id)
        assert shown is not None
        assert (known.state, shown.document_type) == (State.DONE, "application/x-toy")
        (concept,) = stores.graph.concepts_of(known.doc_id)
        (instance,) = stores.graph.instances(concept.concept_id)
        assert (concept.label, instance.quote) == ("gnomon", SENTENCE)
        reading = load_reading(stores.garage.objects, known.doc_id, known.reading)
        assert text_of(stores.garage.objects, known, reading) == SENTENCE
        before = knowledge_in(stores)
        rebuild(stores)
        assert knowledge_in(stores) == before


def test_an_extractor_that_no_row_has_is_refused() -> None:
    with pytest.raises(BadInputError, match="known are auto, grammar, statistics"):
        LocalCompute(Models(embedder="none", extractor="toy"))
