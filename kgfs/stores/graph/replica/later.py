"""A server that is spoken to when there is something to ask: what shows a copy of its graph needs no driver to begin with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kgfs.stores.graph.replica.following import Source
from kgfs.stores.graph.replica.standing import Standing
from kgfs.stores.once import Once

if TYPE_CHECKING:
    from kgfs.stores.graph.neo4j.origin import Look

Answer = TypeVar("Answer")


class Later:
    """The :class:`~.following.Source` that ``make`` makes."""

    def __init__(self, make: Callable[[], Source]) -> None:
        self._source = Once(make)

    def standing(self) -> Standing | None:
        return self._source().standing()

    def look(self, work: Callable[[Look], Answer], *, alone: bool = False) -> Answer:
        return self._source().look(work, alone=alone)

    def close(self) -> None:
        if self._source.made is not None:
            self._source.made.close()
