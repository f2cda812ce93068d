"""docs/semantics.md and the tests speak of the same claims."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.small_mount import ROOT

CLAIM = re.compile(r"^- \*\*([A-Z]+-\d+)\*\* ", re.MULTILINE)


def claims() -> list[str]:
    return CLAIM.findall((ROOT / "docs" / "semantics.md").read_text("utf-8"))


@functools.cache
def proven() -> dict[str, list[str]]:
    """Claim → the tests, or whole files, that carry it."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for claim, test in _marks(path):
            found.setdefault(claim, []).append(f"{path.name}: {test}")
    return found


def _marks(path: Path) -> Iterator[tuple[str, str]]:
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            if statement.name.startswith("test_"):
                yield from ((claim, statement.name) for mark in statement.decorator_list for claim in _ids(mark))
        elif isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "pytestmark":
            yield from ((claim, "the whole file") for mark in ast.walk(statement.value) for claim in _ids(mark))


def _ids(mark: ast.AST) -> list[str]:
    if isinstance(mark, ast.Call) and ast.unparse(mark.func) in ("claim", "pytest.mark.claim"):
        return [str(ast.literal_eval(argument)) for argument in mark.args]
    return []


def test_claims_have_ids_of_their_own() -> None:
    assert len(claims()) > 50
    assert len(set(claims())) == len(claims())


def test_every_line_of_a_list_is_a_claim() -> None:
    lines = (ROOT / "docs" / "semantics.md").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith(("- ", "* ")) and not CLAIM.match(line)] == []


@pytest.mark.parametrize("claim", claims())
def test_every_claim_has_a_test(claim: str) -> None:
    assert proven().get(claim), f"no test carries {claim}"


def test_no_test_carries_an_unknown_claim() -> None:
    assert {claim: tests for claim, tests in proven().items() if claim not in claims()} == {}
