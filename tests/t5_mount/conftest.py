from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.mounting import Library, MakeLibrary, catalog_of, mounted_place
from tests.support.required import missing
from tests.support.running import Place
from tests.support.small_mount import SmallMount


def pytest_runtest_setup(item: pytest.Item) -> None:
    """``@pytest.mark.program("rsync", …)``: skipped where a program is missing; ``KGFS_REQUIRE=programs`` forbids that."""
    named = [program for marker in item.iter_markers("program") for program in marker.args]
    for program in named:
        if shutil.which(program) is None:
            missing("programs", f"{program} is not installed")


@pytest.fixture
def mount_small(tmp_path: Path) -> Iterator[Callable[..., SmallMount]]:
    """Mounts the small tree at a fresh folder, or at the one given."""
    made: list[SmallMount] = []

    def mount(*arguments: str, at: Path | None = None) -> SmallMount:
        mountpoint = at or tmp_path / f"mnt-{len(made)}"
        if at is None:
            mountpoint.mkdir()
        made.append(SmallMount(mountpoint, *arguments))
        return made[-1]

    yield mount
    for mounted in reversed(made):
        mounted.close()


@pytest.fixture
def small(mount_small: Callable[..., SmallMount]) -> SmallMount:
    return mount_small()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One mount without a worker for all tests of a file; each makes ontologies of its own."""
    with mounted_place(tmp_path_factory.mktemp("place"), "--no-worker") as found:
        yield found


@pytest.fixture(scope="module")
def make_library(place: Place) -> Iterator[MakeLibrary]:
    numbers = itertools.count()
    with catalog_of(place) as catalog:

        def make() -> Library:
            library = Library(place, catalog, f"Library-{next(numbers)}", catalog.seq())
            library.top.mkdir()
            return library

        yield make


@pytest.fixture
def library(make_library: MakeLibrary) -> Library:
    """An empty ontology."""
    return make_library()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Library]:
    """An empty ontology of a mount of its own, without a worker."""
    with mounted_place(tmp_path / "empty", "--no-worker") as place, catalog_of(place) as catalog:
        library = Library(place, catalog, "Library")
        library.top.mkdir()
        yield library
