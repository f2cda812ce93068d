"""Keep vectors: embeddings of sources and concepts, searched by similarity. They are derived from the Readings."""
