"""What a test needs of the machine: missing, it is a skip by name, or a failure where ``KGFS_REQUIRE`` names it."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

MACHINE = ("fuse", "models", "programs", "ray", "root", "shm", "systemd", "tesseract", "tmpfs", "user")
SERVERS = ("minio", "neo4j", "qdrant", "qdrant-wire", "seaweedfs")
KNOWN = frozenset(MACHINE + SERVERS)


def required(words: str) -> frozenset[str]:
    """Names with commas between. One that no test asks for would require nothing."""
    found = frozenset(filter(None, words.split(",")))
    if unknown := sorted(found - KNOWN):
        raise pytest.UsageError(f"KGFS_REQUIRE: '{unknown[0]}' is none of {', '.join(sorted(KNOWN))}.")
    return found


REQUIRED = required(os.environ.get("KGFS_REQUIRE", ""))


def missing(name: str, why: str) -> NoReturn:
    assert name in KNOWN
    if name in REQUIRED:
        pytest.fail(f"{name} is required here, but {why}")
    pytest.skip(f"[{name}] {why}")
