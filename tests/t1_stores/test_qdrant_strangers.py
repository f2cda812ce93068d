"""What answers at the address of a Qdrant server and is none: said in one line that names the setting, and waited for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest

from kgfs.errors import UnavailableError
from kgfs.settings import Vectors
from kgfs.stores.vectors.contract import Filter
from kgfs.stores.vectors.qdrant import QdrantVectors
from tests.support.peers.strangers import stranger


def opened(url: str) -> QdrantVectors:
    return QdrantVectors(Vectors(store="qdrant", url=url, timeout=5.0), "", "model/1")


PAGE = b"<html>\n<p>Who are you?</p>\n</html>"


@pytest.mark.parametrize(
    ("scheme", "status", "reported"), [("http", 200, "not Qdrant"), ("http", 405, "not Qdrant"), ("https", 200, "TLS")]
)
def test_what_is_not_qdrant_is_told_as_such(scheme: str, status: int, reported: str) -> None:
    with (
        stranger(PAGE, status) as port,
        closing(opened(f"{scheme}://127.0.0.1:{port}")) as vectors,
        pytest.raises(UnavailableError, match=rf"{reported}.*vectors\.url") as caught,
    ):
        vectors.count()
    assert "\n" not in str(caught.value)


ASKING: list[Callable[[QdrantVectors], object]] = [
    lambda vectors: vectors.count(),
    lambda vectors: vectors.fetch(Filter()),
    lambda vectors: vectors.query(np.array((1, 0), np.float32), Filter()),
    lambda vectors: vectors.delete(Filter(kind="source")),
]


@pytest.mark.parametrize("body", [b"404 page not found\n", b"", PAGE, b'{"status": 404}', b"\xff{"])
def test_only_qdrant_itself_says_that_nothing_was_ever_kept(body: bytes) -> None:
    """Before a server that is away, what stands before it answers so; and what has another path."""
    with (
        stranger(body, 404) as port,
        closing(opened(f"http://127.0.0.1:{port}")) as vectors,
    ):
        for ask in ASKING:
            with pytest.raises(UnavailableError, match=r"not Qdrant.*vectors\.url"):
                ask(vectors)


def test_qdrant_says_in_its_own_words_that_nothing_was_ever_kept() -> None:
    reported = b'{"status": {"error": "Not found: Collection kgfs-1 does not exist"}, "time": 0.1}'
    with (
        stranger(reported, 404) as port,
        closing(opened(f"http://127.0.0.1:{port}")) as vectors,
    ):
        assert (vectors.count(), vectors.fetch(Filter())) == (0, [])


@pytest.mark.parametrize("after", ["30", "Mon, 23 Nov 2026 01:00:00 GMT", None])
def test_who_asks_too_often_is_told_to_try_later(after: str | None) -> None:
    reported = b'{"status": {"error": "Rate limiting exceeded: Write rate limit exceeded, retry later"}, "time": 0.1}'
    with (
        stranger(reported, 429, {"Retry-After": after} if after else {}) as port,
        closing(opened(f"http://127.0.0.1:{port}")) as vectors,
        pytest.raises(UnavailableError, match="answers 429"),
    ):
        vectors.count()


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 507])
def test_what_a_server_cannot_now_is_no_documents_fault(status: int) -> None:
    reported = b'{"status": {"error": "Service internal error: No space left on device"}, "time": 0.1}'
    with (
        stranger(reported, status) as port,
        closing(opened(f"http://127.0.0.1:{port}")) as vectors,
        pytest.raises(UnavailableError, match=f"answers {status}: .*No space left on device"),
    ):
        vectors.count()
