"""What a test needs of the machine: missing, it is a skip by name, or a failure where ``KGFS_REQUIRE`` names it."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

REQUIRED = frozenset(filter(None, os.environ.get("KGFS_REQUIRE", "").split(",")))


def missing(name: str, why: str) -> NoReturn:
    if name in REQUIRED:
        pytest.fail(f"{name} is required here, but {why}")
    pytest.skip(f"[{name}] {why}")
