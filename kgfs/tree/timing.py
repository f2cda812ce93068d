"""How long things of the tree may take, and how long they hold; in seconds."""

from __future__ import annotations

SEARCH = 10.0
"""A search that is not worked out by then is given up (ETIMEDOUT)."""
SEARCH_ENDS = 0.5
"""More for one that notices by itself that its time is over, and can say so."""
SEARCH_AGAIN = 5.0
"""After so long meaning is asked for again where the full text had to do alone."""
OWN_WRITES = 10.0
"""So long a kept content is taken for one that was written through this mount, if one was."""
REPLY_ARRIVES = 1.0
"""After so long the kernel has surely applied an answer, on a machine with much to do."""
GARAGE_POLL = 0.1
"""Between looks of the garage view at what changed."""
GARAGE_RETRY = 5.0
"""The same where the last one failed."""
GARAGE_WATCH = 60.0
"""So long after a fact objects that the kernel knows are looked for: they may leave by a purge, or with the trash."""
