"""Which facts came from other homes that share the ledger."""

from __future__ import annotations

import sqlite3

ELSEWHERE = "elsewhere"
"""The session of facts of other homes. Those homes settle the names concerned."""


def changed_elsewhere(db: sqlite3.Connection) -> int:
    """Return the number of the last fact by which another home changed its graph; see
    ``Catalog.changed_elsewhere``."""
    return int(db.execute("SELECT changed_elsewhere FROM shipped").fetchone()[0])
