"""The version of the renderers that gave the stored sizes of a graph."""

from __future__ import annotations

import time

from kgfs.stores.database import Database

RENDERED = 5
"""The version of the renderers as far as sizes depend on it, kept in the row ``rendered`` of ``meta``. 1: control
characters are shown as one character each. 2: pages show the SHOWN_RELATED strongest relationships, and places of
RELATED_TO. 3: pages show the SHOWN_EVIDENCE strongest pieces of evidence. 4: pages without a description quote a
sentence. 5: evidence is shown with the headings above it."""

RENDERED_BY = "SELECT value FROM meta WHERE name = 'rendered'"


PAUSE = 0.01
"""Seconds between two transactions, in which another process comes to write."""


def keep_sizes(database: Database) -> None:
    """Compute the sizes again if this version of kgfs renders other bytes than the one that stored them. Writes nothing
    otherwise. May take a minute in a home with a million concepts, once.

    Returns when all sizes are exact. Processes that open the same graph meanwhile compute some of them each; a process that is
    killed leaves the rest to the next one.
    """
    if database.row(RENDERED_BY)[0] < RENDERED:
        from kgfs.stores.graph.sizes import renew_some

        while database.removing(lambda: renew_some(database)):
            time.sleep(PAUSE)
