"""A Qdrant that wants a key, which is changed: a store that stays open reads it again from its file."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgfs.config import Config
from kgfs.errors import BadInputError, UnavailableError
from kgfs.settings import Vectors
from kgfs.stores.vectors.contract import Row
from kgfs.stores.vectors.opening import open_vectors
from scripts.servers import process, qdrant_wire
from scripts.servers.process import HOST

REFUSED = "refuses the key"
ROW = Row("source", "a", 0, np.array((1, 0), np.float32))


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


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """One that nobody is to speak to, as the machine's proxy."""
    with socket.create_server((HOST, 0)) as proxy:
        proxy.settimeout(0.1)
        for name in ("no_proxy", "NO_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "http_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HTTP_PROXY", f"http://{HOST}:{proxy.getsockname()[1]}")
        yield proxy


@pytest.mark.claim("SECRET-2")
def test_what_is_said_on_this_machine_goes_through_no_proxy(
    server: Path, tmp_path: Path, proxied: socket.socket
) -> None:
    """Which is another machine, perhaps, and would hear the key."""
    file = tmp_path / "key"
    file.write_text("first")
    url = known(server, "first")
    config = Config(home=tmp_path, vectors=Vectors(store="qdrant", url=url, api_key_file=str(file), timeout=5.0))
    with closing(open_vectors(config, "small/1")) as vectors:
        vectors.upsert([ROW])
        assert vectors.count() == 1
    with pytest.raises(TimeoutError):
        proxied.accept()


def test_a_proxy_that_cannot_be_is_named_and_its_password_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://me:s3cret-word@127.0.0.1:1")
    far = Config(home=tmp_path, vectors=Vectors(store="qdrant", url="https://server.invalid"))
    with pytest.raises(BadInputError, match="ALL_PROXY") as told:
        open_vectors(far, "small/1")
    assert "s3cret" not in str(told.value)
    near = Config(home=tmp_path, vectors=Vectors(store="qdrant", url=f"http://{HOST}:1"))
    open_vectors(near, "small/1").close()


def test_another_key_in_the_same_file_is_taken(server: Path, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("first\n")
    url = known(server, "first")
    config = Config(home=tmp_path, vectors=Vectors(store="qdrant", url=url, api_key_file=str(file)))
    with closing(open_vectors(config, "small/1")) as vectors:
        vectors.upsert([ROW])
        file.write_text("second\n")
        assert vectors.count() == 1  # the former one is still taken
        known(server, "second")
        assert vectors.count() == 1
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
