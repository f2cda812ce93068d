"""What an engine for heavy work promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgfs.models.contract import Extraction, Passage, Tokens


class Compute(Protocol):
    """Models behind calls that take and return plain data, in batches. Any number of threads may call; calls block for
    as long as the models need. Results depend on the arguments alone."""

    @property
    def tokens(self) -> Tokens: ...

    @property
    def extractor(self) -> str:
        """Name and version."""
        ...

    @property
    def extractor_model(self) -> str: ...

    @property
    def prompt_hash(self) -> str: ...

    @property
    def billed(self) -> bool:
        """Whether the extractor costs money by the token."""
        ...

    @property
    def takes_known(self) -> bool:
        """Whether the extractor looks at the ``known`` concepts it is shown."""
        ...

    @property
    def embedding_model(self) -> str:
        """Empty where no embedder is to be had; then ``embed`` must not be called."""
        ...

    @property
    def verbs(self) -> Callable[[str], bool] | None:
        """Whether a block of words has a verb; None where no grammar is loaded."""
        ...

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        """The raw output for each passage."""
        ...

    def parse(self, raw: str) -> Extraction:
        """BadInputError for an output that does not have its form."""
        ...

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """(windows, dimensions) for each text, rows of length 1."""
        ...

    def using(self, extractor: str) -> Compute:
        """The same engine with another extractor, one of those that ``[models] extractor`` may name; the models they
        share are loaded once. BadInputError for an unknown one, ModelMissingError if its model is not there."""
        ...

    def notes(self) -> Sequence[str]:
        """What people should know: which models were found, what is missing and what that means."""
        ...
