from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.logs import undeclared
from tests.support.running import QUICK, Place


@pytest.fixture
def place(home: Path, tmp_path: Path) -> Iterator[Place]:
    """A home with nothing in it, and a folder to mount it at."""
    found = Place(home, tmp_path / "mnt")
    found.mountpoint.mkdir()
    yield found
    found.close()


@pytest.fixture
def undisturbed(far: Place, tmp_path: Path) -> Iterator[Place]:
    """For the same documents, in the same order, a home in files, where the test's own ``far`` is one whose servers end."""
    found = Place(tmp_path / "undisturbed", tmp_path / "mnt-undisturbed", dict(far.environment))
    found.mountpoint.mkdir()
    yield found
    found.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One mount for all tests of a file; each makes ontologies of its own."""
    top = tmp_path_factory.mktemp("shared")
    (top / "mnt").mkdir()
    found = Place(top / "home", top / "mnt", dict(QUICK)).mount()
    yield found
    found.close()
    assert undeclared(found.home) == []
