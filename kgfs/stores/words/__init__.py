"""Index words outside SQLite: what ranks Sources by their words, derived from the graph's Sources.

Any process of a home may ask it, and brings it up to date as it asks. It is files beside the graph: deleted, they are made
again. It needs no model. ``WordIndex`` (``index``) is the entry; a ``segment`` holds the postings of some documents.
"""
