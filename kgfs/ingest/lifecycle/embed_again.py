"""Compute vectors with another embedding model than the one that a Reading was made with.

The vectors of the Reading itself stay. The new vectors are stored beside them in the garage, so that a rebuild
derives vectors without asking a model.
"""

from __future__ import annotations

from collections.abc import Callable

from kgfs.compute.contract import Compute
from kgfs.domain.documents import Document
from kgfs.errors import CorruptError, MissingError
from kgfs.failpoints import border
from kgfs.ingest.reading.embeddings import assemble, compute_windows
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading, decode_reading, later_vectors, text_of
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


def give(objects: Objects, compute: Compute, document: Document, reading: Reading, *, windows: bool) -> bool:
    """Store vectors by this model for a Reading that has none: of the labels and, with ``windows``, of the Sources.

    Return whether any were made. The vectors are in the garage when this returns.
    """
    if reading.embedding_model == compute.embedding_model:
        return False
    labels_key, windows_key = later_vectors(reading, compute.embedding_model)
    made = False
    if not objects.exists(labels_key):
        objects.put(labels_key, assemble(compute, [], reading.concepts).encode())
        made = True
    if windows and not objects.exists(windows_key):
        text = text_of(objects, document, reading)
        found = compute_windows(compute, text, reading.chunks, reading.verdicts, {})
        objects.put(windows_key, assemble(compute, found, ()).encode())
        made = True
    border("embedded-again")
    return made
