"""What a search found is ranked again by a server. The server here is a stub: it scores by the number of a word."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kgfs.app import api
from kgfs.config import Config
from kgfs.errors import BadInputError, KgfsError, ModelMissingError, StoreError, UnavailableError
from kgfs.models.reranker import load
from kgfs.settings import Models
from tests.support.library import library_at


@contextmanager
def stub(answer: Any = None, status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Its address, and the requests that it got, their headers included."""
    asked: list[dict[str, Any]] = []

    class Stub(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body | {"path": self.path, "key": self.headers.get("Authorization")})
            scores = [{"index": at, "relevance_score": text.count("monk")} for at, text in enumerate(body["documents"])]
            reported = json.dumps(answer if answer is not None else {"results": scores[::-1]}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(reported)))
            self.end_headers()
            self.wfile.write(reported)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def config(tmp_path: Path) -> Iterator[Config]:
    with library_at(tmp_path / "home") as library:
        library.add("Tea/documents/a.txt", b"Tea, tea, tea and a monk.\n", {})
        library.add("Tea/documents/b.txt", b"A monk, a monk and tea.\n", {})
        library.add("Tea/documents/c.txt", b"Tea.\n", {})
        yield library.context.config


def ranking(config: Config, **models: Any) -> Config:
    return replace(config, models=Models(embedder="none", **models))


def test_a_server_ranks_what_was_found_again(config: Config, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret\n")
    with stub() as (url, asked):
        chosen = ranking(config, rerank_url=f"{url}/v1", rerank_model="m", rerank_key_file=str(tmp_path / "key"))
        found = api.search(chosen, "tea", limit=2, rerank=True)
        second = api.search(chosen, "tea", limit=2, page=2, rerank=True)
    assert [one.path for one in found.documents] == ["documents/b.txt", "documents/a.txt"]
    assert [(one.path, one.rank) for one in second.documents] == [("documents/c.txt", 3)]
    assert found.pagination.has_next and not second.pagination.has_next
    first = asked[0]
    assert (first["path"], first["query"], first["model"], first["key"]) == ("/v1/rerank", "tea", "m", "Bearer secret")
    assert "A monk, a monk and tea.\n" in first["documents"]


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        ({"results": [{"index": 0, "relevance_score": 1}]}, 200, StoreError),
        ({}, 200, StoreError),
        ({}, 503, UnavailableError),
    ],
)
def test_a_server_that_does_not_rank_is_told_of(
    config: Config, answer: Any, status: int, error: type[KgfsError]
) -> None:
    with stub(answer, status) as (url, _), pytest.raises(error):
        api.search(ranking(config, rerank_url=url), "tea", rerank=True)


def test_what_cannot_be_used_is_refused(config: Config, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"models\.rerank_url"):
        api.search(config, "tea", rerank=True)
    with pytest.raises(UnavailableError):
        api.search(ranking(config, rerank_url="http://127.0.0.1:1"), "tea", rerank=True)
    with pytest.raises(ModelMissingError):
        load(Models(rerank_path=str(tmp_path)))
    for wrong in ({"rerank_url": "ftp://x"}, {"rerank_url": "http://x", "rerank_path": "y"}, {"rerank_timeout": 0}):
        with pytest.raises(BadInputError):
            Models(**wrong)  # type: ignore[arg-type]


def test_windows_by_api(config: Config) -> None:
    text = "Rice.\n\n" * 9000 + "Monks drink tea.\n"
    (cut,) = api.prepare_for_reranking(config, "monks", [api.Content("x", text)])
    assert cut.is_truncated and cut.full_token_count > 8000 and cut.text.endswith("Monks drink tea.\n")
    (told,) = api.prepare_for_contradiction_check(config, "monks drink tea", [api.Content("x", text)])
    assert "Monks drink tea." in {one.text.strip() for one in told.relevant_sections} and told.section_count == 5
