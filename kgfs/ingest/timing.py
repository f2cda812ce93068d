"""Define time limits and pauses of ingest, in seconds; names in ``_NS`` are nanoseconds."""

from __future__ import annotations

SETTLE_RETRY = 30.0
"""Seconds until a name is tried again that could not be settled."""
SETTLE_AWAY_RETRY = 2.0
"""Seconds until an unavailable server is asked again."""
CLOCK_AHEAD_NS = 60 * 10**9
"""Nanoseconds by which the time of a write may lie in the future.

A write with a later time was stamped by a clock that was set back since, as one is where a server refused requests
signed with its time. Such a name is settled at once, without waiting for that time.
"""
BURST_WAIT_NS = 60 * 10**9
"""Nanoseconds that a quiet name waits at most for the end of a write burst."""
SHIP_EVERY = 0.5
"""Seconds between two attempts to ship what the ledger does not have yet. One second is promised."""
TRASH_EVERY = 600.0
"""Seconds between two searches for files that have been in the trash for long enough."""
PREFIXES_EVERY = 86_400.0
"""Seconds between two searches for what kills left of versions that need no bytes of their own."""
PREFIXES_MADE_NS = 86_400 * 10**9
"""Nanoseconds after which a link between two versions is made, or will not be any more."""
PARTS_PUT_NS = 600 * 10**9
"""Nanoseconds after which parts that a reading noted are in the garage, or will not come any more."""
DISK_SPACE_POLL = 1.0
"""Seconds between two checks whether the disk is nearly full."""
RESERVE_POLL = 10.0
"""Seconds between two checks whether the disk reserve is whole."""
CHORE_RETRY = 5.0
"""Seconds until a store that failed is tried again."""
REPORT_EVERY = 0.25
"""Seconds after which progress is reported again while a stage goes on."""
QUESTIONS_FIRST = 5.0
"""Longest pause of the worker for questions between two batches, so that it gets on where questions never end."""
QUESTIONS_POLL = 0.02
"""Seconds between two looks whether questions are still being answered."""
WORKER_IDLE = 0.1
"""Seconds between polls of the catalog when no job is due."""
WORKER_QUIET = 2.0
"""Seconds between polls while nothing happens in the home. A change ends the pause."""
WORKER_ARRIVING = 0.5
"""Seconds between polls for a document that is to be forgotten while the same bytes wait to be settled under another
name."""
JOB_RETRY = 5.0
"""Seconds before a failed attempt is repeated, times the number of attempts."""
MODEL_RETRY = 15.0
"""Seconds before a language model that was away, or whose limit was reached, is tried again for a document."""
ORDERS_RETRY = 600.0
"""Seconds between attempts at orders to forget that failed, after the first attempt."""
WORKER_RESTART = 1.0
"""Seconds before a worker that died is started again for the first time."""
WORKER_RESTART_AT_MOST = 60.0
"""Longest pause in seconds before a worker that died is started again. The pause doubles each time, and is
WORKER_RESTART again after a worker that lived longer than this."""
WORKER_END = 0.7
"""Seconds that a worker has to end before it is killed. A kill loses nothing. A mount ends within a second, while the
parser, splitter or model that the worker runs may not check for a stop for several seconds."""
PROJECTION_POLL = 1.0
"""Seconds between polls of the home's own graph. The server is not asked while the graph does not change."""
PROJECTION_RETRY = 5.0
"""Seconds until a server that was away is asked again. The pause doubles after each failure, up to
PROJECTION_RETRY_AT_MOST."""
PROJECTION_RETRY_AT_MOST = 60.0
PROJECTION_NOTED = 1.0
"""Seconds between progress notes while all rows are written."""
WATCH_STILL = 0.2
"""Seconds between two scans in which a file is the same that nobody writes."""
WATCH_WRITING = 30.0
"""Seconds that ``ingest --watch --once`` waits for files that are being written."""
WATCH_QUIET = 1.0
"""How long a file must be unchanged before it is taken."""
WATCH_GROWING = 300.0
"""How long a transcript that grows is left alone after it was taken."""
WATCH_GATHER = 0.3
"""How long the folder must be quiet, after a change was reported, before it is scanned."""
WATCH_GATHER_AT_MOST = 2.0
"""The longest time that changes are gathered for."""
WATCH_RESCAN = 600.0
"""Pause between two scans while changes are reported, for what no report told of."""
WATCH_POLL = 60.0
"""Pause between two scans where changes cannot be reported; a scan that takes longer makes it longer."""
WATCH_POLL_COST = 2000
"""How many times a scan's own time the pause is then at least, so that polling takes at most 0.05 % of a core."""
WATCH_RETRY = 30.0
"""Pause before a file that could not be taken, or a folder that is away, is tried again."""
IDLE_GAP_NS = 60 * 10**9
"""Nanoseconds. Between two publications further apart the worker is taken to have been idle."""
UPLOAD_ENDS = 24 * 3600.0
"""Seconds after which an upload in parts that was not ended counts as left over."""
WIDENED_EVERY = 1.0
"""Seconds between two counts of what is to be read, for the engine."""
WORDS_POLL = 2.0
"""Seconds between two looks whether the index of words lacks anything. A search adds what is newer by itself."""
WORDS_RETRY = 30.0
"""Seconds until an index of words that could not be written is tried again."""
BACKFILL_TOLD = 1.0
"""Seconds after which the worker's note says again how many Sources have vectors of a new model."""
