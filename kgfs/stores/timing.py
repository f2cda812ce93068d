"""Define time limits and pauses of the stores, in seconds; names in ``_NS`` are nanoseconds."""

from __future__ import annotations

SNAPSHOT_POLL = 10.0
"""How often a worker looks whether a snapshot is due."""
SNAPSHOT_RETRY = 600.0
"""How long a worker waits after a snapshot failed."""
SYNC_WITHIN = 0.5
"""Seconds until a commit is synced that no call waits for; the catalog promises one second."""
WRITE_TURN = 0.002
"""Seconds that a call which must not block waits for the turn of another thread. A commit normally ends in that time.
Handing the work to another thread instead would make the next calls find that thread at work, and so on."""
SLOW_COMMIT = 0.05
"""Seconds for a commit from which the disk counts as slow: then it delays even writes to the page cache."""
AFTER_SLOW_COMMIT = 0.25
"""Seconds after a slow commit during which calls that must not block do not commit."""
FORGET_AFTER_NS = 2_000_000_000
"""Nanoseconds between the loss of the last name and the forgetting, so that an editor's temporary removal during a
save forgets nothing."""
SAVE_GAP_NS = 5_000_000_000
"""Nanoseconds between a file's departure from a place and another file's arrival that still count as one save."""
LOCK_GLANCE = 0.001
"""Seconds to wait for a process that only queries a lock to release it."""
LOCK_POLL = 0.01
"""Seconds between two attempts to take a lock, when waiting with a limit."""
WAL_BUSY = 30.0
"""Seconds to wait for other processes that have a database, before a BusyError."""
WAL_POLL = 0.02
"""Seconds between two attempts to switch a database to its write-ahead log."""
WRITE_SLICE = 0.03
"""Seconds of continuous writing to a database after which the written data is synced."""
WORKER_TURN_POLL = 0.05
"""Seconds between two checks by a worker that has released its lock."""
WORKER_TURN = 120.0
"""Seconds to wait for a worker to finish its current step."""
STAGING_LEFT_OVER = 24 * 3600
"""The seconds without a write after which a temporary file is taken for one of a dead process."""
CONNECTION_WAIT = 1.0
"""The maximal seconds for which a request waits for one of the connections to a bucket that are kept open. If the
server is silent, all of them are in use for long; then all requests wait for the server at the same time instead of one
after the other."""
SEGMENTS_POLL = 1.0
"""The seconds between two listings of segments: a mount asks ten times a second."""
SEGMENTS_RETRY = 5.0
"""The seconds without a listing after the server did not answer."""
CACHE_FRESH = 60.0
"""The seconds within which a second use of a cached file is not recorded again."""
PROJECTION_RETRIED = 5.0
"""Seconds in which Neo4j's driver repeats what failed by a deadlock or the like. The caller repeats what fails for
longer."""
PASSWORD_REFUSED = 30.0
"""Seconds that a refused password is not sent again. After three wrong ones the server locks the user out for some
seconds, and more with each further one: a machine with an old password would lock out all that have the new one."""
