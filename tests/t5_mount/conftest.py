from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.t5_mount.small_mount import SmallMount


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
