"""A host and its servers with a bad wire between them."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import pytest

from tests.t6_whole.conftest import GARBAGE, ZEN
from tests.t6_whole.running import Place
from tests.t7_machines.conftest import TIMEOUT, Machines

pytestmark = [pytest.mark.root, pytest.mark.mounted, pytest.mark.slow]


def tree(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


@pytest.mark.logs("cannot be reached", "does not answer")
def test_a_wire_that_is_cut(machines: Machines, homes: list[Place]) -> None:
    """No server says that it goes, so nobody learns of it but by waiting."""
    place, wire = homes[0], machines.hosts[0].wire
    place.mount()
    documents = place.ontology("Zen") / "documents"
    (documents / "zen.md").write_text(ZEN)
    place.wait()
    before = tree(documents.parent)
    wire("cut")
    started = time.monotonic()
    assert tree(documents.parent) == before
    (documents / "garbage.txt").write_text(GARBAGE)
    assert time.monotonic() - started < 2.0
    wire("join")
    place.wait()
    after = tree(documents.parent)
    assert before.keys() < after.keys()
