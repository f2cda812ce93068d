"""A verb takes the worker's place for a while; the worker waits, and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.errors import BusyError
from kgfs.stores.worker_lock import in_place_of_worker, place_wanted, worker_alive, worker_note
from tests.support.running import Place, until
from tests.support.texts import ZEN


def test_a_living_worker_waits_and_goes_on(place: Place, tmp_path: Path) -> None:
    run = place.home / "run"
    (tmp_path / "zen.md").write_text(ZEN)
    worker = place.start("worker", env={"KGFS_MODELS_EMBEDDER": "none", "KGFS_MODELS_EXTRACTOR": "statistics"})
    try:
        until(lambda: worker_note(run).get("state") == "working")
        with in_place_of_worker(run):
            assert worker_note(run)["state"] == "waiting for another verb"
            place.run("ingest", tmp_path / "zen.md", "--ontology", "Test", "--no-wait")
            assert place_wanted(run)
            assert place.status()["owed"] == 1
            assert worker.poll() is None
            with pytest.raises(BusyError, match="in place of its worker"), in_place_of_worker(run, patience=0.2):
                pass
        until(lambda: place.status()["owed"] == 0)
        assert worker_note(run)["pid"] == worker.pid
    finally:
        worker.terminate()
        assert worker.wait(20) == 0
        worker.communicate()
    assert not worker_alive(run)


def test_a_waiting_worker_can_be_stopped(place: Place) -> None:
    run = place.home / "run"
    worker = place.start("worker", env={"KGFS_MODELS_EMBEDDER": "none", "KGFS_MODELS_EXTRACTOR": "statistics"})
    until(lambda: worker_note(run).get("state") == "working")
    with in_place_of_worker(run):
        worker.terminate()
        assert worker.wait(20) == 0
        worker.communicate()
    assert not place_wanted(run)
