"""What each fact does to the tables. Recording and replaying both call :func:`apply`, and nothing else writes what the
ledger can restore; so it asks no clock and no other process: only the fact, its number and the rows before it count.
"""

from __future__ import annotations

from kgfs.stores.journal import fold_documents, fold_names
from kgfs.stores.journal.facts import Fact
from kgfs.stores.journal.folding import Target, apply_one

PARTS = (fold_names, fold_documents)
"""Where what facts do is registered."""

__all__ = ["PARTS", "Target", "apply"]


def apply(fact: Fact, target: Target) -> None:
    """Make one fact true that was checked before."""
    apply_one(fact, target)
