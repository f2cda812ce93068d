"""A server that is spoken to when there is something to ask: what shows a copy of its graph needs no driver to begin with."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kgfs.stores.graph.replica.following import Source
from kgfs.stores.graph.replica.standing import Standing

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.origin import Look

Answer = TypeVar("Answer")


class Later:
    """The :class:`~.following.Source` that ``make`` makes, once, for whichever thread asks first."""

    def __init__(self, make: Callable[[], Source]) -> None:
        self._make = make
        self._making = threading.Lock()
        self._made: Source | None = None

    def standing(self) -> Standing | None:
        return self._source().standing()

    def look(self, work: Callable[[Look], Answer], *, alone: bool = False) -> Answer:
        return self._source().look(work, alone=alone)

    def close(self) -> None:
        if self._made is not None:
            self._made.close()

    def _source(self) -> Source:
        with self._making:
            if self._made is None:
                self._made = self._make()
            return self._made
