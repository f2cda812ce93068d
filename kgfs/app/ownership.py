"""Own the bucket of a home: claim it, take it over from another home, and begin a home with what the bucket has."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from kgfs.config import Config
from kgfs.errors import BusyError, NotOwnerError
from kgfs.failpoints import border
from kgfs.ingest.storing.settle import alive_sessions
from kgfs.stores import snapshots
from kgfs.stores.catalog.encoding import encode
from kgfs.stores.catalog.facts import OwnerChanged
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.database import remove_database
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.garage.s3.garage import S3Garage
from kgfs.stores.garage.s3.owner import Owner
from kgfs.stores.run_files import VECTORS_AFTER, write_note
from kgfs.stores.ship import ship_once
from kgfs.stores.worker_lock import worker_alive

Progress = Callable[[int, int], None]
Report = Callable[[str], None]


def own(
    config: Config,
    *,
    take_over: bool = False,
    progress: Progress = lambda done, total: None,
    report: Report = lambda step: None,
) -> None:
    """Make sure that this home, whose garage is in a bucket, has the right to write there, and databases to begin with.

    A home that knows that it is the owner asks no server. With ``take_over`` the home becomes the owner whoever is; raise
    BusyError if it has changes that never reached the bucket while another home has written there. Without it raise
    NotOwnerError if another home is the owner. Raise UnavailableError or TimedOutError if the bucket must be asked and
    is away. ``progress`` is called with (done, total) in bytes of a snapshot, ``report`` with a step in words.
    """
    with closing(open_garage(config, cached=False)) as garage:
        assert isinstance(garage, S3Garage)
        assert garage.owner is not None
        if take_over and not garage.owner.is_held():
            _refuse_unshipped(config, garage)
            garage.owner.take_over()
            border("taken-over")
        elif not (garage.owner.is_held() or garage.owner.owes_fence()):
            garage.owner.claim()
        if garage.owner.owes_fence():
            report("Taking over the bucket")
            _fence(config, garage, garage.owner)
        if not config.catalog_db.exists():
            report("Looking in the bucket for a snapshot to begin with")
            found = snapshots.install(config, garage.objects, progress)
            write_note(config.run / VECTORS_AFTER, found.position if found else 0, durable=True)


def is_lost(config: Config) -> bool:
    """Return whether another home has taken over, as far as this home knows. Asks no server."""
    with closing(open_garage(config, cached=False)) as garage:
        assert isinstance(garage, S3Garage)
        return garage.owner is not None and garage.owner.lost_to() is not None


def _refuse_unshipped(config: Config, garage: S3Garage) -> None:
    """Raise BusyError if the home has changes that cannot follow what another home has written meanwhile, or is in
    use."""
    if worker_alive(config.run) or alive_sessions(config.run):
        raise BusyError(f"{config.home}: it is in use. Unmount it (kgfs umount MNT) and end its worker first.")
    if not config.catalog_db.exists():
        return
    with closing(Catalog(config.catalog_db)) as catalog:
        own = catalog.seq() - catalog.confirmed() + catalog.names.unsettled_count()
        if own and garage.ledger.last_seq() > catalog.confirmed():
            raise BusyError(
                f"{config.home}: {own} changes made here never reached the bucket, and another home has written there since."
                " Mount it, which shows it read-only, copy what kgfs status --unshipped lists to another home, move this"
                " home's folder away, and take over again."
            )


def _fence(config: Config, garage: S3Garage, owner: Owner) -> None:
    """Put the entry of the take-over at the next free number of the ledger. Repeatable after a kill.

    Databases that lack entries of another home are removed: all that they have is in the bucket.
    """
    found = owner.current()
    assert found is not None
    fact = OwnerChanged(found.generation, found.home, found.host, time.time_ns())
    if config.catalog_db.exists():
        with closing(Catalog(config.catalog_db)) as catalog:
            last = garage.ledger.last_seq()
            if catalog.seq() and catalog.confirmed() >= last:
                garage.ledger.keep_piece(last + 1)
                catalog.record(fact)
                ship_once(catalog, garage.ledger)
                owner.fenced()
                return
        for database in (config.catalog_db, config.graph_db, config.vectors_db):
            remove_database(database)
    garage.ledger.fence(encode(fact))
    border("fenced")
    owner.fenced()


def refusal(config: Config) -> NotOwnerError:
    """Return the error of a home that lost its right."""
    with closing(open_garage(config, cached=False)) as garage:
        assert isinstance(garage, S3Garage)
        assert garage.owner is not None
        return garage.owner.refusal()
