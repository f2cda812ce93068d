"""The interface of an engine that runs the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgfs.models.contract import Extraction, Passage, Tokens


class Compute(Protocol):
    """The models behind calls that take and return plain data, in batches.

    Any number of threads may call. A call blocks for as long as the models need. Results depend on the arguments
    alone.
    """

    @property
    def tokens(self) -> Tokens: ...

    @property
    def extractor(self) -> str:
        """Return the name and version of the extractor, as ``name/version``."""
        ...

    @property
    def extractor_model(self) -> str: ...

    @property
    def prompt_hash(self) -> str: ...

    @property
    def billed(self) -> bool:
        """Tell whether a provider charges for each token that the extractor uses."""
        ...

    @property
    def takes_known(self) -> bool:
        """Tell whether the extractor reads the ``known`` concepts that it is given."""
        ...

    @property
    def embedding_model(self) -> str:
        """Return the name and hash of the embedding model.

        It is empty where no embedder is available; then ``embed`` must not be called.
        """
        ...

    @property
    def verbs(self) -> Callable[[str], bool] | None:
        """Return a function that tells whether a block of text contains a verb. None where no grammar is loaded."""
        ...

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        """Return the raw output for each passage, in the order of the passages."""
        ...

    def parse(self, raw: str) -> Extraction:
        """Parse a raw output. Raise BadInputError for an output that does not have the expected form."""
        ...

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """Return an array of shape (windows, dimensions) for each text, with rows of length 1."""
        ...

    def using(self, extractor: str) -> Compute:
        """Return the same engine with another extractor, which shares the loaded models with this one.

        ``extractor`` is a value that ``[models] extractor`` may have. Raises BadInputError for an unknown extractor
        and ModelMissingError where its model is not installed.
        """
        ...

    def notes(self) -> Sequence[str]:
        """Return messages for people: which models were found, which are missing, and what the absence means."""
        ...
