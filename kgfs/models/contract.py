"""What models promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


class Embedder(Protocol):
    """Any number of threads. The same text gives the same vectors, whatever it is embedded with."""

    @property
    def model(self) -> str:
        """Name and hash, as it stands in Readings and vector rows."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """For each text its windows, shape (windows, dimensions), rows of length 1. A text longer than the model's
        window becomes several that cover it to its last token; an empty text is one window."""
        ...


class Tokens(Protocol):
    """Counts what a passage is to a language model. Any number of threads."""

    @property
    def name(self) -> str:
        """``cl100k_base``, or what stands in for it where the vocabulary is missing."""
        ...

    def count(self, text: str) -> int: ...

    def counts(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Passage:
    """What an extractor sees of one Source."""

    title: str
    section_path: tuple[str, ...]
    text: str
    context: str = ""
    """The overlap before the Source: to understand by, never to quote from."""


@dataclass(frozen=True, slots=True)
class RawQuote:
    """A quote as an extractor gives it. Offsets count characters of the passage's text; a model may be wrong about
    them or paraphrase, validation finds out. -1 for unknown."""

    text: str
    start: int = -1
    end: int = -1
    defines: bool = False
    definition: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class RawConcept:
    label: str
    kind: str
    relevance: float
    """How much the passage is about it, 0 to 1."""
    frequency: int
    quotes: tuple[RawQuote, ...]


@dataclass(frozen=True, slots=True)
class RawRelationship:
    subject: str
    type: str
    object: str
    quote: RawQuote
    confidence: float


@dataclass(frozen=True, slots=True)
class Extraction:
    """An extractor's word on one passage, understood but not yet validated."""

    concepts: tuple[RawConcept, ...]
    relationships: tuple[RawRelationship, ...]


class Extractor(Protocol):
    """Two steps, so that the exact output is kept before anything looks at it."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def model(self) -> str:
        """What did the work, with versions or hashes."""
        ...

    @property
    def prompt_hash(self) -> str:
        """Of everything but the passage that shapes the output (a prompt, the rules' version)."""
        ...

    @property
    def billed(self) -> bool:
        """Whether somebody takes money for each token; then a plan states the cost."""
        ...

    @property
    def takes_known(self) -> bool:
        """Whether it looks at ``known``; else none are looked for."""
        ...

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        """The raw output (JSON text) for each passage, in order. ``known`` are labels of existing concepts."""
        ...

    def parse(self, raw: str) -> Extraction:
        """BadInputError where the output does not have the form it should have."""
        ...
