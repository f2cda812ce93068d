"""Opening the replica of a home, and making it where it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kgfs.errors import AWAY, FullError, GraphLostError
from kgfs.stores.database import remove_database
from kgfs.stores.graph.replica.file import is_usable
from kgfs.stores.graph.replica.filling import Progress, fill
from kgfs.stores.graph.replica.following import OutdatedError, Source
from kgfs.stores.graph.replica.graph import PATIENCE, Replica, being_made
from kgfs.stores.graph.replica.outage import Outage
from kgfs.stores.leases.contract import SharedGraph
from kgfs.stores.locks import locked


def make_replica(
    origin: Source,
    path: Path,
    lock: Path,
    connect: Callable[[], SharedGraph],
    progress: Progress = lambda *_: None,
    told: Callable[[str], None] = lambda said: None,
) -> None:
    """A whole copy at ``path``, if none is there. Needs the server only then. Others that make it are waited for. ``told`` in
    words what is done."""
    told("Asking the graph's server, or waiting for another process that copies the graph")
    with locked(lock):
        if is_usable(path):
            return
        if origin.standing() is None:
            told("Making the graph on its server, with the constraints and indexes that it needs, once")
            connect().close()  # which makes the graph
        told("Copying the graph from its server")
        remove_database(path)
        fill(origin, being_made(path), progress)
        being_made(path).replace(path)


def open_replica(
    origin: Source,
    path: Path,
    lock: Path,
    connect: Callable[[], SharedGraph],
    outage: Outage,
    *,
    refill: bool,
    later: bool = False,
    haste: float = float("inf"),
) -> Replica | None:
    """The replica at ``path``, as current as the server, where that answers and this machine's disk has room. None where there
    is none that could be used or, without ``refill``, brought up to the server by its feed; also where another process was at
    that for all of its PATIENCE, which is about to show another graph, most likely. With ``refill``, for who may not wait, what
    that one has shown so far will do. With ``later`` one that shows anything is not brought up: :func:`~.feeder.fed` does that.
    With ``haste``, for who is to tell how it stands, another process is waited for so many seconds at most, and one that shows
    anything does, though it be behind. Where the server has not the graph any more one that shows anything does for both of them; for all others
    the graph is made, empty: they are to derive it."""
    if not is_usable(path):
        return None
    replica = Replica(origin, path, lock, connect, outage)
    try:
        tells = haste < PATIENCE and replica.epoch() > 0
        if later and replica.epoch():
            return replica
        standing = origin.standing()
        keeps = (refill or tells) and replica.epoch() > 0
        if standing is not None:
            replica.heard(standing)
        elif not keeps:
            connect().close()
        try:
            patience = 0.0 if refill else min(PATIENCE, haste)
            if replica.follow(patience=patience, refill=refill) or refill or tells:
                return replica
        except OutdatedError:
            if tells:
                return replica
        except GraphLostError:  # noted by follow()
            if keeps:
                return replica
            raise
    except (FullError, *AWAY) as error:
        outage.begins(error)  # what was known last is shown
        return replica
    except BaseException:
        replica.close()
        raise
    replica.close()
    return None
