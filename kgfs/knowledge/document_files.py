"""The files of all documents: what filters look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kgfs.domain.documents import Ontology
from kgfs.domain.names import decode_name
from kgfs.stores.catalog.names import Names


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
