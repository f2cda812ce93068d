"""Make and take snapshots: SQLite files in a shared bucket from which a new home starts, instead of deriving everything from the
ledger.

A snapshot is a set of keys below ``snapshots/<position>-<host>-<random>/``: parts of compressed files, and
``manifest.json``, which is put last and makes the snapshot complete. Each file (``names``, ``graph``, ``vectors``)
may be missing. Each file holds exactly the facts of the ledger up to the position that the manifest states for it,
and nothing private to the home that made it.

:mod:`.layout` defines the keys, :mod:`.copying` makes the files, :mod:`.putting` uploads them and :mod:`.fetching`
downloads them. No module here reads the ledger. Any number of homes may make and fetch snapshots at the same time."""
