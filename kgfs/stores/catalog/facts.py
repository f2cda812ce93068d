"""The facts of the ledger: every change of names, versions, documents and settings that is recorded.

A fact is a change that was decided once. It holds all that was chosen at the time (ids, numbers, times), so applying
the facts in order always gives the same state. One user action is one fact, also the rename of a folder. Times are
Unix times in nanoseconds by the clock of the home that recorded the fact. ``encoding`` turns facts into entries of
the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import INGEST_VERSION


@dataclass(frozen=True, slots=True)
class OntologyMade:
    """Makes an ontology with its root folder."""

    ontology: str
    name: str
    prefix: str
    root: int
    mode: int
    uid: int
    gid: int
    at: int


@dataclass(frozen=True, slots=True)
class OntologyRenamed:
    """Gives an ontology another name."""

    ontology: str
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class OntologyRemoved:
    """Removes an ontology. Refused while a live name stands below it or a search is saved in it. Its trash stays."""

    ontology: str
    at: int


@dataclass(frozen=True, slots=True)
class FolderMade:
    """Makes an empty folder."""

    id: int
    ontology: str
    parent: int
    name: str
    mode: int
    uid: int
    gid: int
    at: int


@dataclass(frozen=True, slots=True)
class FileMade:
    """Makes an empty file: a name without content."""

    id: int
    ontology: str
    parent: int
    name: str
    mode: int
    uid: int
    gid: int
    at: int


@dataclass(frozen=True, slots=True)
class LinkMade:
    """Makes a symbolic link, which is kept and never followed."""

    id: int
    ontology: str
    parent: int
    name: str
    target: str
    mode: int
    uid: int
    gid: int
    at: int


@dataclass(frozen=True, slots=True)
class ContentKept:
    """Gives a file new content: the working copy's bytes are durable at ``place``. Makes the name unsettled. With
    size 0 the place is ``none`` and sha256 is ''."""

    id: int
    sha256: str
    size: int
    place: str
    key: str
    """The spool file's name with place ``spool``; the garage key with ``garage``; else empty."""
    mtime: int
    at: int


@dataclass(frozen=True, slots=True)
class AttributesSet:
    """Sets attributes of a name. Only values that are not None change; ctime becomes ``at``. Never unsettles a
    name."""

    id: int
    at: int
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    atime: int | None = None
    mtime: int | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """Renames an entry within or across folders and ontologies. The entry at the goal (``replaces``, 0 for none)
    leaves. A moved file continues the version history of a file that it replaces."""

    id: int
    ontology: str
    """The ontology of the new parent."""
    parent: int
    name: str
    replaces: int
    at: int


@dataclass(frozen=True, slots=True)
class Removed:
    """Removes a name. A file with versions goes to the trash; any other entry is removed for good. A folder must be
    empty."""

    id: int
    at: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Settles a quiet path without a new version (an empty file, a dot-name, a link, the same bytes again). ``place``
    and ``key`` say where its bytes are from now on.

    Refused (BusyError) if the name has other bytes by now, or if the path was decided to be no document because of a
    temporary name that it has no longer."""

    id: int
    place: str
    key: str
    reason: str
    at: int
    sha256: str
    """The content that the decision is about."""
    decision: str


@dataclass(frozen=True, slots=True)
class VersionMinted:
    """Makes the path's content version ``n``: Document ``doc_id``.

    With ``decision`` insert, update, reprocess or revive a ``read`` job is enqueued; with alias or in_progress none
    is. Refused (BusyError) if the name has other bytes by now, stands in another ontology or at another path, or if
    ``n`` is not its next version."""

    id: int
    ontology: str
    n: int
    doc_id: str
    sha256: str
    size: int
    key: str
    source_id: str
    path: str
    decision: str
    reason: str
    at: int
    ingest_version: int = INGEST_VERSION
    """The ingest version of the kgfs that records the fact."""


@dataclass(frozen=True, slots=True)
class DocumentRead:
    """Ends a ``read`` job: a Reading of the Document is published in the graph. ``state`` is done or gated."""

    doc_id: str
    state: str
    reading: str
    decisions: str
    """Garage key of the match decisions; '' when gated."""
    commit_id: str
    superseded: tuple[str, ...]
    """The Documents that left the graph in the same publication."""
    at: int
    ingest_version: int = INGEST_VERSION
    """The ingest version of the kgfs that records the fact."""
    deposit: int = 0
    """The Document's order of deposit when it was published, which the graph keeps."""
    content_version: int = 0
    """The number of the Document's newest version when it was published, which the graph keeps."""


@dataclass(frozen=True, slots=True)
class DocumentText:
    """Publishes the text of a Document in the graph, before anything is extracted from it. Its ``read`` job stays."""

    doc_id: str
    reading: str
    """The id of a Reading without concepts."""
    commit_id: str
    hides: tuple[str, ...]
    """The Documents whose text is not found while this one's is shown. Their evidence stays until the Document is read."""
    at: int
    ingest_version: int = INGEST_VERSION
    deposit: int = 0
    content_version: int = 0


@dataclass(frozen=True, slots=True)
class ReadingOwed:
    """Enqueues another reading of a Document that some path has. The Document counts as deposited anew in the order
    of work and of matching.

    The graph shows the Document as before until the new Reading is published. Replaces a ``read`` job that was queued
    before."""

    doc_id: str
    reason: str
    at: int
    strategy: str = ""
    """The strategy to use in place of the configured one; '' for the configured one."""
    extractor: str = ""
    """The extractor to use in place of the configured one; '' for the configured one."""
    run: str = ""
    """The id that all readings requested at once share. A Reading that was made for another run does not answer for
    this one."""
    anew: bool = False
    """Whether matching compares the Document only with what was read since the run was requested, so that a whole
    ontology is read as if for the first time. All facts of such a run are recorded at once."""


@dataclass(frozen=True, slots=True)
class DocumentFailed:
    """Ends a ``read`` job without a Reading: ``state`` is unsupported or failed. The original is kept."""

    doc_id: str
    state: str
    reason: str
    at: int
    ingest_version: int = INGEST_VERSION
    """The ingest version of the kgfs that tried. A Document that was never read gets this ingest version."""


@dataclass(frozen=True, slots=True)
class PartsFound:
    """Makes these contents the parts of a Document, in order, in place of the parts that it had. The fields from
    ``names`` on have one value for each part.

    A content that the ontology has is the Document that it has; any other one becomes a Document with the source_id
    ``<parent's source_id>/<name>``. While a parent has a live name, or is held by a parent itself, it holds its parts,
    which are read and forgotten as documents with a name are. The bytes are in the garage when this is recorded."""

    doc_id: str
    at: int
    names: tuple[str, ...]
    """Safe and unique, encoded as names are."""
    given: tuple[str, ...]
    kinds: tuple[str, ...]
    """Values of ``domain.parts.PartKind``."""
    media_types: tuple[str, ...]
    sha256s: tuple[str, ...]
    """'' for an empty part, which is no Document."""
    sizes: tuple[int, ...]
    keys: tuple[str, ...]
    ingest_version: int = INGEST_VERSION


@dataclass(frozen=True, slots=True)
class DocumentForgotten:
    """Removes a Document's knowledge from the graph. Its Reading stays for a revival."""

    doc_id: str
    cascade: str
    commit_id: str
    at: int


@dataclass(frozen=True, slots=True)
class TrashRestored:
    """Restores a removed file from the trash with its id, attributes and history. Its Document is read again from its
    Reading."""

    id: int
    ontology: str
    """The ontology of the parent; not always the one that the file was removed from."""
    parent: int
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class TrashEmptied:
    """Deletes files from the trash for good. Histories that no other file continues end."""

    ids: tuple[int, ...]
    at: int


@dataclass(frozen=True, slots=True)
class ForgettingOwed:
    """Decides that Documents are forgotten. Their names leave now, and their knowledge leaves with the ForgettingDone
    that follows.

    ``names`` go to the trash, or with ``purge`` leave for good; a folder among them comes after its contents. No live
    file outside of ``names`` may have one of the Documents. With cascade ``none`` the Documents become tombstones."""

    order: str
    names: tuple[int, ...]
    doc_ids: tuple[str, ...]
    cascade: str
    """none, orphans or all."""
    purge: bool
    concepts: tuple[str, ...]
    """With cascade ``all``: concepts that leave with all their evidence."""
    suppressed: tuple[str, ...]
    """``concept_id_of`` of every form of these concepts. Only a later deposit brings them back."""
    at: int


@dataclass(frozen=True, slots=True)
class ForgettingDone:
    """Ends a forgetting: it was carried out in one commit to the graph. With ``purge`` this fact is all that remains
    of the Documents, and it says nothing of their content."""

    order: str
    doc_ids: tuple[str, ...]
    cascade: str
    purge: bool
    commit_id: str
    concepts: tuple[str, ...]
    redaction: str
    """Garage key of the hashes and numbers of purged Documents that a rebuild needs; '' without ``purge``."""
    at: int
    decisions: tuple[str, ...] = ()
    """Garage keys (``decisions/<doc_id>/…``) of the new match decisions of each document that mentioned a concept
    which only purged Documents had named."""


@dataclass(frozen=True, slots=True)
class ConceptsMerged:
    """Merges concepts, as a person asked or because documents introduce the one as the acronym of the other
    (``joining``): every mention of ``others`` becomes a mention of ``into``."""

    ontology: str
    into: str
    """The id of the remaining concept."""
    others: tuple[str, ...]
    decisions: tuple[str, ...]
    """Garage keys (``decisions/<doc_id>/…``) of the new match decisions of each document concerned."""
    marks: tuple[str, ...]
    """What later matching must obey: ``+<mark>=<concept id>`` makes mentions with the mark this concept;
    ``-<mark>=<concept id>`` keeps them from ever being this concept."""
    unmarked: tuple[str, ...]
    """Marks that hold no longer."""
    commit_id: str
    at: int
    documents: tuple[str, ...] = ()
    """The documents that the joining rests on."""
    joining: str = ""
    """Hashes of the keys of acronym, long form, and that of both by which the concept in ``others`` was found. Empty
    where a person asked."""


@dataclass(frozen=True, slots=True)
class ConceptSplit:
    """Splits a concept, as a person asked or because nothing is left that a ``joining`` rests on: some mentions of
    ``concept`` become mentions of another one, ``target``. The other fields are as in ConceptsMerged."""

    ontology: str
    concept: str
    target: str
    decisions: tuple[str, ...]
    marks: tuple[str, ...]
    unmarked: tuple[str, ...]
    commit_id: str
    at: int
    joining: str = ""


@dataclass(frozen=True, slots=True)
class ClaimMarked:
    """Makes all evidence of a claim, also what is to come, evidence of the claim ``into``, as a person asked; where that is '',
    the evidence of each document becomes a claim of its own."""

    ontology: str
    claim_id: str
    into: str
    commit_id: str
    at: int


@dataclass(frozen=True, slots=True)
class PlacesAdded:
    """Adds what documents say of ``concepts`` that were founded after they were published. All documents with a
    ``doc_id`` up to ``after`` were looked through by then, or all where it is ''."""

    ontology: str
    concepts: tuple[str, ...]
    after: str
    decisions: tuple[str, ...]
    """Garage keys (``decisions/<doc_id>/…``) of the new match decisions of each document concerned, whole or as changes
    of the former ones."""
    commit_id: str
    at: int


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """Sets a setting of the store or, with an ontology id, of one ontology."""

    ontology: str
    key: str
    value: str
    at: int


@dataclass(frozen=True, slots=True)
class SearchSaved:
    """Saves a search: ``search/<words>`` of an ontology, or of the mount's root (''), is listed from now on."""

    ontology: str
    words: str
    """Encoded as names are."""
    at: int


@dataclass(frozen=True, slots=True)
class SearchRemoved:
    """Removes a saved search."""

    ontology: str
    words: str
    at: int


@dataclass(frozen=True, slots=True)
class QuestionSaved:
    """Saves a question, or has a saved one asked anew: ``ask/<question>`` of an ontology, or of the mount's root (''), is
    listed from now on."""

    ontology: str
    question: str
    """The names of its folders, each encoded as names are, joined by ``/``."""
    at: int


@dataclass(frozen=True, slots=True)
class QuestionRemoved:
    """Removes a saved question."""

    ontology: str
    question: str
    at: int


@dataclass(frozen=True, slots=True)
class OwnerChanged:
    """Says that a home took over the right to write the bucket. It changes no table."""

    generation: int
    home: str
    host: str
    at: int


Fact = (
    OntologyMade
    | OntologyRenamed
    | OntologyRemoved
    | FolderMade
    | FileMade
    | LinkMade
    | ContentKept
    | AttributesSet
    | Moved
    | Removed
    | Settled
    | VersionMinted
    | DocumentRead
    | DocumentText
    | ReadingOwed
    | DocumentFailed
    | PartsFound
    | DocumentForgotten
    | TrashRestored
    | TrashEmptied
    | ForgettingOwed
    | ForgettingDone
    | ConceptsMerged
    | ConceptSplit
    | PlacesAdded
    | ClaimMarked
    | SettingChanged
    | SearchSaved
    | SearchRemoved
    | QuestionSaved
    | QuestionRemoved
    | OwnerChanged
)
