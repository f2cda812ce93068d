"""Engines: in this process, and on a Ray cluster of several nodes whose processes and nodes are killed."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.compute.contract import Engine, LocalEngine, Progress, WorkerSlot
from kgfs.compute.local import LocalCompute
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.errors import BadInputError, LostLeaseError, MachineError
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.models.contract import Passage
from kgfs.settings import Cluster as Settings
from kgfs.settings import Models
from kgfs.settings import Pipeline as Pipelining
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.stores import Stores
from tests.support.knowledge_of import knowledge_in
from tests.support.required import missing
from tests.support.running import until
from tests.support.slow_reading import hanging

if TYPE_CHECKING:
    from kgfs.compute.cluster import About

pytestmark = pytest.mark.slow

PARAGRAPH = (
    "Reference counting number {n} is a form of garbage collection. Garbage collection number {n} reclaims memory."
)


class Noting(LocalCompute):
    """The statistics extractor, which is slow and notes in a file what it is asked."""

    def __init__(self, asked: Path, seconds: float) -> None:
        super().__init__(Models(embedder="none", extractor="statistics"))
        self._asked, self._seconds = asked, seconds

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        time.sleep(self._seconds)
        with self._asked.open("a") as notes:
            notes.writelines(json.dumps([os.getpid(), passage.text]) + "\n" for passage in passages)
        return super().extract(passages, known)


def place(config: Config, asked: Path, seconds: float) -> WorkerSlot:
    return WorkerSlot(Noting(asked, seconds), open_garage(config).objects)


@dataclass(frozen=True)
class Doubled:
    number: int

    def __call__(self, place: WorkerSlot, progress: Progress) -> tuple[int, str]:
        progress("doubling", 0.5)
        return self.number * 2, place.compute.extractor


class Deadly(Noting):
    """Ends its process by what one document says."""

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        if any("POISON" in passage.text for passage in passages):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().extract(passages, known)


def deadly_place(config: Config, asked: Path) -> WorkerSlot:
    return WorkerSlot(Deadly(asked, 0.0), open_garage(config).objects)


class Failing:
    def __call__(self, place: WorkerSlot, progress: Progress) -> None:
        raise BadInputError("Nothing to double.")


@dataclass(frozen=True)
class Unending:
    ended: Path

    def __call__(self, place: WorkerSlot, progress: Progress) -> None:
        try:
            while True:
                progress("turning", 0.5)
                time.sleep(0.01)
        finally:
            self.ended.touch()


class Deaf:
    """Never says anything, so never hears that it is to end."""

    def __call__(self, place: WorkerSlot, progress: Progress) -> None:
        time.sleep(600)


def place_here_only(process: int, config: Config) -> WorkerSlot:
    if os.getpid() != process:
        raise MachineError("there: not on this node.")
    return place(config, config.home, 0.0)


@dataclass(frozen=True)
class Dying:
    """Ends its process as often as there are files to take."""

    lives: Path

    def __call__(self, place: WorkerSlot, progress: Progress) -> str:
        for life in sorted(self.lives.iterdir()):
            life.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Three nodes with one CPU each, on this machine."""
    token = tmp_path_factory.mktemp("ray") / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    wanted = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ |= wanted  # which Ray looks at when it is imported
    try:
        from ray.cluster_utils import Cluster
    except ModuleNotFoundError as error:
        missing("ray", f"{error.name} is not installed")
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        nodes.token = token
        for _ in range(2):
            nodes.add_node(num_cpus=1)
        yield nodes
    finally:
        nodes.shutdown()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def on_ray(nodes: Any, make: Callable[[], WorkerSlot], expected: About | None = None, **settings: Any) -> Engine:
    from kgfs.compute.cluster import RayEngine, about

    wanted = Settings(engine="ray", **{"address": nodes.address, "token_file": str(nodes.token), **settings})
    here = make()
    return RayEngine(wanted, make, expected or about(here), LocalEngine(here.compute, here.objects))


@pytest.fixture(scope="class", params=["local", "ray"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    top = tmp_path_factory.mktemp("engine")
    config = Config(home=top / "home")
    with open_home(config):
        pass
    make = partial(place, config, top / "asked", 0.0)
    if request.param == "local":
        engine: Engine = LocalEngine(make().compute, make().objects)
    else:
        engine = on_ray(request.getfixturevalue("cluster"), make)
    yield engine
    engine.close()


class TestEngines:
    """One of each kind for all of these: its processes take longer to start than all that is tried."""

    def test_work_is_done_and_its_progress_is_told(self, engine: Engine) -> None:
        result, extractor = engine.run(Doubled(21), lambda stage, share: None)
        assert result == 42 and extractor.startswith("statistics/")
        assert engine.held >= engine.width >= 1

    def test_what_work_raises_is_raised_here(self, engine: Engine) -> None:
        with pytest.raises(BadInputError, match=r"Nothing to double\."):
            engine.run(Failing(), lambda stage, share: None)

    def test_work_ends_where_nobody_wants_it_any_more(self, engine: Engine, tmp_path: Path) -> None:
        told: list[str] = []

        def lost(stage: str, share: float) -> None:
            told.append(stage)
            if stage == "turning" or len(told) > 80:  # a cluster may need a while to begin
                raise LostLeaseError("Somebody else has it.")

        with pytest.raises(LostLeaseError):
            engine.run(Unending(tmp_path / "ended"), lost)
        assert told
        until((tmp_path / "ended").exists, 60)  # which a process of a cluster is told a while later
        assert engine.run(Doubled(1), lambda stage, share: None)[0] == 2


@pytest.mark.logs("worker MachineError: Ray lost the process that read this document, 3 times")
def test_a_process_that_is_killed_is_replaced_and_its_work_done(cluster: Any, home: Path, tmp_path: Path) -> None:
    """A document that ends every process is given up, and those after it are read."""
    config = Config(home=home, pipeline=Pipelining(max_attempts=1))
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            for stem, text in (("bad", PARAGRAPH.format(n=1) + " POISON."), ("last", PARAGRAPH.format(n=2))):
                (tmp_path / f"{stem}.txt").write_text(text)
                deposits.ingest_file(tmp_path / f"{stem}.txt", "Test")
        engine = on_ray(cluster, partial(deadly_place, config, tmp_path / "asked"), places=1)
        try:
            lives = tmp_path / "lives"
            lives.mkdir()
            (lives / "1").touch()
            assert engine.run(Dying(lives), lambda stage, share: None) == "alive"
            pipeline = Pipeline(config, stores, Noting(tmp_path / "asked", 0.0), StageClock(), engine)
            Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True, watch=hanging())
        finally:
            engine.close()
        assert {state: n for state, n in stores.catalog.names.counts().items() if n} == {State.FAILED: 1, State.DONE: 1}


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        ("versions", r"a Ray node cannot read: it reads with .* Install the same kgfs"),
        ("garage", r"a Ray node cannot read: there: not on this node\. Install the same kgfs"),
        ("address", r"no Ray cluster at 127\.0\.0\.1:1"),
        ("cpus", r"no Ray node had 2 CPUs free within 5 s\. Lower compute\.cpus_each or add nodes"),
    ],
)
def test_where_no_cluster_can_read_documents_are_read_here(
    cluster: Any, home: Path, tmp_path: Path, wrong: str, reported: str
) -> None:
    config, settings, expected = Config(home=home), {}, None
    if wrong == "versions":
        expected = (0, "another/1", "", "")
    elif wrong == "address":
        settings["address"] = "127.0.0.1:1"
    elif wrong == "cpus":
        settings |= {"cpus_each": 2.0, "timeout": 5.0}
    make: Callable[[], WorkerSlot] = partial(place, config, tmp_path / "asked", 0.0)
    if wrong == "garage":
        make = partial(place_here_only, os.getpid(), config)
    with open_home(config):
        engine = on_ray(cluster, make, expected, **settings)
        try:
            assert re.match(rf"(compute: )?{reported}.* Documents are read on this machine", engine.notice)
            assert engine.run(Doubled(21), lambda stage, share: None)[0] == 42
        finally:
            engine.close()


@pytest.mark.long
def test_a_work_that_does_not_hear_that_it_is_to_end_loses_its_process(
    cluster: Any, home: Path, tmp_path: Path
) -> None:
    def lost(stage: str, share: float) -> None:
        raise LostLeaseError("Somebody else has it.")

    config = Config(home=home)
    with open_home(config):
        engine = on_ray(cluster, partial(place, config, tmp_path / "asked", 0.0), places=1)
        try:
            before = time.monotonic()
            with pytest.raises(LostLeaseError):
                engine.run(Deaf(), lost)
            assert time.monotonic() - before < 60
            assert engine.run(Doubled(1), lambda stage, share: None)[0] == 2
        finally:
            engine.close()


def test_a_node_that_is_killed_loses_no_record_and_asks_nothing_twice(cluster: Any, home: Path, tmp_path: Path) -> None:
    wanted = graph_by_local(tmp_path / "undisturbed", tmp_path)
    config, asked = Config(home=home), tmp_path / "asked"
    make = partial(place, config, asked, 0.4)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path)
        engine = on_ray(cluster, make, places=2)
        node = cluster.add_node(num_cpus=1)
        try:
            victims: list[int] = []

            def watch() -> None:
                if not victims and asked.exists() and (lines := asked.read_text().splitlines()):
                    victims.append(json.loads(lines[0])[0])
                    os.kill(victims[0], signal.SIGKILL)
                    cluster.remove_node(node, allow_graceful=False)

            pipeline = Pipeline(config, stores, Noting(asked, 0.0), StageClock(), engine)
            Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True, watch=watch)
        finally:
            engine.close()
        assert victims
        assert knowledge_in(stores) == wanted
        kept = [
            json.loads(line)["fingerprint"]
            for key, _ in stores.garage.objects.keys("records/")
            for line in stores.garage.objects.get(key).splitlines()
        ]
        assert len(kept) == len(set(kept)) == len({json.loads(line)[1] for line in asked.read_text().splitlines()})


def graph_by_local(home: Path, folder: Path) -> Any:
    config = Config(home=home)
    with open_home(config) as stores:
        deposit(config, stores, folder)
        compute = Noting(folder / "undisturbed.asked", 0.0)
        pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects))
        Worker(pipeline, ErrorLog(config.errors_log), lambda: None).run(until_idle=True)
        return knowledge_in(stores)


def deposit(config: Config, stores: Stores, folder: Path) -> None:
    with open_deposits(config, stores) as (deposits, _):
        for number in range(6):
            path = folder / f"{number}.txt"
            path.write_text("\n\n".join(PARAGRAPH.format(n=f"{number}{n}") for n in range(40)))
            deposits.ingest_file(path, "Test")
