"""The journal: names and versions, the inbox of small files, what is owed, and the front of the ledger.

One SQLite file of its own, so that no long graph commit makes ``close()`` wait.
"""
