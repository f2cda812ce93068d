"""What answers at the address of a Qdrant server and is none: said in one line that names the setting, and waited for."""

from __future__ import annotations

from contextlib import closing

import pytest

from kgfs.errors import AwayError
from kgfs.stores.vectors.qdrant import Place, QdrantVectors
from tests.peers.strangers import stranger

PAGE = b"<html>\n<p>Who are you?</p>\n</html>"


@pytest.mark.parametrize(
    ("scheme", "status", "said"), [("http", 200, "not Qdrant"), ("http", 405, "not Qdrant"), ("https", 200, "TLS")]
)
def test_what_is_not_qdrant_is_told_as_such(scheme: str, status: int, said: str) -> None:
    with (
        stranger(PAGE, status) as port,
        closing(QdrantVectors(Place(f"{scheme}://127.0.0.1:{port}", timeout=5.0), "model/1")) as vectors,
        pytest.raises(AwayError, match=rf"{said}.*vectors\.url") as caught,
    ):
        vectors.count()
    assert "\n" not in str(caught.value)
