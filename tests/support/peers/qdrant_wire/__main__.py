"""``python -m tests.support.peers.qdrant_wire --folder DIR --port PORT``: serve until SIGTERM. 0 takes a free port and prints it."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import ssl
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, TypeAdapter, ValidationError
from qdrant_client.http import models

from tests.support.peers.qdrant_wire.engine import Engine, NotCarriedOverError, NotFoundError, WrongError

VERSION = "1.18.0"
"""The server whose interface this is."""
KEY = "QDRANT__SERVICE__API_KEY"
"""The server's own variable for the key that it wants; without one it wants none."""
CERTIFICATE, PRIVATE = "QDRANT__TLS__CERT", "QDRANT__TLS__KEY"
"""Its own variables for the files of its certificate and of the key to that; without them it speaks no TLS."""
Answer = Callable[[Engine, str, Any], Any]


def _done(_: Any) -> dict[str, Any]:
    return {"operation_id": 0, "status": "completed"}


ROUTES: list[tuple[str, str, Any, Answer]] = [
    ("GET", r"/collections", None, lambda e, n, b: {"collections": [{"name": name} for name in e.names()]}),
    ("GET", r"/aliases", None, lambda e, n, b: {"aliases": e.aliases()}),
    ("POST", r"/collections/aliases", models.ChangeAliasesOperation, lambda e, n, b: e.change_aliases(b) or True),
    ("GET", r"/collections/([^/]+)/exists", None, lambda e, n, b: {"exists": e.exists(n)}),
    ("GET", r"/collections/([^/]+)", None, lambda e, n, b: e.describe(n)),
    ("PUT", r"/collections/([^/]+)", models.CreateCollection, lambda e, n, b: e.create(n, b)),
    ("DELETE", r"/collections/([^/]+)", None, lambda e, n, b: e.drop(n)),
    ("PUT", r"/collections/([^/]+)/index", models.CreateFieldIndex, lambda e, n, b: _done(e.index(n, b))),
    ("PUT", r"/collections/([^/]+)/points", models.PointsList, lambda e, n, b: _done(e.upsert(n, b))),
    ("POST", r"/collections/([^/]+)/points/delete", models.PointsSelector, lambda e, n, b: _done(e.delete(n, b))),
    ("POST", r"/collections/([^/]+)/points/count", models.CountRequest, lambda e, n, b: {"count": e.count(n, b)}),
    ("POST", r"/collections/([^/]+)/points/scroll", models.ScrollRequest, lambda e, n, b: e.scroll(n, b)),
    ("POST", r"/collections/([^/]+)/points/query", models.QueryRequest, lambda e, n, b: {"points": e.query(n, b)}),
]


def handler(engine: Engine, key: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            started = time.perf_counter()
            path = unquote(urlsplit(self.path).path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if key and self.headers.get("api-key") != key:
                self.send(401, {"status": {"error": "Must provide an API key or an Authorization bearer token"}})
                return
            if path == "/":
                self.send(200, {"title": "qdrant - vector search engine (wire front of a test)", "version": VERSION})
                return
            try:
                status, reported = 200, {"result": self.result(path, body), "status": "ok"}
            except NotFoundError as error:
                status, reported = 404, {"status": {"error": str(error)}}
            except (WrongError, ValidationError, ValueError) as error:
                status, reported = 400, {"status": {"error": str(error)}}
            except NotCarriedOverError as error:
                status, reported = 501, {"status": {"error": f"this front does not carry over {error}"}}
            self.send(status, {**reported, "time": time.perf_counter() - started})

        do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815 - the names of http.server

        def result(self, path: str, body: bytes) -> Any:
            for method, pattern, kind, act in ROUTES:
                found = re.fullmatch(pattern, path)
                if found and method == self.command:
                    read = None if kind is None else TypeAdapter(kind).validate_python(json.loads(body))
                    return act(engine, found[1] if found.groups() else "", read)
            raise NotCarriedOverError(f"{self.command} {path}")

        def send(self, status: int, reported: Any) -> None:
            content = json.dumps(reported, default=_plain).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words: Any) -> None:
            """Quiet: the tests look at answers."""

    return Handler


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    arguments = parser.parse_args()
    engine = Engine(arguments.folder)
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), handler(engine, os.environ.get(KEY, "")))
    server.daemon_threads = True
    if certificate := os.environ.get(CERTIFICATE):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, os.environ[PRIVATE])
        # A connection's own thread shakes hands: who only looks whether the port is taken holds up nobody else.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(server.server_address[1], flush=True)
    server.serve_forever()
    engine.close()


if __name__ == "__main__":
    main()
