"""Serve ``sessions/<session_id>/``: the conversation of a transcript, its entries, and the transcript itself."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from kgfs.domain.documents import Ontology
from kgfs.domain.sessions import SegmentRow, SessionRow
from kgfs.errors import MissingError
from kgfs.knowledge import sessions
from kgfs.knowledge.joined import Span, size_of
from kgfs.render import session as render
from kgfs.tree import keys
from kgfs.tree.archive import OwnFile
from kgfs.tree.changes import DocumentPublished, DocumentPurged
from kgfs.tree.derived import DerivedFile, DerivedFolder, Page, is_being_removed, token_of
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.node import Handle, Node, inode_of
from kgfs.tree.spans import Spans
from kgfs.tree.tree_context import TreeContext

NAME = "sessions"
GROUP = "sessions"
ENTRIES = "entries"
SUFFIX = ".md"


def folder(context: TreeContext, ontology: Ontology) -> Node | None:
    """Return ``sessions/``; None for an ontology without transcripts."""
    return SessionsFolder(context, ontology.id) if context.stores.graph.sessions(ontology.id) else None


class SessionsFolder(DerivedFolder[None]):
    """Serve ``sessions/``."""

    __slots__ = ("_ontology_id",)

    def __init__(self, context: TreeContext, ontology_id: str) -> None:
        super().__init__(context, keys.part(ontology_id, NAME))
        self._ontology_id = ontology_id

    def group(self) -> tuple[str, Hashable]:
        return GROUP, None

    def mtime(self) -> int:
        return self.context.stores.graph.changed_at(self._ontology_id)

    def token(self) -> Hashable | None:
        return super().token(), is_being_removed(self.context, self._ontology_id)

    def lookup(self, name: str) -> Node | None:
        known = sessions.named(self.context.stores, self._ontology_id)
        return SessionFolder(self.context, self._ontology_id, name) if name in known else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        if is_being_removed(self.context, self._ontology_id):
            return ()
        found = sessions.named(self.context.stores, self._ontology_id)
        return [(name, SessionFolder(self.context, self._ontology_id, name)) for name in sorted(found)]


class _OfSession:
    """What the entries of a session's folder share: the transcript is looked up anew, since it grows."""

    __slots__ = ()
    context: TreeContext
    _at: tuple[str, str]

    def _session(self) -> SessionRow:
        ontology_id, name = self._at
        stores, recall = self.context.stores, self.context.cache.recall
        found = recall((NAME, ontology_id), lambda: sessions.named(stores, ontology_id)).get(name)
        if found is None:
            raise MissingError(f"There is no session {name} any more.")
        return found

    def _segments(self) -> list[SegmentRow]:
        stores, row = self.context.stores, self._session()
        return self.context.cache.recall((ENTRIES, row.doc_id), lambda: sessions.segments_of(stores, row))

    def _changed_at(self) -> int:
        stores, row, segments = self.context.stores, self._session(), self._segments()
        changed = self.context.cache.recall
        return changed(("changed", row.doc_id), lambda: sessions.changed_at(stores, row, segments))


class SessionFolder(_OfSession, DerivedFolder[None]):
    """Serve ``sessions/<session_id>/``."""

    __slots__ = ("_at",)

    def __init__(self, context: TreeContext, ontology_id: str, name: str) -> None:
        super().__init__(context, keys.session(ontology_id, name))
        self._at = ontology_id, name

    def group(self) -> tuple[str, Hashable]:
        return GROUP, None

    def mtime(self) -> int:
        return self._changed_at()

    def entries(self) -> Sequence[tuple[str, Node]]:
        row = self._session()
        return [
            (ENTRIES, EntriesFolder(self.context, *self._at)),
            ("metadata.json", Page(self.context, keys.session(*self._at, "metadata.json"), self._metadata)),
            ("raw.jsonl", OwnFile(self.context, row.doc_id, keys.session(*self._at, "raw.jsonl"))),
            ("session.md", SessionMd(self.context, *self._at)),
        ]

    def _metadata(self) -> tuple[bytes, int]:
        row, stores = self._session(), self.context.stores
        segments = self._segments()
        return render.metadata(sessions.about(stores, row, segments)), self._changed_at()


class SessionMd(_OfSession, DerivedFile[None]):
    """Serve ``session.md``, put together from its segments when it is read."""

    __slots__ = ("_at",)

    def __init__(self, context: TreeContext, ontology_id: str, name: str) -> None:
        super().__init__(context, keys.session(ontology_id, name, "session.md"))
        self._at = ontology_id, name

    def group(self) -> tuple[str, Hashable]:
        return GROUP, None

    def measure(self) -> tuple[int, int]:
        return size_of(self._spans()), self._changed_at()

    def handle(self) -> Handle:
        return Spans(self._spans(), token_of(self.context))

    def _spans(self) -> list[Span]:
        stores, row = self.context.stores, self._session()
        segments = self._segments()
        header = render.header(sessions.about(stores, row, segments))
        pieces = [
            Span(sessions.conversation_size(row, one), partial(sessions.conversation, stores, row, one))
            for one in segments
        ]
        return [Span(len(header), lambda: header), *pieces]


class EntriesFolder(_OfSession, DerivedFolder[None]):
    """Serve ``entries/``."""

    __slots__ = ("_at",)

    def __init__(self, context: TreeContext, ontology_id: str, name: str) -> None:
        super().__init__(context, keys.session(ontology_id, name, ENTRIES))
        self._at = ontology_id, name

    def group(self) -> tuple[str, Hashable]:
        return GROUP, None

    def mtime(self) -> int:
        return self._changed_at()

    def lookup(self, name: str) -> Node | None:
        number = name.removesuffix(SUFFIX)
        if not name.endswith(SUFFIX) or not (number.isascii() and number.isdigit()) or number.startswith("0"):
            return None
        n = int(number) if len(number) < 18 else 0
        found = sessions.segment_with(self._segments(), n)
        return EntryFile(self.context, *self._at, n) if found is not None else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        row, segments, at = self._session(), self._segments(), self._changed_at()
        listed: list[tuple[str, Node]] = []
        for segment in segments:
            for n, size in enumerate(sessions.page_sizes(row, segment), segment.first_entry):
                listed.append((f"{n}{SUFFIX}", EntryFile(self.context, *self._at, n, (size, at))))
        return listed


class EntryFile(_OfSession, DerivedFile[tuple[int, int]]):
    """Serve ``entries/<n>.md``."""

    __slots__ = ("_at", "_n")

    def __init__(
        self, context: TreeContext, ontology_id: str, name: str, n: int, row: tuple[int, int] | None = None
    ) -> None:
        super().__init__(context, keys.session(ontology_id, name, f"{ENTRIES}/{n}"), row)
        self._at = ontology_id, name
        self._n = n

    def measure(self) -> tuple[int, int]:
        known = self.take_row()
        if known is not None:
            return known
        segment = self._segment()
        return sessions.page_sizes(self._session(), segment)[self._n - segment.first_entry], self._changed_at()

    def content(self) -> bytes:
        return sessions.entry_page(self.context.stores, self._session(), self._segment(), self._n)

    def _segment(self) -> SegmentRow:
        found = sessions.segment_with(self._segments(), self._n)
        if found is None:
            raise MissingError(f"The session has no entry {self._n}.")
        return found


def published(change: DocumentPublished, stale: Invalidations) -> None:
    """Invalidate the sessions of an ontology when a transcript, or a segment, is shown, or is shown no more."""
    stores = stale.context.stores
    document = stores.catalog.names.document(change.doc_id)
    if document is None:
        return
    ontology = document.ontology
    stale.key_entry(keys.ontology(ontology), NAME.encode())
    if not stale.has_group(GROUP):
        return
    for inode, _ in stale.group(GROUP):
        stale.inode(inode, data=True)
    for name, row in sessions.named(stores, ontology).items():
        stale.appeared(inode_of(keys.part(ontology, NAME)), name.encode())
        for part in ("metadata.json", "raw.jsonl"):
            stale.key(keys.session(ontology, name, part), data=True)
        entries = keys.session(ontology, name, ENTRIES)
        if stale.knows(entries):
            for n in range(1, row.entry_count + 1):
                stale.appeared(inode_of(entries), f"{n}{SUFFIX}".encode())
                stale.key(keys.session(ontology, name, f"{ENTRIES}/{n}"), data=True)


def purged(change: DocumentPurged, stale: Invalidations) -> None:
    """Drop what is in memory of transcripts."""
    sessions.forget_cached()
