"""What one commit works out of the rows of a kind: the base of these works, and what they are told."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Settled:
    """What the concepts of a commit became."""

    risen: Collection[str]
    """Ids of concepts that live by this commit and did not before."""
    forms_moved: Collection[tuple[str, str]]
    """(ontology, key) of the forms that concepts gained or lost."""


class Derived:
    """The work on the rows of one kind in one commit, inside its transaction. It keeps what is summed up from them.

    A kind overrides what concerns it: here the methods do nothing.
    """

    def __init__(self, connection: sqlite3.Connection, at: int) -> None:
        """Begin. ``at`` is the time of the commit, a Unix time in nanoseconds."""
        self._sql = connection
        self._at = at

    def touch(self, edition: int, step: int) -> None:
        """Count the rows of an edition that enters (``step`` 1) or leaves (-1)."""

    def strike(self, key: int, concept_id: str) -> None:
        """Remove what the rows of visible documents tell of a concept, which is about to die."""

    def replace(self, edition: int, rows: Sequence[Any]) -> bool:
        """Replace what an edition tells of concepts that it has. Return whether anything changed."""
        return False

    def rename(self, former: str, concept_id: str) -> None:
        """Have the rows that only name one concept name another one."""

    def part(self, younger: str) -> None:
        """Undo what a joining did to rows, before the joining is deleted."""

    def settle(self, settled: Settled) -> Iterable[tuple[str, str]]:
        """Update what is summed up, once all concepts are final. Yield (ontology, owner) of what readers see change."""
        return ()
