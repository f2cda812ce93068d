"""The data types that a graph accepts and returns. Offsets and lines count as in ``kgfs.domain.text``. Times are
Unix times in nanoseconds unless stated otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgfs.domain.knowledge import Mention
from kgfs.domain.places import Locator, locate

TEXT_ONLY = "text"
"""The status of a document of which only its text is shown so far."""


@dataclass(slots=True, unsafe_hash=True)  # constructing a frozen one takes many times as long
class DocumentRow:
    """A document as it is published. The table of a file store has further columns (e-mail, attachments,
    hierarchy), which stay empty."""

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
    """The number of characters of the Text."""
    reading: str
    ingest_version: int
    content_version: int = 1
    status: str = "done"
    """done, gated, or :data:`TEXT_ONLY`."""
    text_md_size: int = 0
    """Bytes of ``text/<path>.md``, without the path that is shown in it."""
    pages: int = 0
    """Pages, slides, sheets, messages or cells; 0 where the format has none."""
    language: str = ""
    """The code of its language; empty if it has no prose."""
    dimensions: str = ""
    """Width and height of a picture in pixels, such as ``1920x1080``; empty for all else."""
    guessed_encoding: str = ""
    """The name of its encoding where that was guessed; empty where it is known."""


@dataclass(frozen=True, slots=True)
class EarlierText:
    """The Text of a document that left the graph, as the graph showed it last."""

    reading: str
    size: int
    """Its bytes as UTF-8."""
    is_original: bool
    """Whether the original's bytes are the Text as UTF-8."""


@dataclass(slots=True, unsafe_hash=True)  # constructing a frozen one takes many times as long
class SourceRow:
    """A Source of a document, with its position in the Text in characters, lines and bytes."""

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
    """The reason why the gate rejected the Source; '' when it passed."""
    page_number: int | None = None
    paragraph: int | None = None
    context_summary: str = ""
    """What its document is: by a language model, else by rules from title, section, type and date [CITE 4]."""
    embedding_text: str = ""
    """What of the Source was embedded. The graph stores it only where it is more than ``full_text``; '' for a gated Source."""
    metadata: str = "{}"
    """A JSON object. ``places`` has where in the original the Source's characters are (:mod:`kgfs.domain.places`); ``gate`` of the
    first Source has what the gate says of all blocks of the document, as ``judged_blocks``."""

    def locator(self, position: int) -> Locator:
        """Return the page, slide, row, message or cell of a position in the Text; empty if there are none, or the Source was
        read before they were noted and its page is not known."""
        places = [(at, place) for at, place in json.loads(self.metadata).get("places", ())]
        if places:
            return locate(self.full_text, places, position - self.char_start)
        return {"page": self.page_number} if self.page_number is not None else {}


@dataclass(frozen=True, slots=True)
class ConceptRow:
    """A concept with one mention of it in this publication. An unknown concept is created; a known one gains the
    mention."""

    concept_id: str
    ontology: str
    norm: str
    """The normalised label that the concept was founded with."""
    name: str
    """The concept's directory name without ``.concept``, decided when the concept was founded; ignored for a known
    concept."""
    mention: Mention


@dataclass(frozen=True, slots=True)
class RelationshipRow:
    """A typed relationship between two concepts, given by their ids."""

    relationship_id: str
    ontology: str
    subject: str
    type: str
    object: str


@dataclass(slots=True, unsafe_hash=True)  # constructing a frozen one takes many times as long
class InstanceRow:
    """A quote that is evidence for a concept or a relationship."""

    instance_id: str
    owner: str
    """A concept id or a relationship id."""
    owner_kind: str
    """``concept`` or ``relationship``."""
    n: int
    """The number of the evidence folder: decided once, and never used again for other evidence of the owner."""
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
    """Always 0, not used yet: ``citation.json`` is rendered to learn its size."""
    mtime: int
    locator: str = ""
    """Where in the original the quote stands (page, slide, sheet and row …), as a JSON object; '' if unknown."""


@dataclass(frozen=True, slots=True)
class NamedRow:
    """The places at which a document names one concept, living or not."""

    owner: str
    """The concept's id."""
    matched: bool
    """Whether the document has the concept itself. Else only the ontology had it when the document was published."""
    places: tuple[tuple[int, int, int, int], ...]
    """(line, first character, character after the last, chunk index) of each, in order of the Text."""


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """What could be looked up in a document, with the first place of it."""

    key: str
    """``domain.forms.form_key`` of its words."""
    label: str
    """The words at its first place."""
    heading: bool
    """Whether it is a whole heading."""
    count: int
    line_start: int
    char_start: int
    char_end: int


@dataclass(slots=True, unsafe_hash=True)  # constructing a frozen one takes many times as long
class ClaimRow:
    """One piece of evidence of a claim: what one document says, with the place of its quote. The fields from ``claim`` to
    ``rejected`` are those of ``domain.knowledge.FoundClaim``."""

    doc_id: str
    ordinal: int
    """Its place among the document's claims."""
    claim_id: str
    """Empty where validation refused the claim."""
    claim: str
    role: str
    domain: str
    actor: str
    actor_class: str
    timeframe: str
    timeframe_class: str
    time_horizon: str
    scope: str
    authority: str
    confidence: float
    added: tuple[str, ...] = ()
    rejected: str = ""
    chunk_index: int = -1
    """-1 where the quote was not found: then it is empty, and so are the fields from here on."""
    chunk_id: str = ""
    quote: str = ""
    char_start: int = 0
    char_end: int = 0
    byte_start: int = 0
    byte_end: int = 0
    line_start: int = 0
    line_end: int = 0
    section_path: tuple[str, ...] = ()
    page: int | None = None
    locator: str = ""
    """As that of an InstanceRow."""
    vector: bytes = b""
    """That of the claim, of length 1, as numbers of two bytes; empty where no model was there."""
    vector_model: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A living claim, as the document with the earliest deposit says it."""

    shown: ClaimRow
    evidence: int
    """The number of its pieces of evidence."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """What the graph stores of a concept's ``mentions.tsv``."""

    places: int
    size: int
    """Bytes of its lines, without the header."""
    mtime: int


@dataclass(frozen=True, slots=True)
class Batch:
    """One bounded part of the rows to be staged."""

    sources: Sequence[SourceRow] = ()
    rows: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Rows of kinds (``graph.kinds``) by table. Stage them after the Sources in which their places are."""
    document: DocumentRow | None = None
    """The document, from which columns of these rows are filled."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Everything that one commit publishes of a document besides the rows staged before."""

    commit_id: str
    document: DocumentRow
    concepts: Sequence[ConceptRow]
    relationships: Sequence[RelationshipRow]
    supersedes: Sequence[str]
    """Ids of documents that leave in the same transaction (with cascade=orphans)."""
    at: int
    deposited_at: int = 0
    """When the document was deposited; 0 where that is not known."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Columns of the hierarchy and of mails, as far as they are not empty."""
    hides: Sequence[str] = ()
    """Ids of documents whose text is not found for as long as this edition is shown. Their evidence stays."""


@dataclass(frozen=True, slots=True)
class DocumentContent:
    """All that a document says of concepts, with all its evidence, but without its Sources. The mentions have the
    deposit number with which the document is shown."""

    doc_id: str
    concepts: Sequence[ConceptRow]
    relationships: Sequence[RelationshipRow]
    instances: Sequence[InstanceRow]
    rows: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Rows of kinds by table, as far as they tell of concepts that the document has, or that are looked for in it: of a
    concept that it only names, a row without places stands for none."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A person's statement that mentions under one label are, or are not, a certain concept."""

    mark: str
    """``concept_id_of(scope, norm)``, a hash, so that it contains no word of a text. It stands for the mentions
    with that normalised label in the ontology whose id is ``scope``, or in documents whose ``source_id`` is
    ``scope``. An empty norm stands for all labels."""
    ontology: str
    concept_id: str
    joined: bool
    """True: the mentions are this concept. False: they never are."""
    name: str = ""
    """The concept's directory name, '' where it is hidden. Reads fill it; writes ignore it."""


@dataclass(frozen=True, slots=True)
class Introduced:
    """An acronym that living documents introduce: the keys of its short and long form."""

    short: str
    long: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Joining:
    """Two concepts that were joined because documents introduce the one's name as the acronym of the other's."""

    younger: str
    """The id of the concept whose mentions went to the other."""
    older: str
    ontology: str
    short: str
    """``norm_hash`` of the key of the acronym, so that it contains no word of a text."""
    long: str
    own: str
    """That of ``short`` and ``long`` by which the younger concept was found."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The remaining record of the part of purged documents in the graph. It holds ids (which are hashes), hashes,
    numbers and times, and no words of a text."""

    names: tuple[tuple[str, str, str], ...]
    """(concept id, ontology, hash in place of the directory name) of dead concepts."""
    numbers: tuple[tuple[str, int], ...]
    """(concept id, the highest evidence number ever used)."""
    relationships: tuple[tuple[str, str, str, str, str, int, int], ...]
    """(id, ontology, subject, type, object, the highest evidence number ever used, mtime)."""
    concept_times: tuple[tuple[str, int], ...]
    """(concept id, mtime) of living concepts whose page was changed by the documents."""
    changed_at: tuple[tuple[str, int], ...]
    """(ontology, time of its last change)."""
    named_times: tuple[tuple[str, int], ...] = ()
    """(concept id, mtime of ``mentions.tsv``) of living concepts that the documents named."""


@dataclass(slots=True, unsafe_hash=True)  # constructing a frozen one takes many times as long
class Concept:
    """A living concept. Label, aliases and description are computed from its surviving mentions alone."""

    concept_id: str
    ontology: str
    norm: str
    name: str
    label: str
    aliases: tuple[str, ...]
    description: str
    kind: str
    evidence: int
    """The number of living pieces of evidence."""
    related: int
    """The number of living relationships, in both directions."""
    size: int
    """Bytes of ``concept.md`` with the ontology's id in place of its name."""
    mtime: int
    """The time of the last change of ``concept.md``."""


@dataclass(frozen=True, slots=True)
class Related:
    """A relationship as seen from one of its two concepts."""

    relationship_id: str
    type: str
    """The inverse type if the concept on this side is the object."""
    name: str
    """The other concept's directory name without ``.concept``."""
    concept_id: str
    """The id of the other concept."""
    label: str
    incoming: bool
    confidence: float
    """The highest confidence of its living evidence."""
    mtime: int
    by_name: bool = False
    """Whether it follows from the name of its subject alone. Then it has no evidence, and a confidence of 0."""


@dataclass(frozen=True, slots=True)
class Change:
    """One entry that was added to, changed in or removed from a derived directory."""

    epoch: int
    what: str
    """``added``, ``changed`` or ``removed``."""
    kind: str
    """document (owner: ontology id, name: doc_id), concept (owner: ontology id, name: directory name), evidence
    (owner: concept or relationship id, name: the number), related (owner: concept id, name: ``<type>/<name>``),
    relationship (owner: its id, of one by name), claim (owner: its id, '' for rejected ones)."""
    ontology: str
    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The set of mentions that count while a document is matched: mentions of documents deposited at ``since`` or
    later, except those of the document ``but``."""

    since: int = 0
    but: str = ""


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True)
class Risen:
    """Concepts of one ontology whose places in earlier documents are to be looked for together."""

    ontology: str
    concept_ids: tuple[str, ...]
    after: str
    """The ``doc_id`` up to which documents were looked through."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows that do not fit together. No store writes such rows."""

    what: str
    """``words`` where the full-text index lacks a Source or has an extra one; else the kind of the dangling row."""
    row: str
    """A description of the row for people."""
    doc_id: str = ""
