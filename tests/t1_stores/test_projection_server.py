"""A Neo4j server behind TLS, and what answers at its address and is none, or says nothing."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.errors import BadInputError, TimedOutError, UnavailableError
from kgfs.stores.projection.endpoint import Endpoint
from scripts.servers import neo4j as server
from scripts.servers import process
from tests.support.certificates import make_certificates
from tests.support.peers.knowledge_server import need_neo4j, place_of

SETTINGS = """
server.bolt.tls_level=OPTIONAL
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.private_key={folder}/private.key
dbms.ssl.policy.bolt.public_certificate={folder}/public.crt
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of a certificate for 127.0.0.1, and no other name of this machine, and of its authority."""
    made = tmp_path_factory.mktemp("certificates") / "ours"
    make_certificates(made)
    return made


@pytest.fixture(scope="module")
def place(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Of a server of its own; its address is one of those that verify."""
    need_neo4j()
    home = tmp_path_factory.mktemp("neo4j-tls")
    (home / "data").mkdir()
    (home / "data/neo4j.conf").write_text(SETTINGS.format(folder=folder))
    server.start(home, ())
    yield place_of(home)
    process.end(home, 0)


def behind_tls(place: Endpoint, scheme: str) -> Endpoint:
    return replace(place, uri=place.uri.replace("bolt:", f"{scheme}:"))


@contextmanager
def listener(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of somebody who does so with each connection."""
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # closed
                return
            held.append(connection)
            with suppress(OSError):  # the other one hangs up
                answer(connection)

    with socket.create_server((process.HOST, 0)) as listening:
        serving = threading.Thread(target=serve)
        serving.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
        serving.join()
    for connection in held:
        connection.close()


@pytest.mark.slow
@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s", "bolt"])
def test_an_authority_that_is_named_is_trusted(place: Endpoint, folder: Path, scheme: str) -> None:
    from kgfs.stores.projection.connection import Connection

    with closing(Connection(replace(behind_tls(place, scheme), ca_file=folder / "ca.crt"))) as connection:
        assert connection.read("RETURN 1 AS one") == [{"one": 1}]


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
@pytest.mark.parametrize("known", ["the machine's authorities", "another authority", "another name"])
def test_any_other_certificate_is_refused_at_once(folder: Path, tmp_path: Path, scheme: str, known: str) -> None:
    from kgfs.stores.projection.connection import probe

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "public.crt", folder / "private.key")
    with listener(lambda connection: context.wrap_socket(connection, server_side=True).close()) as port:
        place = Endpoint(f"{scheme}://127.0.0.1:{port}", password="secretword", timeout=600.0)
        if known == "another authority":
            make_certificates(tmp_path / "theirs")
            place = replace(place, ca_file=tmp_path / "theirs/ca.crt")
        elif known == "another name":
            place = replace(place, ca_file=folder / "ca.crt", uri=f"{scheme}://localhost:{port}")
        before = time.monotonic()
        told = probe(place)
    assert isinstance(told, UnavailableError)
    assert re.search(r"certificate is not trusted: .* Set graph\.ca_file", str(told))
    assert place.password not in str(told)
    assert time.monotonic() - before < 300, "nothing is tried until the time-out"


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_a_server_that_speaks_no_tls_is_told_at_once(neo4j_place: Endpoint, scheme: str) -> None:
    from kgfs.stores.projection.connection import probe

    before = time.monotonic()
    told = probe(replace(behind_tls(neo4j_place, scheme), timeout=8.0))
    assert isinstance(told, UnavailableError) and "speaks no TLS. Check graph.uri" in str(told)
    assert time.monotonic() - before < 60, "nothing is tried until the time-out"


def test_a_missing_file_of_authorities_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"graph\.ca_file: .*nowhere\.pem is no file"):
        Endpoint("bolt+s://127.0.0.1:1", ca_file=tmp_path / "nowhere.pem")


def speak_http(connection: socket.socket) -> None:
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_what_is_no_neo4j_what_says_nothing_and_what_is_not_there_are_told_apart(scheme: str) -> None:
    from kgfs.stores.projection.connection import probe

    with listener(speak_http) as port:
        told = probe(Endpoint(f"{scheme}://127.0.0.1:{port}", timeout=5.0))
    assert isinstance(told, UnavailableError) and "is not Neo4j, or another of its ports. Check graph.uri" in str(told)
    before = time.monotonic()
    with listener(lambda connection: None) as port:
        told = probe(Endpoint(f"{scheme}://127.0.0.1:{port}", timeout=1.0))
    assert isinstance(told, UnavailableError | TimedOutError) and "timed out" in str(told)
    assert time.monotonic() - before < 60
    told = probe(Endpoint(f"{scheme}://127.0.0.1:1", timeout=5.0))
    assert isinstance(told, UnavailableError) and re.search("Neo4j cannot be reached .*refused", str(told))
