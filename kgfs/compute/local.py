"""The Compute of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgfs.config import Config
from kgfs.models.contract import Extraction, Passage, Tokens
from kgfs.models.selection import Selection, select
from kgfs.settings import Llm, Models


class LocalCompute:
    """Models that run in this process. See ``Compute``.

    The constructor loads the models. Each model serializes its calls where it must, so one document's grammar and
    another document's embeddings are computed at the same time.
    """

    def __init__(
        self,
        settings: Models,
        selection: Selection | None = None,
        in_use: str = "",
        llm: Llm | None = None,
        prompts: Path | None = None,
    ) -> None:
        self._settings, self._llm, self._prompts = settings, llm, prompts
        self._selection: Selection = selection or select(settings, in_use=in_use, llm=llm, prompts=prompts)
        self._others: dict[str, LocalCompute] = {}
        self._choosing = threading.Lock()

    @classmethod
    def of(cls, config: Config, in_use: str = "", **models: Any) -> LocalCompute:
        """Load the models of a home. ``models`` are settings of ``[models]`` that differ from its own."""
        return cls(replace(config.models, **models), in_use=in_use, llm=config.llm, prompts=config.prompts)

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
    def billed(self) -> bool:
        return self._selection.extractor.billed

    @property
    def takes_known(self) -> bool:
        return self._selection.extractor.takes_known

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

    def using(self, extractor: str) -> LocalCompute:
        if extractor == self._settings.extractor:
            return self
        with self._choosing:
            if extractor not in self._others:
                settings = replace(self._settings, extractor=extractor)
                chosen = select(settings, self._selection, llm=self._llm, prompts=self._prompts)
                self._others[extractor] = LocalCompute(settings, chosen, llm=self._llm, prompts=self._prompts)
            return self._others[extractor]

    def notes(self) -> Sequence[str]:
        return self._selection.notes
