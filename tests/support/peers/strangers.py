"""Servers of HTTP that are none of those that kgfs speaks to."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Headers = Mapping[str, str]


@contextmanager
def stranger(
    body: bytes, status: int = 200, headers: Headers | None = None, context: ssl.SSLContext | None = None
) -> Iterator[int]:
    """Gives the port of one on this machine that answers every question alike."""
    answering = ThreadingHTTPServer(("127.0.0.1", 0), _answering(body, status, headers or {}))
    if context:
        answering.socket = context.wrap_socket(answering.socket, server_side=True)
    thread = threading.Thread(target=answering.serve_forever)
    thread.start()
    try:
        yield answering.server_address[1]
    finally:
        answering.shutdown()
        thread.join()
        answering.server_close()


def _answering(body: bytes, status: int, headers: Headers) -> Callable[..., BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - the parent's way

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
            pass

    return Answering
