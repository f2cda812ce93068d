"""Define time limits and pauses of the use cases, in seconds."""

from __future__ import annotations

START_POLL = 0.2
"""Seconds in which the requests of a newly started mount are counted."""
START_AT_LATEST = 5.0
"""Seconds after which the worker and clients are loaded, even if the mount is busy."""
SESSIONS_POLL = 2.0
"""Seconds between a worker's checks of the mounts of its home, and of the sessions that may have started it."""
READ_POLL = 0.2
"""Seconds between two polls while this process waits for other processes to read documents."""
WAIT_POLL = 0.1
"""Seconds between two polls of the backlog while something is waited for."""
STANDSTILL = 5.0
"""Seconds without progress after which the servers are probed."""
NO_WORKER = 10.0
"""Seconds without a live worker after which a wait is given up. Shorter gaps are tolerated, since a worker may be
starting.
"""
WATCH_WORKER_POLL = 5.0
"""Seconds between two looks whether the worker of a watch in the foreground lives."""
HASTE = 3.0
"""Seconds that a bucket may be silent before callers stop waiting that only report state or are about to end."""
PROBE_AT_MOST = 10.0
"""Upper limit of a probe's time-out in seconds, even if the settings allow more."""
SEARCH = 30.0
"""Seconds that a search from the command line waits for the worker's model."""
CONFIRM_RETRY = 5.0
"""Seconds between attempts while the ledger does not answer, or may have facts that the home has not confirmed as
shipped.
"""
ASK = 60.0
"""Seconds that a question from the command line may take."""
MATCH = 120.0
"""Seconds that an exact match may take."""
SEGMENTS_ALIKE = 30.0
"""Seconds that the worker's model has to compare the segments of one document."""
ANSWERED_WITHIN = 30.0
"""Seconds that a change of what questions are answered with waits for those that are being answered."""
