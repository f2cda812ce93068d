"""Apply facts to the tables.

Recording and replaying both call :func:`apply`, and nothing else writes what the ledger can restore. So the functions
of the fold use no clock and ask no other process: they depend only on the fact, its number and the rows before it.
"""

from __future__ import annotations

from kgfs.stores.catalog import fold_documents, fold_names
from kgfs.stores.catalog.facts import Fact
from kgfs.stores.catalog.folding import Target, apply_one

PARTS = (fold_names, fold_documents)
"""The modules that register the functions of facts."""

__all__ = ["PARTS", "Target", "apply"]


def apply(fact: Fact, target: Target) -> None:
    """Apply one checked fact to the tables."""
    apply_one(fact, target)
