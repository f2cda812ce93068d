"""A Neo4j server behind TLS, with a certificate of an authority that only these tests know."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.errors import BadInputError, TimedOutError, UnavailableError
from kgfs.stores.projection.endpoint import Endpoint
from scripts.servers import neo4j as server
from scripts.servers import process
from tests.support.peers.knowledge_server import need_neo4j, place_of

SETTINGS = """
server.bolt.tls_level=OPTIONAL
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.private_key={folder}/server.key
dbms.ssl.policy.bolt.public_certificate={folder}/server.pem
"""


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def authority(folder: Path, name: str) -> Path:
    """The certificate of a new one; its key is beside."""
    new = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    openssl(folder, *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    return folder / f"{name}.pem"


def sign(folder: Path, name: str) -> None:
    """A certificate for 127.0.0.1, and no other name."""
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(
        folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=graph", "-keyout", "server.key", "-out", "request"
    )
    signing = ("x509", "-req", "-days", "2", "-in", "request", "-extfile", "names")
    openssl(folder, *signing, "-CA", f"{name}.pem", "-CAkey", f"{name}.key", "-CAcreateserial", "-out", "server.pem")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def trusted(folder: Path) -> Path:
    return authority(folder, "ours")


@pytest.fixture(scope="module")
def place(folder: Path, trusted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Of a server of its own; its address is one of those that verify."""
    need_neo4j()
    sign(folder, trusted.stem)
    home = tmp_path_factory.mktemp("neo4j-tls")
    (home / "data").mkdir()
    (home / "data/neo4j.conf").write_text(SETTINGS.format(folder=folder))
    server.start(home, ())
    yield place_of(home)
    process.end(home, 0)


def behind_tls(place: Endpoint, scheme: str) -> Endpoint:
    return replace(place, uri=place.uri.replace("bolt:", f"{scheme}:"))


@pytest.mark.slow
@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s", "bolt"])
def test_an_authority_that_is_named_is_trusted(place: Endpoint, trusted: Path, scheme: str) -> None:
    from kgfs.stores.projection.connection import Connection, probe

    mine = replace(behind_tls(place, scheme), ca_file=trusted)
    assert probe(mine) is None
    with closing(Connection(mine)) as connection:
        assert connection.read("RETURN 1 AS one") == [{"one": 1}]


@pytest.fixture
def listening(folder: Path, trusted: Path) -> Iterator[int]:
    """The port of somebody with that certificate: refusing it takes no more of a server."""
    sign(folder, trusted.stem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")

    def answer() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed
                return
            with suppress(OSError):  # the other one hangs up
                context.wrap_socket(connection, server_side=True).close()

    with socket.create_server((process.HOST, 0)) as listener:
        answering = threading.Thread(target=answer)
        answering.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        answering.join()


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
@pytest.mark.parametrize("known", ["the machine's authorities", "another authority", "another name"])
def test_any_other_certificate_is_refused_at_once(
    listening: int, folder: Path, trusted: Path, scheme: str, known: str
) -> None:
    from kgfs.stores.projection.connection import probe

    place = Endpoint(f"{scheme}://127.0.0.1:{listening}", password="secretword", timeout=600.0)
    if known == "another authority":
        place = replace(place, ca_file=authority(folder, "theirs"))
    elif known == "another name":
        place = replace(place, ca_file=trusted, uri=f"{scheme}://localhost:{listening}")
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


@contextmanager
def _listener(answer: bytes | None) -> Iterator[int]:
    """The port of somebody who answers so to whatever is said, or never."""
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed
                return
            held.append(connection)
            if answer is not None:
                connection.recv(1000)
                connection.sendall(answer)

    with socket.create_server((process.HOST, 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()
    for connection in held:
        connection.close()


def test_what_is_no_neo4j_and_what_says_nothing_are_told_apart() -> None:
    from kgfs.stores.projection.connection import probe

    with _listener(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        told = probe(Endpoint(f"bolt://127.0.0.1:{port}", timeout=5.0))
    assert isinstance(told, UnavailableError) and "is not Neo4j, or another of its ports. Check graph.uri" in str(told)
    before = time.monotonic()
    with _listener(None) as port:
        told = probe(Endpoint(f"bolt://127.0.0.1:{port}", timeout=1.0))
    assert isinstance(told, UnavailableError | TimedOutError)
    assert time.monotonic() - before < 60
    told = probe(Endpoint("bolt://127.0.0.1:1", timeout=5.0))
    assert isinstance(told, UnavailableError) and "Neo4j cannot be reached" in str(told)
