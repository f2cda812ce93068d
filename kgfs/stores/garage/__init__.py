"""The garage: immutable objects under keys, and the append-only ledger. The truth all else is derived from."""
