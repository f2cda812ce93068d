"""How far a ledger is known here, and a journal for who changes a graph of its own on one that others write to as well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.facts import Fact, GraphFact


def confirmed(journal: Journal) -> int:
    """The ledger's newest fact that is known here: what is behind it may still get other numbers."""
    return journal.unshipped(1)[0] - 1


class _Following:
    """The same journal, but for :meth:`record`."""

    def __init__(self, journal: Journal, follows: int) -> None:
        self._journal = journal
        self._follows = follows

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def record(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "", synced: bool = True
    ) -> int:
        said = [replace(fact, follows=self._follows) if isinstance(fact, GraphFact) else fact for fact in facts]
        return self._journal.record(*said, inbox=inbox, session=session, synced=synced)


def following(journal: Journal, follows: int) -> Journal:
    """What is recorded through it as done to the graph says that this has all that others did up to the fact ``follows``, and
    LostLeaseError where they have done more: then, and later while it is not delivered, it is not recorded, or taken back."""
    return cast(Journal, _Following(journal, follows))
