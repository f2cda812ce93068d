"""Keep the graph: documents, sources, instances, concepts, relationships, and the full-text index of every
source.

The graph is derived: ``kgfs rebuild`` makes an equal one from the ledger and the Readings."""
