"""What answers at the address of a Qdrant server and is none: said in one line that names the setting, and waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("qdrant_client")

from kgfs.errors import AwayError
from kgfs.stores.vectors.qdrant import Place, QdrantVectors


class _Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html>\n<p>Who are you?</p>\n</html>"
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.server.status)  # type: ignore[attr-defined]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_PUT = do_GET  # noqa: N815 - the parent's way

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        pass


@contextmanager
def stranger(status: int) -> Iterator[str]:
    answering = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    answering.status = status  # type: ignore[attr-defined]
    thread = threading.Thread(target=answering.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{answering.server_address[1]}"
    finally:
        answering.shutdown()
        thread.join()
        answering.server_close()


@pytest.mark.parametrize(
    ("scheme", "status", "said"), [("http", 200, "not Qdrant"), ("http", 405, "not Qdrant"), ("https", 200, "TLS")]
)
def test_what_is_not_qdrant_is_told_as_such(scheme: str, status: int, said: str) -> None:
    with (
        stranger(status) as address,
        closing(QdrantVectors(Place(f"{scheme}://{address}", timeout=5.0), "model/1")) as vectors,
        pytest.raises(AwayError, match=rf"{said}.*vectors\.url") as caught,
    ):
        vectors.count()
    assert "\n" not in str(caught.value)
