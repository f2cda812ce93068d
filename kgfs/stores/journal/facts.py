"""The vocabulary of the ledger: everything that can become true about names, versions, documents and settings.

A fact is a change that was decided once, with all that was chosen at the time (ids, numbers, times), so that
applying the facts in order always gives the same state. One user action is one fact, also the rename of a folder. Times are
Unix times in nanoseconds, as of the clock of the home that recorded it.
How a fact stands in the ledger is told by ``encoding``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import INGEST_VERSION


@dataclass(frozen=True, slots=True)
class OntologyMade:
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
    ontology: str
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class OntologyRemoved:
    """Refused while a live name stands below it. Its trash stays."""

    ontology: str
    at: int


@dataclass(frozen=True, slots=True)
class FolderMade:
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
    """An empty file: a name without content."""

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
    """A symbolic link, kept and never followed."""

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
    """The working copy's bytes are durable at ``place``. Makes the name unsettled. With size 0: place ``none``, sha256 ''."""

    id: int
    sha256: str
    size: int
    place: str
    key: str
    """The spool file's name with place ``spool``; the garage key with ``garage``; else empty."""
    mtime: int
    at: int
    base: str | None = None
    """The content that whoever wrote had before, where the name had got another one meanwhile."""


@dataclass(frozen=True, slots=True)
class AttributesSet:
    """Only what is not None changes; ctime becomes ``at``. Never unsettles a name."""

    id: int
    at: int
    mode: int | None = None
    uid: int | None = None
    gid: int | None = None
    atime: int | None = None
    mtime: int | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """A rename, within or across folders and ontologies; what stood at the goal (``replaces``, 0 for nothing) leaves.
    The moved file continues the version history of the path it replaces."""

    id: int
    ontology: str
    """The ontology of the new parent."""
    parent: int
    name: str
    replaces: int
    at: int


@dataclass(frozen=True, slots=True)
class Removed:
    """A file with versions goes to the trash, everything else is gone. A folder must be empty."""

    id: int
    at: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The decision about a quiet path that makes no version (empty, a dot-name, a link, the same bytes again).
    ``key``/``place`` say where its bytes stand from now on. Refused (BusyError) if the name has other bytes by now, or
    was decided to be no document by a name in passing that it has no more."""

    id: int
    place: str
    key: str
    reason: str
    at: int
    sha256: str | None = None
    """The content that was decided about."""
    decision: str = "none"


@dataclass(frozen=True, slots=True)
class VersionMinted:
    """The path's content became version ``n``: Document ``doc_id``. With ``decision`` insert, update, reprocess or
    revive a reading is owed; with alias or in_progress nothing is. Refused (BusyError) if the name has other bytes, or
    stands in another ontology, by now."""

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
    """Of the kgfs that records it."""


@dataclass(frozen=True, slots=True)
class DocumentRead:
    """A Reading of the Document is published in the graph: the end of its job. ``state`` is done or gated."""

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
    """Of the kgfs that records it."""
    deposit: int = 0
    """The document's order of deposit when it was published, which the graph keeps."""
    content_version: int = 0
    """Likewise, the number of its newest version."""
    follows: int | None = None
    """Of a home with a graph of its own on a shared ledger: the ledger's last fact that this graph had, 0 before its first. See
    GraphFact."""


@dataclass(frozen=True, slots=True)
class ReadingOwed:
    """A Document that some path has is to be read again: deposited anew as far as the order of work and matching goes.
    What the graph shows of it stays until that Reading is published. Replaces a reading that was owed before."""

    doc_id: str
    reason: str
    at: int
    strategy: str = ""
    """Instead of the configured one."""
    extractor: str = ""
    """Instead of the configured one."""
    run: str = ""
    """What was asked for at once has one run; no Reading made for another run answers for it."""
    anew: bool = False
    """Compare it, when it is matched, only with what was read since the run was asked for: a whole ontology is read as
    if for the first time. All facts of such a run are recorded at once."""


@dataclass(frozen=True, slots=True)
class DocumentFailed:
    """``state`` is unsupported or failed: the end of its job. The original is kept."""

    doc_id: str
    state: str
    reason: str
    at: int
    ingest_version: int = 1
    """Of the kgfs that tried; 1 in entries from before it was noted. A document that was never read is of that version."""


@dataclass(frozen=True, slots=True)
class DocumentForgotten:
    """Its knowledge left the graph; its Reading stays for a revival."""

    doc_id: str
    cascade: str
    commit_id: str
    at: int
    follows: int | None = None


@dataclass(frozen=True, slots=True)
class TrashRestored:
    """A removed file stands again: its id, attributes and history. Its Document is read again from its Reading."""

    id: int
    ontology: str
    """The ontology of the parent; not always the one it was removed from."""
    parent: int
    name: str
    at: int


@dataclass(frozen=True, slots=True)
class TrashEmptied:
    """These files cannot be restored any more. Histories that no other file continues end."""

    ids: tuple[int, ...]
    at: int


@dataclass(frozen=True, slots=True)
class ForgettingOwed:
    """These Documents are to be forgotten: their names leave now, their knowledge with the ForgettingDone that follows.

    ``names`` go to the trash, or with ``purge`` for good; folders among them come after what stands in them. No live
    file outside of ``names`` may have one of the Documents. With cascade ``none`` the Documents become tombstones."""

    order: str
    names: tuple[int, ...]
    doc_ids: tuple[str, ...]
    cascade: str
    """none, orphans, all."""
    purge: bool
    concepts: tuple[str, ...]
    """With cascade ``all``: concepts that leave with all their evidence."""
    suppressed: tuple[str, ...]
    """``concept_id_of`` of every form of these concepts: what only a later deposit brings back."""
    at: int


@dataclass(frozen=True, slots=True)
class ForgettingDone:
    """It was carried out, in one commit to the graph. With ``purge`` this is all that remains of the Documents: it says
    nothing of their content."""

    order: str
    doc_ids: tuple[str, ...]
    cascade: str
    purge: bool
    commit_id: str
    concepts: tuple[str, ...]
    redaction: str
    """Garage key of what a rebuild must know of purged Documents: hashes and numbers; '' without ``purge``."""
    at: int
    decisions: tuple[str, ...] = ()
    """Garage keys (``decisions/<doc_id>/…``) of what each document says from now on that spoke of a concept which only
    purged Documents had named."""
    follows: int | None = None


@dataclass(frozen=True, slots=True)
class ConceptsMerged:
    """A person said that concepts are one: all that was said of ``others`` is said of ``into``."""

    ontology: str
    into: str
    """Ids of concepts."""
    others: tuple[str, ...]
    decisions: tuple[str, ...]
    """Garage keys (``decisions/<doc_id>/…``) of what each document that is concerned says from now on."""
    marks: tuple[str, ...]
    """What later matching must know: ``+<mark>=<concept id>``, are this concept; ``-<mark>=<concept id>``, never are."""
    unmarked: tuple[str, ...]
    """Marks that hold no longer."""
    commit_id: str
    at: int
    follows: int | None = None


@dataclass(frozen=True, slots=True)
class ConceptSplit:
    """A person said that some mentions of ``concept`` are another one, ``target``. The other fields as in ConceptsMerged."""

    ontology: str
    concept: str
    target: str
    decisions: tuple[str, ...]
    marks: tuple[str, ...]
    unmarked: tuple[str, ...]
    commit_id: str
    at: int
    follows: int | None = None


@dataclass(frozen=True, slots=True)
class SettingChanged:
    """A setting of the store or, with an ontology id, of one ontology."""

    ontology: str
    key: str
    value: str
    at: int


@dataclass(frozen=True, slots=True)
class SearchSaved:
    """``search/<words>`` of an ontology, or of the mount's root (''), is listed from now on."""

    ontology: str
    words: str
    """As names are encoded."""
    at: int


@dataclass(frozen=True, slots=True)
class SearchRemoved:
    ontology: str
    words: str
    at: int


@dataclass(frozen=True, slots=True)
class ConflictKept:
    """Bytes that one home wrote on a content of the path that others had overtaken: the next version of the path's history,
    marked ``conflict``. Neither current nor a Document; copying it back makes it current."""

    id: int
    """A live file, or one in the trash."""
    sha256: str
    size: int
    key: str
    """The garage has them already."""
    path: str
    """Where they were written, below documents/."""
    reason: str
    at: int


@dataclass(frozen=True, slots=True)
class Overtaken:
    """In place of a change of one home that the changes of others had overtaken: it was not carried out."""

    what: str
    """The tag of its kind; in entries of former versions the kind's former one."""
    id: int
    """The name it was about; 0 where it was about none."""
    reason: str
    at: int
    key: str | None = None
    """The original that was brought into the garage for it, which is given up where nothing promises it."""


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
    | ReadingOwed
    | DocumentFailed
    | DocumentForgotten
    | TrashRestored
    | TrashEmptied
    | ForgettingOwed
    | ForgettingDone
    | ConceptsMerged
    | ConceptSplit
    | SettingChanged
    | SearchSaved
    | SearchRemoved
    | ConflictKept
    | Overtaken
)

GraphFact = DocumentRead | DocumentForgotten | ForgettingDone | ConceptsMerged | ConceptSplit
"""What changes the graph. One with ``follows`` was decided by a graph that others' facts up to that one had changed: it can
become true only as long as none of others behind that number has."""
