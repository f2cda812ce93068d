"""Scanned documents: each recognised page is kept as it comes, and no kill has it recognised again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.ingest.reading import recognised
from kgfs.knowledge.metadata import metadata
from kgfs.render.companion import Companion, render
from kgfs.stores.catalog.rows import Job
from kgfs.stores.readings import pages_prefix
from kgfs.stores.stores import Stores
from tests.support.office import page_image, pdf, png, scan
from tests.support.required import missing
from tests.support.working import Counting, KilledError, documents, states, work

PAGES = 3


@pytest.fixture(autouse=True)
def _recognition() -> None:
    if not shutil.which("tesseract"):
        missing("tesseract", "it is not installed")


@pytest.fixture
def stores(home: Path) -> Iterator[Stores]:
    with open_home(Config(home=home)) as stores:
        yield stores


def test_a_kill_costs_the_page_that_is_under_way(
    home: Path, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(home=home)
    pages = [page_image(pdf(f"The keeper of light {number} wrote the log of the harbour.")) for number in range(PAGES)]
    (tmp_path / "scan.pdf").write_bytes(scan(*pages))
    with open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "scan.pdf", "Test")
    passed: list[str] = []

    def kill(name: str) -> None:
        passed.append(name)
        if len(passed) == PAGES - 1:
            raise KilledError

    monkeypatch.setattr(recognised, "border", kill)
    with pytest.raises(KilledError):
        work(config, stores, Counting())
    [document] = documents(stores)
    assert len(list(stores.garage.objects.keys(pages_prefix(document.doc_id)))) == PAGES - 1
    passed.clear()
    monkeypatch.setattr(recognised, "border", passed.append)
    work(config, stores, Counting())
    assert passed == ["page-recognised"]
    assert states(stores) == {State.DONE: 1}


def test_a_picture_tells_its_size(home: Path, stores: Stores, tmp_path: Path) -> None:
    width, height, pixels = page_image(pdf("The keeper lit the lamp."))
    (tmp_path / "lamp.png").write_bytes(png(width, height, pixels))
    config = Config(home=home)
    with open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "lamp.png", "Test")
    work(config, stores, Counting())
    [document] = documents(stores)
    row = stores.graph.document(document.doc_id)
    assert row is not None and row.dimensions == f"{width}x{height}"
    page = Companion("lamp.png", row.source_title, row.document_type, row.size_bytes, row.pages, row.dimensions, 0)
    assert f"\n**Dimensions:** {width}x{height}\n**Extracted:**" in render(page, "").decode()
    assert metadata(stores, document.doc_id)[0].dimensions == row.dimensions


def test_a_scan_gives_way_to_what_waits(
    home: Path, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text is not waited for, and its job says how far it is; what is deposited meanwhile is claimed first."""
    config = Config(home=home)
    pages = [page_image(pdf(f"The keeper of light {number} wrote the log of the harbour.")) for number in range(PAGES)]
    (tmp_path / "scan.pdf").write_bytes(scan(*pages))
    (tmp_path / "note.txt").write_text("A harbour is a place where ships are sheltered.\n")
    jobs = stores.catalog.jobs
    postponed: list[str] = []
    with open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "scan.pdf", "Test")
        postpone = type(jobs).postpone

        def note(self: Any, job: Job, reason: str) -> None:
            postpone(self, job, reason)
            postponed.append(reason)
            if len(postponed) == 1:
                assert not jobs.others_wait()
                deposits.ingest_file(tmp_path / "note.txt", "Test")
                assert jobs.others_wait()
                first = jobs.claim("another", 60.0)
                assert first is not None
                assert first.doc_id != job.doc_id
                jobs.put_back(first, "", 0.0, counted=False)

        monkeypatch.setattr(type(jobs), "postpone", note)
        work(config, stores, Counting())
    assert postponed[0] == f"1 of {PAGES} pages recognised"
    assert states(stores) == {State.DONE: 2}
