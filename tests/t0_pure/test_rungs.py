"""Tests stand on their own: what several of them need is in ``tests/support`` and ``tests/fakes``, which import no test."""

from __future__ import annotations

import ast
from pathlib import Path

TOP = Path(__file__).parents[1]
SHARED = ("tests.support", "tests.fakes")


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports, also within functions; for ``from tests import logs`` that is ``tests.logs``. Empty
    where no word of the file is ``tests``."""
    found: set[str] = set()
    content = path.read_text("utf-8")
    for node in ast.walk(ast.parse(content)) if "tests" in content else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            module = node.module or ""
            found |= {f"tests.{alias.name}" for alias in node.names} if module == "tests" else {module}
    return found


def test_a_test_imports_no_test() -> None:
    found = {}
    for path in TOP.rglob("*.py"):
        ours = {name for name in imported(path) if name.partition(".")[0] == "tests"}
        if tests := {name for name in ours if not name.startswith(SHARED)}:
            found[path.relative_to(TOP).as_posix()] = tests
    assert found == {}


def test_the_product_imports_no_test() -> None:
    product = TOP.parent / "kgfs"
    assert [path for path in product.rglob("*.py") if any(name.startswith("tests") for name in imported(path))] == []
