"""Define time limits and pauses of the compute engines, in seconds."""

from __future__ import annotations

CANCEL_POLL = 0.05
"""Seconds between two checks whether the answer is still wanted."""
QUESTION_CLIENT = 10.0
"""The seconds that a client has to send its question and to read its answer."""
QUESTION_FOLLOWS = 0.3
"""Seconds after an answer in which its asker may ask the next question."""
CLUSTER_POLL = 0.25
"""Seconds between two looks at a task."""
CLUSTER_CANCEL = 5.0
"""Seconds that a task has to end by itself before its process is ended."""
CLUSTER_ASKED = 2.0
"""Seconds between two looks whether the head of a cluster accepts connections, and for it to accept one."""
CLUSTER_GONE = 10.0
"""Seconds without an accepted connection after which a cluster is gone. After a minute Ray would end the process."""
PROCESS_POLL = 0.25
"""Seconds between two looks at a reading process, and for one that is free."""
CLUSTER_STUCK = 120.0
"""Seconds in which Ray must have connected to a cluster or left one. After the death of a cluster's processes it may do neither,
for good, and a thread in it cannot be given up: then the process ends."""
