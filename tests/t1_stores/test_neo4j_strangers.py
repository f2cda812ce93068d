"""No Neo4j at the address, not yet, or something else: said in one line, and nothing beside it by the driver."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.config import Config
from kgfs.errors import AwayError, TimedOutError
from kgfs.settings import Graph
from kgfs.stores.graph.neo4j import speaking
from kgfs.stores.graph.neo4j.graph import Neo4jGraph
from kgfs.stores.graph.neo4j.origin import Origin
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.neo4j.strangers import answers_as_another
from kgfs.stores.graph.opening import open_graph, wait_for_server
from kgfs.stores.graph.replica.file import open_file
from kgfs.stores.leases.neo4j import Neo4jLeases
from scripts.servers import process
from tests.support.peers.strangers import stranger


def test_where_nobody_listens_the_reason_is_told(caplog: pytest.LogCaptureFixture) -> None:
    [port] = process.free_ports(1)
    with pytest.raises(AwayError, match=rf"{port}.*Connection refused.*Does it listen there\?") as caught:
        Neo4jGraph(Place(f"bolt://127.0.0.1:{port}", password="my secret word", timeout=1.0))
    assert "\n" not in str(caught.value)
    assert not caplog.records


def test_where_nobody_listens_nobody_waits_for_the_time_out() -> None:
    """Which would be ten minutes; each connects anew."""
    [port] = process.free_ports(1)
    place = Place(f"bolt://127.0.0.1:{port}", password="my secret word", timeout=600.0)
    with pytest.raises(AwayError, match="Connection refused"):
        Neo4jGraph(place)
    with closing(Neo4jLeases(place, 600.0)) as leases, pytest.raises(AwayError, match="Connection refused"):
        leases.take("publish", "me", 60.0)


@pytest.mark.parametrize("code", [socket.EAI_AGAIN, socket.EAI_FAIL, socket.EAI_NONAME])
def test_a_name_that_nobody_tells_the_address_of_is_that_of_one_who_is_away(
    code: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As in another network: name servers there do not answer, refuse, or know no such name."""

    def look_up(*words: object, **more: object) -> list[object]:
        raise socket.gaierror(code, "the name service says so")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    place = Place("bolt://graph.example.org:7687", password="my secret word", timeout=1.0)
    with closing(Origin(place)) as origin:
        for ask in (lambda: Neo4jGraph(place), origin.standing, lambda: origin.look(lambda look: None)):
            with pytest.raises(AwayError, match=r"cannot be reached .*the name service says so") as caught:
                ask()
            assert "\n" not in str(caught.value)
    assert not caplog.records


def test_who_can_wait_waits_until_somebody_listens(tmp_path: Path) -> None:
    [port] = process.free_ports(1)
    (tmp_path / "password").write_text("my secret word")
    settings = Graph("neo4j", f"bolt://127.0.0.1:{port}", password_file=str(tmp_path / "password"), timeout=600.0)
    with ExitStack() as stack:

        def told(what: str) -> None:
            assert f"127.0.0.1:{port}: nobody listens there" in what
            stack.enter_context(socket.create_server(("127.0.0.1", port)))

        wait_for_server(Config(tmp_path, graph=settings), told)
        wait_for_server(Config(tmp_path, graph=settings), pytest.fail)
    wait_for_server(Config(tmp_path, graph=replace(settings, timeout=0.1)))
    open_file(Config(tmp_path).replica_db).close()
    wait_for_server(Config(tmp_path, graph=settings), pytest.fail)  # a replica answers


CLUSTER = "server.invalid:7687"


def packed(value: object) -> bytes:
    """As Bolt writes it: short texts, small numbers, short lists and maps."""
    if isinstance(value, dict):
        return bytes([0xA0 + len(value)]) + b"".join(packed(key) + packed(each) for key, each in value.items())
    if isinstance(value, list):
        return bytes([0x90 + len(value)]) + b"".join(map(packed, value))
    if isinstance(value, int):
        return bytes([value])
    word = str(value).encode()
    return bytes([0xD0, len(word)]) + word


def name_another(connection: socket.socket) -> None:
    """What the member of a cluster says that knows all of it to be at one other address."""
    servers = [{"role": role, "addresses": [CLUSTER]} for role in ("ROUTE", "READ", "WRITE")]
    answers = {
        0x01: {"server": "Neo4j/5.26.0", "connection_id": "one"},  # HELLO
        0x66: {"rt": {"ttl": 60, "db": "neo4j", "servers": servers}},  # ROUTE
    }
    with connection, connection.makefile("rb") as said:
        said.read(20)
        connection.sendall(b"\0\0\4\5")
        while size := int.from_bytes(said.read(2)):
            message = said.read(size)
            said.read(2)
            answer = b"\xb1\x70" + packed(answers.get(message[1], {}))
            connection.sendall(len(answer).to_bytes(2) + answer + b"\0\0")


@pytest.mark.claim("SECRET-2")
def test_a_member_of_a_cluster_that_is_spoken_to_in_the_clear_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where who names it is on this machine, or looks so: the end of a tunnel, say. There is no Neo4j for everybody that forms
    a cluster, so a few words of one are said here."""

    def answer() -> None:
        with suppress(OSError):  # closed
            while True:
                threading.Thread(target=name_another, args=listener.accept()[:1], daemon=True).start()

    (tmp_path / "password").write_text("my secret word")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=answer)
        answering.start()
        uri = f"neo4j://127.0.0.1:{listener.getsockname()[1]}"
        config = Config(tmp_path, graph=Graph("neo4j", uri, password_file=str(tmp_path / "password"), timeout=2.0))
        with pytest.raises((AwayError, TimedOutError)):
            open_graph(config)
        listener.shutdown(socket.SHUT_RDWR)
        answering.join()
    assert caplog.text.count(f"neo4j://{CLUSTER}: secrets and knowledge go there unencrypted") == 1
    assert "127.0.0.1" not in caplog.text and "my secret word" not in caplog.text


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
    guest: Place, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr(speaking, "answers_as_another", pytest.fail)
    place = replace(guest, timeout=5.0)
    if wrong == "password":
        place = replace(place, password="another secret word")
    else:
        place = replace(place, uri=place.uri.replace("bolt://", "bolt+s://"))
    with pytest.raises((AwayError, TimedOutError)):
        Neo4jGraph(place)


def test_a_real_one_is_not_taken_for_another(neo4j_place: Place) -> None:
    assert not answers_as_another(neo4j_place.uri)
