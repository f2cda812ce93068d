"""Define time limits and pauses of the mount, in seconds; names in ``_MS`` are milliseconds."""

from __future__ import annotations

KERNEL_CACHE = 3600.0
"""Seconds that the kernel may cache names and attributes. Earlier changes are invalidated."""
PULSE_QUICK = 0.1
"""Seconds between polls of stores and other processes while something happens."""
PULSE_SLOW = 2.0
"""Seconds between polls while nothing happens. A change ends the pause."""
PULSE_AFTER_REQUEST = 0.5
"""Seconds after a request of the kernel during which polls are quick."""
REQUEST_POLL_MS = 1
"""Milliseconds to poll for the next request before the event loop does. The loop does nothing else meanwhile."""
REQUEST_STREAK = 0.01
"""Seconds after which the event loop gets a turn, even if requests are pending."""
LOG_QUIET = 10.0
"""Seconds in which the same failure is logged only once."""
PROCESS_END = 5.0
"""Seconds for a process to end after its connection was aborted."""
PROBE = 2.0
"""Seconds for a mount to answer a probe."""
WATCHER_POLL = 1.0
"""Seconds between a watcher's looks at the process that it watches."""
