"""Define time limits of the command line, in seconds."""

from __future__ import annotations

SERVERS_ANSWER = 2.0
"""Seconds that are waited, once the mount answers, for servers that have not answered."""
STEP_SILENT = 2.0
"""Seconds that a step may take before it is announced."""
MOUNT_END = 20.0
"""Seconds to wait for the mount's process and its worker to end."""
MOUNT_END_LAZY = 1.0
"""Seconds to wait with --lazy, when the process may go on as long as a program has a file open."""
