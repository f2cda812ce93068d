"""Models that score documents for a query together: a server with ``POST /v1/rerank``, or a local cross-encoder.

Neither is installed with kgfs. Where the settings name one it is used, else nothing is ranked again.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from kgfs.errors import ModelMissingError, StoreError, TimedOutError, UnavailableError
from kgfs.settings import Models, key_in

LONGEST_ANSWER = 64 << 20
"""Bytes of an answer of a server."""


class Reranker(Protocol):
    """A model that scores documents for a query. Any number of threads may call."""

    @property
    def name(self) -> str: ...

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the score of each document, in order; higher is better.

        Raise UnavailableError or TimedOutError where a server is away, and StoreError where its answer is none.
        """
        ...


def load(models: Models) -> Reranker | None:
    """Return the reranker that the settings name; None where they name none. Ask no server yet.

    Raise BadInputError for a setting that cannot be used, and ModelMissingError where the local model cannot be loaded.
    """
    if models.rerank_url:
        key = key_in(models.rerank_key_file, "models.rerank_key_file") if models.rerank_key_file else ""
        return ServerReranker(models.rerank_url, models.rerank_model, key, models.rerank_timeout)
    return CrossEncoder(Path(models.rerank_path).expanduser()) if models.rerank_path else None


class ServerReranker:
    """A server that takes a query and documents, and answers ``results`` of ``index`` and ``relevance_score``."""

    def __init__(self, url: str, model: str, key: str, timeout: float) -> None:
        self._url = urlsplit(url)
        self._model = model
        self._key = key
        self._timeout = timeout

    @property
    def name(self) -> str:
        return f"{self._model or 'rerank'}@{self._url.hostname}"

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        if not documents:
            return []
        body: dict[str, Any] = {"query": query, "documents": list(documents)}
        if self._model:
            body["model"] = self._model
        found = self._ask(json.dumps(body).encode())
        scores: dict[int, float] = {}
        try:
            for result in found["results"]:
                scores[int(result["index"])] = float(result["relevance_score"])
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"{self.name}: the answer has not the form of /v1/rerank ({error}).") from error
        missing = [at for at in range(len(documents)) if at not in scores]
        if missing:
            raise StoreError(f"{self.name}: {len(missing)} of {len(documents)} documents were not scored.")
        return [scores[at] for at in range(len(documents))]

    def _ask(self, body: bytes) -> Any:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=self._timeout)
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {self._key}"} if self._key else {})
        path = self._url.path.rstrip("/").removesuffix("/v1/rerank").removesuffix("/v1") + "/v1/rerank"
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            received = answer.read(LONGEST_ANSWER + 1)
        except TimeoutError as error:
            raise TimedOutError(f"{self.name} did not answer within {self._timeout:g} seconds.") from error
        except (OSError, http.client.HTTPException, socket.gaierror) as error:
            raise UnavailableError(f"{self.name} cannot be asked: {error}. models.rerank_url names it.") from error
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise UnavailableError(f"{self.name} answered {answer.status}: {received[:200].decode('utf-8', 'replace')}")
        if len(received) > LONGEST_ANSWER:
            raise StoreError(f"{self.name}: the answer is longer than {LONGEST_ANSWER:,} bytes.")
        try:
            return json.loads(received)
        except ValueError as error:
            raise StoreError(f"{self.name}: the answer is no JSON: {received[:100]!r}.") from error


class CrossEncoder:
    """A local cross-encoder: a folder with ``model.onnx`` and ``tokenizer.json``."""

    LONGEST = 512
    """Tokens of query and document together. A longer document is scored in windows, by its best one."""

    def __init__(self, folder: Path) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        except ImportError as error:
            raise ModelMissingError(
                f"{error.name} is not installed. Get it with: pip install 'kgfs[models]'"
            ) from error
        except Exception as error:
            raise ModelMissingError(
                f"models.rerank_path: {folder} has no cross-encoder that can be loaded: {error}"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._inputs = [one.name for one in self._session.get_inputs()]
        self._folder = folder

    @property
    def name(self) -> str:
        return self._folder.name

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        return [max(self._score(query, window) for window in self._windows(query, document)) for document in documents]

    def _windows(self, query: str, document: str) -> list[str]:
        """Return pieces that cover the document, each of which fits beside the query."""
        room = max(64, self.LONGEST - len(self._tokenizer.encode(query, add_special_tokens=False).ids) - 4)
        offsets = self._tokenizer.encode(document, add_special_tokens=False).offsets
        starts = [offsets[at][0] for at in range(0, len(offsets), room)] or [0]
        return [document[start:end] for start, end in zip(starts, [*starts[1:], len(document)], strict=True)]

    def _score(self, query: str, text: str) -> float:
        import numpy as np

        encoded = self._tokenizer.encode(query, text)
        rows = {"input_ids": encoded.ids, "attention_mask": encoded.attention_mask, "token_type_ids": encoded.type_ids}
        feed = {name: np.array([rows[name]], np.int64) for name in self._inputs if name in rows}
        logits = np.asarray(self._session.run(None, feed)[0], np.float64).ravel()
        return float(logits[-1])
