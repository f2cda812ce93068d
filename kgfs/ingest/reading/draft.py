"""Hold the data of a document while it is read, from its bytes to its Reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from kgfs.compute.contract import Compute
from kgfs.domain.documents import Document
from kgfs.domain.domains import Domains
from kgfs.domain.knowledge import FoundClaim, FoundConcept, FoundRelationship
from kgfs.domain.text import LONGEST_PROSE, Chunk, Text, Verdict
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.reading.embeddings import Labels, Windows
from kgfs.ingest.reading.gathered import Gathered
from kgfs.ingest.reading.records import Record
from kgfs.models.contract import Extraction
from kgfs.models.extractor.table import parts
from kgfs.settings import Pipeline
from kgfs.stores.garage.contract import Objects


class Report(Protocol):
    """Report progress of the document; raise LostLeaseError when this worker does not hold the job any more."""

    def __call__(self, stage: str, share: float) -> None: ...

    def again(self) -> None:
        """Repeat the last report if it is old. Quick."""
        ...


@dataclass(slots=True)
class Draft:
    """A document in work. The caller sets the first fields; each stage fills in the fields that later stages need."""

    document: Document
    filename: str
    earlier: Sequence[Document]
    """Documents whose Records and vectors may be reused for unchanged Sources."""
    objects: Objects
    compute: Compute
    settings: Pipeline
    clock: StageClock
    report: Report
    run: str = ""
    known: Sequence[str] = ()
    """Labels of existing concepts that are shown to the extractor."""
    domains: Domains = field(default_factory=dict)
    """The domains of the document's ontology; empty where none are set."""
    min_tokens: int = 20
    """Fewest words of a claim."""

    text: Text | None = None
    text_key: str = ""
    language: str = ""
    """The language of the document; empty before ``gate``, and where it has no prose."""
    chunks: list[Chunk] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    """By chunk index, for the Sources that passed the gate."""
    answers: dict[int, list[tuple[str, Extraction]]] = field(default_factory=dict)
    """What a language model answered, with the garage keys of its Records, by chunk index."""
    context: str = ""
    """What a language model says of the whole document; empty without one, and where it says what the text does not."""
    valid: Gathered = field(default_factory=Gathered)
    """What the Sources that passed the gate gave, in their order, grouped by concept."""
    packs: list[str] = field(default_factory=list)
    """Garage keys of the packs that contain the Records."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Number of items that validation refused, by reason."""
    concepts: tuple[FoundConcept, ...] = ()
    relationships: tuple[FoundRelationship, ...] = ()
    claims: tuple[FoundClaim, ...] = ()
    """In order of the Text, rejected ones included."""
    acronyms: tuple[tuple[str, str], ...] = ()
    """Keys of the acronyms that the Text introduces, and of their long forms."""
    windows: Windows = field(default_factory=list)
    labels: Labels = field(default_factory=dict)
    """Vectors of labels, by label."""
    vectors_key: str = ""

    @property
    def parsed(self) -> Text:
        """Return the Text. Call only after ``parse``."""
        assert self.text is not None, "the document is not parsed yet"
        return self.text

    @property
    def extractors(self) -> list[Compute]:
        """Return the extractors that answer: both halves of ``llm+grammar``, else the configured one."""
        names = parts(self.compute.extractor.partition("/")[0])
        return [self.compute.using(name) for name in names] if len(names) > 1 else [self.compute]

    @property
    def is_found_by_words_only(self) -> bool:
        """Return whether the Text is too long for concepts and vectors. Call only after ``parse``."""
        return len(self.parsed.text) > LONGEST_PROSE

    @property
    def passed(self) -> list[Chunk]:
        """Return the chunks that passed the gate, in order."""
        return [chunk for chunk, verdict in zip(self.chunks, self.verdicts, strict=True) if verdict.passed]

    @property
    def asked(self) -> list[Chunk]:
        """Return the chunks that a language model is asked about, in order: those that passed by more than being short."""
        return [chunk for chunk in self.passed if not self.verdicts[chunk.index].only_short]
