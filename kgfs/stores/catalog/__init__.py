"""Keep names and versions, the inbox of small contents, the queue of jobs, and the newest part of the ledger.

The catalog is one SQLite file of its own, so that a long graph commit never makes ``close()`` wait. ``sqlite``,
``names`` and ``jobs`` have its methods, ``rows`` what they return.

A fact is checked by ``checks`` and then applied to the tables by ``fold`` (parts: ``fold_names``,
``fold_documents``). ``lineage`` decides which version history a file continues. ``standing`` derives each document's
state and its jobs. ``writer`` groups calls into commits and ``syncing`` makes the commits durable. ``names`` and
``jobs`` answer queries on one connection per thread.
"""
