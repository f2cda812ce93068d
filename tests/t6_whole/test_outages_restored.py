"""A graph's server that was put back to yesterday under a mount: what it shows, who says so, and how today comes back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.peers.knowledge_server import need_neo4j
from tests.t6_whole.conftest import GARBAGE, ZEN
from tests.t6_whole.knowledge_of import knowledge_of
from tests.t6_whole.outages import Peer, minted, wait
from tests.t6_whole.running import Place, until

pytestmark = [pytest.mark.mounted, pytest.mark.slow]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Peer]:
    need_neo4j()
    found = Peer("neo4j", tmp_path / "neo4j")
    found.start()
    yield found
    found.end()


@pytest.mark.claim("AWAY-6")
@pytest.mark.logs("cannot be reached|no answer")
def test_a_graph_of_yesterday(place: Place, server: Peer, tmp_path: Path) -> None:
    place.environment |= {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}
    (place.home / "config.toml").write_text(server.settings())
    place.mount()
    notes = place.ontology("Notes")
    (notes / "documents/zen.md").write_text(ZEN)
    wait(place)
    until(lambda: os.listdir(notes / "concepts"), 60)
    yesterday = sorted(os.listdir(notes / "concepts"))
    server.end()
    shutil.copytree(server.folder / "data", tmp_path / "yesterday")
    server.start()
    (notes / "documents/garbage.txt").write_text(GARBAGE)
    wait(place)
    until(lambda: set(os.listdir(notes / "concepts")) > set(yesterday), 60)
    known, today = knowledge_of(place.home), sorted(os.listdir(notes / "concepts"))

    server.end()
    shutil.rmtree(server.folder / "data")
    shutil.copytree(tmp_path / "yesterday", server.folder / "data")
    server.start()
    until(lambda: sorted(os.listdir(notes / "concepts")) == yesterday, 90)
    assert (notes / "documents/garbage.txt").read_text() == GARBAGE, "what is kept does not depend on the graph"
    found = json.loads(place.run("check", "--json", expect=1).stdout)
    assert found, "check tells what the graph lacks"
    place.run("rebuild", "--yes")
    until(lambda: sorted(os.listdir(notes / "concepts")) == today, 60)
    place.umount()
    assert knowledge_of(place.home) == known
    assert len(minted(place.home)) == 2
    assert "0 findings" in place.run("check", "--deep").stderr
