"""Define time limits and pauses of the compute engines, in seconds."""

from __future__ import annotations

CANCEL_POLL = 0.05
"""Seconds between two checks whether the answer is still wanted."""
QUESTION_CLIENT = 10.0
"""The seconds that a client has to send its question and to read its answer."""
CLUSTER_POLL = 0.25
"""Seconds between two polls of a place's progress."""
CLUSTER_RESTART = 1.0
"""Seconds before a lost cluster is started again for the first time."""
CLUSTER_RESTART_AT_MOST = 60.0
"""Longest pause in seconds before a lost cluster is started again. The pause doubles each time, and is
CLUSTER_RESTART again after a cluster that lived longer than this."""
CLUSTER_LEAVE = 30.0
"""Seconds that works have to leave a lost cluster before the connection to it is closed."""
PROCESS_POLL = 0.25
"""Seconds between two looks at a reading process, and for one that is free."""
CLUSTER_STUCK = 120.0
"""Seconds in which Ray must have connected to a cluster or left one. After the death of a cluster's processes it may do neither,
for good, and a thread in it cannot be given up: then the process ends."""
