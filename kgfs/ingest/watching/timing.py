"""Define the times of watched folders, in seconds."""

QUIET = 1.0
"""How long a file must be unchanged before it is taken."""
GROWING = 300.0
"""How long a transcript that grows is left alone after it was taken."""
GATHER = 0.3
"""How long the folder must be quiet, after a change was reported, before it is scanned."""
GATHER_MOST = 2.0
"""The longest time that changes are gathered for."""
RESCAN = 600.0
"""Pause between two scans while changes are reported, for what no report told of."""
POLL = 60.0
"""Pause between two scans where changes cannot be reported; a scan that takes longer makes it longer."""
POLL_COST = 2000
"""How many times a scan's own time the pause is then at least, so that polling takes at most 0.05 % of a core."""
RETRY = 30.0
"""Pause before a file that could not be taken, or a folder that is away, is tried again."""
