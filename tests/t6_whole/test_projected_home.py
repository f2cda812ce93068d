"""A home whose graph is projected to a real Neo4j: its verbs, kills, and servers that are away or are no Neo4j."""

from __future__ import annotations

import json
import secrets
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kgfs.stores.projection.endpoint import Endpoint
from tests.support.running import HEAR_ALL_SERVERS, LOOK_AGAIN_AT_ONCE, QUICK, Place, until
from tests.support.texts import GARBAGE, ZEN

MORE = "A telescope is an instrument that gathers light. The telescope uses a mirror. The mirror gathers light.\n"


@pytest.fixture
def secret(tmp_path: Path, neo4j_place: Endpoint) -> Path:
    path = tmp_path / "password"
    path.write_text(neo4j_place.password)
    return path


@pytest.fixture
def served(place: Place, neo4j_place: Endpoint, secret: Path) -> Place:
    place.environment |= QUICK | {
        "KGFS_GRAPH_STORE": "neo4j",
        "KGFS_GRAPH_URI": neo4j_place.uri,
        "KGFS_GRAPH_PASSWORD_FILE": str(secret),
        "KGFS_GRAPH_NAMESPACE": f"test-{secrets.token_hex(6)}",
        "KGFS_GRAPH_TIMEOUT": "60",
    }
    return place


def ingest(place: Place, tmp_path: Path, **texts: str) -> None:
    for name, text in texts.items():
        (tmp_path / f"{name}.md").write_text(text)
        place.run("ingest", tmp_path / f"{name}.md", "--ontology", "Zen")


def asked(place: Place, server: Endpoint, question: str, **words: Any) -> list[Any]:
    from kgfs.stores.projection.connection import Connection

    graph = place.environment["KGFS_GRAPH_NAMESPACE"]
    with closing(Connection(server)) as connection:
        return [
            list(row.values())
            for row in connection.read(f"MATCH (g:Graph {{name: $graph}}) {question}", graph=graph, **words)
        ]


DOCUMENTS = "MATCH (d:Document {space: g.space}) RETURN d.original_filename ORDER BY d.original_filename"


def properties_on_server(place: Place, server: Endpoint, word: str) -> list[Any]:
    return asked(
        place,
        server,
        "MATCH (n) WHERE n.space STARTS WITH $graph OR n.edition STARTS WITH $graph UNWIND keys(n) AS key"
        " WITH n, key WHERE toLower(toString(toStringOrNull(n[key]))) CONTAINS $word"
        " OR any(x IN toStringList(CASE WHEN n[key] IS :: LIST<ANY> THEN n[key] ELSE [] END) WHERE toLower(x) CONTAINS $word)"
        " RETURN labels(n), key",
        word=word,
    )


@pytest.mark.slow
def test_what_is_read_rebuilt_forgotten_and_purged_arrives(
    served: Place, neo4j_place: Endpoint, tmp_path: Path
) -> None:
    ingest(served, tmp_path, zen=ZEN, more=MORE)
    served.run("worker", "--until-idle")
    found = served.status()
    assert found["neo4j"]["state"] == "following"
    assert (found["neo4j"]["commits"], found["neo4j"]["seconds"], found["neo4j"]["away_since"]) == (0, 0.0, None)
    assert asked(served, neo4j_place, DOCUMENTS) == [["more.md"], ["zen.md"]]
    [ontology] = found["ontologies"]
    counted = "MATCH (o:Ontology {space: g.space}) RETURN o.name, o.documents, o.sources, o.concepts, o.relationships, o.instances"
    assert asked(served, neo4j_place, counted) == [["Zen", *ontology["read"].values()]]
    assert f"neo4j    {neo4j_place.uri}: up to date" in served.run("status").stdout
    assert served.run("check", env=LOOK_AGAIN_AT_ONCE).returncode == 0
    output = served.run("doctor", expect=None).stdout
    assert (
        f"ok      neo4j: {neo4j_place.uri} answers." in output
        and f"ok      neo4j: {neo4j_place.uri}: up to date" in output
    )

    damaged = "MATCH (d:Document {space: g.space, original_filename: 'zen.md'}) REMOVE d:Document, d.digest"
    write(served, neo4j_place, damaged)
    assert "Neo4j differs" in served.run("check", expect=None, env=LOOK_AGAIN_AT_ONCE).stdout
    served.run("rebuild", "--neo4j", "--yes")
    assert served.run("check", env=LOOK_AGAIN_AT_ONCE).returncode == 0
    assert asked(served, neo4j_place, DOCUMENTS) == [["more.md"], ["zen.md"]]
    served.run("rebuild", "--yes")
    served.run("worker", "--until-idle")
    assert served.run("check", env=LOOK_AGAIN_AT_ONCE).returncode == 0

    assert properties_on_server(served, neo4j_place, "telescope")
    served.run("forget", "Zen/more.md", "--purge", "--yes")
    assert served.status()["neo4j"]["purges"] == 1
    assert "owed there: 1 purge" in served.run("status").stdout
    served.run("worker", "--until-idle")
    assert served.status()["neo4j"]["purges"] == 0
    assert properties_on_server(served, neo4j_place, "telescope") == []
    assert asked(served, neo4j_place, DOCUMENTS) == [["zen.md"]]
    assert served.run("check", env=LOOK_AGAIN_AT_ONCE).returncode == 0


def write(place: Place, server: Endpoint, statement: str) -> None:
    from kgfs.stores.projection.connection import Connection

    with closing(Connection(server)) as connection:
        words = {"graph": place.environment["KGFS_GRAPH_NAMESPACE"]}
        connection.write([(f"MATCH (g:Graph {{name: $graph}}) {statement}", words)])


@pytest.mark.slow
@pytest.mark.parametrize("border", ["projected:1", "projected:2", "projection-followed:1"])
def test_a_worker_that_is_killed_is_gone_on_from(
    served: Place, neo4j_place: Endpoint, tmp_path: Path, border: str
) -> None:
    alone = Place(served.home, served.mountpoint, served.environment | {"KGFS_GRAPH_STORE": "sqlite"})
    if border == "projection-followed:2":
        ingest(served, tmp_path, more=MORE)
        border = "projection-followed:1"
    ingest(alone, tmp_path, zen=ZEN)
    killed = served.run("worker", "--until-idle", env={"KGFS_FAIL_AT": border}, expect=None)
    assert killed.returncode == -signal.SIGKILL
    ingest(alone, tmp_path, garbage=GARBAGE)
    alone.run("forget", "Zen/zen.md", "--yes")
    served.run("worker", "--until-idle")
    assert served.status()["neo4j"]["commits"] == 0
    assert served.run("check", env=LOOK_AGAIN_AT_ONCE).returncode == 0
    assert ["garbage.md"] in asked(served, neo4j_place, DOCUMENTS)


@pytest.mark.mounted
@pytest.mark.slow
@pytest.mark.logs("neo4j UnavailableError: ")
@pytest.mark.parametrize("wrong", ["port", "tls", "password"])
def test_nothing_waits_for_a_server_that_is_wrong_and_status_says_what_doctor_says(
    served: Place, guest: Endpoint, tmp_path: Path, wrong: str, secret: Path
) -> None:
    output = {
        "port": "127.0.0.1:1: Neo4j cannot be reached",
        "tls": "what answers there speaks no TLS. Check graph.uri.",
        "password": f"does not let '{guest.user}' in. Set [graph] user and password_file",
    }[wrong]
    if wrong == "port":
        served.environment["KGFS_GRAPH_URI"] = "bolt://127.0.0.1:1"
    elif wrong == "tls":
        served.environment["KGFS_GRAPH_URI"] = guest.uri.replace("bolt:", "bolt+s:")
    else:
        served.environment["KGFS_GRAPH_USER"] = guest.user
        secret.write_text("not the word")
    assert output in served.run("mount", served.mountpoint, env=HEAR_ALL_SERVERS).stderr
    (served.ontology("Zen") / "documents" / "zen.md").write_text(ZEN)
    served.wait()
    assert list((served.mountpoint / "Zen" / "concepts").iterdir())
    page = served.mountpoint / ".kgfs/status.json"
    until(lambda: json.loads(page.read_text())["neo4j"]["away_since"] is not None)
    neo4j = json.loads(page.read_text())["neo4j"]
    behind = neo4j["commits"]  # one of the text, and one of the concepts
    assert output in neo4j["away_reason"] and behind == 2
    assert output in served.run("status").stdout
    assert output in served.run("doctor", expect=6).stdout
    metrics = (served.mountpoint / ".kgfs/metrics.prom").read_text()
    assert "kgfs_neo4j_away 1\n" in metrics and f"kgfs_neo4j_behind_commits {behind}\n" in metrics
    if wrong == "password":
        secret.write_text(guest.password)
        until(lambda: json.loads(page.read_text())["neo4j"]["commits"] == 0)
        assert json.loads(page.read_text())["neo4j"]["away_since"] is None
    served.umount()


@pytest.mark.slow
def test_another_home_does_not_take_the_place_of_one_that_is_there(
    served: Place, neo4j_place: Endpoint, tmp_path: Path
) -> None:
    ingest(served, tmp_path, zen=ZEN)
    served.run("worker", "--until-idle")
    other = Place(tmp_path / "other", tmp_path / "none", dict(served.environment))
    ingest(other, tmp_path, more=MORE)
    other.run("worker", "--until-idle")
    assert "is another home's. Set graph.namespace" in other.run("status").stdout
    assert asked(served, neo4j_place, DOCUMENTS) == [["zen.md"]]
    (other.home / "log" / "errors.ndjson").unlink()
