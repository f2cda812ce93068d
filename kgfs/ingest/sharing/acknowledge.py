"""Acknowledge: a home tells the others that share its garage how far it has followed, and obeyed purges."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kgfs.config import Config
from kgfs.errors import BusyError
from kgfs.ingest.keeping.giving_up import GivingUp
from kgfs.ingest.keeping.settle import Settler
from kgfs.ingest.sharing.obey import is_obeyed
from kgfs.ingest.sharing.snapshots import delete_purged
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.hosts import Host, host_id, read_roll, say
from kgfs.stores.stores import Stores

EVERY = 10.0
"""Seconds between two times that a home says it, and reads what others say."""
AT_LEAST = 3600.0
"""Seconds after which it is said again where nothing was done, so that people see who is there."""


def acknowledge(config: Config, stores: Stores) -> None:
    """To be called often, with all that is known delivered and followed. A purge is obeyed when nothing of SHARE-7 is left to
    be erased, nothing stands aside that this home has purged, no snapshot from before it is in the bucket, and the home's graph is
    without it, and scrubbed, so how far that has followed is what is said. Until then no more is said than before; by who never said anything, that it is there and has
    obeyed nothing. Raises what the garage raises.
    """
    looked = config.run / "acknowledged"  # not the roll's time, which who asks for it often would keep fresh
    with os_errors(f"Noting in {looked} when others were asked"):
        if looked.exists() and 0 <= time.time() - looked.stat().st_mtime < EVERY:
            return
        looked.touch(mode=0o600)
    followed = stores.journal.confirmed()
    roll = read_roll(config, stores)
    own = next((host for host in roll.hosts if host.id == host_id(config)), None)
    said = own.followed if own is not None else 0
    followed = max(_derived(stores, followed), said)
    if own is not None and _is_said(own, followed):
        return
    purges = [purge.fact for purge in roll.purges if said < purge.fact <= followed]
    if not (
        _has_obeyed(config, stores, waits=bool(purges), is_new=own is None) and _no_snapshot_has(config, stores, purges)
    ):
        followed = said
        if own is not None and _is_said(own, followed):
            return
    say(config, stores.garage.objects, followed)
    read_roll(config, stores)


def _no_snapshot_has(config: Config, stores: Stores, purges: Sequence[int]) -> bool:
    """Delete the snapshots that were made before these purges; False while this home is still putting one."""
    return not purges or delete_purged(config, stores.garage.objects, max(purges))


def _is_said(own: Host, followed: int) -> bool:
    return own.followed == followed and time.time() - own.said_at < AT_LEAST


def _has_obeyed(config: Config, stores: Stores, *, waits: bool, is_new: bool) -> bool:
    """Whether nothing of what was purged is left here, as far as is known for certain. ``waits``: for a purge this home has not
    said so of yet; ``is_new``: it never said anything."""
    if not is_obeyed(config):
        return False
    return not (waits or is_new) or _is_concluded(config, stores)


def _is_concluded(config: Config, stores: Stores) -> bool:
    """Whether nothing of this home's own purges stands aside any more: who was killed behind one, or met a bucket that was away,
    has left it there. It is concluded here where nobody settles just now."""
    giving = GivingUp(stores, config)
    if not giving.has_left_some():
        return True
    try:
        return giving.conclude(Settler(config, stores).alone_at_once)
    except BusyError:
        return False


def _derived(stores: Stores, known: int) -> int:
    """Up to which of the facts that are known the home's graph has what others did. Nobody else takes out of it what
    they purged."""
    followed = stores.graph.followed() or 0
    behind = stores.graph.epoch() and followed < stores.journal.changed_elsewhere()
    return min(known, followed) if behind else known
