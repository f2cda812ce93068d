"""The journal: names and versions, the inbox of small files, what is owed, and the front of the ledger.

One SQLite file of its own, so that no long graph commit makes ``close()`` wait. ``sqlite`` is the journal; a fact goes
through ``checks`` (may it become true?) and ``fold`` (what it does to the rows, with ``lineage`` for whose history a
file continues and ``standing`` for where documents stand and what that owes); ``writer`` commits calls in groups,
``names`` and ``jobs`` answer on a connection of each thread's own.
"""
