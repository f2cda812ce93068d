"""Ontologies, names, versions and Documents, with their states. Times are Unix times in nanoseconds.

Names of files are ``str`` in the encoding of :func:`kgfs.domain.names.encode_name`, so that any bytes survive JSON
and SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class IngestVersion:
    """A version of the rules by which documents are read."""

    description: str
    """What changed, in words for people."""
    breaking: bool = False
    """Whether citations that earlier versions issued may no longer resolve (chunk ids, offsets of the Text)."""


INGEST_VERSIONS: Mapping[int, IngestVersion] = {
    1: IngestVersion("The first: structured chunks, citations, offline extraction"),
    2: IngestVersion("Evidence has the section of its quote, not that of its Source's first line"),
    3: IngestVersion("Relationships that sentences assert, and RELATED_TO between concepts that they name together"),
    4: IngestVersion("PDF, Office files, web pages, e-books, mail and notebooks are read; evidence has a locator"),
    5: IngestVersion("Concepts are chosen among all candidates of a document; all telling sentences are evidence"),
    6: IngestVersion(
        "Pictures and scanned pages are recognised; names in code keep underscores, quotes their backticks"
    ),
    7: IngestVersion(
        "Concepts are chosen by weights fitted anew; items of lists are quoted with the words before the list; relationships by name"
        "; links between notes; attachments, and mails of mailboxes, are documents of their own; mails are read as conversations"
        "; transcripts are sessions; every place that names a concept is kept, and what could be looked up"
        "; program code is told by its lines where its name says nothing"
    ),
    8: IngestVersion(
        "Evidence must say something of its concept: sentences are judged by weights fitted on blind judgements"
        "; parts of longer names, ids and keywords alone are no concepts; items explain the terms that they begin with"
        "; automatic numbers of lists and headings as word processors show them; documents within Word documents, formulas as one line"
        "; comments, typed texts and fields of PDF; pages in another encoding than they declare; times of day in cells of dates"
        "; the size of pictures; what is left of truncated documents; the numbers of notes; texts with names of binary files"
        "; program source by its comments and the names that it defines"
        "; the language of a document is told, and other languages than English are read by counts, with their own function words"
        "; logs, tables and comments of HTML are not read as prose, short turns of speakers are"
    ),
    9: IngestVersion(
        "A sentence that a document repeats is quoted once; a note's title has the note's own first sentence as evidence, a link"
        " alone on its line the words before its list; sentences and concepts are judged by weights fitted anew"
        "; header fields and lists of attachments of mails are found by their words, and give no concepts"
        "; what is defined is likelier a concept, what numbers the items of a document is none"
        "; speakers are told by the whole document, with their handles in lists and before dashes"
        "; terms that a line explains, and clauses with which, define"
        "; lines of links are quoted whole with their heading, and tags that state something of a note are no concepts"
        "; names that only a listing declares are terms"
    ),
    10: IngestVersion("Texts in other scripts than the Latin one are not taken for English"),
    11: IngestVersion(
        "Headings, words of links, topics of agendas, decisions, action items and first columns of tables name concepts"
        "; short documents are read closely; headings and lists relate concepts (BROADER)"
        "; signatures, quoted text and disclaimers of mails give no concepts"
        "; links are quoted whole, and headings have their words alone; names of files of documents are terms and no concepts"
        "; transcripts are read along the branch that lived, with the kinds of their entries and their images told"
        "; statuses and status, sizes and size, APIs and API are one thing"
        "; quoted messages of mails say who wrote them and when, and attachments stand with the message that carried them"
        "; names are the same however their accents are encoded, and with soft hyphens or characters of no width inside"
    ),
    12: IngestVersion(
        "The gate judges blocks: a Source is refused where each of its blocks has links alone, no finite verb with its subject, or"
        " none of the ontology's domains; being short alone refuses none"
    ),
    13: IngestVersion(
        "Terms that an item explains behind a colon, and the words that an acronym in brackets stands for, name concepts"
        "; so do topics of minutes with items below them, and in short documents cells of tables"
        "; a heading without text names none, and is quoted with the sentence below it"
        "; a readable text ends with a note on the lines that the gate refused"
    ),
}
"""The versions of the ingest logic, by number.

A change that makes documents be read differently gets the next number. ``kgfs reprocess`` reads again what an older
version read.
"""

INGEST_VERSION = max(INGEST_VERSIONS)
"""The current version of the ingest logic."""


class State(StrEnum):
    """The state of a Document."""

    KEPT = "kept"  # durable, but not (yet) the current content of a Document
    QUEUED = "queued"
    WORKING = "working"
    TEXT = "text"  # found by its words; its concepts follow
    DONE = "done"
    GATED = "gated"  # read, but the gate judged that no Source carries knowledge
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    STALE = "stale"  # no name has it any more, and its successor is not published yet
    TRASHED = "trashed"


ON_THE_WAY = frozenset((State.QUEUED, State.WORKING, State.TEXT))
"""The states of a Document that is to be read."""

TEXT_FIRST = 1 << 20
"""The text of a document of at most so many bytes is published before any document is extracted from."""


class NameKind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"


class StorageTier(StrEnum):
    """Where the bytes of a file are stored."""

    NONE = "none"  # an empty file: a name without content
    INBOX = "inbox"  # a row in the database of names (small files, until the garage has them)
    SPOOL = "spool"  # a working copy in the home's spool folder
    GARAGE = "garage"  # the object ``Name.key``


@dataclass(frozen=True, slots=True)
class Ontology:
    """A named body of knowledge."""

    id: str
    """Immutable, 12 hexadecimal digits."""
    name: str
    prefix: str
    """The part of garage keys that belongs to this ontology. It is fixed when the ontology is made."""
    root: int
    """The name id of the ontology's ``documents/`` folder."""
    made_at: int
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, unsafe_hash=True)
class Name:
    """One entry below an ontology's ``documents/``: a folder, a file or a symbolic link.

    A Name is never changed after it is made. It is not frozen because that would take three times as long to make,
    and every request makes one.
    """

    id: int
    """Random, 62 bits, never reused. It is the inode number."""
    ontology: str
    parent: int
    """The name id of the folder; 0 for an ontology's ``documents/`` itself."""
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
    """The target of a symbolic link, encoded as names are."""
    place: StorageTier = StorageTier.NONE
    sha256: str = ""
    """SHA-256 of the current content; empty for an empty file."""
    key: str = ""
    """With StorageTier.GARAGE the object's key, with StorageTier.SPOOL the spool file's name, else empty."""
    doc_id: str = ""
    """The Document of the newest version; empty if the path has none."""
    version: int = 0
    """The number of the newest version; 0 while the path has none."""
    settled: bool = True
    """False from a change of content or name until that change is settled."""
    arrived_at: int = 0
    """When the entry got this folder and name; 0 where a store does not record it."""
    decision: str = ""
    """The last decision about the content (``ingest.storing.identify.Action``); empty before the first."""
    reason: str = ""
    """The reason of the decision, in one clause for people."""


@dataclass(frozen=True, slots=True)
class Version:
    """(path, n) → Document. The history follows the path that a person edits, not the inode."""

    lineage: int
    n: int
    doc_id: str
    sha256: str
    size: int
    key: str
    path: str
    """The path below documents/ when the version was minted, encoded."""
    minted_at: int
    decision: str = ""
    """Why the version exists: insert, update, reprocess, revive, alias or in_progress."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Succession:
    """A version of a path, with the Documents of the versions before and after it."""

    version: Version
    supersedes: str
    """The doc_id of the version before; '' for the first."""
    superseded_by: str
    """The doc_id of the version after; '' for the newest."""


@dataclass(frozen=True, slots=True)
class Document:
    """One content in one ontology."""

    doc_id: str
    ontology: str
    sha256: str
    source_id: str
    """``<ontology id>/<path at first deposit>``. It never changes."""
    key: str
    """Garage key of the original."""
    size: int
    state: State
    reason: str = ""
    ingest_version: int = INGEST_VERSION
    reading: str = ""
    """Id of the Reading that the graph shows; empty before the first is published."""
    decisions: str = ""
    """Garage key of the match decisions of that publication."""
    commit_id: str = ""
    deposited_at: int = 0
    deposit: int = 0
    """The order of deposit. Documents are matched in this order."""
    removed_at: int = 0
    """When the last live name of the document was removed; 0 while a live name has it."""
    former_reading: str = ""
    """Id of the Reading that was published before ``reading``; empty if there was none."""
    former_decisions: str = ""
    named_at: int = 0
    """When a live name or a parent last gained or lost the document, as far as their number tells."""
    parent: str = ""
    """The doc_id of the Document that it was first found in as a part; '' if it was deposited itself. It never
    changes."""
    root: str = ""
    """The doc_id of the Document that no other one is the parent of, in the same sense; '' without a parent."""
    depth: int = 0
    text: str = ""
    """The commit id by which the graph shows the document's text, while it shows nothing else of it; else empty."""
    failed_at: int = 0
    """When a reading of it last ended as unsupported or failed; 0 if none ever did, or it is not known when."""
