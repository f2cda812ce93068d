"""The interfaces of the models (Embedder, Tokens, Extractor) and the values that an extractor takes and returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgfs.domain.languages import ENGLISH


class Embedder(Protocol):
    """A model that turns texts into vectors.

    Any number of threads may call. The same text gives the same vectors, whichever texts are in the same batch.
    """

    @property
    def model(self) -> str:
        """Return the name and hash of the model, as Readings and vector rows record them."""
        ...

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        """Return the windows of each text as one array of shape (windows, dimensions), with rows of length 1.

        A text that is longer than the model's window gives several windows, which cover the text to its last token.
        An empty text gives one window.
        """
        ...


class Tokens(Protocol):
    """A counter of the tokens that a language model sees in a text. Any number of threads may call."""

    @property
    def name(self) -> str:
        """Return ``cl100k_base``, or the name of the estimate that replaces it where the vocabulary is missing."""
        ...

    def count(self, text: str) -> int: ...

    def counts(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Passage:
    """The input of an extractor for one Source."""

    title: str
    section_path: tuple[str, ...]
    text: str
    context: str = ""
    """The overlap before the Source. An extractor may use it to understand the text, and must not quote from it."""
    language: str = ENGLISH
    """As :mod:`kgfs.domain.languages` names it."""
    speakers: tuple[str, ...] = ()
    """The normalised names of those who speak in the document and are named in the Source."""
    date: str = ""
    """The date that the document gives itself, for a language model; such as ``2025-06-30``."""
    domains: tuple[str, ...] = ()
    """Names of the ontology's domains, for a language model."""


@dataclass(frozen=True, slots=True)
class RawQuote:
    """A quote as an extractor returns it, not yet validated.

    Offsets count characters of the passage's text; -1 means unknown. A model may return wrong offsets or paraphrase
    the text: validation detects both.
    """

    text: str
    start: int = -1
    end: int = -1
    defines: bool = False
    definition: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Signs:
    """What a passage shows of a candidate, for a choice among all candidates of the document."""

    whole: int = 0
    """The number of sentences in which it is a whole noun phrase."""
    subject: int = 0
    """The number of sentences of which it is the subject."""
    pointed: int = 0
    """The number of its mentions after this, that or a possessive."""
    heading: bool = False
    link: bool = False
    tag: bool = False
    strong: bool = False
    """Whether it is emphasised or a defined term."""
    record: bool = False
    """Whether it is a lone name in a record (a speaker's turn), where names are persons."""
    participle: bool = False
    """Whether it starts with a participle."""
    says: float = 0.0
    """The most that one of its sentences says of it (E of docs/knowledge.md)."""
    rank: int = 0
    """The background rank of its last word."""
    restricts: bool = False
    """Whether its first words restrict its last, so that by its name it is a kind of what that names."""
    code: bool = False
    """Whether it is marked up as code."""
    language: str = ""
    """The language by whose counts it was found; empty where it was found by the grammar of English."""
    plain: bool = False
    """Whether it begins with a common adjective, which says how a thing is and not which kind: "old roofs"."""
    anchor: bool = False
    """Whether it is the words of a link."""
    named: float = -1.0
    """Where a heading is its name: the share of the name's words that the text below says again. Else -1."""
    topic: bool = False
    """Whether the topic of an agenda, a decision or an action item names it."""
    role: bool = False
    """Whether the text states the person's role."""
    cell: bool = False
    """Whether it fills the cell of a row of a small table."""
    owns: int = 0
    """The number of action items that the person owns."""

    @property
    def structure(self) -> bool:
        """Return whether the writer marked it."""
        marked = self.heading or self.link or self.tag or self.strong or self.code or self.anchor
        return marked or self.topic or self.is_person or self.named >= 0

    @property
    def is_person(self) -> bool:
        """Return whether the document says what the person does: their role, or two action items."""
        return self.role or self.owns >= 2

    def __add__(self, other: Signs) -> Signs:
        return Signs(
            self.whole + other.whole,
            self.subject + other.subject,
            self.pointed + other.pointed,
            self.heading or other.heading,
            self.link or other.link,
            self.tag or other.tag,
            self.strong or other.strong,
            self.record and other.record,
            self.participle and other.participle,
            max(self.says, other.says),
            max(self.rank, other.rank),
            restricts=self.restricts and other.restricts,
            code=self.code or other.code,
            language=self.language or other.language,
            plain=self.plain and other.plain,
            anchor=self.anchor or other.anchor,
            named=max(self.named, other.named),
            topic=self.topic or other.topic,
            role=self.role or other.role,
            cell=self.cell or other.cell,
            owns=self.owns + other.owns,
        )


@dataclass(frozen=True, slots=True)
class RawConcept:
    label: str
    kind: str
    relevance: float
    """How much of the passage's meaning is about the concept, 0 to 1."""
    frequency: int
    quotes: tuple[RawQuote, ...]
    signs: Signs | None = None
    """None where the extractor has chosen the concepts itself."""
    aliases: tuple[str, ...] = ()
    """Other names, as a language model gives them."""
    description: str = ""
    """One sentence of a language model."""


@dataclass(frozen=True, slots=True)
class RawRelationship:
    subject: str
    type: str
    object: str
    quote: RawQuote
    confidence: float


@dataclass(frozen=True, slots=True)
class RawClaim:
    """A claim as a language model states it, not yet validated. All words are the model's own."""

    claim: str
    quote: RawQuote
    actor: str
    timeframe: str
    """A date or period as the document writes it, ``inferred`` or ``unknown``."""
    role: str
    domain: str = ""
    scope: str = ""
    authority: str = ""
    confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Extraction:
    """The parsed output of an extractor for one passage, not yet validated."""

    concepts: tuple[RawConcept, ...]
    relationships: tuple[RawRelationship, ...]
    leads: tuple[str, ...] = ()
    """The words before a colon that blocks of the passage begin with: speakers and fields."""
    claims: tuple[RawClaim, ...] = ()
    context: str = ""
    """What a language model says of the whole document."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """The number of items that the output has in no usable form, by reason."""


class Extractor(Protocol):
    """A model or a set of rules that finds concepts and relationships in passages.

    Extraction has two steps, ``extract`` and ``parse``, so that the exact output is stored before anything interprets
    it.
    """

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def model(self) -> str:
        """Return the models that made the output, with their versions or hashes."""
        ...

    @property
    def prompt_hash(self) -> str:
        """Return a hash of everything except the passage that shapes the output (a prompt, the version of the rules)."""
        ...

    @property
    def billed(self) -> bool:
        """Tell whether a language model is asked, which may charge for each token.

        The worker asks it before the document is read, and ``extract`` is not called.
        """
        ...

    @property
    def takes_known(self) -> bool:
        """Tell whether the extractor reads ``known``. If not, callers do not look up known concepts."""
        ...

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        """Return the raw output (JSON text) for each passage, in the order of the passages.

        ``known`` are labels of existing concepts.
        """
        ...

    def parse(self, raw: str) -> Extraction:
        """Parse a raw output. Raise BadInputError where the output does not have the expected form."""
        ...
