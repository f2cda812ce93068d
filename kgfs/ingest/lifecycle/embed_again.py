"""Compute vectors with another embedding model than the one that a Reading was made with.

The vectors of the Reading itself stay. The new vectors are stored beside them in the garage, so that a rebuild
derives vectors without asking a model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kgfs.compute.contract import Compute
from kgfs.compute.heartbeat import PASSAGES
from kgfs.domain.documents import Document
from kgfs.domain.text import LONGEST_PROSE
from kgfs.errors import CorruptError, MissingError
from kgfs.ingest.reading.embeddings import ByText, assemble, compute_windows
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading, decode_reading, later_vectors, load_reading, reading_key, text_of
from kgfs.stores.stores import Stores


def embed_again(stores: Stores, compute: Compute, poll: Callable[[], None] = lambda: None) -> int:
    """Store vectors by ``compute``'s embedding model for all Readings that lack them; return the number of these
    Readings.

    Takes long, and is idempotent: a later call finds what an interrupted call has stored. A Reading whose objects are
    missing or corrupt is skipped. ``poll`` is called before each Reading, and an exception that it raises ends the
    call.
    """
    given = 0
    for key, _ in list(stores.garage.objects.keys("readings/")):
        poll()
        doc_id = key.split("/")[1]
        document, shown = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
        if document is None:
            continue
        try:
            reading = decode_reading(stores.garage.objects.get(key), key)
            # A Reading that is not shown gets vectors of its labels only: concepts that it founded may still live.
            windows = shown is not None and shown.reading == reading.id
            given += give(stores.garage.objects, compute, document, reading, windows=windows)
        except (MissingError, CorruptError):
            continue  # kgfs check reports it, and has the document read again
    return given


def give(
    objects: Objects,
    compute: Compute,
    document: Document,
    reading: Reading,
    *,
    windows: bool,
    known: ByText | None = None,
) -> bool:
    """Store vectors by this model for a Reading that has none: of the labels and, with ``windows``, of the Sources.

    The model is not asked for the texts of Sources that are ``known``. Return whether any were made. The vectors are
    in the garage when this returns.
    """
    if reading.embedding_model == compute.embedding_model:
        return False
    labels_key, windows_key = later_vectors(reading.doc_id, reading.id, compute.embedding_model)
    made = False
    if not objects.exists(labels_key):
        objects.put(labels_key, assemble(compute, [], reading.concepts).encode())
        made = True
    if windows and not objects.exists(windows_key):
        found = []
        if reading.text_length <= LONGEST_PROSE:
            text = text_of(objects, document, reading)
            found = compute_windows(compute, text, reading.chunks, reading.verdicts, known or {})
        objects.put(windows_key, assemble(compute, found, ()).encode())
        made = True
    return made


@dataclass(slots=True)
class _Begun:
    """A Reading that has vectors of some of its Sources."""

    reading: Reading
    id: str
    missing: list[str]
    """Texts of Sources that are to be embedded."""
    known: ByText = field(default_factory=dict)


class Giving:
    """Gives all Readings vectors by another model, in parts of about a second. One thread.

    What is stored is found again by the next process.
    """

    def __init__(self, stores: Stores, compute: Compute) -> None:
        self._stores = stores
        self._compute = compute
        self._lacking: list[tuple[str, str, bool, int]] = []
        """(doc_id, Reading, whether it is shown, Sources) of what is left of this look through all Readings."""
        self._settled: dict[str, bool] = {}
        """Key of a Reading that needs nothing more → whether it was shown when that was found."""
        self._begun: _Begun | None = None
        self.done = 0
        """Sources that are shown and have vectors by the model, as of the last look and what was given since."""
        self.total = 0
        """Sources that are shown."""

    def part(self) -> bool:
        """Embed a few Sources of what lacks vectors; return False if all Readings have them.

        A Reading whose objects are missing or corrupt is skipped: kgfs check reports it.
        """
        if not self._lacking:
            self._look()
        if not self._lacking:
            return False
        doc_id, reading, shown, sources = self._lacking[-1]
        try:
            if not self._give_part(doc_id, reading, shown):
                return True
        except (MissingError, CorruptError):
            self._begun = None
        self._settled[reading_key(doc_id, reading)] = shown
        self.done += sources
        self._lacking.pop()
        return True

    def _look(self) -> None:
        """Find the Readings that lack vectors. The cost grows with the number of documents, and no Reading is read."""
        objects = self._stores.garage.objects
        kept = {key for key, _ in objects.keys("vectors/")}
        self.done = self.total = 0
        for key, _ in list(objects.keys("readings/")):
            doc_id, name = key.split("/")[1:]
            row = self._stores.graph.document(doc_id)
            reading = name.removesuffix(".json")
            shown = row is not None and row.reading == reading
            sources = row.chunk_count if row is not None and shown else 0
            self.total += sources
            labels, windows = later_vectors(doc_id, reading, self._compute.embedding_model)
            settled = self._settled.get(key)
            if (settled is not None and settled >= shown) or (labels in kept and (not shown or windows in kept)):
                self.done += sources
            else:
                self._lacking.append((doc_id, reading, shown, sources))

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
        give(objects, self._compute, document, begun.reading, windows=shown, known=begun.known)
        self._begun = None
        return True

    def _begin(self, document: Document, reading_id: str, shown: bool) -> _Begun:
        reading = load_reading(self._stores.garage.objects, document.doc_id, reading_id)
        missing: list[str] = []
        if shown and reading.embedding_model != self._compute.embedding_model:
            text = text_of(self._stores.garage.objects, document, reading)
            passed = zip(reading.chunks, reading.verdicts, strict=True)
            missing = list(dict.fromkeys(text[at.start : at.end] for at, verdict in passed if verdict.passed))
        return _Begun(reading, reading_id, missing)
