"""What a graph promises.

A document version is prepared in bounded batches (:meth:`Graph.stage`) that no reader sees, and made visible by one
small transaction (:meth:`Graph.publish`) in which its predecessors leave: a reader sees the version before or the one
after, never both and never neither. Each publication and each forgetting raises the epoch by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from kgfs.render.concept import ConceptPage
from kgfs.stores.graph.vocabulary import (
    EVERYTHING,
    Batch,
    Change,
    Concept,
    DocumentRow,
    Fault,
    InstanceRow,
    Mark,
    Publication,
    Redaction,
    Related,
    RelationshipRow,
    Said,
    Scope,
    SourceRow,
)


class Graph(Protocol):
    """Reads are *quick* (indexed) and see the newest epoch, from any number of threads and processes. Lists are in
    order of their key and paged: ``after`` is the last key of the page before.

    What writes is done whole or not at all, and durable when it returns; only what was staged may be lost with the power,
    and is staged again then. Any call may raise StoreError where the store fails: whether a commit was done nevertheless is told
    by :meth:`published`, and repeating it is harmless.
    ``at`` is a Unix time in nanoseconds."""

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
        ids published there count as published here, and of everything what :meth:`followed` says. Returns the epoch, which is higher than any before; ``changes``
        does not reach back over it."""
        ...

    def note_followed(self, fact: int) -> None:
        """Note that what the ledger publishes up to that fact was carried out here. Lost with the power at most together with
        commits, after which it is carried out again."""
        ...

    def rehearse(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread alone sees what it writes to this graph; at its end all of that is undone.
        Others who write wait."""
        ...

    # ------------------------------------------------------------------------------------------- reading

    def followed(self) -> int | None:
        """Return the number of the last fact of a shared ledger that was carried out here; None where that is not known, as in
        a new graph and in one of a home that shares its ledger with no other."""
        ...

    def faults(self) -> list[Fault]:
        """For ``kgfs check``. Walks over everything; beside commits it may find what one is in the middle of, and nobody finds
        twice."""
        ...

    def epoch(self) -> int:
        """The number of the newest commit that reads show; 0 before the first."""
        ...

    def clears(self) -> int:
        """How often all of it, or of one ontology, was put in place of what was there: emptied, derived anew, copied anew. Who
        finds another number than before knows nothing any more, whatever epoch it is: that may be the same, or lower."""
        ...

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

    def documents_of(self, concept_ids: Collection[str]) -> dict[str, list[str]]:
        """For each of these concepts the doc_ids that mention it, in order of deposit."""
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

    def strongest(self, owner: str) -> InstanceRow | None:
        """The piece of evidence that defines the owner, then the one of the highest confidence, then of the lowest number."""
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
        lowest ``norm_hash``). Every surface form of a mention counts as an alias, shown or not. In a narrower ``scope`` only what
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
