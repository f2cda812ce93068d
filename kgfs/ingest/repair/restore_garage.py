"""Restore originals that the garage has lost, from other places that have their bytes or their text.

A restored original is always proved by its SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.config import Config
from kgfs.domain.parts import PartKind
from kgfs.errors import MissingError, ParserFailedError, StoreError, UnreadableTextError
from kgfs.failpoints import border
from kgfs.formats.sandbox import Limits
from kgfs.formats.table import parse
from kgfs.stores.pending_uploads import WAITING, copies_leaving
from kgfs.stores.quarantine import quarantine
from kgfs.stores.readings import load_reading, pages_prefix, texts_prefix
from kgfs.stores.stores import Stores

ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1")
"""Encodings to try; the Reading's own encoding, if known, is tried before them."""


@dataclass(frozen=True, slots=True)
class Lost:
    """An original that the garage has lost."""

    key: str
    sha256: str
    doc_ids: tuple[str, ...]


def lost(stores: Stores, keys: list[str]) -> list[Lost]:
    """Return the originals that are promised under these keys."""
    wanted: dict[str, tuple[str, list[str]]] = {}
    for key, sha256, doc_id in stores.catalog.promised():
        if key in keys:
            wanted.setdefault(key, (sha256, []))[1].append(doc_id)
    return [Lost(key, sha256, tuple(filter(None, doc_ids))) for key, (sha256, doc_ids) in wanted.items()]


def source_of(config: Config, stores: Stores, original: Lost) -> tuple[str, bytes] | None:
    """Return (where it was found, the original's bytes); None if nothing that is stored has the original's SHA-256."""
    for where, content in _candidates(config, stores, original):
        if hashlib.sha256(content).hexdigest() == original.sha256:
            return where, content
    return None


def restore_original(config: Config, stores: Stores, original: Lost) -> str:
    """Restore the original and return where its bytes came from; '' if it cannot be restored.

    A corrupt object under its key is quarantined, and only when a replacement was found. The original is in the
    garage when this returns.
    """
    found = source_of(config, stores, original)
    if found is None:
        return ""
    if stores.garage.objects.exists(original.key):
        quarantine(config, stores, original.key, "rotten original, made again")
    border("original-wanted")
    stores.garage.objects.put(original.key, found[1])
    border("original-made")
    return found[0]


def _candidates(config: Config, stores: Stores, original: Lost) -> Iterator[tuple[str, bytes]]:
    names, objects = stores.catalog.names, stores.garage.objects
    for ontology in names.ontologies():
        other = names.document_with(ontology.id, original.sha256)
        if other is not None and other.key != original.key:
            try:
                yield f"the original in {ontology.name}", objects.get(other.key)
            except (MissingError, StoreError):
                continue  # it is lost there too
    kept = stores.catalog.inbox(original.sha256)
    if kept is not None:
        yield "the inbox", kept
    for key in _aside(stores, original):
        try:
            yield f"the object {key}", objects.get(key)
        except (MissingError, StoreError):
            continue
    for path in sorted(config.spool.glob("*-*")):
        try:
            if path.stat().st_size <= sum(d.size for i in original.doc_ids if (d := names.document(i))):
                yield f"the working copy {path.name}", path.read_bytes()
        except FileNotFoundError:
            continue
    yield from _in_parents(config, stores, original)
    for doc_id in original.doc_ids:
        for where, text in _texts(stores, doc_id):
            for encoding in _encodings(stores, doc_id):
                try:
                    yield where, text.encode(encoding, "surrogatepass")
                except UnicodeError:
                    continue  # the text has characters that this encoding lacks


def _in_parents(config: Config, stores: Stores, original: Lost) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes as the mails, mailboxes and transcripts have them that the original is a part of."""
    names, settings = stores.catalog.names, config.pipeline
    limits = Limits(settings.parser_memory, settings.parser_cpu, settings.parser_files)
    found: list[bytes] = []

    def keep(name: str, sha256: str, part: bytes) -> str:
        if sha256 == original.sha256:
            found.append(part)
        return ""

    rows = [row for doc_id in original.doc_ids for row in names.part_of(doc_id, held=False)]
    for parent in dict.fromkeys(row.parent for row in rows):
        document = names.document(parent)
        if document is None:
            continue
        sizes = [row.size for row in names.parts(parent) if row.kind == PartKind.SEGMENT]
        try:
            content = stores.garage.objects.get(document.key)
            parse(document.source_id.rpartition("/")[2], content, limits, keep=keep, segments=sizes)
        except (MissingError, StoreError, UnreadableTextError, ParserFailedError):
            pass  # it is lost, too, or can be read in part only
        if found:
            yield f"document {parent}, of which it is a part", found[0]
            found.clear()


def _aside(stores: Stores, original: Lost) -> list[str]:
    """Return the keys of other copies in a shared garage: objects that wait to be settled or to be deleted."""
    objects = stores.garage.objects
    waiting = [key for key, _ in objects.keys(WAITING) if key.endswith(f".{original.sha256}")]
    return waiting + copies_leaving(objects, original.key)


def _texts(stores: Stores, doc_id: str) -> Iterator[tuple[str, str]]:
    rows = stores.graph.sources(doc_id, limit=1 << 40)
    if rows:
        yield "the text in the graph", "".join(row.full_text for row in rows)
    others = (pages_prefix(doc_id), texts_prefix(doc_id))
    for key, _ in list(stores.garage.objects.keys(f"texts/{doc_id}/")):
        if key.startswith(others):
            continue
        try:
            yield "the kept text", stores.garage.objects.get(key).decode("utf-8", "surrogatepass")
        except (MissingError, StoreError):
            continue


def _encodings(stores: Stores, doc_id: str) -> tuple[str, ...]:
    document = stores.catalog.names.document(doc_id)
    try:
        if document is not None and document.reading:
            known = load_reading(stores.garage.objects, doc_id, document.reading).encoding
            return (known, *ENCODINGS) if known else ENCODINGS
    except (MissingError, StoreError):
        pass  # the encoding is unknown: try all
    return ENCODINGS
