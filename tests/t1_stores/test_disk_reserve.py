"""The disk reserve, on a small disk that others fill."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kgfs.errors import NoSpaceError, StoreError
from kgfs.stores.disk_reserve import NAME, SMALLEST, STEP, DiskReserve
from tests.support.small_disk import fill, free, small_file_system


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path, "48m") as folder:
        yield folder


def write(path: Path, size: int) -> int:
    try:
        return path.write_bytes(b"x" * size)
    except OSError:
        path.unlink()
        raise


def test_the_reserve_is_allocated(small_disk: Path) -> None:
    before = free(small_disk)
    reserve = DiskReserve(small_disk)
    assert not reserve.state().is_whole
    reserve.fill()
    assert reserve.state().is_whole
    assert before - free(small_disk) == reserve.state().held == SMALLEST
    assert (small_disk / NAME).stat().st_mode & 0o777 == 0o600
    fill(small_disk)
    assert reserve.run(lambda: write(small_disk / "removal", 100_000)) == 100_000
    assert free(small_disk) == 0, "what the operation left is allocated again"
    assert SMALLEST - STEP < reserve.state().held < SMALLEST
    (small_disk / "removal").unlink()
    reserve.fill()
    assert reserve.state().is_whole


def test_what_takes_more_gets_more_and_what_takes_too_much_is_refused(small_disk: Path) -> None:
    reserve = DiskReserve(small_disk)
    reserve.fill()
    fill(small_disk)
    assert reserve.run(lambda: write(small_disk / "removal", 3 * STEP)) == 3 * STEP
    asked = []

    def work() -> int:
        asked.append(1)
        return write(small_disk / "more", 3 * STEP)

    with pytest.raises(OSError) as refused:
        reserve.run(work)
    assert refused.value.errno == errno.ENOSPC
    assert len(asked) == 2
    assert reserve.state().held == STEP, "it is whole again, as far as that is possible"


def test_without_a_reserve_the_error_is_passed_on(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(OSError):
        DiskReserve(small_disk).run(lambda: write(small_disk / "removal", 100))
    assert not (small_disk / NAME).exists()


def test_what_fails_otherwise_is_not_repeated(small_disk: Path) -> None:
    reserve = DiskReserve(small_disk)
    reserve.fill()
    asked = []

    def work() -> None:
        asked.append(1)
        raise StoreError("It is broken.")

    with pytest.raises(StoreError):
        reserve.run(work)
    assert len(asked) == 1


def test_several_at_once_each_get_something(small_disk: Path) -> None:
    reserve = DiskReserve(small_disk)
    reserve.fill()
    fill(small_disk)
    failed: list[BaseException] = []

    def several(name: str) -> None:
        try:
            for n in range(20):
                DiskReserve(small_disk).run(lambda n=n: write(small_disk / f"{name}-{n}", 4096))  # type: ignore[misc]
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=several, args=(str(n),)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    for path in small_disk.glob("*-*"):
        path.unlink()
    reserve.fill()
    assert reserve.state().is_whole
    assert (small_disk / NAME).stat().st_blocks * 512 == SMALLEST


def test_a_program_that_takes_every_free_byte_does_not_take_the_reserve_at_once(small_disk: Path) -> None:
    """It may win a piece now and then; an operation is repeated as long as something is left to give back."""
    reserve = DiskReserve(small_disk)
    reserve.fill()
    stop = threading.Event()

    def greedy() -> None:
        with open(small_disk / "greedy", "ab", buffering=0) as file:
            while not stop.is_set():
                with suppress(OSError):
                    file.write(b"x" * 4096)

    thread = threading.Thread(target=greedy)
    thread.start()
    try:
        while free(small_disk):
            pass
        done = 0
        with suppress(OSError, NoSpaceError):
            for n in range(8):
                reserve.run(lambda n=n: write(small_disk / f"removal-{n}", 4096))  # type: ignore[misc]
                done += 1
    finally:
        stop.set()
        thread.join()
    assert done
    os.unlink(small_disk / "greedy")


def test_a_small_disk_has_a_small_reserve_and_large_databases_a_large_one(tmp_path: Path) -> None:
    with small_file_system(tmp_path, "16m") as folder:
        assert DiskReserve(folder).state().wanted == 2 << 20
    for n in range(2):
        with open(tmp_path / f"{n}.sqlite", "wb") as file:
            file.truncate(100 << 20)
    reserve = DiskReserve(tmp_path)
    assert reserve.state().wanted == 25 << 20
    reserve.fill()
    os.unlink(tmp_path / "0.sqlite")
    os.unlink(tmp_path / "1.sqlite")
    reserve.fill()
    assert reserve.state().held == reserve.state().wanted == SMALLEST
