"""The names at which a test may have a process killed are told where people look for them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import kgfs
from kgfs import failpoints


def test_every_border_is_listed_and_no_other() -> None:
    """Of those that are wrong nobody is told: a test that names one kills nothing."""
    passed: set[str] = set()
    for path in Path(kgfs.__file__).parent.rglob("*.py"):
        content = path.read_bytes()
        for call in ast.walk(ast.parse(content)) if b"border(" in content else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "border":
                (name,) = call.args
                assert isinstance(name, ast.Constant), f"{path}:{call.lineno}"
                passed.add(name.value)
    told, _, _ = (failpoints.__doc__ or "").partition("With ``KGFS_STOP_AT")
    _, _, listed = told.partition("Names are")
    assert re.findall(r"``([a-z-]+)``", listed) == sorted(passed)
