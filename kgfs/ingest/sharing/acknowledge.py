"""Acknowledge: a home tells the others that share its garage how far it has followed, and obeyed purges."""

from __future__ import annotations

import time

from kgfs.config import Config
from kgfs.errors import AwayError, TimedOutError
from kgfs.ingest.sharing.obey import is_obeyed
from kgfs.stores.hosts import host_id, read_roll, say
from kgfs.stores.journal.facts import ForgettingDone
from kgfs.stores.stores import Stores

EVERY = 10.0
"""Seconds between two times that a home says it, and reads what others say."""
AT_LEAST = 3600.0
"""Seconds after which it is said again where nothing was done, so that people see who is there."""


def acknowledge(config: Config, stores: Stores) -> None:
    """To be called often, with all that is known delivered and followed. A purge is obeyed when nothing of SHARE-7 is left to
    be erased and the home's copy of the graph has gone past it; where the graph is the home's own, when it shows nothing more
    of it. Until then nothing is said, nor while the graph's server is away. Raises what the garage raises."""
    looked = config.run / "acknowledged"  # not the roll's time, which who asks for it often would keep fresh
    if looked.exists() and 0 <= time.time() - looked.stat().st_mtime < EVERY:
        return
    looked.touch(mode=0o600)
    followed = stores.journal.unshipped(1)[0] - 1
    roll = read_roll(config, stores)
    own = next((host for host in roll.hosts if host.id == host_id(config)), None)
    if own is not None and own.followed == followed and time.time() - own.said_at < AT_LEAST:
        return
    if not is_obeyed(config):
        return
    purges = [
        purge.fact for purge in roll.purges if (own is None or own.followed < purge.fact) and purge.fact <= followed
    ]
    if own is None or purges:
        lag = stores.graph.lag()
        if lag is not None and lag.away_since is not None:
            return  # deliveries do not wait for the graph's server
        try:
            stores.graph.refresh()
        except (AwayError, TimedOutError):
            return
    if any(_is_shown(stores, fact) for fact in purges):
        return
    say(config, stores.garage.objects, followed)
    read_roll(config, stores)


def _is_shown(stores: Stores, purge: int) -> bool:
    """Whether the graph shows what that fact says was purged: nobody else takes it out of a graph of the home's own, which a
    rebuild does. What was deposited anew since does not count."""
    names, graph = stores.journal.names, stores.graph
    told = [fact for _, fact in stores.journal.facts(purge - 1, 1) or [] if isinstance(fact, ForgettingDone)]
    purged = [doc_id for fact in told for doc_id in fact.doc_ids]
    return any(names.document(doc_id) is None and graph.document(doc_id) is not None for doc_id in purged)
