"""Models whose answers are kept in a file, so that rules can be tried again and again without waiting for the models."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kgfs.models.embedder import MiniLM
from kgfs.models.grammar import English, pieces_of

if TYPE_CHECKING:
    from spacy.tokens import Doc


class Answers:
    """Answers of models, by model and question, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._sql = sqlite3.connect(path, isolation_level=None)
        self._sql.execute("PRAGMA synchronous = OFF")
        self._sql.execute("CREATE TABLE IF NOT EXISTS answer (question TEXT PRIMARY KEY, answer BLOB) WITHOUT ROWID")

    def get(self, question: str) -> bytes | None:
        row = self._sql.execute("SELECT answer FROM answer WHERE question = ?", (question,)).fetchone()
        return bytes(row[0]) if row else None

    def put(self, rows: Iterable[tuple[str, bytes]]) -> None:
        self._sql.execute("BEGIN")
        self._sql.executemany("INSERT OR REPLACE INTO answer VALUES (?, ?)", rows)
        self._sql.execute("COMMIT")


class KeptEnglish(English):
    """The grammar, with the parsed texts kept."""

    def __init__(self, answers: Answers) -> None:
        super().__init__()
        self._answers = answers

    def read(self, texts: Sequence[str]) -> list[list[tuple[int, Doc]]]:
        from spacy.tokens import Doc

        marks = {text: _mark(self.model, text) for text in texts}
        known = {text: found for text, mark in marks.items() if (found := self._answers.get(mark)) is not None}
        missing = [text for text in marks if text not in known]
        short = [text for text in missing if len(pieces_of(text)) == 1]
        parsed = dict(zip(missing, super().read(missing), strict=True)) if missing else {}
        self._answers.put((marks[text], parsed[text][0][1].to_bytes()) for text in short)
        vocabulary = self._pipeline.vocab
        for text, found in known.items():
            parsed[text] = [(0, Doc(vocabulary).from_bytes(found))]
        return [parsed[text] for text in texts]

    def has_verb(self, text: str) -> bool:
        mark = _mark(f"{self.model} verb", text)
        known = self._answers.get(mark)
        if known is None:
            known = b"1" if super().has_verb(text) else b""
            self._answers.put([(mark, known)])
        return bool(known)


class KeptVectors:
    """An Embedder that keeps the windows of each text."""

    def __init__(self, answers: Answers) -> None:
        self._model = MiniLM(quantised=True)
        self.model, self.dimensions = self._model.model, self._model.dimensions
        self._answers = answers

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        marks = {text: _mark(self.model, text) for text in texts}
        known = {text: found for text, mark in marks.items() if (found := self._answers.get(mark)) is not None}
        missing = [text for text in marks if text not in known]
        made = dict(zip(missing, self._model.embed(missing), strict=True)) if missing else {}
        self._answers.put((marks[text], made[text].astype(np.float32).tobytes()) for text in missing)
        rows = {text: np.frombuffer(found, np.float32).reshape(-1, self.dimensions) for text, found in known.items()}
        return [rows[text] if text in rows else made[text] for text in texts]


def _mark(model: str, text: str) -> str:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()
