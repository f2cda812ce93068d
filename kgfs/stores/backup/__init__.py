"""Back up a home: a pool of its immutable objects, and one snapshot of everything else for each backup.

::

    DIR/objects/…                 every object that a snapshot lists; only new objects are copied
    DIR/snapshots/<time>/         front.sqlite, ledger/, spool/, config.toml, and last of all manifest.json

Graph and vectors are not backed up: a restore derives them again. A snapshot without a manifest was interrupted;
no function reads it, and the next backup deletes it. All files of a snapshot are durable before its manifest is
written, and the manifest holds their SHA-256.

The home may be in use during a backup. The names are copied first, in one transaction (SQLite's backup), then the
files and objects that they refer to. Objects never change, and the ledger is cut at the newest fact in the copy of
the names. If something that the copy refers to leaves the home in between (a working copy is settled, an object is
purged), the attempt is repeated from the beginning."""
