"""A machine's instance, as clouds have it: what runs there asks it for keys, by the second version of the metadata protocol."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from minio.credentials.credentials import Credentials

ROLE = "garage-keeper"
_KEYS = "/latest/meta-data/iam/security-credentials/"


class Instance:
    """What it gives, and how often it was asked."""

    def __init__(self) -> None:
        self.given = 0
        self._token = secrets.token_hex(16)
        self._keys: dict[str, str] = {}
        self.endpoint = ""

    def give(self, keys: Credentials, seconds: float) -> None:
        """From now on, as good for so long."""
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        self._keys = {
            "Code": "Success",
            "Type": "AWS-HMAC",
            "AccessKeyId": keys.access_key,
            "SecretAccessKey": keys.secret_key,
            "Token": keys.session_token or "",
            "Expiration": until.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }

    def take_away(self) -> None:
        """The instance may do nothing any more."""
        self._keys = {}

    def answer(self, method: str, path: str, asking: BaseHTTPRequestHandler) -> tuple[int, str]:
        if (method, path) == ("PUT", "/latest/api/token"):
            return (200, self._token) if "X-aws-ec2-metadata-token-ttl-seconds" in asking.headers else (400, "")
        if asking.headers.get("X-aws-ec2-metadata-token") != self._token:
            return 401, ""
        if not self._keys:
            return 404, ""
        if path == _KEYS:
            return 200, ROLE
        if path == _KEYS + ROLE:
            self.given += 1
            return 200, json.dumps(self._keys)
        return 404, ""


@contextmanager
def instance() -> Iterator[Instance]:
    found = Instance()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = found.answer(self.command, self.path, self)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_PUT = do_GET  # noqa: N815 - the parent's way

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        found.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
