"""Commands that read, and their time-out: what ends with an error, and what is left to another worker."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from kgfs.app import backlog
from kgfs.app.backlog import read_backlog
from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.errors import TimedOutError
from kgfs.ingest.working import pipeline
from kgfs.settings import Models
from kgfs.stores.stores import Stores
from tests.support.working import TEXT, deposit


def test_what_follows_reading_is_left_to_others_when_the_time_is_up(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(load(home), models=Models(embedder="none", extractor="statistics"))
    late, looked = [0.0], list[int]()

    def look_back(stores: Stores, *_: object) -> bool:
        """A library so large that this takes longer than a person waits."""
        looked.append(stores.catalog.jobs.owed())
        late[0] = 1000.0
        return True

    monkeypatch.setattr(pipeline, "look_back", look_back)
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + late[0], sleep=time.sleep, time_ns=time.time_ns)
    monkeypatch.setattr(backlog, "time", clock)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, one=TEXT)
        read_backlog(config, stores, lambda done, total, what: None, timeout=900)
        assert looked == [0] and stores.catalog.jobs.owed() == 0 and stores.graph.risen(1) is not None
        deposit(config, stores, tmp_path, two=f"{TEXT} Sweeping is another.")
        with pytest.raises(TimedOutError, match=r"Still owed after 900 s: 1 document, 0 unsettled paths"):
            read_backlog(config, stores, lambda done, total, what: None, timeout=900, begun=time.monotonic())
