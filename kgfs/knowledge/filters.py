"""Find the documents that the filters of a question allow."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kgfs.domain.documents import Ontology
from kgfs.domain.identity import normalise_label
from kgfs.domain.names import decode_name
from kgfs.errors import BadInputError
from kgfs.knowledge.document_location import place_of
from kgfs.knowledge.query import Query
from kgfs.stores.catalog.contract_names import Names
from kgfs.stores.graph.vocabulary import DocumentRow
from kgfs.stores.stores import Stores


def ontology_asked(stores: Stores, query: Query, ontology: str) -> str:
    """Return the id of the ontology to search, '' for all: ``ontology:`` narrows a search over all of them.

    Raises BadInputError for an unknown one, and where another one is searched.
    """
    if not query.ontology:
        return ontology
    names = stores.catalog.names
    wanted = names.ontology_named(query.ontology)
    if wanted is None:
        known = ", ".join(sorted(one.name for one in names.ontologies())) or "none yet"
        raise BadInputError(f"'ontology:{query.ontology}': there is no such ontology. There are: {known}.")
    if ontology and wanted.id != ontology:
        raise BadInputError(f"'ontology:{query.ontology}': this search is in another one. Ask at the top of the mount.")
    return wanted.id


def allowed(stores: Stores, query: Query, ontology: str) -> frozenset[str]:
    """Return the doc_ids of all visible documents that pass the conditions of the question, in one ontology or in all.

    Takes time in proportion to the number of documents where a path, type or date is asked for; else to that of the
    documents with the concepts. Raises BadInputError for a concept that there is not.
    """
    names = stores.catalog.names
    one = names.ontology(ontology) if ontology else None
    searched = [one] if one is not None else names.ontologies()
    found: set[str] | None = None
    for concept in query.concepts:
        mentioning = set(_mentioning(stores, searched, concept))
        found = mentioning if found is None else found & mentioning
    if found is None:
        found = {row.doc_id for each in searched for row in _documents(stores, each)}
    if query.paths or query.types:
        found = {doc_id for doc_id in found if _passes(stores, query, doc_id)}
    if query.after is not None or query.before is not None:
        after = query.after if query.after is not None else -(2**63)
        before = query.before if query.before is not None else 2**63
        dated = _dates(stores, found)
        found = {doc_id for doc_id in found if any(after <= date < before for date in dated[doc_id])}
    for words in query.without:
        found -= stores.graph.documents_with(words, ontology)
    return frozenset(found)


def newest_first(stores: Stores, doc_ids: frozenset[str]) -> list[str]:
    """Return the documents in order of their dates, the newest first."""
    dated = _dates(stores, doc_ids)
    return sorted(doc_ids, key=lambda doc_id: (-max(dated[doc_id], default=-(2**63)), doc_id))


def _documents(stores: Stores, ontology: Ontology) -> Iterator[DocumentRow]:
    after = ""
    while page := stores.graph.documents(ontology.id, after):
        yield from page
        after = page[-1].doc_id


def _mentioning(stores: Stores, searched: list[Ontology], concept: str) -> Iterator[str]:
    norm, known = normalise_label(concept), False
    for ontology in searched:
        ids = list(stores.graph.match(ontology.id, [norm]).values())
        called = stores.graph.concept_named(ontology.id, concept.removesuffix(".concept"))
        ids += [called.concept_id] if called else []
        known = known or bool(ids)
        for doc_ids in stores.graph.documents_of(ids).values():
            yield from doc_ids
    if not known:
        raise BadInputError(f"'concept:{concept}': there is no such concept. List them: ls <Ontology>/concepts")


def _passes(stores: Stores, query: Query, doc_id: str) -> bool:
    names = stores.catalog.names
    row = stores.graph.document(doc_id)
    if row is None:
        return False
    paths = [decode_name(path).decode("utf-8", "replace") for path in _paths(names, doc_id)]
    if query.paths and not any(path.startswith(start) for path in paths for start in query.paths):
        return False
    if query.types:
        endings = {path.rpartition(".")[2].casefold() for path in paths if "." in path.rpartition("/")[2]}
        return any(one in endings or one in row.document_type.casefold() for one in query.types)
    return True


def _paths(names: Names, doc_id: str) -> list[str]:
    """Return the paths of the document's files below documents/; of a part, its name below the paths of its parents."""
    own = [found[0] for name in names.names_of(doc_id) if (found := place_of(names, name)) is not None]
    parts = names.part_of(doc_id)
    return own + [f"{path}/{part.name}" for part in parts for path in _paths(names, part.parent)]


def _dates(stores: Stores, doc_ids: Collection[str]) -> dict[str, list[int]]:
    """Return the dates of documents: the one that a document gives itself, else the times at which its files were last
    changed, and the dates of those that it is a part of."""
    names, own = stores.catalog.names, stores.graph.own_dates(doc_ids)
    found: dict[str, list[int]] = {}
    for doc_id in doc_ids:
        if doc_id in own:
            found[doc_id] = [own[doc_id]]
            continue
        found[doc_id] = [name.mtime for name in names.names_of(doc_id)]
        parents = {part.parent for part in names.part_of(doc_id)}
        if parents:
            found[doc_id] += [date for dates in _dates(stores, parents).values() for date in dates]
    return found
