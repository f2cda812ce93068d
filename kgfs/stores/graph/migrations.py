"""What was added to ``schema.sql`` since it was first published; see ``kgfs.stores.migrations`` for the rules."""

from __future__ import annotations

MIGRATIONS: tuple[str, ...] = (
    # What was deposited since something, without a walk over all documents.
    "CREATE INDEX document_deposit ON document (ontology, deposit) WHERE state = 1;",
)
