"""Vectors: embeddings of sources and concepts, found again by likeness. Derived from the Readings."""
