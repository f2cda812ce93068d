"""What a graph promises.

A document version is prepared in bounded batches (:meth:`Graph.stage`) that no reader sees, and made visible by one
small transaction (:meth:`Graph.publish`) in which its predecessors leave: a reader sees the version before or the one
after, never both and never neither. Each publication and each forgetting raises the epoch by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgfs.domain import Mention
from kgfs.render.concept import ConceptPage


@dataclass(slots=True, unsafe_hash=True)  # frozen takes many times as long to make
class DocumentRow:
    """Columns are those of CITE 1.1 and 2.4, FULL 2.1 and LIFECYCLE 4; what is not given here stays empty in the store
    until a later format fills it (e-mail, attachments, hierarchy)."""

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
    """Columns are those of CITE 1.2 and 2.4 and LIFECYCLE 4."""

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
class Said:
    """All that a document says of concepts, with all its evidence. Its Sources are not among it. Its mentions have the
    deposit that the document is shown with."""

    doc_id: str
    concepts: Sequence[ConceptRow]
    relationships: Sequence[RelationshipRow]
    instances: Sequence[InstanceRow]


@dataclass(frozen=True, slots=True)
class Fault:
    """Rows that do not fit together; no store makes such."""

    what: str
    """``words`` where the full-text index lacks a Source or has one too many; else what is dangling."""
    row: str
    """Which, for people."""
    doc_id: str = ""


@dataclass(frozen=True, slots=True)
class Lag:
    """How reads of a copy stand to the server."""

    epoch: int
    """What reads see."""
    server_epoch: int | None
    """What the server told last; None where this process got no answer yet."""
    seconds: float | None
    """How long ago reads were known to see all that the server had; None where this process does not know."""
    away_since: float | None
    """Unix time since when the server cannot be followed; None while it can."""


class Graph(Protocol):
    """Reads are *quick* (indexed) and see the newest epoch, from any number of threads and processes. Lists are in
    order of their key and paged: ``after`` is the last key of the page before.

    What writes is done whole or not at all, and durable when it returns; only what was staged may be lost with the power,
    and is staged again then. Any call may raise StoreError where the store fails and, where it is on a server, AwayError
    or TimedOutError: whether a commit was done nevertheless is told by :meth:`published`, and repeating it is harmless."""

    # ------------------------------------------------------------------------------------------- writing

    def stage(self, commit_id: str, document: str, batch: Batch) -> None:
        """Keep rows of document ``document`` for ``commit_id``; invisible until published. Repeating a row is harmless.
        A commit that was published already is left alone."""
        ...

    def publish(self, publication: Publication) -> int:
        """Make all that was staged under the commit id visible and return the epoch. A commit id that was published
        before changes nothing and returns the epoch it had then. A document shown already under another commit is
        replaced (its rows of before leave, as a predecessor's do).

        Nothing happens but an error when evidence was staged for an owner that the publication does not have, or a
        relationship joins a concept it does not mention (BadInputError), and when a directory name is or was another
        concept's or an evidence number is that of another document's living quote (StoreError)."""
        ...

    def abandon(self, commit_id: str) -> None:
        """Drop what was staged and not published. Harmless if there is nothing."""
        ...

    def forget(self, commit_id: str, doc_ids: Sequence[str], at: int, concepts: Sequence[str] = ()) -> int:
        """Take documents out with their sources, instances and mentions, relationships without evidence, concepts
        without evidence (cascade=orphans). One transaction; the cost grows with what is removed. Unknown documents are
        passed over. Returns the epoch; repeating a commit id changes nothing.

        ``concepts`` leave too (cascade=all), with the evidence that other documents give for them and their
        relationships; those documents stay, and are told as changed."""
        ...

    def reassign(
        self, commit_id: str, said: Sequence[Said], at: int, marks: Sequence[Mark] = (), unmarked: Sequence[Mark] = ()
    ) -> int:
        """From now on these documents say this, in place of what they said: what merging and splitting concepts comes to.
        ``marks`` are set, ``unmarked`` ones go. One transaction; the cost grows with what changes. Evidence that stays
        as it was keeps its time, a concept without evidence leaves and its name is never another's. Documents that are
        not shown are passed over. Returns the epoch; repeating a commit id changes nothing. Errors as of ``publish``."""
        ...

    def redact(self, concepts: Sequence[str], relationships: Sequence[RelationshipRow]) -> Redaction:
        """After documents that had to do with these concepts and relationships left for good: hide the directory names of
        those that are dead behind hashes (they are still never given to another concept), give up the feed (``changes``
        answers None to whoever is behind), and remove every trace of removed rows from the files. Blocks for long, the
        whole file is written anew. May be repeated. BusyError where other processes read without end."""
        ...

    def impose(self, redaction: Redaction) -> None:
        """What a rebuild does instead of publishing and forgetting purged documents."""
        ...

    def staged(self) -> list[str]:
        """Commit ids that were staged and neither published nor abandoned."""
        ...

    def clear(self) -> None:
        """Drop everything, epoch included: what ``rebuild`` starts with."""
        ...

    def aside(self) -> Graph:
        """An empty graph beside this one, to be built and then adopted. One at a time: what is left of an earlier one
        goes. Closing it removes it."""
        ...

    def adopt(self, built: Graph, ontology: str = "") -> int:
        """Show what ``built`` (made by :meth:`aside`) shows, in place of everything or, with ``ontology``, of
        everything of that one. In one transaction: readers see the former or the new, and may go on meanwhile. Commit
        ids published there count as published here. Returns the epoch, which is higher than any before; ``changes``
        does not reach back over it."""
        ...

    # ------------------------------------------------------------------------------------------- reading

    def refresh(self) -> None:
        """From now on reads see what any machine has committed by now: nothing to do where they always do. AwayError where
        a server would have to be asked and is away."""
        ...

    def lag(self) -> Lag | None:
        """How far reads may be behind; None where they never are. Quick, asks no server."""
        ...

    def faults(self) -> list[Fault]:
        """For ``kgfs check``. Walks over everything."""
        ...

    def epoch(self) -> int: ...

    def published(self, commit_id: str) -> int | None:
        """The epoch in which that commit became visible."""
        ...

    def changed(self) -> bool:
        """Whether any process committed since this was last asked by this object. For polling."""
        ...

    def changes(self, after: int, limit: int = 10000) -> list[Change] | None:
        """The feed above an epoch, whole epochs only; None when it is not kept that far back."""
        ...

    def counts(self, ontology: str = "") -> Mapping[str, int]:
        """documents, sources, concepts, relationships, instances. Not a scan."""
        ...

    def changed_at(self, ontology: str) -> int:
        """When a publication or forgetting last changed what is shown of an ontology (nanoseconds); 0 if none did."""
        ...

    def document(self, doc_id: str) -> DocumentRow | None: ...

    def documents(self, ontology: str, after: str = "", limit: int = 1000) -> list[DocumentRow]:
        """By doc_id."""
        ...

    def source(self, doc_id: str, chunk_index: int) -> SourceRow | None: ...

    def sources(self, doc_id: str, after: int = -1, limit: int = 1000) -> list[SourceRow]: ...

    def chunk_ids_held(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        """doc_id and chunk_index of the Source that has it, for those that one has; of several the first."""
        ...

    def concept(self, concept_id: str) -> Concept | None: ...

    def concepts_by_id(self, concept_ids: Collection[str]) -> dict[str, Concept]:
        """Those of them that live, by id."""
        ...

    def concept_named(self, ontology: str, name: str) -> Concept | None: ...

    def concepts(self, ontology: str, after: str = "", limit: int = 1000) -> list[Concept]:
        """By name."""
        ...

    def concept_names(self, ontology: str, after: str = "", limit: int = 1000) -> list[tuple[str, str, int]]:
        """Name, id and mtime of the same concepts by id (``after`` is one), at a third of the cost: what a folder with all
        of them shows."""
        ...

    def concept_listed(self, ontology: str, name: str) -> tuple[str, int] | None:
        """Id and mtime of the concept called ``name``, at a fraction of the cost of ``concept_named``."""
        ...

    def concepts_of(self, doc_id: str) -> list[Concept]:
        """The concepts a document is evidence for, by name."""
        ...

    def documents_of(self, concept_id: str) -> list[str]:
        """doc_ids that mention it, in order of deposit."""
        ...

    def page(self, concept_id: str) -> ConceptPage | None:
        """All that ``concept.md`` shows."""
        ...

    def instance(self, owner: str, n: int) -> InstanceRow | None:
        """A piece of evidence of a concept or relationship, by its number."""
        ...

    def instances(self, owner: str, after: int = 0, limit: int = 1000) -> list[InstanceRow]:
        """By number."""
        ...

    def instances_of(self, doc_id: str) -> list[InstanceRow]: ...

    def related_types(self, concept_id: str) -> list[str]:
        """Types (inverse ones for incoming) that have a living relationship, in order."""
        ...

    def related(self, concept_id: str, type_: str = "", after: str = "", limit: int = 1000) -> list[Related]:
        """In order of (type, name), then id; with ``type_`` only that one's. ``after`` is a name with ``type_``, without
        it ``<type>/<name>``. A type that is its own inverse, stated both ways, gives two rows of one (type, name); they
        are never split over two pages, so a page may be one row longer than ``limit``."""
        ...

    def find_text(self, words: str, ontology: str = "", limit: int = 10) -> list[tuple[SourceRow, float]]:
        """Full-text hits with any of the words, best first, scored by BM25 (higher is better). The words are taken
        literally, without regard to case and accents. What is gated is not found."""
        ...

    # ------------------------------------------------------------------------------------- for matching

    def match(self, ontology: str, norms: Sequence[str], scope: Scope = EVERYTHING) -> dict[str, str]:
        """Normalised label or alias → concept id, for those that are known. An exact label wins over an alias, an
        alias of several concepts belongs to the one founded first (the earliest deposit among its mentions, then the
        concept id). Every surface form of a mention counts as an alias, shown or not. In a narrower ``scope`` only what
        a mention in it says is known; of several concepts the same comes first."""
        ...

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        """What was said under these marks, in order of mark and concept."""
        ...

    def marks_of(self, concept_id: str) -> list[Mark]:
        """What was said of a concept, living or not, in order of mark."""
        ...

    def next_numbers(self, owners: Collection[str]) -> dict[str, int]:
        """For each concept or relationship the lowest evidence number never used for it; 1 for a new one."""
        ...

    def names_taken(self, ontology: str, names: Collection[str]) -> dict[str, str]:
        """The concept id that has or ever had it, hidden ones too, for those directory names that one has or had."""
        ...

    def popular(self, ontology: str, limit: int, scope: Scope = EVERYTHING) -> list[Concept]:
        """By the sum of living relationships and evidence, most first, ties by concept id. In a narrower ``scope`` only
        concepts that a mention in it speaks of; with ``since`` the sum counts what is in the scope alone."""
        ...

    def sample(self, ontology: str, limit: int, seed: int, scope: Scope = EVERYTHING) -> list[Concept]:
        """A random choice, the same for the same seed and graph, of the concepts that a mention in the scope speaks of."""
        ...

    def close(self) -> None: ...
