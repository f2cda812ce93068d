"""Settling on a full disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.depositing import desk_at
from tests.support.small_disk import fill, small_file_system


@pytest.mark.parametrize("room", [1 << 20, 3 << 20])
def test_what_the_garage_took_before_it_was_full_is_settled(tmp_path: Path, room: int) -> None:
    with small_file_system(tmp_path, "48m") as disk, desk_at(disk / "home") as desk:
        files = [desk.file(f"{n}.bin", os.urandom(800 << 10)) for n in range(8)]
        ballast = fill(disk)
        os.truncate(ballast, ballast.stat().st_size - room)
        desk.settle()
        held = {key for key, _, _ in desk.catalog.promised()}
        assert {key for key, _ in desk.stores.garage.objects.keys("sources/")} == held
        ballast.unlink()
        desk.deposits.settler._failed.clear()
        desk.settle()
        assert len({key for key, _, _ in desk.catalog.promised()}) == len(files)


@pytest.mark.parametrize("room", [0, 40 << 10, 200 << 10])
def test_what_could_not_be_settled_leaves_nothing_in_the_garage(tmp_path: Path, room: int) -> None:
    """Once it is removed nobody would ever ask for it."""
    with small_file_system(tmp_path, "16m") as disk, desk_at(disk / "home") as desk:
        files = [desk.file(f"{n}.md", f"note {n}\n".encode() * 800) for n in range(60)]
        ballast = fill(disk)
        os.truncate(ballast, ballast.stat().st_size - room)
        desk.settle()
        held = {key for key, _, _ in desk.catalog.promised()}
        assert {key for key, _ in desk.stores.garage.objects.keys("sources/")} == held
        assert len(held) < len(files)
        ballast.unlink()
        for name in files:
            assert desk.read(name.id) == f"note {name.name[:-3]}\n".encode() * 800
        desk.deposits.settler._failed.clear()
        desk.settle()
        assert len({key for key, _, _ in desk.catalog.promised()}) == len(files)
