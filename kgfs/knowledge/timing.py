"""Define time limits of searches and checks, in seconds; names in ``_NS`` are nanoseconds."""

from __future__ import annotations

SEARCH_MODEL = 2.0
"""Seconds to wait for the worker's model. After that the full text alone is used."""
CHECK_SECOND_PASS = 2.0
"""Seconds between the two passes, so that a step that another process is executing is not reported as damage."""
JOB_STUCK_NS = 600 * 10**9
"""Nanoseconds after a lease expired until its job counts as stuck."""
COPY_UPLOAD = 24 * 3600.0
"""Seconds in which the upload of a large copy is finished."""
UPLOAD_RUNNING = 3600.0
"""Seconds after its beginning in which an upload may still be running."""
ASK_MODEL = 45.0
"""Seconds to wait for each answer of the worker's models to a question that is asked: a busy worker answers before it goes on reading.
After that words alone decide."""
ASK_BY_WORDS = 0.2
"""The share of the time of a question that is left to words alone, if the worker does not answer."""
