"""Snapshots: SQLite files in a shared bucket from which a new home begins, in place of deriving everything from the ledger.

A snapshot is a folder of keys, ``snapshots/<position>-<host>-<random>/``: parts of compressed files, and ``manifest.json``, which is put
last and makes the snapshot complete. Each file (``names``, ``graph``, ``vectors``) may be missing. Each holds exactly what the
ledger says up to the position that the manifest tells of it, and nothing of the home that made it.

:mod:`.layout` knows the keys, :mod:`.copying` makes the files, :mod:`.putting` and :mod:`.fetching` move them. Nothing here asks
the ledger. Any number of homes may make and fetch at once.
"""
