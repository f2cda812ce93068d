"""Define time limits and validity periods of the tree, in seconds."""

from __future__ import annotations

SEARCH = 10.0
"""Time limit of a search (ETIMEDOUT)."""
SEARCH_ENDS = 0.5
"""Additional time for a search to notice by itself that its time is over, and to report it."""
SEARCH_AGAIN = 5.0
"""Age after which a result that had to use full text alone is searched for again with vectors."""
CITE = 10.0
"""Time limit of finding out for what an earlier ``chunk_id`` was issued (ETIMEDOUT). What was found out stays found."""
OWN_WRITES = 10.0
"""Period after a write through this mount in which newly stored content is taken for that write's content."""
REPLY_ARRIVES = 1.0
"""Time after which the kernel has surely applied an answer, even on a busy machine."""
GARAGE_POLL = 0.1
"""Pause between polls of the garage view."""
GARAGE_RETRY = 5.0
"""Pause after a failed poll of the garage view."""
GARAGE_WATCH = 60.0
"""Period after a fact in which objects that the kernel knows are checked, since they may leave by a purge or with the
trash.
"""
ASK = 120.0
"""Time limit of a question of ``ask/``, which goes on when nobody waits for it."""
ASK_PENDING = 3.0
"""Seconds after which a question that is being worked out shows ``pending``."""
ASK_MARGIN = 0.5
"""Time before the limit of a request at which it is answered with ``pending``."""
