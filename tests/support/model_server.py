"""A language model for tests: ``tests/data/llm/replay.py`` in a process, which answers what a large model once wrote down."""

from __future__ import annotations

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data" / "llm"
COMPANY = sorted((DATA / "documents").glob("*.md"))
"""Documents of a company, which are annotated."""


@dataclass
class ModelServer:
    """A running server."""

    url: str
    log: Path
    process: subprocess.Popen[str]

    def calls(self, task: str = "") -> list[dict[str, Any]]:
        """Return the requests so far."""
        rows = [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [row for row in rows if not task or row["task"] == task]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(
    folder: Path, faults: dict[str, float] | None = None, *options: str, port: int = 0
) -> Iterator[ModelServer]:
    """Run a server with these faults (shares of requests) while the context is open."""
    log, asked = folder / "calls.ndjson", folder / "faults.json"
    asked.write_text(json.dumps(faults or {}))
    process = subprocess.Popen(
        [
            *(sys.executable, str(DATA / "replay.py"), "--port", str(port)),
            *("--log", str(log), "--faults", str(asked), *options),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield ModelServer(process.stdout.readline().strip(), log, process)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def answering(answer: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]) -> Iterator[str]:
    """Run a server that answers without a stream."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, said = answer(body)
            data = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def said(text: str, **message: str) -> tuple[int, dict[str, Any]]:
    """Return a whole answer with this text."""
    return 200, {"choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}]}
