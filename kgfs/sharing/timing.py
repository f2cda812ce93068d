"""Define time limits and pauses of sharing, in seconds."""

from __future__ import annotations

POLL_CHECK = 0.05
"""Seconds between two checks whether a poll is due. The check asks no server."""
POLL_EVERY = 0.5
"""Seconds between two polls while nothing happens. Each is a request."""
POLL_AT_REST = 75.0
"""Seconds after a change, here or elsewhere, after which polls are seldom. Longer than a minute, so that changes that
come every minute are seen soon."""
POLL_SELDOM = 3.0
"""Seconds between two polls then. The first change of another home after a rest is seen within five seconds."""
POLL_LIVELY = 0.2
"""Seconds between two polls while something happens, and between deliveries. Facts recorded in between are delivered
together."""
LIVELY = 10.0
"""Seconds after a change, here or elsewhere, during which more changes are expected."""
BURST_PAUSE = 0.3
"""Seconds without a kept content after which a write burst is over."""
DELIVERY_HELD = 5.0
"""Seconds after a delivery during which another delivery waits for the end of a write burst."""
PURGES_RETRY = 60.0
"""Seconds after which purges that could not be obeyed completely are tried again when other homes do nothing."""
UPLOAD_GRACE = 15.0
"""Seconds for which a long-lived process keeps the pending upload of a content that was written over, renamed over or
removed, after the ledger has that. Homes that do not know it yet read it there."""
UPLOAD_SURE = 120.0
"""Seconds after which a pending upload whose fact is not delivered yet is looked for again before its fact is."""
LEFT_UPLOADS_POLL = 300.0
"""Seconds between two looks for left-over pending uploads. What is nobody's at two looks, between which each
other home has reported, is deleted. Longer than ``UPLOAD_SURE``."""
EXCHANGE_RETRY = 5.0
"""Seconds between attempts to exchange facts with other homes while the shared bucket does not answer."""
FOLLOW_EVERY = 0.1
"""Seconds between checks whether the graph has caught up with the locally known ledger. A check asks no server."""
FOLLOW_SELDOM = 2.0
"""The same while nothing happens in the home."""
WORKER_FOLLOWS = 1.0
"""Seconds that the home's worker has to catch up before the mount does it."""
FOLLOWER_WAIT = 60.0
"""Seconds to wait for another process of this home that follows the ledger."""
REPORT_EVERY = 10.0
"""Seconds between two reports of a home, and between two times that it reads the reports of others."""
REPORT_AT_LEAST = 3600.0
"""Seconds after which an unchanged report is repeated, so that people see which homes are present."""
LEASE_POLL = 0.5
"""Seconds between polls of a lease that another home holds."""
KEEP_UP_EVERY = 0.1
"""Seconds between polls for facts of other homes while they publish. A poll asks no server."""
KEEP_UP_RETRY = 5.0
"""Seconds until facts of other homes are polled again after a failure."""
VECTORS_POLL = 30.0
"""Seconds between polls whether vectors on a shared server contain everything that was published."""
SNAPSHOT_POLL = 10.0
"""Seconds between two checks of a worker whether a snapshot is due."""
SNAPSHOT_RETRY = 600.0
"""Seconds after which a snapshot that failed, as on a full disk, is tried again."""
