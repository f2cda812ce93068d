"""Documents of other formats than text, from their bytes to their citations."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from kgfs.domain.documents import State
from kgfs.formats import recognition
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.lifecycle.runs import Order, failed, owe
from kgfs.knowledge.document import document_page
from kgfs.knowledge.evidence import citation_json, evidence
from kgfs.render.source import Marks
from kgfs.stores.graph.vocabulary import InstanceRow
from kgfs.stores.readings import load_reading, text_of
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from tests.support.office import docx, page_image, pdf, png, scan
from tests.support.required import missing
from tests.support.working import Counting, documents, work

HEADER = "Zanzibar circular gazette"
PAGES = (
    "The tide table gives the spring tide of each month.\nThe harbour master prints the tide table every month.",
    "A tide mill grinds grain while the tide falls.\nThe tide mill stands at the old quay of the harbour.",
    "The sluice gate keeps the water of the mill pond.\nA miller opens the sluice gate by hand each morning.",
)


def _recall(key: Hashable, ask: Callable[[], Any]) -> Any:
    return ask()


def _citations(stores: Stores, rows: list[InstanceRow]) -> list[dict[str, Any]]:
    shown = [evidence(stores, row.owner, row.n, _recall) for row in rows]
    return [json.loads(citation_json(stores, each, Marks(), "a", _recall)) for each in shown]


def test_a_citation_of_a_pdf_names_its_page(home: Path, tmp_path: Path) -> None:
    """Also after a rebuild; and no concept comes from a header that repeats."""
    config = load(home)
    (tmp_path / "report.txt").write_bytes(pdf(*(f"{HEADER}\n{page}" for page in PAGES)))
    compute = Counting()
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            deposits.ingest_file(tmp_path / "report.txt", "Test")
        work(config, stores, compute)
        [document] = documents(stores)
        reading = load_reading(stores.garage.objects, document.doc_id, document.reading)
        text = text_of(stores.garage.objects, document, reading)
        assert (document.state, reading.parser, reading.pages) == (State.DONE, "pdf/4", 3)
        assert reading.text_key and text.count(HEADER) == 3 and not any(HEADER in asked for asked in compute.asked)
        rows = stores.graph.instances_of(document.doc_id)
        cited = _citations(stores, rows)
        assert {citation["page"] for citation in cited} == {1, 2, 3}
        for citation in cited:
            quote = citation["quote"]
            assert text[citation["char_start"] : citation["char_end"]] == quote
            [page] = [n for n, words in enumerate(PAGES, 1) if quote in words]
            assert (citation["page"], citation["locator"]) == (page, {"page": page})
        rebuild(stores)
        assert stores.graph.instances_of(document.doc_id) == rows


def test_what_gives_no_text_is_unsupported_and_kept(home: Path, tmp_path: Path) -> None:
    config = load(home)
    empty, broken = docx(""), pdf(*PAGES)[:200]
    (tmp_path / "empty.docx").write_bytes(empty)
    (tmp_path / "broken.pdf").write_bytes(broken)
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            for name in ("empty.docx", "broken.pdf"):
                deposits.ingest_file(tmp_path / name, "Test")
        work(config, stores, Counting())
        pages = {
            n: document_page(stores, find_document(stores, config.run, f"Test/{n}"))
            for n in ("empty.docx", "broken.pdf")
        }
        assert {page["state"] for page in pages.values()} == {"unsupported"}
        assert pages["empty.docx"]["state_reason"] == "empty.docx: no text was found. The original is kept."
        assert "damaged: pdfium says" in pages["broken.pdf"]["state_reason"]
        assert {stores.garage.objects.get(document.key) for document in documents(stores)} == {empty, broken}


def test_a_picture_is_read_after_tesseract_was_installed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not recognition.tesseract():
        missing("tesseract", "it is not installed")
    config = load(home)
    (tmp_path / "sign.png").write_bytes(png(*page_image(pdf(PAGES[0]))))
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            deposits.ingest_file(tmp_path / "sign.png", "Test")
        with monkeypatch.context() as without:
            without.setenv("PATH", str(tmp_path))
            work(config, stores, Counting())
        [document] = documents(stores)
        assert document.state is State.UNSUPPORTED and recognition.MISSING in document.reason
        names = stores.catalog.names
        assert len(owe(stores.catalog, lambda: failed(stores, names.ontologies()), Order("installed"))) == 1
        work(config, stores, Counting())
        [document] = documents(stores)
        reading = load_reading(stores.garage.objects, document.doc_id, document.reading)
        assert document.state is State.DONE
        assert " ".join(text_of(stores.garage.objects, document, reading).split()) == " ".join(PAGES[0].split())


def test_a_document_that_was_read_in_part_is_offered_once_tesseract_is_installed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not recognition.tesseract():
        missing("tesseract", "it is not installed")
    config = load(home)
    both = pypdfium2.PdfDocument.new()
    for page in (pdf(PAGES[0]), scan(page_image(pdf(PAGES[1])))):
        both.import_pages(pypdfium2.PdfDocument(page))
    both.save(tmp_path / "half.pdf")
    (tmp_path / "whole.pdf").write_bytes(pdf(PAGES[0]))
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            deposits.ingest_file(tmp_path / "half.pdf", "Test")
            deposits.ingest_file(tmp_path / "whole.pdf", "Test")
        ontologies = stores.catalog.names.ontologies()
        with monkeypatch.context() as without:
            without.setenv("PATH", str(tmp_path))
            work(config, stores, Counting())
            assert failed(stores, ontologies) == [], "it would be read in vain"
        [half] = failed(stores, ontologies)
        assert half.source_id.endswith("half.pdf") and half.state is State.DONE
        assert len(owe(stores.catalog, lambda: failed(stores, ontologies), Order("installed"))) == 1
        work(config, stores, Counting())
        assert failed(stores, ontologies) == []
