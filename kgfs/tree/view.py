"""Define a row of the table VIEWS: a virtual file or folder, its place, the function that serves it, and the changes
that invalidate it.
"""

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
"""A kind of change (:mod:`.changes`, or a fact of the ledger), and the function that adds what the change
invalidates.
"""


def on(kind: type[C], make_stale: Callable[[C, Invalidations], None]) -> Rule:
    """Return the rule that calls ``make_stale`` for each change of this kind."""
    return kind, make_stale


@dataclass(frozen=True, slots=True)
class Place(Generic[S]):
    """A kind of folder that contains views. ``S`` is the type from which a view there is made."""

    name: str
    id_in: str
    """The attribute of a change that has the id of the folder's subject; '' if every change affects the place."""
    key: Callable[[str, str], Key]
    """Returns the key of a view, from that id and the view's name."""


@dataclass(frozen=True, slots=True)
class View(Generic[S]):
    """A row of the table: one virtual file or folder."""

    name: str
    place: Place[S]
    serve: Callable[[Any, S], Node | None]
    """Makes the node, from the tree's context and the folder's subject. Returns None while there is no such entry."""
    listed: bool = True
    follows: tuple[type, ...] = ()
    """Changes that invalidate the view's own attributes and contents."""
    stale: tuple[Rule, ...] = ()
    """Rules for other changes that invalidate parts of the view or of its entries."""
    repeats: bool = False
    """Whether the view repeats the text of documents/: ``.ignore`` makes rg and fd skip it."""
    about: tuple[tuple[str, str], ...] = ()
    """Lines of the table in the mount's README.md: a path and its description."""

    def rules(self) -> Iterator[Rule]:
        def own(change: object, stale: Invalidations) -> None:
            stale.key(self.place.key(getattr(change, self.place.id_in, ""), self.name), data=True)

        yield from ((kind, own) for kind in self.follows)
        yield from self.stale


class Views:
    """A table of views, indexed by place and name."""

    def __init__(self, rows: Iterable[View[Any]]) -> None:
        self.rows = tuple(rows)
        self._at: dict[str, dict[str, View[Any]]] = {}
        for row in self.rows:
            self._at.setdefault(row.place.name, {})[row.name] = row

    def at(self, place: Place[S]) -> dict[str, View[S]]:
        return self._at.get(place.name, {})

    def find(self, place: Place[S], name: str, context: object, subject: S) -> Node | None:
        """Return the entry of that name, listed or not, in a folder whose subject is ``subject``; None if there is
        none.
        """
        view = self.at(place).get(name)
        return view.serve(context, subject) if view is not None else None

    def entries(self, place: Place[S], context: object, subject: S) -> list[tuple[str, Node]]:
        """Return the listed entries of a folder whose subject is ``subject``, in the order of the table."""
        served = ((view.name, view.serve(context, subject)) for view in self.at(place).values() if view.listed)
        return [(name, node) for name, node in served if node is not None]

    def rules(self) -> Iterator[Rule]:
        for row in self.rows:
            yield from row.rules()
