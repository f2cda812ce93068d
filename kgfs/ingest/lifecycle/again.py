"""Recognise files that are already documents of this home, and enqueue new readings of these documents.

A recognised file may stand in a mount, also in a mount of the garage view, or may be an object's file in the home
itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Document, State
from kgfs.errors import MissingError
from kgfs.ingest.lifecycle.regenerate import Order, all_of, owe
from kgfs.stores.garage.embedded import OBJECTS
from kgfs.stores.garage.listing import key_of_file
from kgfs.stores.resolve import Found, FoundKind, find_document
from kgfs.stores.stores import Stores


def recognise(config: Config, stores: Stores, path: Path) -> Found | None:
    """Return the document that the file at ``path`` is, in the document's own ontology; None for any other file.

    Raise BadInputError where the path can mean two documents.
    """
    absolute = Path(os.path.normpath(path.absolute()))
    kept = config.garage / OBJECTS
    words = key_of_file(absolute.relative_to(kept)) if absolute.is_relative_to(kept) else os.fspath(absolute)
    try:
        found = find_document(stores, config.run, words)
    except MissingError:
        return None
    return found if found.kind is FoundKind.DOCUMENT and found.document is not None else None


def owe_again(stores: Stores, doc_ids: Iterable[str], strategy: str) -> list[Document]:
    """Enqueue a reading of each of these documents that has a path, and return the documents that were enqueued.

    Documents of unsupported formats are left out. The documents of one ontology form one run. Where they are all the
    documents that the ontology has, the run reads them as ``kgfs regenerate`` does: as if for the first time. An
    empty ``strategy`` means the configured one. The jobs of one ontology are recorded all or none, and
    all jobs are durable when this returns.
    """
    names = stores.catalog.names
    wanted = set(doc_ids)
    found = [document for doc_id in wanted if (document := names.document(doc_id))]
    owed: list[Document] = []
    for ontology_id in sorted({document.ontology for document in found}):
        ontology = names.ontology(ontology_id)
        if ontology is None:
            continue

        def choose(ontology_id: str = ontology_id) -> list[Document]:
            return [d for d in found if d.ontology == ontology_id and names.held(d.doc_id) and _is_text(d)]

        everything = {document.doc_id for document in all_of(names, ontology)}
        how = f" with {strategy}" if strategy else ""
        order = Order(f"reading again{how} was asked for", strategy, anew=everything <= wanted)
        owed += owe(stores.catalog, choose, order)
    return owed


def _is_text(document: Document) -> bool:
    return document.state is not State.UNSUPPORTED
