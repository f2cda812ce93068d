"""A home whose graph stands on a Neo4j server: what works without a mount, and what says why it does not."""

from __future__ import annotations

import json
import secrets
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.t1_stores.graph_building import Doc, Told, publish
from tests.t1_stores.graph_stores import on_server
from tests.t6_whole.conftest import ZEN
from tests.t6_whole.running import Place

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.place import Place as Server

QUICK = {"KGFS_MODELS_EMBEDDER": "none", "KGFS_MODELS_EXTRACTOR": "statistics"}


@pytest.fixture
def secret(tmp_path: Path, neo4j_place: Server) -> Path:
    path = tmp_path / "password"
    path.write_text(neo4j_place.password)
    return path


@pytest.fixture(scope="module")
def _warm(neo4j_place: Server) -> None:
    """A server that has just started plans each kind of question for the first time, slowly; commands have a deadline."""
    with closing(on_server(neo4j_place)) as graph:
        publish(graph, Doc("a" * 16, [Told("Zen", 2), Told("Koan")], [("Zen", "USES", "Koan", 0.8)]))
        graph.forget("gone", ["a" * 16], 2000)


@pytest.fixture
def served(place: Place, neo4j_place: Server, secret: Path, _warm: None) -> Place:
    place.environment |= QUICK | {
        "KGFS_GRAPH_STORE": "neo4j",
        "KGFS_GRAPH_URI": neo4j_place.uri,
        "KGFS_GRAPH_PASSWORD_FILE": str(secret),
        "KGFS_GRAPH_NAMESPACE": f"test-{secrets.token_hex(6)}",
        "KGFS_GRAPH_TIMEOUT": "60",
    }
    return place


def read(place: Place) -> dict[str, int]:
    """How many of each kind the graph shows of the one ontology."""
    [ontology] = place.status()["ontologies"]
    return dict(ontology["read"])


@pytest.mark.slow
def test_documents_are_read_found_rebuilt_and_forgotten(served: Place, tmp_path: Path) -> None:
    (tmp_path / "zen.md").write_text(ZEN)
    served.run("ingest", tmp_path / "zen.md", "--ontology", "Zen")
    assert not (served.home / "graph.sqlite").exists()
    counts = read(served)
    assert counts["documents"] == 1
    assert counts["concepts"] > 2
    hits = json.loads(served.run("search", "meditation", "--json").stdout)
    assert hits
    served.run("rebuild", "--yes")
    assert read(served) == counts
    served.run("rebuild", "Zen", "--yes")
    assert read(served) == counts
    served.run("check")
    served.run("forget", "Zen/zen.md", "--yes")
    assert set(read(served).values()) == {0}


@pytest.mark.mounted
def test_a_mount_says_what_it_waits_for(served: Place) -> None:
    told = served.run("mount", served.mountpoint, expect=3)
    assert "replica" in told.stderr
    assert not served.mountpoint.is_mount()


def test_what_is_wrong_with_the_settings_is_said(served: Place, secret: Path, neo4j_place: Server) -> None:
    secret.write_text("not the word")
    told = served.run("status", expect=4)
    served.run("ingest", Path(__file__), "--ontology", "Zen", expect=7)
    refused = served.run("status", expect=7)
    assert "KGFS_GRAPH_PASSWORD_FILE" in refused.stderr
    shown = served.run("config", "show")
    for said in (told, refused, shown):
        assert "not the word" not in said.stdout + said.stderr
        assert neo4j_place.password not in said.stdout + said.stderr
    secret.unlink()
    assert "password_file" in served.run("status", expect=3).stderr
    assert "uri" in served.run("status", expect=3, env={"KGFS_GRAPH_URI": ""}).stderr
    assert "kgfs.graph" not in shown.stderr


def test_a_server_that_is_away_is_named_within_the_time(served: Place) -> None:
    before = time.monotonic()
    away = {"KGFS_GRAPH_URI": "bolt://127.0.0.1:1", "KGFS_GRAPH_TIMEOUT": "1"}
    told = served.run("ingest", Path(__file__), "--ontology", "Zen", expect=7, env=away)
    assert "127.0.0.1:1" in told.stderr
    assert time.monotonic() - before < 60
