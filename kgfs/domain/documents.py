"""What is kept, under which names and versions, and where each Document stands. Times are Unix times in nanoseconds.

Names of files are ``str`` in the encoding of :func:`kgfs.domain.names.encode_name`, so that any bytes survive JSON and SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class IngestVersion:
    description: str
    """What changed, for people."""
    breaking: bool = False
    """Whether citations of earlier versions may not be found again (chunk ids, offsets of the Text)."""


INGEST_VERSIONS: Mapping[int, IngestVersion] = {
    1: IngestVersion("The first: structured chunks, citations, offline extraction"),
    2: IngestVersion("Evidence has the section of its quote, not that of its Source's first line"),
}
"""The written history of the ingest logic: a change after which a document would be read otherwise gets the next
number, and what is read by an older one is read again by ``kgfs reprocess``."""

INGEST_VERSION = max(INGEST_VERSIONS)
"""The current one."""


class State(StrEnum):
    """Where a Document stands."""

    KEPT = "kept"  # durable, not (yet) a Document's current content
    QUEUED = "queued"
    WORKING = "working"
    DONE = "done"
    GATED = "gated"  # read, but every Source was judged to carry no knowledge
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    STALE = "stale"  # no name has it any more, its successor is not published yet
    TRASHED = "trashed"


class NameKind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"


class Place(StrEnum):
    """Where the bytes of a file stand."""

    NONE = "none"  # empty file: a name without content
    INBOX = "inbox"  # a row beside the names (small files, until the garage has them)
    SPOOL = "spool"  # a working copy under the home's spool folder
    GARAGE = "garage"  # the object ``Name.key``


@dataclass(frozen=True, slots=True)
class Ontology:
    id: str
    """Immutable, 12 hex digits."""
    name: str
    prefix: str
    """The part of garage keys that is this ontology's, fixed when it is made."""
    root: int
    """The name id of its ``documents/`` folder."""
    made_at: int
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, unsafe_hash=True)
class Name:
    """One entry below some ontology's ``documents/``: a folder, a file or a symbolic link. Never changed once it is made;
    it is not frozen because that takes three times as long to make, and every request makes one."""

    id: int
    """Random, 62 bits, never reused; the inode number."""
    ontology: str
    parent: int
    """The folder's name id; 0 for an ontology's ``documents/`` itself."""
    name: str
    kind: NameKind
    mode: int
    """Permission bits only."""
    uid: int
    gid: int
    atime: int
    mtime: int
    ctime: int
    size: int = 0
    target: str = ""
    """Of a link: where it points, encoded as names are."""
    place: Place = Place.NONE
    sha256: str = ""
    """Of the current content; empty for an empty file."""
    key: str = ""
    """With Place.GARAGE the object's key; with Place.SPOOL the spool file's name; else empty."""
    doc_id: str = ""
    """The Document of the newest version, if the path has one."""
    version: int = 0
    """The newest version's number; 0 while the path has none."""
    settled: bool = True
    """False between a change of content or name and the decision what it means."""
    arrived_at: int = 0
    """When it came to this folder and name; 0 where a store does not say."""
    decision: str = ""
    """What was decided last about its content (``ingest.keeping.identify.Action``); empty before."""
    reason: str = ""
    """Why, in one clause for people."""


@dataclass(frozen=True, slots=True)
class Version:
    """(path, n) → Document. History follows the path a person edits, not the inode."""

    lineage: int
    n: int
    doc_id: str
    sha256: str
    size: int
    key: str
    path: str
    """The path when it was minted, below documents/, encoded."""
    minted_at: int
    decision: str = ""
    """Why there is this version: insert, update, reprocess, revive, alias or in_progress."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Succession:
    """A version of a path, and what its path held before and afterwards."""

    version: Version
    supersedes: str
    """The doc_id of the version before; '' for the first."""
    superseded_by: str
    """The doc_id of the version behind; '' for the newest."""


@dataclass(frozen=True, slots=True)
class Document:
    """One content in one ontology."""

    doc_id: str
    ontology: str
    sha256: str
    source_id: str
    """``<ontology id>/<path at first deposit>``, never changed."""
    key: str
    """Garage key of the original."""
    size: int
    state: State
    reason: str = ""
    ingest_version: int = INGEST_VERSION
    reading: str = ""
    """Id of the Reading the graph shows; empty before the first is published."""
    decisions: str = ""
    """Garage key of the match decisions of that publication."""
    commit_id: str = ""
    deposited_at: int = 0
    deposit: int = 0
    """Order of deposit: documents are matched in this order."""
    removed_at: int = 0
    """When the last live name that had it went; 0 while one has it."""
    former_reading: str = ""
    """Id of the Reading that was published before ``reading``; empty if none was."""
    former_decisions: str = ""
    named_at: int = 0
    """When a live name last came to it or left it, as far as their number tells."""
