"""What the logs of a home say of a document that is purged, which may be its words."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgfs.cli.logs import Records
from kgfs.config import Config, load
from kgfs.stores import quarantine
from kgfs.stores.error_log import ErrorLog, elder
from kgfs.stores.quarantine import erase_logged

PURGED, OTHER = "0123456789abcdef", "fedcba9876543210"
LIKE_A_RECORD = "2026-11-23 00:00:00,000 INFO kgfs.worker"
"""A document may be a log itself."""


@pytest.fixture
def config(home: Path) -> Config:
    config = load(home)
    config.logs.mkdir(parents=True)
    return config


@pytest.fixture(params=["worker.log", "mount.log", "worker.log.1"])
def path(request: pytest.FixtureRequest, config: Config) -> Iterator[Path]:
    yield (path := config.logs / request.param)
    path.unlink()


@pytest.fixture
def log(path: Path) -> Iterator[logging.Logger]:
    """One whose records are written as those of a mount and a worker are."""
    logger, handler = logging.Logger("kgfs.worker"), logging.FileHandler(path)
    handler.setFormatter(Records())
    logger.addHandler(handler)
    yield logger
    handler.close()


def read() -> None:
    raise ValueError(f"the first words\n{LIKE_A_RECORD} the xyzzy of it\n\nand the last words")


def fails(log: logging.Logger, *about: str) -> None:
    try:
        read()
    except ValueError:
        log.exception(*about)


@pytest.mark.claim("GONE-6")
def test_a_failure_goes_with_its_traceback(config: Config, path: Path, log: logging.Logger) -> None:
    log.info("%s: read", OTHER)
    fails(log, "%s: unexpected failure", PURGED)
    log.info("working")
    fails(log, "a background task failed")
    assert path.read_text().count("\n\tand the last words\n") == 2
    erase_logged(config, [PURGED])
    assert [line.split(" ", 4)[4] for line in path.read_text().splitlines()] == [
        f"{OTHER}: read",
        "working",
        "a background task failed",
    ]
    log.info("after it")
    assert path.read_text().endswith(" after it\n")


@pytest.mark.claim("GONE-6")
@pytest.mark.parametrize("first", ["", "2026-11-23 00:00:00,000 INFO kgfs.worker working\n"])
def test_what_no_record_begins_goes_too(config: Config, path: Path, first: str) -> None:
    """As of a process that died of an error that nobody expected, or of a library that writes there itself."""
    path.write_text(f"{first}Traceback (most recent call last):\nValueError: xyzzy\n")
    erase_logged(config, [PURGED])
    assert path.read_text() == first


def test_a_document_is_named_in_the_middle_of_what_is_said(config: Config, path: Path) -> None:
    path.write_text(f"{LIKE_A_RECORD} xyzzy\n\tof {PURGED}\n{LIKE_A_RECORD} working\n")
    erase_logged(config, [PURGED])
    assert path.read_text() == f"{LIKE_A_RECORD} working\n"


def test_what_is_said_meanwhile_stays(config: Config, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the very last: here while what is kept is looked for."""
    path.write_text(f"{LIKE_A_RECORD} {PURGED}\n{LIKE_A_RECORD} working\n")
    monkeypatch.setattr(quarantine, "_not_about", saying_meanwhile(path, quarantine._not_about))
    erase_logged(config, [PURGED])
    assert path.read_text() == f"{LIKE_A_RECORD} working\n{LIKE_A_RECORD} meanwhile\n"


def saying_meanwhile(path: Path, kept: Callable[..., Iterator[bytes]]) -> Callable[..., Iterator[bytes]]:
    def looking(*arguments: object) -> Iterator[bytes]:
        with path.open("a") as log:
            log.write(f"{LIKE_A_RECORD} meanwhile\n")
        return kept(*arguments)

    return looking


@pytest.mark.logs("Note: of another")
def test_errors_are_lines(config: Config) -> None:
    for doc_id in (PURGED, OTHER):
        ErrorLog(config.errors_log).add("worker", "of another" if doc_id == OTHER else "xyzzy", doc_id=doc_id)
    erase_logged(config, [PURGED])
    assert b"xyzzy" not in config.errors_log.read_bytes()
    assert config.errors_log.read_bytes().count(b"\n") == 1


@pytest.mark.logs("Note: of another")
def test_older_errors_go_too(config: Config) -> None:
    log = ErrorLog(config.errors_log)
    log.add("worker", "xyzzy", doc_id=PURGED)
    log.add("worker", "of another", doc_id=OTHER)
    elder(config.errors_log).write_bytes(config.errors_log.read_bytes())
    erase_logged(config, [PURGED])
    assert [b"xyzzy" in path.read_bytes() for path in (config.errors_log, elder(config.errors_log))] == [False, False]
    assert elder(config.errors_log).read_bytes() == config.errors_log.read_bytes()
