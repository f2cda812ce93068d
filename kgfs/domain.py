"""The words of the project as types, and the pure functions that define identity.

Nothing here does I/O or keeps state. Offsets count characters of the Text (code points), from 0, end
exclusive; ``line_*`` count from 1 and a line ends at LF only. Times are nanoseconds since the epoch.
Names of files are ``str`` in the encoding of :func:`encode_name`, so that any bytes survive JSON and SQL.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata
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
}
"""The written history of the ingest logic (CITE 1.3): a change after which a document would be read otherwise gets the next
number, and what is read by an older one is read again by ``kgfs reprocess``."""

INGEST_VERSION = max(INGEST_VERSIONS)
"""The current one."""

MAX_NAME_BYTES = 255


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


# ---------------------------------------------------------------------------------------------- text


@dataclass(frozen=True, slots=True)
class Block:
    """A structural unit of a Text. Blocks are ordered, do not overlap and, with the white space
    between them attached to the one before, cover the Text."""

    kind: str
    """heading, paragraph, list, code, table, quote, meta (field lists, front matter), rule."""
    start: int
    end: int
    level: int = 0
    """Of a heading, from 1."""
    title: str = ""
    """Of a heading: its words without markup."""


@dataclass(frozen=True, slots=True)
class Text:
    """What the parser made of a document's bytes."""

    text: str
    sha256: str
    """Of ``text`` encoded as UTF-8 (surrogates passed through)."""
    parser: str
    """Name and version, ``plain/1``."""
    media_type: str
    encoding: str
    """Codec whose exact decoding of the original ``text`` is; empty when the parser made the text itself."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """The span of one Source. Spans of consecutive chunks meet: joined they are the Text."""

    index: int
    start: int
    end: int
    line_start: int
    line_end: int
    """The line of the last character."""
    byte_start: int
    byte_end: int
    """Of the Text as UTF-8."""
    section_path: tuple[str, ...]
    tokens: int
    context_start: int
    """``context_start:start`` is the overlap shown to models as context; never part of the Source."""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's word on one Source; ``reason`` is empty when it passes."""

    passed: bool
    reason: str = ""


# --------------------------------------------------------------------------------------- extraction


@dataclass(frozen=True, slots=True)
class Quote:
    """An exact span of the Text: ``text[start:end] == quote``, always."""

    start: int
    end: int
    chunk: int
    """Index of the Source that holds ``start``."""
    defines: bool = False
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class FoundConcept:
    """A concept as one document speaks of it."""

    label: str
    """The best surface form."""
    norm: str
    """:func:`normalise_label` of the label; unique within a document."""
    forms: tuple[str, ...]
    """All surface forms, the label among them, most frequent first."""
    kind: str
    """``term`` or an entity type in lower case (person, org, product, …)."""
    score: float
    """Salience in this document, 0 to 1."""
    definition: str
    """The words of the best defining quote, without what surrounds them; empty if the text defines nothing."""
    quotes: tuple[Quote, ...]
    """In order of the Text; at least one."""


@dataclass(frozen=True, slots=True)
class FoundRelationship:
    subject: str
    """``norm`` of a FoundConcept of the same document."""
    type: str
    """One of RELATIONSHIP_TYPES."""
    object: str
    quote: Quote
    confidence: float


RELATIONSHIP_TYPES: Mapping[str, str] = {
    "IS_A": "HAS_KIND",
    "PART_OF": "HAS_PART",
    "USES": "USED_BY",
    "DEFINES": "DEFINED_BY",
    "CREATES": "CREATED_BY",
    "REPLACES": "REPLACED_BY",
    "EXTENDS": "EXTENDED_BY",
    "REQUIRES": "REQUIRED_BY",
    "SUPPORTS": "SUPPORTED_BY",
    "CAUSES": "CAUSED_BY",
    "PREVENTS": "PREVENTED_BY",
    "CONTRASTS_WITH": "CONTRASTS_WITH",
    "RELATED_TO": "RELATED_TO",
}
"""The vocabulary of relationship types, each with the name of its inverse (how the object's folder calls it)."""


@dataclass(frozen=True, slots=True)
class Mention:
    """What one living document contributes to a concept: the input of label, aliases and description."""

    doc_id: str
    deposit: int
    label: str
    forms: tuple[str, ...]
    kind: str
    score: float
    definition: str


# --------------------------------------------------------------------------------- identity, names


def new_id() -> int:
    """A fresh name id: random, 62 bits, above the numbers the tree reserves for fixed nodes."""
    return secrets.randbits(62) | (1 << 61)


def new_ontology_id() -> str:
    return secrets.token_hex(6)


def doc_id_of(source_id: str, content_hash: str) -> str:
    """CITE 3.1."""
    return hashlib.sha256(f"{source_id}:{content_hash}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def chunk_id_of(doc_id: str, start: int, end: int, length: int = 12) -> str:
    """CITE 3.1; a longer ``length`` where twelve digits collide."""
    return hashlib.sha256(f"{doc_id}:{start}:{end}".encode()).hexdigest()[:length]


def garage_key_of(prefix: str, content_hash: str, extension: str) -> str:
    """LIFECYCLE 2, with the file's own extension instead of always ``.txt``."""
    return f"sources/{prefix}/{content_hash[:32]}.{extension}"


def extension_of(name: str) -> str:
    """The lower-case extension of a file name if it is a plain one, else ``bin``."""
    stem, dot, extension = name.rpartition(".")
    if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,16}", extension):
        return extension.lower()
    return "bin"


def concept_id_of(ontology: str, norm: str) -> str:
    return hashlib.sha256(f"{ontology}:{norm}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def relationship_id_of(subject: str, type_: str, object_: str) -> str:
    return hashlib.sha256(f"{subject}:{type_}:{object_}".encode()).hexdigest()[:16]


def instance_id_of(owner: str, doc_id: str, start: int, end: int) -> str:
    """``owner`` is the concept or relationship that the quote is evidence for."""
    return hashlib.sha256(f"{owner}:{doc_id}:{start}:{end}".encode()).hexdigest()[:16]


_SPACE = re.compile(r"\s+")


def normalise_label(label: str) -> str:
    """The form under which labels are the same: NFKC, case-folded, inner space single, outer punctuation gone."""
    folded = unicodedata.normalize("NFKC", label).casefold()
    return _SPACE.sub(" ", folded).strip(" \t\n.,;:!?\"'`*_()[]{}<>-–—")


def encode_name(raw: bytes) -> str:
    """Any file name as printable text, reversibly: bytes that are no UTF-8, controls and ``%`` become ``%XX``."""
    out: list[str] = []
    for char in raw.decode("utf-8", "surrogateescape"):
        if "\udc80" <= char <= "\udcff":
            out.append(f"%{ord(char) - 0xDC00:02X}")
        elif char == "%" or unicodedata.category(char) == "Cc":
            out.extend(f"%{byte:02X}" for byte in char.encode())
        else:
            out.append(char)
    return "".join(out)


def decode_name(name: str) -> bytes:
    """The bytes that :func:`encode_name` was given."""
    raw = name.encode("utf-8")
    return re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), raw)


def safe_stem(label: str, max_bytes: int = 200) -> str:
    """A label as a derived file name: UTF-8, safe unquoted in a shell, never empty, at most ``max_bytes``."""
    words = re.sub(r"[^\w.+#]+", "-", unicodedata.normalize("NFC", label).casefold()).strip("-._+#")
    words = re.sub(r"#(?=$|-)", "-sharp", words).replace("#", "-")
    words = re.sub(r"-{2,}", "-", words)
    return words.encode()[:max_bytes].decode("utf-8", "ignore").rstrip("-._") or "unnamed"


def is_document_name(path: str) -> bool:
    """Whether a file at this path may become a Document: no part of it is a dot-name, and its own name is
    not one that editors and downloaders use for files in passing."""
    parts = path.split("/")
    return not any(part.startswith(".") for part in parts) and not TEMPORARY_NAME.search(parts[-1])


TEMPORARY_NAME = re.compile(
    r"(?:~|\.sw[a-px]|\.tmp|\.temp|\.part|\.partial|\.crdownload|\.download|\.bak~|\.kate-swp)$"
    r"|^(?:~\$.*|#.*#|4913|\.#.*|__[^/]*__\.tmp)$",
    re.IGNORECASE,
)
"""Names that editors and downloaders give to files in passing: hints, used only to keep such files out of the graph."""
