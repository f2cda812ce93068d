"""The graph: documents, sources, instances, concepts, relationships and the full text of every source.
Derived: ``rebuild`` makes the same one from the ledger and the Readings."""
