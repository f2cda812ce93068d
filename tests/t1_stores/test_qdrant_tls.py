"""Qdrant behind the certificate of an authority of one's own: trusted where that is named, refused where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgfs.config import Config
from kgfs.errors import BadInputError, UnavailableError
from kgfs.settings import Vectors
from kgfs.stores.vectors.contract import Filter, Row
from kgfs.stores.vectors.opening import open_vectors
from scripts.servers import process, qdrant_wire
from tests.support.certificates import make_certificates
from tests.support.peers.fixtures import need_qdrant_wire

ROW = Row("source", "a", 0, np.array((1, 0), np.float32))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    need_qdrant_wire()
    folder = tmp_path_factory.mktemp("tls") / "qdrant-wire"
    make_certificates(folder / "certs")
    qdrant_wire.start(folder, ())
    yield folder
    process.end(folder)


@pytest.fixture
def port(server: Path) -> int:
    return process.ports_before(server)[0]


def config(home: Path, url: str, ca_file: Path | None) -> Config:
    return Config(home=home, vectors=Vectors(store="qdrant", url=url, timeout=20.0, ca_file=str(ca_file or "")))


@pytest.mark.claim("SECRET-2")
def test_an_authority_that_is_named_is_trusted(server: Path, port: int, tmp_path: Path) -> None:
    trusting = config(tmp_path, f"https://{process.HOST}:{port}", server / "certs/ca.crt")
    with closing(open_vectors(trusting, "small/1")) as vectors:
        vectors.upsert([ROW])
        assert [hit.item for hit in vectors.query(ROW.vector, Filter())] == ["a"]


@pytest.mark.claim("SECRET-2")
@pytest.mark.parametrize("known", ["well-known authorities", "another authority", "another name"])
def test_any_other_certificate_is_refused(server: Path, port: int, tmp_path: Path, known: str) -> None:
    host, ca_file = process.HOST, None
    if known == "another authority":
        make_certificates(tmp_path / "theirs")
        ca_file = tmp_path / "theirs/ca.crt"
    elif known == "another name":
        host, ca_file = "localhost", server / "certs/ca.crt"
    with closing(open_vectors(config(tmp_path, f"https://{host}:{port}", ca_file), "small/1")) as vectors:
        for ask in (vectors.count, lambda: vectors.upsert([ROW])):
            with pytest.raises(UnavailableError, match=r"certificate verify failed.*vectors\.ca_file"):
                ask()


@pytest.mark.parametrize("wrong", ["missing", "folder", "empty", "no certificate"])
def test_a_file_of_authorities_that_is_none_is_named(tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "ca.pem"
    if wrong == "folder":
        file.mkdir()
    elif wrong != "missing":
        file.write_bytes(b"" if wrong == "empty" else b"\xff no certificate\n")
    with pytest.raises(BadInputError, match=r"vectors\.ca_file.*ca\.pem"):
        open_vectors(config(tmp_path, "https://127.0.0.1:1", file), "small/1")
