"""The result of resolving a user's words in a home, and functions that build it from the stores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from kgfs.domain.documents import Document, Name, NameKind, Ontology
from kgfs.domain.names import encode_name
from kgfs.errors import BadInputError, MissingError
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.rows import Trashed
from kgfs.stores.stores import Stores

_PAGE = 1000


class FoundKind(StrEnum):
    """The kind of thing that words were resolved to."""

    DOCUMENT = "document"
    """A file of documents/, read or not, or a Document that no live file has."""
    FOLDER = "folder"
    ONTOLOGY = "ontology"


@dataclass(frozen=True, slots=True)
class Found:
    """The file, folder, ontology or Document that words were resolved to."""

    kind: FoundKind
    ontology: Ontology
    """The ontology. A removed one has root 0, and its key prefix for a name if its name was not kept."""
    name: Name | None = None
    """The live file, link or folder; None for an ontology and for a Document that no live file has."""
    path: str = ""
    """The path below documents/, encoded. For a Document that no live file has, the path of its newest version."""
    document: Document | None = None
    """The Document of the version that was named, else of the newest version. None while there is none (the file
    is empty, temporary or not settled yet)."""
    version: int = 0
    """The version number, if the words named one version of the path; else 0."""
    trashed: Trashed | None = None
    """The removed file, if one was asked for."""

    @property
    def doc_id(self) -> str:
        """Return the id of the Document; '' if there is none."""
        return self.document.doc_id if self.document else ""

    def __str__(self) -> str:
        if self.kind is FoundKind.ONTOLOGY:
            return self.ontology.name
        shown = f"{self.ontology.name}/documents/{self.path}"
        return f"{shown}@{self.version}" if self.version else shown


def of_path(names: Names, ontology: Ontology, path: str) -> Iterator[Found]:
    """Yield the live name at a path below documents/, encoded; for the empty path, the ontology itself."""
    path = path.strip("/")
    if not path:
        yield Found(FoundKind.ONTOLOGY, ontology)
    elif name := names.resolve(ontology.id, path):
        yield of_name(names, ontology, name, path)


def of_name(names: Names, ontology: Ontology, name: Name, path: str) -> Found:
    """Return a live name with the Document of its newest version."""
    if name.kind is NameKind.FOLDER:
        return Found(FoundKind.FOLDER, ontology, name, path)
    document = names.document(name.doc_id) if name.doc_id else None
    return Found(FoundKind.DOCUMENT, ontology, name, path, document)


def of_document(stores: Stores, document: Document, called: str = "") -> Iterator[Found]:
    """Yield a Document with the first of its live names; a name equal to ``called`` comes first."""
    names = stores.catalog.names
    ontology = ontology_of(names, document.ontology, document.key)
    live = sorted(names.names_of(document.doc_id), key=lambda name: name.name != encode_name(os.fsencode(called)))
    for name in live:
        if (path := names.path(name.id)) is not None:
            yield Found(FoundKind.DOCUMENT, ontology, name, path, document)
            return
    held = names.version_of(document.doc_id)
    yield Found(FoundKind.DOCUMENT, ontology, None, held[0].path if held else "", document)


def ontology_of(names: Names, ontology_id: str, key: str) -> Ontology:
    """Return the ontology of a document or a removed file with this garage key, also after the ontology was
    removed. A removed ontology has root 0. If it was removed before names of removed ontologies were kept, its
    name is its key prefix."""
    if living := names.ontology(ontology_id):
        return living
    removed = next((known for known in names.removed_ontologies() if known.id == ontology_id), None)
    prefix = key.split("/")[1]
    return replace(removed, root=0) if removed else Ontology(ontology_id, prefix, prefix, 0, 0)


def of_key(stores: Stores, key: str) -> Iterator[Found]:
    """Resolve the garage key of an original to its Document, also if the garage has lost the original."""
    parts = key.split("/")
    if len(parts) != 3 or parts[0] != "sources":
        return
    names = stores.catalog.names
    for ontology in (*names.ontologies(), *names.removed_ontologies()):
        if ontology.prefix == parts[1] and (document := _with_key(stores, ontology, key)):
            yield from of_document(stores, document)


def _with_key(stores: Stores, ontology: Ontology, key: str) -> Document | None:
    names, objects = stores.catalog.names, stores.garage.objects
    try:
        found = names.document_with(ontology.id, objects.stat(key).sha256)
        if found is not None and found.key == key:
            return found
    except (MissingError, BadInputError):  # the garage has lost the object, or the key is not a valid one
        pass
    page = names.documents(ontology.id, limit=_PAGE)
    while page:
        for document in page:
            if document.key == key:
                return document
        page = names.documents(ontology.id, after=page[-1].doc_id, limit=_PAGE)
    return None
