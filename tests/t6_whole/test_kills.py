"""Killed at every border of a stage, the work is resumed and the graph is the one of an undisturbed run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from tests.support import starting
from tests.support.knowledge_of import knowledge_of
from tests.support.running import LIGHT, OTHER_HASHES, PATIENCE, QUICK, Place, shell, until

DOCUMENTS = {
    "zen.md": "# Zen\n\nZen is a school of Buddhism that stresses direct experience. Direct experience comes before "
    "words.\n\n## Koans\n\nA koan is a riddle used in Zen practice. Zen practice uses koans to exhaust the mind.\n",
    "garbage.txt": "A garbage collector is a program that reclaims memory. Reference counting is a form of garbage "
    "collection. The garbage collector uses a tracing algorithm. A tracing algorithm visits reachable objects.\n",
    "cycle.txt": "Reference counting cannot reclaim a reference cycle. A reference cycle is a group of objects that "
    "refer to each other. A tracing algorithm requires a root set. Zen is mentioned here as well.\n",
    "photo.bin": "\x00\x01\x02",
}
BORDERS = [
    "kept", "garage-put", "settled", "parsed", "chunked", "gated", "recorded", "validated", "reading-kept",
    "decided", "staged", "published", "indexed", "noted", "shipped",
]  # fmt: skip


def kgfs(home: Path, *words: str, fail_at: str = "", env: Mapping[str, str] = MappingProxyType(QUICK)) -> int:
    environment = {**LIGHT, **os.environ, "KGFS_HOME": str(home), "KGFS_FAIL_AT": fail_at, **env}
    done = starting.run(words, environment, PATIENCE)
    if done.returncode not in (0, -9):
        raise AssertionError(f"kgfs {' '.join(words)} exited with {done.returncode}: {done.stderr}")
    return done.returncode


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("documents")
    for name, content in DOCUMENTS.items():
        (folder / name).write_text(content)
    return [str(folder / name) for name in DOCUMENTS]


@pytest.fixture(scope="module")
def undisturbed(documents: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return undisturbed_with(QUICK, documents, tmp_path_factory)


@pytest.fixture(scope="module")
def undisturbed_embedded(documents: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return undisturbed_with({}, documents, tmp_path_factory)


def undisturbed_with(
    env: Mapping[str, str], documents: list[str], factory: pytest.TempPathFactory
) -> dict[str, object]:
    home = factory.mktemp("undisturbed")
    assert kgfs(home, "ingest", *documents, "--ontology", "Test", env={**env, **OTHER_HASHES}) == 0
    found = knowledge_of(home)
    assert len(found["Test"]["concepts"]) > 5
    assert found["Test"]["states"] == {"done": 3, "unsupported": 1}
    return found


TWICE = ["kept", "recorded", "decided", "published", "noted"]
"""Borders where it matters what was done before: another document stands between. Originals are put together."""


@pytest.mark.slow
@pytest.mark.parametrize("border", [f"{name}:1" for name in BORDERS] + [f"{name}:2" for name in TWICE])
def test_killed_at_a_border(border: str, home: Path, documents: list[str], undisturbed: dict[str, object]) -> None:
    killed_at(border, QUICK, home, documents, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("border", ["reading-kept:1", "indexed:1"])
def test_killed_where_vectors_are_kept(
    border: str, home: Path, documents: list[str], undisturbed_embedded: dict[str, object]
) -> None:
    killed_at(border, {}, home, documents, undisturbed_embedded)


def killed_at(
    border: str, env: Mapping[str, str], home: Path, documents: list[str], undisturbed: dict[str, object]
) -> None:
    killed = kgfs(home, "ingest", *documents, "--ontology", "Test", fail_at=border, env=env)
    assert killed == -9, f"the run never passed {border}"
    assert kgfs(home, "ingest", *documents, "--ontology", "Test", env=env) == 0
    assert knowledge_of(home) == undisturbed


# -------------------------------------------------------------------------------------- earlier documents

EARLIER = {
    "a.txt": "They sell it as lantern-wheel-making to whoever comes.\n",
    "b.txt": "# Lantern wheels\n\nA lantern wheel is a lamp that turns. The lantern wheel was invented for festivals. A "
    "lantern wheel uses the heat of a candle. Each lantern wheel shows shadows that the candle throws on paper. The heat "
    "of a candle moves the lantern wheel. A festival has lantern wheels, and a lantern wheel has a festival.\n",
}


@pytest.fixture(scope="module")
def looked_back(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, object]]:
    """Return texts of which the last founds what the first names, and what is known of them in an undisturbed home."""
    folder = tmp_path_factory.mktemp("earlier")
    for name, content in EARLIER.items():
        (folder / name).write_text(content)
    paths = [str(folder / name) for name in EARLIER]
    home = tmp_path_factory.mktemp("undisturbed-earlier")
    for path in paths:
        assert kgfs(home, "ingest", path, "--ontology", "Test", env=OTHER_HASHES) == 0
    found = knowledge_of(home)
    [(_, places)] = [found["Test"]["concepts"]["lantern-wheel"]["mentions"][0]]
    assert len(places) == 1, "that of the first document, which had no candidate of that name"
    return paths, found


@pytest.mark.slow
@pytest.mark.parametrize("border", ["looked-back:1", "word-recorded:1"])
def test_killed_while_earlier_documents_are_looked_through(
    border: str, home: Path, looked_back: tuple[list[str], dict[str, object]]
) -> None:
    (*earlier, last), undisturbed = looked_back
    for path in earlier:
        assert kgfs(home, "ingest", path, "--ontology", "Test", env={}) == 0
    assert kgfs(home, "ingest", last, "--ontology", "Test", fail_at=border, env={}) == -9
    assert kgfs(home, "worker", "--until-idle", env={}) == 0
    assert knowledge_of(home) == undisturbed
    assert kgfs(home, "rebuild", "--yes", env={}) == 0
    assert knowledge_of(home) == undisturbed


# ------------------------------------------------------------------------------------ through a mount


def alive(place: Place) -> bool:
    try:
        os.statvfs(place.mountpoint)
    except OSError:
        return False
    return os.path.ismount(place.mountpoint)


def copied(place: Place, source: Path) -> bool:
    goal = place.mountpoint / "Test/documents"
    return shell("mkdir", "-p", goal).returncode == 0 and shell("cp", source, goal).returncode == 0


@pytest.mark.slow
@pytest.mark.mounted
@pytest.mark.parametrize("border", ["kept:1", "kept:3", "garage-put:1", "settled:1", "shipped:1"])
def test_the_mount_is_killed(border: str, place: Place, documents: list[str], undisturbed: dict[str, object]) -> None:
    """A person repeats what failed, and finds what did not. The mount alone passes these borders first."""
    place.environment |= QUICK
    place.run("mount", place.mountpoint, "--no-worker", env={"KGFS_FAIL_AT": border})
    kills = 0
    for path in map(Path, documents):
        while not copied(place, path):
            assert not alive(place)
            kills += 1
            place.run("mount", place.mountpoint)
    if not kills:
        until(lambda: not alive(place))
        place.run("mount", place.mountpoint)
    assert kills <= 1
    for path in map(Path, documents):
        assert (place.mountpoint / "Test/documents" / path.name).read_bytes() == path.read_bytes()
    place.wait()
    place.umount()
    assert knowledge_of(place.home) == undisturbed


# -------------------------------------------------------------------------------------------- forgetting


@pytest.fixture(scope="module")
def one_forgotten(documents: list[str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Everything but zen.md was never there, apart from the count of what is in the trash."""
    home = tmp_path_factory.mktemp("one-forgotten")
    assert kgfs(home, "ingest", *documents, "--ontology", "Test") == 0
    remove(home, "zen.md")
    assert kgfs(home, "worker", "--until-idle") == 0
    found = knowledge_of(home)
    assert found["Test"]["states"] == {"done": 2, "trashed": 1, "unsupported": 1}
    assert "koan" not in found["Test"]["concepts"]
    return found


def remove(home: Path, name: str) -> None:
    """As ``rm`` does through a mount."""
    config = load(home)
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        ontology = stores.catalog.names.ontology_named("Test")
        assert ontology is not None
        found = stores.catalog.names.resolve(ontology.id, name)
        assert found is not None
        deposits.remove(found.id)


@pytest.mark.slow
@pytest.mark.parametrize("border", ["forgotten:1", "shipped:1"])
def test_killed_while_forgetting(
    border: str, home: Path, documents: list[str], one_forgotten: dict[str, object]
) -> None:
    assert kgfs(home, "ingest", *documents, "--ontology", "Test") == 0
    remove(home, "zen.md")
    assert kgfs(home, "worker", "--until-idle", fail_at=border) == -9
    assert kgfs(home, "worker", "--until-idle") == 0
    assert knowledge_of(home) == one_forgotten
