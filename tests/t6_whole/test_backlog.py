"""When a verb that stays gives up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app import backlog, timing
from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.errors import UnavailableError
from kgfs.ingest.storing.settle import Settler
from kgfs.knowledge.backlog import Owed
from kgfs.settings import Pipeline, Vectors
from kgfs.stores.catalog.rows import Job


def reading(share: float) -> Owed:
    job = Job("read", "d", "o", 1, state="working", stage="extracting", progress=share)
    return Owed(unsettled=0, jobs=1, working=(job,), failed=0, unsupported=0, done=0)


def test_a_long_document_that_is_read_goes_on_though_a_server_is_away(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "STANDSTILL", 0.0)
    nobody = Vectors(store="qdrant", url="http://127.0.0.1:1")
    config = replace(load(home), vectors=nobody, pipeline=Pipeline(max_attempts=2))
    with open_home(load(home)) as stores:
        standstill = backlog._Standstill(config, Settler(config, stores))
        for step in range(5):
            standstill.check(reading(step / 5))
        with pytest.raises(UnavailableError, match="kgfs wait"):
            standstill.check(reading(4 / 5))
