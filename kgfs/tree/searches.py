"""Cache the results of searches, so that a stat and the following read agree, and no search is repeated while graph
and names are unchanged.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from kgfs.compute.deadline import Deadline
from kgfs.config import Config
from kgfs.knowledge.by_document import documents
from kgfs.knowledge.nesting import search_nested
from kgfs.knowledge.search import Found, passages
from kgfs.render import results as by_document
from kgfs.render.search import passage, results_json, results_md
from kgfs.render.source import Marks
from kgfs.stores.stores import Stores
from kgfs.tree.timing import SEARCH_AGAIN
from kgfs.tree.view_cache import ViewCache

PASSAGES = "passages"
"""The folder of ``search/<words>/`` that has passages instead of documents."""
MAX_FOUND = 64
"""Maximum number of cached searches."""
MAX_BYTES = 16 << 20
"""Maximum number of bytes of cached files, in total."""

Words = tuple[str, ...]
"""The words of a search, behind those of the searches in whose folders it is."""
_Key = tuple[str, Words, str]


@dataclass(frozen=True, slots=True)
class Content:
    """A file of a result. Never changed: later results have other contents, which have other inode numbers."""

    data: bytes
    mtime: int

    @property
    def mark(self) -> str:
        digest = hashlib.blake2b(self.data, digest_size=16)
        digest.update(str(self.mtime).encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """The contents of a search's folder at one moment."""

    files: dict[str, Content]
    graph: Hashable
    names: Hashable
    """Position of the names when the search and its paths were read; ``graph`` is that of the graph."""
    found: Found
    at: float
    """Time of the search, in monotonic seconds."""


class Searches:
    """The searches of one mount. The event loop reports changes; any thread may search."""

    def __init__(self, config: Config, stores: Stores, cache: ViewCache) -> None:
        self._config = config
        self._stores = stores
        self._cache = cache
        self._graph_moves = 0
        self._name_moves = 0
        self._answers: OrderedDict[_Key, Answer] = OrderedDict()
        self._contents: OrderedDict[str, Content] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()
        self.asked = 0
        """Number of searches of the stores."""

    # ---------------------------------------------------------------------------------------------- moments

    def graph_moved(self) -> None:
        """Drop all results, because the kernel is being told of a new epoch. What the old epoch showed may have been
        forgotten for good by now, so it is not kept here either.
        """
        self._graph_moves += 1
        with self._lock:
            self._answers.clear()
            self._contents.clear()
            self._held = 0

    def names_moved(self) -> None:
        """Note that the kernel is being told that paths of documents changed."""
        self._name_moves += 1

    def _graph(self) -> Hashable:
        return self._graph_moves if self._cache.position is not None else ("asked", self._stores.graph.epoch())

    def _names(self) -> Hashable:
        return self._name_moves if self._cache.position is not None else ("asked", self._stores.catalog.seq())

    # -------------------------------------------------------------------------------------------- answering

    def cached(self, ontology: str, words: Words, part: str) -> Answer | None:
        """Return the cached answer, if a search would give the same answer now; else None. *Quick*."""
        answer = self._lately(ontology, words, part)
        return answer if answer and answer.graph == self._graph() and answer.names == self._names() else None

    def _lately(self, ontology: str, words: Words, part: str) -> Answer | None:
        with self._lock:
            answer = self._answers.get((ontology, words, part))
            if answer is None or (answer.found.only_text and time.monotonic() - answer.at > SEARCH_AGAIN):
                return None
            self._answers.move_to_end((ontology, words, part))
            return answer

    def work_out(self, ontology: str, words: Words, part: str, patience: Deadline) -> Answer:
        """Search, and return the answer for ``part`` of the folder: '', ``passages`` or ``page-<n>``. *Blocks*, for no
        longer than ``patience`` lasts. The parts of one folder share one search.
        """
        graph, names = self._graph(), self._names()
        known = self._lately(ontology, words, part) or self._lately(ontology, words, "")
        # Filters look at paths and times; without them a change of names changes nothing of what is found.
        stays = known is not None and known.graph == graph and (known.names == names or not known.found.follows_names)
        if known is not None and stays:
            found, at = known.found, known.at
        else:
            with self._lock:
                self.asked += 1
            found, at = search_nested(self._stores, self._config.run, words, ontology, patience), time.monotonic()
        answer = Answer(self._render(found, part), graph, names, found, at)
        self._keep((ontology, words, part), answer)
        return answer

    def _render(self, found: Found, part: str) -> dict[str, Content]:
        marks = Marks(self._config.tree.mark_start, self._config.tree.mark_end)
        if part == PASSAGES:
            page, changed = passages(self._stores, found)
            files = {hit.file: Content(passage(page, hit, marks), changed) for hit in page.hits}
            files["results.json"] = Content(results_json(page), changed)
            files["results.md"] = Content(results_md(page, marks), changed)
            return files
        results, changed = documents(self._stores, found, int(part.removeprefix("page-") or 1))
        texts = by_document.texts_shown(results, marks)
        files = {
            one.file: Content(by_document.document_md(results, one, text), changed)
            for one, text in zip(results.documents, texts, strict=True)
        }
        files["results.json"] = Content(by_document.results_json(results, texts), changed)
        files["results.md"] = Content(by_document.results_md(results, texts, marks), changed)
        return files

    def _keep(self, key: _Key, answer: Answer) -> None:
        with self._lock:
            self._answers[key] = answer
            self._answers.move_to_end(key)
            while len(self._answers) > MAX_FOUND:
                self._answers.popitem(last=False)
        self.hold(answer.files.values())

    def hold(self, contents: Iterable[Content]) -> None:
        """Keep files that are shown, until they are forgotten or many others were shown. *Quick*."""
        marked = [(content.mark, content) for content in contents]
        with self._lock:
            for mark, content in marked:
                if self._contents.setdefault(mark, content) is content:
                    self._held += len(content.data)
                self._contents.move_to_end(mark)
            while self._held > MAX_BYTES:
                self._held -= len(self._contents.popitem(last=False)[1].data)

    def content(self, mark: str) -> Content | None:
        """Return a file that was shown; None once it is forgotten. *Quick*."""
        with self._lock:
            found = self._contents.get(mark)
            if found is not None:
                self._contents.move_to_end(mark)
            return found

    def text(self) -> str:
        """Return the metrics for ``.kgfs/metrics.prom``."""
        return (
            "# HELP kgfs_searches_total How often the stores were searched for search/.\n"
            "# TYPE kgfs_searches_total counter\n"
            f"kgfs_searches_total {self.asked}\n"
        )
