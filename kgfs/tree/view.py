"""What a row of the table VIEWS says: a virtual file or folder, where it stands, what serves it, and what makes it stale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kgfs.tree.keys import Key
from kgfs.tree.node import Node

if TYPE_CHECKING:
    from kgfs.tree.invalidation import Invalidations

S = TypeVar("S")
C = TypeVar("C")

Rule = tuple[type, Callable[[Any, "Invalidations"], None]]
"""A kind of change (:mod:`.changes`, or a fact of the ledger), and what of the tree it makes stale."""


def on(kind: type[C], make_stale: Callable[[C, Invalidations], None]) -> Rule:
    return kind, make_stale


@dataclass(frozen=True, slots=True)
class Place(Generic[S]):
    """A kind of folder that has views. ``S`` is what a view there is made from."""

    name: str
    id_in: str
    """The attribute of a change that has the id of what the folder is about; '' where every change concerns the place."""
    key: Callable[[str, str], Key]
    """The key of a view, from that id and the view's name."""


@dataclass(frozen=True, slots=True)
class View(Generic[S]):
    name: str
    place: Place[S]
    serve: Callable[[Any, S], Node | None]
    """Makes the node, from the tree's context and from what the folder is about. None while there is no such entry."""
    listed: bool = True
    follows: tuple[type, ...] = ()
    """Changes that make its own attributes and contents stale."""
    stale: tuple[Rule, ...] = ()
    """What other changes make stale of it and of what it holds."""
    repeats: bool = False
    """Whether it holds the words of documents/ once more: ``.ignore`` tells rg and fd to skip it."""
    about: tuple[tuple[str, str], ...] = ()
    """Lines of the table in the mount's README.md: a path, and what it is."""

    def rules(self) -> Iterator[Rule]:
        def own(change: object, stale: Invalidations) -> None:
            stale.key(self.place.key(getattr(change, self.place.id_in, ""), self.name), data=True)

        yield from ((kind, own) for kind in self.follows)
        yield from self.stale


class Views:
    """A table of views, found by place and name."""

    def __init__(self, rows: Iterable[View[Any]]) -> None:
        self.rows = tuple(rows)
        self._at: dict[str, dict[str, View[Any]]] = {}
        for row in self.rows:
            self._at.setdefault(row.place.name, {})[row.name] = row

    def at(self, place: Place[S]) -> dict[str, View[S]]:
        return self._at.get(place.name, {})

    def find(self, place: Place[S], name: str, context: object, subject: S) -> Node | None:
        """The entry of that name, listed or not, in a folder that is about ``subject``."""
        view = self.at(place).get(name)
        return view.serve(context, subject) if view is not None else None

    def entries(self, place: Place[S], context: object, subject: S) -> list[tuple[str, Node]]:
        """What such a folder lists, in the order of the table."""
        served = ((view.name, view.serve(context, subject)) for view in self.at(place).values() if view.listed)
        return [(name, node) for name, node in served if node is not None]

    def rules(self) -> Iterator[Rule]:
        for row in self.rows:
            yield from row.rules()
