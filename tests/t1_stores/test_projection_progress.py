"""What a status tells of the projection to Neo4j, without any server."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from kgfs.config import load
from kgfs.stores.graph.sqlite import open_graph
from kgfs.stores.projection.progress import note, projection_page


def test_since_when_a_server_is_away_is_told_as_iso_8601(tmp_path: Path) -> None:
    config = load(tmp_path)
    config = replace(config, graph=replace(config.graph, store="neo4j", uri="bolt://127.0.0.1:1"))
    config.run.mkdir(parents=True, exist_ok=True)
    with closing(open_graph(config)) as graph:
        for since, told in ((None, None), (1_700_000_000.5, "2023-11-14T22:13:20Z"), (None, None)):
            note(config, away_since=since, away_reason="no answer" if since else "")
            page = projection_page(config, graph)
            assert page is not None and page["away_since"] == told
