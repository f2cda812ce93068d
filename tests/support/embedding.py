"""A home that is read by embedding model ``one``, and others for it to go over to."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter
from tests.support.working import TEXT, Counting

TEXTS = {"a": TEXT, "b": "A tracing algorithm visits reachable objects. Reachable objects stay.", "c": TEXT + " Zen."}
Keyed = dict[tuple[str, str, int], list[float]]
"""Vectors by kind, item and window."""


@dataclass
class Embedding(Counting):
    """A text has one window, of a length of the model's own, and is near to itself alone."""

    model: str = "one"
    embedded: list[str] = field(default_factory=list)

    @property
    def embedding_model(self) -> str:
        return self.model

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        self.embedded += texts
        return [self._vector_of(text) for text in texts]

    def _vector_of(self, text: str) -> npt.NDArray[np.float32]:
        raw = np.frombuffer(hashlib.sha512(f"{self.model} {text}".encode()).digest(), np.uint8)
        vector = raw[: 32 if self.model == "one" else 48].astype(np.float32) - 127
        return (vector / np.linalg.norm(vector))[np.newaxis]


def keyed(stores: Stores) -> Keyed:
    assert stores.vectors is not None
    found = stores.vectors.fetch(Filter())
    return {(row.kind, row.item, row.window): np.round(row.vector, 5).tolist() for row in found}
