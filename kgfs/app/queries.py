"""Answer questions about a home: documents, versions and state. Nothing is changed."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kgfs.app.home import open_to_read
from kgfs.config import Config
from kgfs.stores.catalog.rows import Trashed
from kgfs.stores.graph.sqlite import open_graph
from kgfs.stores.mount_files import KNOWLEDGE, mount_notes
from kgfs.stores.resolve import Found, find_document, ontology_called
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # each question imports what it needs: a command line asks one, and ends
    from kgfs.knowledge.cite import Cited
    from kgfs.knowledge.compare import Comparison
    from kgfs.knowledge.history import Difference


@dataclass(frozen=True, slots=True)
class Removed:
    """A file in the trash."""

    file: Trashed
    path: str
    """``ONTOLOGY/documents/PATH``."""


@dataclass(frozen=True, slots=True)
class SpokenOf:
    """A document that mentions a concept."""

    doc_id: str
    paths: tuple[str, ...]
    """All paths of the document, each beginning with the ontology's name."""
    label: str
    """The document's label for the concept."""
    quotes: int


def document(config: Config, named: str) -> dict[str, Any]:
    """Return what is known about one document.

    ``named`` is a path in a mount, ``ONTOLOGY/PATH``, a doc_id or a garage key; removed files are found too. Raise
    MissingError if nothing has that name, and BadInputError if the words are ambiguous.
    """
    from kgfs.knowledge.document import document_page

    with open_to_read(config) as stores:
        return document_page(stores, named_document(config, stores, named))


def status(config: Config) -> dict[str, Any]:
    """Return the state of the home (``knowledge.status`` lists the fields). Asks no server."""
    from kgfs.knowledge.status import status as status_of

    with open_to_read(config) as stores:
        return status_of(config, stores)


def unshipped(config: Config) -> list[str]:
    """Return the files whose newest content or name the bucket does not have: below a mount of the home if there is
    one, else as ``ONTOLOGY/documents/PATH``."""
    from kgfs.knowledge.unshipped import unshipped as paths_of

    mounts = [note.mountpoint for note in mount_notes(config.run) if note.alive and note.view == KNOWLEDGE]
    with open_to_read(config) as stores:
        found = paths_of(stores)
    return [str(mounts[0] / path) for path in found] if mounts else found


def projection_state(config: Config) -> dict[str, Any] | None:
    """Return how far the projection to Neo4j is behind; None if the home has no projection. Ask no server."""
    if config.graph.store != "neo4j" or not config.graph_db.exists():
        return None
    with closing(open_graph(config)) as graph:
        from kgfs.stores.projection.progress import projection_page  # loads what only a projection needs

        return projection_page(config, graph)


def history(config: Config, named: str) -> list[dict[str, Any]]:
    """Return plain data about each version of a file, oldest first. Names and errors are as for :func:`document`."""
    from kgfs.knowledge.history import history as history_of

    with open_to_read(config) as stores:
        return history_of(stores, named_document(config, stores, named))


def cite(config: Config, chunk_id: str) -> Cited:
    """Return the passage for which a ``chunk_id`` was issued, even if its document has changed or was removed since.

    Raise MissingError for an id that was never issued and for an id of a purged document. Raise UnavailableError or
    TimedOutError if the passage is in a bucket that is away.
    """
    from kgfs.ingest.lifecycle.citable import issued
    from kgfs.knowledge.cite import cited

    with open_to_read(config) as stores:
        return cited(stores, chunk_id, partial(issued, stores, config.chunk_index_db))


def difference(config: Config, named: str, old: int, new: int) -> tuple[Found, Difference]:
    """Return the file, and what changed between two of its versions. Raise MissingError for a version that does not
    exist.
    """
    from kgfs.knowledge.history import difference as difference_of

    with open_to_read(config) as stores:
        found = named_document(config, stores, named)
        return found, difference_of(stores, found, old, new)


def compare_readings(config: Config, ontology: str) -> Comparison:
    """Return the changes of each document's newest Reading against its previous one."""
    from kgfs.knowledge.compare import compare

    with open_to_read(config) as stores:
        return compare(stores, ontology_called(stores, ontology))


def documents_of_concept(config: Config, ontology: str, concept: str) -> list[SpokenOf]:
    """Return the documents that mention a concept, in order of deposit. Raise MissingError for an unknown concept."""
    from kgfs.ingest.matching.concept_plans import speaking_of

    with open_to_read(config) as stores:
        names = stores.catalog.names
        return [
            SpokenOf(doc_id, tuple(names.path(name.id) or "" for name in names.names_of(doc_id)), label, quotes)
            for doc_id, label, quotes in speaking_of(stores, ontology_called(stores, ontology), concept)
        ]


def removed(config: Config) -> list[Removed]:
    """Return the files in the trash, newest last."""
    from kgfs.ingest.writing import trash

    with open_to_read(config) as stores:
        found = sorted(trash.listed(stores), key=lambda gone: (gone.at, gone.path, gone.id))
        return [removed_file(stores, gone) for gone in found]


def removed_file(stores: Stores, gone: Trashed) -> Removed:
    """Return a file of the trash together with its former path."""
    from kgfs.ingest.writing import trash

    return Removed(gone, f"{trash.ontology_shown(stores, gone)}/documents/{gone.path}")


def named_document(config: Config, stores: Stores, words: str, *, trashed: bool = True) -> Found:
    """Return the document that the words name (``stores.naming`` defines how); with ``trashed`` also a removed file."""
    return find_document(stores, config.run, words, trashed=trashed)
