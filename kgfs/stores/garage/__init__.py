"""Keep the garage: immutable objects under keys, and the append-only ledger. All other stores are derived from it."""
