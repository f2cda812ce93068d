"""Keep the index of words up to the graph, in a thread of the worker."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kgfs.errors import KgfsError
from kgfs.ingest import timing
from kgfs.stores.error_log import ErrorLog, Trouble
from kgfs.stores.graph.sqlite import Graph


@contextmanager
def indexing_words(graph: Graph, errors: ErrorLog) -> Iterator[None]:
    """Index what is published while the context is open, and the last of it when it ends.

    An error (a full disk) is logged once, and the work is tried again later: searches use the graph's own full text
    meanwhile. A first index of a large home is made in batches; the end of the context waits for one of them at most.
    """
    stopped = threading.Event()
    trouble = Trouble(errors, "words")

    def index() -> float:
        try:
            if not graph.words_indexed():
                graph.index_words(lambda: not stopped.is_set())
            trouble.over()
        except KgfsError as error:
            trouble.met(error)
            return timing.WORDS_RETRY
        return timing.WORDS_POLL

    def work() -> None:
        while not stopped.wait(index()):
            pass

    thread = threading.Thread(target=work, name="index-words", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
        index()
