"""Embed all documents again when the home's embedding model is another one than before.

The vectors that a Reading was made with stay. The new vectors are stored beside them in the garage, so that a rebuild
derives vectors without asking a model. When all Readings have them, their rows are derived and put into use; until then
searches go by words.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kgfs.compute.contract import Compute
from kgfs.compute.heartbeat import PASSAGES
from kgfs.domain.documents import Document
from kgfs.domain.text import LONGEST_PROSE
from kgfs.errors import CorruptError, MissingError
from kgfs.ingest import timing
from kgfs.ingest.reading.embeddings import ByText, assemble, compute_windows, embedded_text
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading, later_vectors, load_reading, reading_key, text_of
from kgfs.stores.stores import Stores


def give(
    objects: Objects,
    compute: Compute,
    document: Document,
    reading: Reading,
    *,
    windows: bool,
    known: ByText | None = None,
) -> None:
    """Store vectors by this model for a Reading that has none: of the labels and, with ``windows``, of the Sources and claims.

    The model is not asked for the texts of Sources that are ``known``. The vectors are in the garage when this returns.
    """
    if reading.embedding_model == compute.embedding_model:
        return
    labels_key, windows_key = later_vectors(reading.doc_id, reading.id, compute.embedding_model)
    if not objects.exists(labels_key):
        objects.put(labels_key, assemble(compute, [], reading.concepts).encode())
    if windows and not objects.exists(windows_key):
        found = []
        if reading.text_length <= LONGEST_PROSE:
            text = text_of(objects, document, reading)
            found = compute_windows(compute, text, reading.chunks, reading.verdicts, known or {}, reading.context)
        objects.put(windows_key, assemble(compute, found, (), claims=reading.claims).encode())


@dataclass(slots=True)
class _Begun:
    """A Reading that has vectors of some of its Sources."""

    reading: Reading
    id: str
    missing: list[str]
    """Texts of Sources that are to be embedded."""
    known: ByText = field(default_factory=dict)


class Backfill:
    """Gives all Readings vectors by the model of ``compute``, in parts of about a second. One thread.

    What is stored is found again by the next process.
    """

    def __init__(
        self,
        stores: Stores,
        compute: Compute,
        begun: Path,
        *,
        derive: Callable[[], None],
        tell: Callable[[int, int], None] = lambda done, total: None,
        done: Callable[[], None] = lambda: None,
    ) -> None:
        """``begun`` is a file that exists from the beginning until ``derive`` has derived the rows from the garage and
        removed it. ``tell`` is called with the Sources that have vectors, and all; ``done`` when the rows are in use.
        """
        self._stores = stores
        self._compute = compute
        self._noted = begun
        self._derive = derive
        self._tell = tell
        self._done = done
        self._told_next = 0.0
        self._lacking: list[tuple[str, str, bool, int]] = []
        """(doc_id, Reading, whether it is shown, Sources) of what is left of this look through all Readings."""
        self._settled: dict[str, bool] = {}
        """Key of a Reading that needs nothing more → whether it was shown when that was found."""
        self._begun: _Begun | None = None
        self._given = self._total = 0
        """Sources that are shown and have vectors by the model, as of the last look and what was given since; and all."""
        self.is_due = False
        """Whether the rows in the vector store are not complete yet."""

    def prepare(self) -> None:
        """Find out whether Readings lack vectors. Where rows are lost and no Reading lacks any, derive them at once."""
        vectors = self._stores.vectors
        if vectors is None:
            return
        if not vectors.complete() and any(self._stores.catalog.names.counts().values()):
            self._noted.touch(mode=0o600)  # rows that are written meanwhile do not make it complete
        if self._noted.exists():
            self._look()
        self.is_due = bool(self._lacking)
        if self.is_due:
            self._tell(self._given, self._total)
        else:
            self._derive()

    def part(self) -> bool:
        """Embed a few Sources of what lacks vectors, or derive the rows when nothing does. Return False if nothing is due.

        A Reading whose objects are missing or corrupt is skipped: kgfs check reports it.
        """
        if not self.is_due:
            return False
        if not self._lacking:
            self._look()
        if self._lacking:
            self._give_next()
            if time.monotonic() >= self._told_next or not self._lacking:
                self._told_next = time.monotonic() + timing.BACKFILL_TOLD
                self._tell(self._given, self._total)
            return True
        self._derive()
        self.is_due = False
        self._done()
        return True

    def _give_next(self) -> None:
        doc_id, reading, shown, sources = self._lacking[-1]
        try:
            if not self._give_part(doc_id, reading, shown):
                return
        except (MissingError, CorruptError):
            self._begun = None
        self._settled[reading_key(doc_id, reading)] = shown
        self._given += sources
        self._lacking.pop()

    def _look(self) -> None:
        """Find the Readings that lack vectors. Each Reading that has none beside it is read once."""
        objects = self._stores.garage.objects
        kept = {key for key, _ in objects.keys("vectors/")}
        self._given = self._total = 0
        for key, _ in list(objects.keys("readings/")):
            doc_id, name = key.split("/")[1:]
            row = self._stores.graph.document(doc_id)
            reading = name.removesuffix(".json")
            shown = row is not None and row.reading == reading
            sources = row.chunk_count if row is not None and shown else 0
            self._total += sources
            labels, windows = later_vectors(doc_id, reading, self._compute.embedding_model)
            settled = self._settled.get(key)
            if (settled is not None and settled >= shown) or (labels in kept and (not shown or windows in kept)):
                self._given += sources
            elif self._is_of_this_model(doc_id, reading):
                self._settled[key] = True
                self._given += sources
            else:
                self._lacking.append((doc_id, reading, shown, sources))

    def _is_of_this_model(self, doc_id: str, reading: str) -> bool:
        try:
            found = load_reading(self._stores.garage.objects, doc_id, reading)
        except (MissingError, CorruptError):
            return True  # nothing can be given to it
        return found.embedding_model == self._compute.embedding_model

    def _give_part(self, doc_id: str, reading_id: str, shown: bool) -> bool:
        """Embed a part of a Reading; return whether it needs nothing more."""
        objects, document = self._stores.garage.objects, self._stores.catalog.names.document(doc_id)
        if document is None or not objects.exists(reading_key(doc_id, reading_id)):  # purged meanwhile
            self._begun = None
            return True
        begun = self._begun
        if begun is None or begun.id != reading_id:
            begun = self._begun = self._begin(document, reading_id, shown)
        some, begun.missing = begun.missing[:PASSAGES], begun.missing[PASSAGES:]
        if some:
            begun.known |= dict(zip(some, self._compute.embed(some), strict=True))
        if begun.missing:
            return False
        # A Reading that is not shown gets vectors of its labels only: concepts that it founded may still live.
        give(objects, self._compute, document, begun.reading, windows=shown, known=begun.known)
        self._begun = None
        return True

    def _begin(self, document: Document, reading_id: str, shown: bool) -> _Begun:
        reading = load_reading(self._stores.garage.objects, document.doc_id, reading_id)
        missing: list[str] = []
        if shown and reading.text_length <= LONGEST_PROSE:
            text = text_of(self._stores.garage.objects, document, reading)
            passed = zip(reading.chunks, reading.verdicts, strict=True)
            texts = (text[at.start : at.end] for at, verdict in passed if verdict.passed)
            missing = list(dict.fromkeys(embedded_text(reading.context, one) for one in texts))
        return _Begun(reading, reading_id, missing)
