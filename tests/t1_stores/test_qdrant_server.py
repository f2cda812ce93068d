"""A Qdrant server behind keys, certificates and proxies, and what answers at its address and is none."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgfs.config import Config
from kgfs.errors import BadInputError, TimedOutError, UnavailableError
from kgfs.settings import Vectors
from kgfs.stores.vectors.contract import Filter, Row
from kgfs.stores.vectors.opening import open_vectors
from kgfs.stores.vectors.qdrant import QdrantVectors
from scripts.servers import process, qdrant_wire
from scripts.servers.process import HOST
from tests.support.certificates import make_certificates
from tests.support.peers.fixtures import need_qdrant_wire
from tests.support.peers.strangers import stranger

REFUSED = "refuses the key"
ROW = Row("source", "a", 0, np.array((1, 0), np.float32))
PAGE = b"<html>\n<p>Who are you?</p>\n</html>"


def opened(home: Path, url: str, **settings: str) -> QdrantVectors:
    store = open_vectors(
        Config(home=home, vectors=Vectors(store="qdrant", url=url, timeout=5.0, **settings)), "small/1"
    )  # type: ignore[arg-type]
    assert isinstance(store, QdrantVectors)
    return store


# ------------------------------------------------------------------------------------------------- its key


@pytest.fixture
def server(tmp_path: Path, qdrant_wire_url: str) -> Iterator[Path]:
    """The folder of one that knows a key, which the shared one does not."""
    folder = tmp_path / "qdrant-wire"
    folder.mkdir()
    known(folder, "first")
    yield folder
    process.end(folder)


def known(server: Path, key: str) -> str:
    """From now on it takes this key alone; its address."""
    process.end(server)
    (server / "api_key").write_text(key)
    (port,) = qdrant_wire.start(server, process.ports_before(server)).ports
    return f"http://{HOST}:{port}"


@pytest.mark.claim("SECRET-2")
def test_what_is_said_on_this_machine_goes_through_no_proxy(
    server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is another machine, perhaps, and would hear the key."""
    file = tmp_path / "key"
    file.write_text("first")
    url = known(server, "first")
    with socket.create_server((HOST, 0)) as proxy:
        proxy.settimeout(0.1)
        for name in ("no_proxy", "NO_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", f"http://{HOST}:{proxy.getsockname()[1]}")
        with closing(opened(tmp_path, url, api_key_file=str(file))) as vectors:
            vectors.upsert([ROW])
            assert vectors.count() == 1
        with pytest.raises(TimeoutError):
            proxy.accept()


def test_a_proxy_that_cannot_be_is_named_and_its_password_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://me:s3cret-word@127.0.0.1:1")
    with pytest.raises(BadInputError, match="ALL_PROXY") as told:
        opened(tmp_path, "https://server.invalid")
    assert "s3cret" not in str(told.value)
    opened(tmp_path, f"http://{HOST}:1").close()


def test_another_key_in_the_same_file_is_taken(server: Path, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("first\n")
    with closing(opened(tmp_path, known(server, "first"), api_key_file=str(file))) as vectors:
        vectors.upsert([ROW])
        file.write_text("second\n")
        assert vectors.count() == 1  # the former one is still taken
        known(server, "second")
        vectors.upsert([ROW])
        known(server, "third")
        with pytest.raises(UnavailableError, match=REFUSED) as caught:
            vectors.upsert([ROW])
        assert "second" not in str(caught.value)
        for between in (b"", b"\xff", b"thi\nrd"):  # while it is being written
            file.write_bytes(between)
            with pytest.raises(UnavailableError, match=REFUSED):
                vectors.count()
        file.unlink()
        with pytest.raises(UnavailableError, match=REFUSED):
            vectors.count()
        file.write_text("third\n")
        vectors.upsert([ROW])
        assert vectors.count() == 1


# ----------------------------------------------------------------------------------------- its certificate


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of one behind the certificate of an authority of one's own."""
    need_qdrant_wire()
    folder = tmp_path_factory.mktemp("tls") / "qdrant-wire"
    make_certificates(folder / "certs")
    qdrant_wire.start(folder, ())
    yield folder
    process.end(folder)


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("known", ["it", "well-known authorities", "another authority", "another name"])
def test_an_authority_that_is_named_is_trusted_and_no_other(certified: Path, tmp_path: Path, known: str) -> None:
    (port,) = process.ports_before(certified)
    host, ca_file = HOST, str(certified / "certs/ca.crt")
    if known == "well-known authorities":
        ca_file = ""
    elif known == "another authority":
        make_certificates(tmp_path / "theirs")
        ca_file = str(tmp_path / "theirs/ca.crt")
    elif known == "another name":
        host = "localhost"
    with closing(opened(tmp_path, f"https://{host}:{port}", ca_file=ca_file)) as vectors:
        if known == "it":
            vectors.upsert([ROW])
            assert [hit.item for hit in vectors.query(ROW.vector, Filter())] == ["a"]
            return
        for ask in (vectors.count, lambda: vectors.upsert([ROW])):
            with pytest.raises(UnavailableError, match=r"certificate verify failed.*vectors\.ca_file"):
                ask()


@pytest.mark.parametrize("wrong", ["missing", "no certificate"])
def test_a_file_of_authorities_that_is_none_is_named(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "ca.pem"
    if wrong != "missing":
        file.write_bytes(b"\xff no certificate\n")
    with pytest.raises(BadInputError, match=r"vectors\.ca_file.*ca\.pem"):
        opened(tmp_path, "https://127.0.0.1:1", ca_file=str(file))


# ------------------------------------------------------------------------------------------------ strangers


@pytest.mark.parametrize(
    ("scheme", "status", "reported"), [("http", 200, "not Qdrant"), ("http", 404, "not Qdrant"), ("https", 200, "TLS")]
)
def test_what_is_not_qdrant_is_told_as_such(tmp_path: Path, scheme: str, status: int, reported: str) -> None:
    """Before a server that is away, what stands before it answers so; and what has another path."""
    with stranger(PAGE, status) as port, closing(opened(tmp_path, f"{scheme}://127.0.0.1:{port}")) as vectors:
        for ask in (
            vectors.count,
            lambda: vectors.fetch(Filter()),
            lambda: vectors.query(ROW.vector, Filter()),
            lambda: vectors.delete(Filter(kind="source")),
        ):
            with pytest.raises(UnavailableError, match=rf"{reported}.*vectors\.url") as caught:
                ask()
            assert "\n" not in str(caught.value)


def test_qdrant_says_in_its_own_words_that_nothing_was_ever_kept(tmp_path: Path) -> None:
    reported = b'{"status": {"error": "Not found: Collection kgfs-1 does not exist"}, "time": 0.1}'
    with stranger(reported, 404) as port, closing(opened(tmp_path, f"http://127.0.0.1:{port}")) as vectors:
        assert (vectors.count(), vectors.fetch(Filter())) == (0, [])


@pytest.mark.parametrize(("status", "headers"), [(429, {}), (429, {"Retry-After": "30"}), (503, {})])
def test_what_a_server_cannot_now_is_no_documents_fault(tmp_path: Path, status: int, headers: dict[str, str]) -> None:
    reported = b'{"status": {"error": "Service internal error: No space left on device"}, "time": 0.1}'
    with (
        stranger(reported, status, headers) as port,
        closing(opened(tmp_path, f"http://127.0.0.1:{port}")) as vectors,
        pytest.raises(UnavailableError, match=f"answers {status}.*Try again later"),
    ):
        vectors.count()


def test_one_that_refuses_connections_or_says_nothing_is_told_apart(tmp_path: Path) -> None:
    with closing(opened(tmp_path, "http://127.0.0.1:1")) as vectors, pytest.raises(UnavailableError, match="refused"):
        vectors.count()
    with (
        socket.create_server((HOST, 0)) as silent,
        closing(opened(tmp_path, f"http://{HOST}:{silent.getsockname()[1]}")) as vectors,
        pytest.raises(TimedOutError, match=r"does not answer in time\. Check vectors\.url"),
    ):
        vectors.count()
