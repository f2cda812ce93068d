"""What wakes a process of a home that rests."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kgfs.config import Config
from kgfs.stores.catalog.facts import SettingChanged
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.change_watch import ChangeWatch
from kgfs.stores.worker_lock import in_place_of_worker


@pytest.fixture
def config(tmp_path: Path) -> Config:
    made = Config(home=tmp_path / "home")
    made.run.mkdir(parents=True)
    return made


@pytest.fixture
def watch(config: Config) -> Iterator[ChangeWatch]:
    with closing(ChangeWatch(config)) as made:
        assert made.works
        yield made


def test_a_commit_of_any_connection_wakes(config: Config, watch: ChangeWatch) -> None:
    with closing(Catalog(config.catalog_db)) as catalog:
        before = catalog.seq()
        assert watch.changed() and not watch.changed()
        catalog.record(SettingChanged("", "a", "b", 1))
        assert watch.wait(10)
        assert catalog.seq() == before + 1


def test_a_request_to_settle_and_a_command_that_wants_the_workers_place_wake(
    config: Config, watch: ChangeWatch
) -> None:
    for _ in range(2):
        (config.run / "settle.request").touch()
        assert watch.wait(10)
    with in_place_of_worker(config.run):
        assert watch.wait(10)


def test_what_a_process_at_rest_writes_itself_does_not(config: Config, watch: ChangeWatch) -> None:
    (config.run / "acknowledged").touch()
    (config.home / "moved.json").write_text("{}")
    assert not watch.wait(0.1)


def test_wake_ends_the_wait_of_another_thread(watch: ChangeWatch) -> None:
    begun = time.monotonic()
    threading.Timer(0.1, watch.wake).start()
    assert not watch.wait(60)
    assert time.monotonic() - begun < 30


def test_where_the_kernel_gives_no_watch_the_caller_polls(tmp_path: Path) -> None:
    with closing(ChangeWatch(Config(home=tmp_path / "absent"))) as watch:
        assert not watch.works and not watch.changed()
