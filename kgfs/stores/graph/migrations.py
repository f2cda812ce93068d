"""What was added to ``schema.sql`` since it was first published; see ``kgfs.stores.migrations`` for the rules."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = ()
