"""The vocabulary of a graph: what it is given, what it tells. Offsets and lines count as in ``kgfs.domain.text``; times are Unix
times in nanoseconds where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgfs.domain.knowledge import Mention


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class DocumentRow:
    """A document as it is published. A store in a file has columns for more (e-mail, attachments, hierarchy), which stay empty."""

    doc_id: str
    ontology: str
    source_id: str
    content_hash: str
    garage_key: str
    original_filename: str
    size_bytes: int
    chunk_count: int
    ingested_at: int
    deposit: int
    source_title: str
    source_uri: str
    document_type: str
    """The media type."""
    text_sha256: str
    content_length: int
    """Characters of the Text."""
    reading: str
    ingest_version: int
    content_version: int = 1
    status: str = "done"
    text_md_size: int = 0
    """Size of ``text/<path>.md`` without the path shown in it."""


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class SourceRow:
    """One of its Sources, with its place in the Text in characters, lines and bytes."""

    doc_id: str
    chunk_index: int
    chunk_id: str
    full_text: str
    """Exactly ``text[char_start:char_end]``."""
    char_start: int
    char_end: int
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    section_path: tuple[str, ...]
    chunk_method: str
    overlap_chars: int
    tokens: int
    gated: str = ""
    """The gate's reason; '' when it passed."""
    page_number: int | None = None
    paragraph: int | None = None
    context_summary: str = ""
    embedding_text: str = ""
    """Of both columns nothing is made yet."""


@dataclass(frozen=True, slots=True)
class ConceptRow:
    """A concept as this publication speaks of it; new ones are made, known ones gain the mention."""

    concept_id: str
    ontology: str
    norm: str
    """The normalised label it was founded with."""
    name: str
    """Its directory's name without ``.concept``, decided when it was founded; ignored for a known concept."""
    mention: Mention


@dataclass(frozen=True, slots=True)
class RelationshipRow:
    relationship_id: str
    ontology: str
    subject: str
    type: str
    object: str


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class InstanceRow:
    """A quote that is evidence for a concept or a relationship."""

    instance_id: str
    owner: str
    """A concept id or a relationship id."""
    owner_kind: str
    """``concept`` or ``relationship``."""
    n: int
    """The number of its evidence folder: decided once, never used again for another thing."""
    doc_id: str
    chunk_index: int
    chunk_id: str
    quote: str
    char_start: int
    char_end: int
    byte_start: int
    byte_end: int
    line_start: int
    line_end: int
    section_path: tuple[str, ...]
    page: int | None
    defines: bool
    confidence: float
    source_size: int
    """Bytes of ``source.txt`` without path, note and marks: ``render.source.base_size``."""
    citation_size: int
    """Nobody's business yet, 0: ``citation.json`` is rendered to be sized."""
    mtime: int


@dataclass(frozen=True, slots=True)
class Batch:
    """One bounded piece of a preparation."""

    sources: Sequence[SourceRow] = ()
    instances: Sequence[InstanceRow] = ()


@dataclass(frozen=True, slots=True)
class Publication:
    commit_id: str
    document: DocumentRow
    concepts: Sequence[ConceptRow]
    relationships: Sequence[RelationshipRow]
    supersedes: Sequence[str]
    """Documents that leave in the same transaction (with cascade=orphans)."""
    at: int


@dataclass(frozen=True, slots=True)
class Said:
    """All that a document says of concepts, with all its evidence. Its Sources are not among it. Its mentions have the
    deposit that the document is shown with."""

    doc_id: str
    concepts: Sequence[ConceptRow]
    relationships: Sequence[RelationshipRow]
    instances: Sequence[InstanceRow]


@dataclass(frozen=True, slots=True)
class Mark:
    """A person's word on the concept that mentions under one label are, or are not."""

    mark: str
    """``concept_id_of(scope, norm)``, so that it holds no word of a text: for the mentions with that normalised label, in
    the ontology whose id is the scope, or in documents with the ``source_id`` that is. An empty norm stands for all."""
    ontology: str
    concept_id: str
    joined: bool
    """They are this concept; else they never are."""
    name: str = ""
    """Its directory's name, '' where that is hidden: told by reads, ignored by writes."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What is known of purged documents' part in the graph: ids (which are hashes), hashes, numbers and times, no word."""

    names: tuple[tuple[str, str, str], ...]
    """(concept id, ontology, what stands for its directory name) of concepts that are dead."""
    numbers: tuple[tuple[str, int], ...]
    """(concept id, the highest number of evidence ever used)."""
    relationships: tuple[tuple[str, str, str, str, str, int, int], ...]
    """(id, ontology, subject, type, object, the highest number ever used, mtime)."""
    concept_times: tuple[tuple[str, int], ...]
    """(concept id, mtime) of living concepts whose page the documents changed."""
    changed_at: tuple[tuple[str, int], ...]
    """(ontology, when it was last changed)."""


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class Concept:
    """A living concept. Label, aliases and description come from its surviving mentions alone."""

    concept_id: str
    ontology: str
    norm: str
    name: str
    label: str
    aliases: tuple[str, ...]
    description: str
    kind: str
    evidence: int
    """How many pieces of evidence live."""
    related: int
    """How many relationships live, in both directions."""
    size: int
    """Bytes of ``concept.md``."""
    mtime: int
    """When ``concept.md`` last changed."""


@dataclass(frozen=True, slots=True)
class Related:
    """A relationship as seen from one of its concepts."""

    relationship_id: str
    type: str
    """The inverse type when the concept looked from is the object."""
    name: str
    """The other concept's directory name without ``.concept``."""
    concept_id: str
    """The other concept."""
    label: str
    incoming: bool
    confidence: float
    """The highest of its living evidence."""
    mtime: int


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that appeared, changed or left in a derived directory."""

    epoch: int
    what: str
    """added, changed, removed."""
    kind: str
    """document (owner: ontology id, name: doc_id), concept (owner: ontology id, name: directory name), evidence (owner:
    concept or relationship id, name: the number), related (owner: concept id, name: ``<type>/<name>``)."""
    ontology: str
    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Scope:
    """Which mentions count while a document is matched: those of documents deposited at ``since`` or later, but for
    those of the document ``but``."""

    since: int = 0
    but: str = ""


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows that do not fit together; no store makes such."""

    what: str
    """``words`` where the full-text index lacks a Source or has one too many; else what is dangling."""
    row: str
    """Which, for people."""
    doc_id: str = ""
