"""Vectors by another model than a Reading was made with. What the Reading has stays; these stand beside it in the garage, so
that vectors are derived from them without asking a model again."""

from __future__ import annotations

from collections.abc import Callable

from kgfs.compute.contract import Compute
from kgfs.domain.documents import Document
from kgfs.errors import MissingError, RotError
from kgfs.failpoints import border
from kgfs.ingest.reading.embeddings import assemble, compute_windows
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading, decode_reading, later_vectors, text_of
from kgfs.stores.stores import Stores


def embed_again(stores: Stores, compute: Compute, look: Callable[[], None] = lambda: None) -> int:
    """Give all Readings the vectors by ``compute``'s model that they lack; how many got some. Long, and harmless twice: what
    was made before a kill is found again. ``look`` is called before each, and what it raises ends this."""
    given = 0
    for key, _ in list(stores.garage.objects.keys("readings/")):
        look()
        doc_id = key.split("/")[1]
        document, shown = stores.journal.names.document(doc_id), stores.graph.document(doc_id)
        if document is None:
            continue
        try:
            reading = decode_reading(stores.garage.objects.get(key), key)
            # Of what is not shown only the labels: concepts that they founded may live.
            windows = shown is not None and shown.reading == reading.id
            given += give(stores.garage.objects, compute, document, reading, windows=windows)
        except (MissingError, RotError):
            continue  # kgfs check tells of it, and has it read again
    return given


def give(objects: Objects, compute: Compute, document: Document, reading: Reading, *, windows: bool) -> bool:
    """Keep vectors of the labels, and with ``windows`` of the Sources, where the Reading has none by this model; whether
    any were made."""
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
