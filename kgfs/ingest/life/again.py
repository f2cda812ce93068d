"""Files that are a document of this home already, to be read again by another strategy.

What is given may be a file in a mount, of the garage's view too, or an object's file in the home itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Document, State
from kgfs.errors import MissingError
from kgfs.ingest.life.regenerate import Order, all_of, owe
from kgfs.stores.garage.embedded import OBJECTS
from kgfs.stores.garage.listing import key_of_file
from kgfs.stores.naming import Found, FoundKind, find_document
from kgfs.stores.stores import Stores


def recognise(config: Config, stores: Stores, path: Path) -> Found | None:
    """The document of its own ontology that the file at ``path`` is; None for any other file. BadInputError where it can
    be two."""
    absolute = Path(os.path.normpath(path.absolute()))
    kept = config.garage / OBJECTS
    words = key_of_file(absolute.relative_to(kept)) if absolute.is_relative_to(kept) else os.fspath(absolute)
    try:
        found = find_document(stores, config.run, words)
    except MissingError:
        return None
    return found if found.kind is FoundKind.DOCUMENT and found.document is not None else None


def owe_again(stores: Stores, doc_ids: Iterable[str], strategy: str) -> list[Document]:
    """Owe a reading of each document that a path has; which ones. Those of one ontology are one run. Where they are all
    that it has, they are read as ``kgfs regenerate`` does it, as if for the first time."""
    names = stores.journal.names
    wanted = set(doc_ids)
    found = [document for doc_id in wanted if (document := names.document(doc_id))]
    owed: list[Document] = []
    for ontology_id in sorted({document.ontology for document in found}):
        ontology = names.ontology(ontology_id)
        if ontology is None:
            continue

        def choose(ontology_id: str = ontology_id) -> list[Document]:
            return [d for d in found if d.ontology == ontology_id and names.names_of(d.doc_id) and _is_text(d)]

        everything = {document.doc_id for document in all_of(names, ontology)}
        how = f" with {strategy}" if strategy else ""
        order = Order(f"reading again{how} was asked for", strategy, anew=everything <= wanted)
        owed += owe(stores.journal, choose, order)
    return owed


def _is_text(document: Document) -> bool:
    return document.state is not State.UNSUPPORTED
