"""Find the documents that the filters of a question allow. Filters look at the files of all documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from unicodedata import normalize

from kgfs.domain.documents import Ontology
from kgfs.domain.identity import normalise_label
from kgfs.domain.names import decode_name
from kgfs.errors import BadInputError
from kgfs.knowledge.query import Query
from kgfs.stores.catalog.names import Names
from kgfs.stores.stores import Stores


def ontology_asked(stores: Stores, query: Query, ontology: str) -> str:
    """Return the id of the ontology to search, '' for all: ``ontology:`` narrows a search over all of them.

    Raises BadInputError for an unknown one, and where another one is searched.
    """
    if not query.ontology:
        return ontology
    names = stores.catalog.names
    named = (names.ontology_named(normalize(form, query.ontology)) for form in ("NFC", "NFD"))
    wanted = next((one for one in named if one is not None), None)
    if wanted is None:
        known = ", ".join(sorted(one.name for one in names.ontologies())) or "none yet"
        raise BadInputError(f"'ontology:{query.ontology}': there is no such ontology. There are: {known}.")
    if ontology and wanted.id != ontology:
        raise BadInputError(f"'ontology:{query.ontology}': this search is in another one. Ask at the top of the mount.")
    return wanted.id


def allowed(stores: Stores, query: Query, ontology: str) -> frozenset[str]:
    """Return the doc_ids of all visible documents that pass the conditions of the question, in one ontology or in all.

    Where a path, type or date is asked for it reads the names of all documents once. Raises BadInputError for a concept that there
    is not.
    """
    names, graph = stores.catalog.names, stores.graph
    one = names.ontology(ontology) if ontology else None
    searched = [one] if one is not None else names.ontologies()
    found: set[str] | None = None
    for concept in query.concepts:
        mentioning = set(_mentioning(stores, searched, concept))
        found = mentioning if found is None else found & mentioning
    types = {doc_id: type_ for each in searched for doc_id, type_ in graph.document_types(each.id).items()}
    found = set(types) if found is None else found & types.keys()
    dated = query.after is not None or query.before is not None
    if query.paths or query.types or dated:
        files = DocumentFiles(names, searched)
        found = {doc_id for doc_id in found if _passes(query, files.paths(doc_id), types[doc_id])}
        if dated:
            after = query.after if query.after is not None else -(2**63)
            before = query.before if query.before is not None else 2**63
            dates = _dates(stores, files, found)
            found = {doc_id for doc_id in found if any(after <= date < before for date in dates[doc_id])}
    for words in query.without:
        found -= stores.graph.documents_with(words, ontology)
    return frozenset(found)


def newest_first(stores: Stores, doc_ids: frozenset[str]) -> list[str]:
    """Return the documents in order of their dates, the newest first."""
    dated = _dates(stores, DocumentFiles(stores.catalog.names, stores.catalog.names.ontologies()), doc_ids)
    return sorted(doc_ids, key=lambda doc_id: (-max(dated[doc_id], default=-(2**63)), doc_id))


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


def _passes(query: Query, paths: Sequence[str], type_: str) -> bool:
    if query.paths and not any(normalize("NFC", path).startswith(start) for path in paths for start in query.paths):
        return False
    if query.types:
        endings = {path.rpartition(".")[2].casefold() for path in paths if "." in path.rpartition("/")[2]}
        return any(one in endings or one in type_.casefold() for one in query.types)
    return True


def _dates(stores: Stores, files: DocumentFiles, doc_ids: Collection[str]) -> dict[str, list[int]]:
    """Return the dates of documents: the one that a document gives itself, else the times at which its files were last
    changed, and the dates of those that it is a part of."""
    own = stores.graph.own_dates({*doc_ids, *files.above(doc_ids)})

    def dates(doc_id: str) -> list[int]:
        if doc_id in own:
            return [own[doc_id]]
        return files.times(doc_id) + [date for parent in files.parents(doc_id) for date in dates(parent)]

    return {doc_id: dates(doc_id) for doc_id in doc_ids}


class DocumentFiles:
    """Paths and times of the documents of some ontologies, as of now: read at once, since a filter asks for all of them."""

    def __init__(self, names: Names, ontologies: Iterable[Ontology]) -> None:
        self._files: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for ontology in ontologies:
            for doc_id, path, mtime in names.placed(ontology.id):
                self._files[doc_id].append((path, mtime))
        self._parents: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for child, parent, name in names.all_parts():
            self._parents[child].append((parent, name))

    def paths(self, doc_id: str) -> list[str]:
        """Return the paths of a document's files below documents/; of a part, its name below the paths of its parents."""
        return [decode_name(path).decode("utf-8", "replace") for path in self._paths(doc_id)]

    def _paths(self, doc_id: str) -> Iterator[str]:
        yield from (path for path, _ in self._files.get(doc_id, ()))
        for parent, name in self._parents.get(doc_id, ()):
            yield from (f"{path}/{name}" for path in self._paths(parent))

    def times(self, doc_id: str) -> list[int]:
        """Return the times at which a document's files were last changed (nanoseconds)."""
        return [mtime for _, mtime in self._files.get(doc_id, ())]

    def parents(self, doc_id: str) -> set[str]:
        """Return the documents that this one is a part of."""
        return {parent for parent, _ in self._parents.get(doc_id, ())}

    def above(self, doc_ids: Iterable[str]) -> set[str]:
        """Return all documents that one of these is a part of, and those that they are parts of."""
        found: set[str] = set()
        waiting = [*doc_ids]
        while waiting:
            fresh = self.parents(waiting.pop()) - found
            found |= fresh
            waiting += fresh
        return found
