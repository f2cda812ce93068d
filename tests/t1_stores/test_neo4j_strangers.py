"""No Neo4j at the address, or something else: said in one line, and nothing beside it by the driver."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

pytest.importorskip("neo4j")

from kgfs.errors import AwayError, TimedOutError
from kgfs.stores.graph.neo4j import speaking
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.neo4j.strangers import answers_as_another
from scripts.servers import process
from tests.peers.strangers import stranger


def test_where_nobody_listens_the_reason_is_told(caplog: pytest.LogCaptureFixture) -> None:
    [port] = process.free_ports(1)
    with pytest.raises(AwayError, match=rf"{port}.*Connection refused.*Does it listen there\?") as caught:
        Neo4jGraph(Place(f"bolt://127.0.0.1:{port}", password="my secret word", timeout=1.0))
    assert "\n" not in str(caught.value)
    assert not caplog.records


def test_what_does_not_speak_as_neo4j_is_given_up_in_time(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises((AwayError, TimedOutError), match=rf"{port}.*Does it listen there\?") as caught:
            Neo4jGraph(Place(f"bolt://127.0.0.1:{port}", password="my secret word", timeout=1.0))
    assert "\n" not in str(caught.value)
    assert not caplog.records


def test_a_web_server_is_told_as_none(caplog: pytest.LogCaptureFixture) -> None:
    """The port of a bucket, of Qdrant, or of Neo4j's own pages."""
    with stranger(b"{}") as port, pytest.raises(AwayError, match=rf"{port}.*not Neo4j.*graph\.uri") as caught:
        Neo4jGraph(Place(f"bolt://127.0.0.1:{port}", password="my secret word", timeout=1.0))
    assert "\n" not in str(caught.value)
    assert not caplog.records


@pytest.mark.parametrize("wrong", ["password", "scheme"])
def test_who_asks_who_is_there_or_speaks_tls_is_not_looked_at(
    neo4j_place: Place, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr(speaking, "answers_as_another", pytest.fail)
    place = replace(neo4j_place, timeout=5.0)
    if wrong == "password":
        place = replace(place, password="another secret word")
    else:
        place = replace(place, uri=place.uri.replace("bolt://", "bolt+s://"))
    with pytest.raises((AwayError, TimedOutError)):
        Neo4jGraph(place)


def test_a_real_one_is_not_taken_for_another(neo4j_place: Place) -> None:
    assert not answers_as_another(neo4j_place.uri)
