"""The engine in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from kgfs.config import Models
from kgfs.models.contract import Extraction, Passage, Tokens
from kgfs.models.selection import Selection, select


class LocalCompute:
    """See ``Compute``. Loads its models when it is made. They take turns where they must, so one document's grammar and
    another's embeddings are worked out at the same time."""

    def __init__(self, settings: Models) -> None:
        self._selection: Selection = select(settings)

    @property
    def tokens(self) -> Tokens:
        return self._selection.tokens

    @property
    def extractor(self) -> str:
        return f"{self._selection.extractor.name}/{self._selection.extractor.version}"

    @property
    def extractor_model(self) -> str:
        return self._selection.extractor.model

    @property
    def prompt_hash(self) -> str:
        return self._selection.extractor.prompt_hash

    @property
    def embedding_model(self) -> str:
        return self._selection.embedder.model if self._selection.embedder else ""

    @property
    def verbs(self) -> Callable[[str], bool] | None:
        return self._selection.verbs

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        return self._selection.extractor.extract(passages, known)

    def parse(self, raw: str) -> Extraction:
        return self._selection.extractor.parse(raw)

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        if self._selection.embedder is None:
            raise AssertionError("embed() was called though embedding_model is empty")
        return self._selection.embedder.embed(texts)

    def notes(self) -> Sequence[str]:
        return self._selection.notes
