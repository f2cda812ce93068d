"""Find Sources in the worker for processes that search once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from kgfs.compute.deadline import Deadline
from kgfs.compute.questions import Answering, asking_itself
from kgfs.config import Config

if TYPE_CHECKING:  # a worker that nobody asks needs none
    from kgfs.stores.graph.sqlite import Graph


class Finder:
    """The answer to the question ``find``. Any thread may call it.

    It has a graph of its own, opened when it is first asked, since what a worker works with is closed and opened again while
    it answers.
    """

    def __init__(self, config: Config, answering: Answering) -> None:
        """``answering`` answers the worker's other questions, those to its models."""
        self._config = config
        self._asking = asking_itself(answering)
        self._graph: Graph | None = None
        self._lock = threading.Lock()

    def __call__(
        self, words: str, ontology: str, doc_ids: frozenset[str] | None, min_score: float | None, seconds: float
    ) -> Any:
        """Return what is found as plain data, within ``seconds``: nobody waits longer, and others want the place. Raises the errors of :func:`kgfs.knowledge.search.search`."""
        from kgfs.knowledge.by_worker import as_data
        from kgfs.knowledge.query import parse
        from kgfs.knowledge.search import rank

        patience = Deadline(seconds)
        return as_data(
            rank(self._opened(), self._asking, parse(words), ontology, doc_ids, min_score, seconds, patience)
        )

    def _opened(self) -> Graph:
        from kgfs.stores.graph.sqlite import open_graph

        with self._lock:
            if self._graph is None:
                self._graph = open_graph(self._config)
            return self._graph

    def close(self) -> None:
        """Close the graph. Call this when nothing is asked any more; asked again, it is opened again."""
        with self._lock:
            if self._graph is not None:
                self._graph.close()
                self._graph = None
