"""A Qdrant that wants a key, which is changed: a store that stays open reads it again from its file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgfs.config import Config, Vectors
from kgfs.errors import AwayError
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
        with pytest.raises(AwayError, match=REFUSED) as caught:
            vectors.upsert([ROW])
        assert "second" not in str(caught.value)
        for between in (b"", b"\xff"):  # while it is being written
            file.write_bytes(between)
            with pytest.raises(AwayError, match=REFUSED):
                vectors.count()
        file.unlink()
        with pytest.raises(AwayError, match=REFUSED):
            vectors.count()
        file.write_text("third\n")
        vectors.upsert([ROW])
        assert vectors.count() == 1
