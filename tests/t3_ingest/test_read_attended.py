"""A reading is heard of while it goes on, whatever the stage, and ends soon when nobody wants it any more."""

from __future__ import annotations

import time

import pytest

from kgfs.compute.local import LocalCompute
from kgfs.domain.documents import Document
from kgfs.errors import LostLeaseError
from kgfs.ingest import timing
from kgfs.ingest.pipeline import Reader
from kgfs.ingest.reading.clock import StageClock
from kgfs.settings import Models, Pipeline
from tests.fakes.garage import MemoryObjects
from tests.support.readings import document_of

TEXT = " ".join(f"The lantern number {n} is a lamp that burns the oil of its keeper." for n in range(4000))


@pytest.fixture
def kept() -> tuple[Reader, Document]:
    document = document_of(TEXT)
    objects = MemoryObjects()
    objects.put(document.key, TEXT.encode())
    compute = LocalCompute(Models(extractor="statistics", embedder="none"))
    return Reader(objects, compute, Pipeline(), StageClock()), document


def test_every_stage_is_told_and_told_again(kept: tuple[Reader, Document], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "REPORT_EVERY", 0.0)
    told: list[str] = []
    reader, document = kept
    reading = reader.read(document, "a.txt", (), lambda stage, share: told.append(stage))
    assert len(reading.chunks) > 50
    assert list(dict.fromkeys(told)) == ["parse", "chunk", "gate", "extract", "validate", "rank", "embed"]
    assert all(told.count(stage) > 10 for stage in ("chunk", "validate"))


def test_progress_costs_little(kept: tuple[Reader, Document]) -> None:
    told: list[float] = []
    reader, document = kept
    reader.read(document, "a.txt", (), lambda stage, share: told.append(time.monotonic()))
    assert len(told) < 20 + 2 * (told[-1] - told[0]) / timing.REPORT_EVERY


@pytest.mark.parametrize("stage", ["chunk", "extract", "validate"])
def test_a_stage_ends_in_its_middle(kept: tuple[Reader, Document], stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "REPORT_EVERY", 0.0)
    told: list[str] = []

    def progress(now: str, share: float) -> None:
        told.append(now)
        if now == stage and told.count(stage) == 3:
            raise LostLeaseError("stop")

    reader, document = kept
    with pytest.raises(LostLeaseError):
        reader.read(document, "a.txt", (), progress)
    assert told[-1] == stage
