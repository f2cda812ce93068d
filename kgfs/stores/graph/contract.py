"""The interface of the graph store.

A document version is staged in bounded batches (:meth:`Graph.stage`) that no reader sees. One small transaction
(:meth:`Graph.publish`) then makes the version visible and removes the documents that it supersedes. A reader sees
the version before or the version after, never both and never neither. Each publication and each forgetting raises
the epoch by one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from kgfs.domain.mails import Mail
from kgfs.domain.sessions import SegmentRow, SessionRow
from kgfs.stores.graph.joined import JoinedReads
from kgfs.stores.graph.named import NamedReads
from kgfs.stores.graph.terms import TermReads
from kgfs.stores.graph.vocabulary import (
    EVERYTHING,
    Batch,
    Change,
    Concept,
    DocumentContent,
    DocumentRow,
    EarlierText,
    Fault,
    InstanceRow,
    Joining,
    Mark,
    Publication,
    Redaction,
    Related,
    RelationshipRow,
    Risen,
    Scope,
    SourceRow,
)

if TYPE_CHECKING:  # imports numpy, which a mount needs only to search
    from kgfs.render.concept import ConceptPage
    from kgfs.stores.words.scoring import WordView

THREAD = 200
"""Mails of a conversation that one Message-ID finds at most."""


class Graph(Protocol):
    """The documents, sources, evidence, concepts and relationships of all ontologies of a home.

    Reads are *quick* (each uses an index) and return the state of the newest epoch. Any number of threads and
    processes may read at the same time. Lists are ordered by their key and paged: ``after`` is the last key of the
    previous page.

    Each write is atomic, and durable when it returns. :meth:`stage`, :meth:`abandon` and :meth:`note_followed` are
    exceptions: a power failure may undo them, and the caller then repeats them. Any method may raise StoreError
    when the store fails. After such an error :meth:`published` tells whether the commit was carried out
    nevertheless, and repeating the call is harmless. ``at`` is a Unix time in nanoseconds."""

    # ------------------------------------------------------------------------------------------- writing

    def stage(self, commit_id: str, document: str, batch: Batch) -> None:
        """Store rows of document ``document`` under ``commit_id``; the rows stay invisible until the commit is
        published. Staging the same row twice is harmless. The call does nothing if ``commit_id`` was published
        already."""
        ...

    def publish(self, publication: Publication) -> int:
        """Make all rows staged under the commit id visible and return the new epoch. A commit id that was
        published before changes nothing, and the epoch of that publication is returned. If the document is already
        visible under another commit, its former rows leave, as those of a superseded document do.

        Raises BadInputError when evidence was staged for an owner that the publication does not name, or when a
        relationship joins a concept that the publication does not mention. Raises StoreError when a directory name
        belongs or ever belonged to another concept, or when an evidence number belongs to living evidence of
        another document. After an error nothing has changed."""
        ...

    def abandon(self, commit_id: str) -> None:
        """Delete the rows that were staged under ``commit_id`` and not published. Harmless if there are none."""
        ...

    def forget(self, commit_id: str, doc_ids: Sequence[str], at: int, concepts: Sequence[str] = ()) -> int:
        """Remove documents with their sources, instances and mentions, then the relationships and concepts that
        have no evidence left (cascade=orphans). This is one transaction; its cost grows with the number of rows
        removed. Unknown documents are skipped. Returns the new epoch; repeating a commit id changes nothing.

        The concepts with the ids ``concepts`` are removed too (cascade=all), with their relationships and with the
        evidence that other documents give for either. Those other documents stay visible, and the feed reports
        them as changed."""
        ...

    def reassign(
        self,
        commit_id: str,
        contents: Sequence[DocumentContent],
        at: int,
        marks: Sequence[Mark] = (),
        unmarked: Sequence[Mark] = (),
        joined: Sequence[Joining] = (),
        parted: Sequence[str] = (),
        became: Sequence[tuple[str, str]] = (),
        looked: tuple[Sequence[str], str] = ((), ""),
    ) -> int:
        """Replace what documents say of concepts: each :class:`DocumentContent` takes the place of all mentions and
        evidence of its document. Merging and splitting concepts are done by this call. ``marks`` are added and ``unmarked``
        are deleted; ``joined`` are recorded, and the joinings of the concepts ``parted`` deleted. This is one transaction;
        its cost grows with what changes. Evidence that is equal to before
        keeps its mtime. A concept that loses its last evidence is removed, and its name is never given to another
        concept. Documents that are not visible are skipped. ``became`` are (former id, id) of concepts: documents that
        only name the former one name the other from now on. ``looked`` is as in :meth:`look_further`. Returns the new epoch; repeating a commit id changes
        nothing. Raises the errors of ``publish``."""
        ...

    def look_further(self, concept_ids: Sequence[str], after: str) -> None:
        """Note that places of these concepts were looked for in the documents up to ``after``, or in all where it is ''.

        A power failure may lose the note; then the same documents are looked through again."""
        ...

    def redact(
        self, concepts: Sequence[str], relationships: Sequence[RelationshipRow], doc_ids: Sequence[str] = ()
    ) -> Redaction:
        """Erase the traces of purged documents, after the documents that concern these concepts and relationships
        have been removed for good. The directory names of the dead ones among ``concepts`` are replaced by hashes,
        and are still never given to another concept. What is known of the earlier Text of the documents ``doc_ids`` is
        deleted. The change feed is discarded: ``changes`` returns None to
        each reader that is behind. Every trace of removed rows is erased from the files. Blocks for long, because
        the whole file is rewritten or, on a disk without the space for that, read and overwritten in place.
        Idempotent. Raises BusyError when other processes read without a pause."""
        ...

    def impose(self, redaction: Redaction) -> None:
        """Apply the redaction of an earlier purge. A rebuild calls this in place of publishing and forgetting the
        purged documents."""
        ...

    def staged(self) -> list[str]:
        """Return the commit ids that have staged rows and are neither published nor abandoned."""
        ...

    def clear(self) -> None:
        """Delete everything, the epoch included. ``rebuild`` begins with this."""
        ...

    def aside(self) -> Graph:
        """Return an empty graph stored beside this one, to be filled and then adopted. Only one can exist at a
        time: what is left of an earlier one is deleted. Closing the returned graph deletes it."""
        ...

    def adopt(self, built: Graph, ontology: str = "") -> int:
        """Replace the content of this graph by that of ``built``, a graph made by :meth:`aside`; with
        ``ontology``, replace the content of that ontology only. This is one transaction: readers see the former
        content or the new one, and may read during the call. Commit ids that were published in ``built`` count as
        published here. When everything is replaced, :meth:`followed` also takes the value of ``built``. Returns
        the epoch, which is higher than any epoch before. ``changes`` returns None for epochs before it."""
        ...

    def note_followed(self, fact: int) -> None:
        """Record that the publications of the ledger up to fact number ``fact`` have been carried out here. A
        power failure may lose the record, but never keeps it while losing a commit made before it. The facts
        behind the last record are then carried out again."""
        ...

    def rehearse(self) -> AbstractContextManager[None]:
        """Return a context in which the calling thread alone sees its own writes to this graph; all of them are
        rolled back when the context ends. Other writers wait."""
        ...

    # ------------------------------------------------------------------------------------------- reading

    def followed(self) -> int | None:
        """Return the number of the last fact of a shared ledger that was carried out here. None if that is
        unknown, as in a new graph or in the graph of a home that shares its ledger with no other home."""
        ...

    def faults(self) -> list[Fault]:
        """Return the rows that do not fit together, for ``kgfs check``. Scans all tables. While commits run, it
        may report the intermediate state of a commit; such a fault does not show in a second scan."""
        ...

    def epoch(self) -> int:
        """Return the number of the newest commit that reads show; 0 before the first commit."""
        ...

    def clears(self) -> int:
        """Return how often the content of the graph, or of one ontology, was replaced as a whole: cleared, derived
        again or copied again. A reader that finds another number than before must drop its caches whatever the
        epoch is, because the epoch may be equal or lower."""
        ...

    def published(self, commit_id: str) -> int | None:
        """Return the epoch in which ``commit_id`` became visible; None if it has not."""
        ...

    def changed(self) -> bool:
        """Return whether any process has committed since the previous call on this object. For polling."""
        ...

    def changes(self, after: int, limit: int = 10000) -> list[Change] | None:
        """Return the entries of the change feed above epoch ``after``, whole epochs only; None when the feed does
        not reach back that far."""
        ...

    def counts(self, ontology: str = "") -> Mapping[str, int]:
        """Return the numbers of documents, sources, concepts, relationships and instances, of one ontology or of
        all. Not a scan."""
        ...

    def texts(self, ontology: str) -> int:
        """Return the number of documents of an ontology of which only the text is shown so far. ``counts`` counts them as
        documents."""
        ...

    def read_before(self, version: int) -> int:
        """Return the number of visible documents that an ingest version before ``version`` read. Reads an index of them."""
        ...

    def extent(self, doc_ids: Collection[str]) -> tuple[int, int]:
        """Return the characters and the pieces of evidence of those of these documents that are visible."""
        ...

    def hidden(self, doc_ids: Collection[str]) -> frozenset[str]:
        """Return those of these documents whose text is not found, since the text of a successor is shown already."""
        ...

    def hidden_by(self, doc_id: str) -> tuple[str, ...]:
        """Return the documents whose text is not found while the text of this one is shown, ordered by doc_id."""
        ...

    def changed_at(self, ontology: str) -> int:
        """Return when a publication or a forgetting last changed what is visible of an ontology, in Unix
        nanoseconds; 0 if none did."""
        ...

    @property
    def terms(self) -> TermReads:
        """Return the reads of what could be looked up, and of what is a term."""
        ...

    @property
    def named(self) -> NamedReads:
        """Return the reads of where concepts are named."""
        ...

    @property
    def joined(self) -> JoinedReads:
        """Return the reads of acronyms and of the joinings that rest on them."""
        ...

    def rows(self, table: str, ontology: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a kind (``graph.kinds``) in the visible documents of an ontology, in order of their values.
        ``doc_id`` and concept id stand in place of keys, so equal graphs give equal rows. Nothing may be published
        meanwhile."""
        ...

    def document(self, doc_id: str) -> DocumentRow | None:
        """Return a visible document; None if there is none with this id."""
        ...

    def documents_among(self, doc_ids: Sequence[str]) -> dict[str, DocumentRow]:
        """Return the visible ones of these documents, by doc_id."""
        ...

    def text_sizes(self, doc_ids: Sequence[str]) -> dict[str, int]:
        """Return the bytes of the Text as UTF-8 of the visible ones of these documents, by doc_id."""
        ...

    def earlier_text(self, doc_id: str) -> EarlierText | None:
        """Return the Text that the graph showed of a document before it last left; None if it never left, or left a graph
        of a version of kgfs that did not note it."""
        ...

    def mail(self, doc_id: str) -> Mail | None:
        """Return what a visible mail says of its conversation; None for any other document."""
        ...

    def own_dates(self, doc_ids: Collection[str]) -> Mapping[str, int]:
        """Return the dates that visible documents give themselves, in nanoseconds: of a mail that of its newest message, of a
        text the date of its front matter (``domain.dates``). Documents without one are left out."""
        ...

    def thread(self, ontology: str, message_ids: Sequence[str]) -> list[Mail]:
        """Return the visible mails of an ontology that have one of these Message-IDs, or whose conversation began with
        one of them, at most THREAD each, by date."""
        ...

    def sessions(self, ontology: str) -> list[SessionRow]:
        """Return the visible transcripts of an ontology, by session_id and order of deposit."""
        ...

    def segment_ids(self, doc_ids: Collection[str]) -> frozenset[str]:
        """Return those of these visible documents that are segments of transcripts."""
        ...

    def segments(self, doc_ids: Sequence[str]) -> dict[str, SegmentRow]:
        """Return the visible ones of these segments, by doc_id."""
        ...

    def documents(self, ontology: str, after: str = "", limit: int = 1000) -> list[DocumentRow]:
        """Return the documents of an ontology, ordered by doc_id."""
        ...

    def document_types(self, ontology: str) -> dict[str, str]:
        """Return the media type of each visible document of an ontology, by doc_id. A scan."""
        ...

    def source(self, doc_id: str, chunk_index: int) -> SourceRow | None:
        """Return the Source of a visible document with this chunk index; None if there is none."""
        ...

    def sources(self, doc_id: str, after: int = -1, limit: int = 1000) -> list[SourceRow]:
        """Return the Sources of a visible document, ordered by chunk index; empty for an unknown document."""
        ...

    def sources_at(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], SourceRow]:
        """Return the Sources of visible documents at these (doc_id, chunk index), in one read. Unknown ones are missing."""
        ...

    def chunk_ids_held(self, chunk_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Return (doc_id, chunk_index) of the Source that has each chunk id. Chunk ids that no Source has are
        missing in the result. If several Sources have one, the first by (doc_id, chunk_index) is returned."""
        ...

    def concept(self, concept_id: str) -> Concept | None:
        """Return a living concept; None if there is none with this id."""
        ...

    def concepts_by_id(self, concept_ids: Collection[str]) -> dict[str, Concept]:
        """Return those of these concepts that are living, by id."""
        ...

    def concept_named(self, ontology: str, name: str) -> Concept | None:
        """Return the living concept of an ontology whose directory name is ``name`` (without ``.concept``); None
        if there is none."""
        ...

    def concepts(self, ontology: str, after: str = "", limit: int = 1000) -> list[Concept]:
        """Return the living concepts of an ontology, ordered by name."""
        ...

    def concept_names(self, ontology: str, after: str = "", limit: int = 1000) -> list[tuple[str, str, int]]:
        """Return (name, id, mtime) of the living concepts of an ontology, ordered by id; ``after`` is an id. Costs
        a third of :meth:`concepts` and returns all that a directory of concepts shows."""
        ...

    def concept_listed(self, ontology: str, name: str) -> tuple[str, int] | None:
        """Return (id, mtime) of the concept called ``name``, at a fraction of the cost of ``concept_named``."""
        ...

    def concepts_of(self, doc_id: str) -> list[Concept]:
        """Return the concepts that a document mentions, ordered by name."""
        ...

    def names_like(self, ontology: str, beginning: str, least: int, most: int, limit: int) -> list[str]:
        """Return up to ``limit`` normalised forms of living concepts with this beginning and ``least`` to ``most``
        characters, in order."""
        ...

    def concepts_at(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], list[Concept]]:
        """Return for each of these Sources, by (doc_id, chunk index), the living concepts that it is evidence for, in
        order of the text, in one read. Sources without any are missing."""
        ...

    def documents_of(self, concept_ids: Collection[str], most: int = 0) -> dict[str, list[str]]:
        """Return for each of these concepts the doc_ids of the documents that mention it, in order of deposit; with ``most``
        none for a concept that more documents mention."""
        ...

    def documents_counted(self, concept_ids: Collection[str], but: Collection[str]) -> dict[str, int]:
        """Return the number of documents that mention each of these concepts, other than those of ``but``."""
        ...

    def resting_on(self, concept_ids: Collection[str]) -> dict[str, list[str]]:
        """Return for each of these concepts the doc_ids of the documents that it rests on, in order of deposit: those in
        which it passed. It lives while any of them is visible."""
        ...

    def risen(self, limit: int) -> Risen | None:
        """Return concepts whose places in earlier documents are still to be looked for, at most ``limit`` of one
        ontology that were looked for in the same documents so far; None if there are none."""
        ...

    def folded_forms(self, concept_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the keys of all forms of each of these concepts that lives."""
        ...

    def documents_having(self, ontology: str, phrases: Collection[str], after: str, limit: int) -> list[str]:
        """Return the doc_ids behind ``after`` of the documents in whose Sources that passed the gate any of these phrases
        may stand, in order, at most ``limit``. Only documents that the present rules read, and that show more than their
        text. Case, accents and signs between words make no difference."""
        ...

    def sources_having(self, ontology: str, phrases: Collection[str], doc_ids: Collection[str]) -> dict[str, list[int]]:
        """Return the chunk indices, ascending, of the Sources of these documents in which any of these phrases stands whole,
        by document. Sources that did not pass the gate are not among them. Case, accents and signs between words make no
        difference. The cost grows with the places of the phrases in all documents."""
        ...

    def page(self, concept_id: str) -> ConceptPage | None:
        """Return all that ``concept.md`` shows of a concept; None if the concept is not living."""
        ...

    def instance(self, owner: str, n: int) -> InstanceRow | None:
        """Return the piece of evidence of a concept or relationship with number ``n``; None if there is none."""
        ...

    def instances(self, owner: str, after: int = 0, limit: int = 1000) -> list[InstanceRow]:
        """Return the evidence of a concept or relationship, ordered by number."""
        ...

    def strongest(self, owner: str) -> InstanceRow | None:
        """Return the best piece of evidence of a concept or relationship: first one that defines the owner, then
        the one of the highest confidence, then the one of the lowest number. None if there is none."""
        ...

    def instances_of(self, doc_id: str) -> list[InstanceRow]:
        """Return the evidence quoted from a document, ordered by its position in the Text, then by owner and
        number."""
        ...

    def related_types(self, concept_id: str) -> list[str]:
        """Return, in order, the relationship types (inverse types for incoming ones) of which the concept has a
        living relationship."""
        ...

    def related(self, concept_id: str, type_: str = "", after: str = "", limit: int = 1000) -> list[Related]:
        """Return the relationships of a concept, ordered by (type, name), then id; with ``type_`` only those of
        that type. ``after`` is a name if ``type_`` is given, else ``<type>/<name>``. A type that is its own
        inverse, stated in both directions, gives two rows with the same (type, name). Two such rows are never
        split between pages, so a page may have one row more than ``limit``."""
        ...

    def find_text(
        self,
        words: str,
        ontology: str = "",
        limit: int = 10,
        *,
        phrases: Sequence[str] = (),
        doc_ids: Collection[str] | None = None,
    ) -> list[tuple[SourceRow, float]]:
        """Return the Sources that match the words best, by BM25, and their scores (higher is better).

        Each word is taken literally and one suffices, but each of ``phrases`` must stand in the Source, as its words
        in that order. ``doc_ids`` are the only documents to look in; None for all. Sources that the gate rejected are
        not found. Ties are in order of doc_id and chunk index.
        """
        ...

    def sources_with(self, forms: Collection[str], most: int = 20_000) -> dict[str, int]:
        """Return for each form of a word (:mod:`kgfs.domain.word_forms`) how many Sources of the graph have it; ``most``
        where there are so many or more. Sources that the gate rejected do not count, staged ones may."""
        ...

    def sources_with_phrase(self, phrase: str, ontology: str = "") -> set[tuple[str, int]]:
        """Return (doc_id, chunk index) of the Sources that have these words in this order."""
        ...

    def word_view(self) -> WordView | None:
        """Return the index of words, as of now; None while it lacks so many Sources that only :meth:`find_text` has
        them all. The index is derived from the graph's Sources, in files beside it."""
        ...

    def words_indexed(self) -> bool:
        """Return whether the files of the index of words have all Sources of now. Quick while nothing changes."""
        ...

    def index_words(self, go_on: Callable[[], bool] = ...) -> bool:
        """Bring the files of the index of words up to date, and return whether they are. Takes as long as there is to
        index; ``go_on`` is asked between batches and ends the work by False. False, too, where another process is at
        it."""
        ...

    def documents_with(self, phrase: str, ontology: str = "") -> set[str]:
        """Return the doc_ids of the documents that have a Source with these words in this order."""
        ...

    def match(self, ontology: str, norms: Sequence[str], scope: Scope = EVERYTHING) -> dict[str, str]:
        """Return the concept id of each normalised label or alias that is known. An exact label wins over an
        alias. An alias of several concepts belongs to the concept founded first: the one whose mentions have the
        earliest deposit, then the one with the lowest ``norm_hash``, then the one with the lowest id. Every
        surface form of a mention counts as an alias, whether it is shown or not. In a ``scope`` narrower than
        EVERYTHING, only labels and aliases of mentions inside the scope are known; among several concepts the same
        order decides."""
        ...

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        """Return the statements of persons recorded under these marks, ordered by mark and concept."""
        ...

    def marks_of(self, concept_id: str) -> list[Mark]:
        """Return the statements of persons about a concept, living or not, ordered by mark."""
        ...

    def next_numbers(self, owners: Collection[str]) -> dict[str, int]:
        """Return for each concept or relationship the evidence number above all that were ever used for it; 1 for
        a new one."""
        ...

    def names_taken(self, ontology: str, names: Collection[str]) -> dict[str, str]:
        """Return, for those of these directory names that a concept has or ever had, the id of that concept. Names
        hidden by a purge are found too."""
        ...

    def popular(self, ontology: str, limit: int, scope: Scope = EVERYTHING) -> list[Concept]:
        """Return the concepts with the highest sum of living relationships and evidence, highest first, ties by
        ``norm_hash`` and then by concept id. In a narrower ``scope``, return only concepts that a mention in the
        scope names; with ``since``, the sum counts only what is inside the scope."""
        ...

    def sample(self, ontology: str, limit: int, seed: int, scope: Scope = EVERYTHING) -> list[Concept]:
        """Return a random choice of the concepts that a mention in the scope names; the choice is the same for the
        same seed and graph."""
        ...

    def close(self) -> None:
        """Close the graph's connections. No other thread may be using the graph. A temporary graph, and one made
        by :meth:`aside`, is deleted."""
        ...
