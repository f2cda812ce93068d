"""Backups of a home: a pool of its immutable objects, and a snapshot of all else for each time it was backed up.

::

    DIR/objects/…                 every object that some snapshot lists; new ones alone are copied
    DIR/snapshots/<time>/         front.sqlite, ledger/, spool/, config.toml, and last of all manifest.json

Graph and vectors are derived, and derived again by a restore. A snapshot without a manifest was interrupted: it is
nobody's, and goes with the next backup. Everything is durable before its manifest is there, and known by SHA-256.

The home may be in use meanwhile. The names are copied first, in one transaction (SQLite's backup), then what they refer
to: objects are never changed, and the ledger is cut at the newest fact that the copy of the names has. What leaves the
home in between (a working copy that is settled, an object that is purged) makes the attempt begin again.
"""
