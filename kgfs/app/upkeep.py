"""Find and repair damage, rebuild derived stores, back up and restore."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from kgfs.app.binding import refuse_others
from kgfs.app.home import as_they_are, make_home, model_in_use, open_home
from kgfs.config import Config
from kgfs.errors import BadInputError, BusyError, UnsupportedError
from kgfs.ingest.storing.settle import Settler, alive_sessions
from kgfs.stores.backup.layout import Manifest
from kgfs.stores.backup.making import BackedUp, back_up
from kgfs.stores.backup.restoring import restore
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.database import fault_of, remove_database
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.resolve import ontology_called
from kgfs.stores.ship import is_graph_lost
from kgfs.stores.worker_lock import in_place_of_worker, worker_alive


def rebuild_home(config: Config, ontology: str, progress: Callable[[int, int], None]) -> int:
    """Derive graph and vectors again, of all ontologies or of the named one. Return the number of publications that
    were carried out.

    The call takes the worker's place. If the graph was lost, all ontologies are derived in any case. A database that
    is unusable is removed first; raise BusyError if another process has it open.
    """
    from kgfs.ingest.lifecycle.rebuild import rebuild_graph, rebuild_vectors

    with in_place_of_worker(config.run):
        _remove_unusable(config)
        with open_home(config, make=False, derive=False) as stores:
            found = ontology_called(stores, ontology) if ontology else None
            if found and is_graph_lost(stores):  # else the other ontologies would look empty
                found = None
            model = model_in_use(config, stores)
        vectors_lost = config.run / "vectors.rebuilding"
        with open_home(config, vectors_of=model, derive=False) as stores:
            vectors_lost.touch(mode=0o600)  # so that the next opening derives them if this process is killed
            done = rebuild_graph(stores, progress, found.id if found else "")
            rebuild_vectors(stores, found.id if found else "")
            vectors_lost.unlink()
            return done


def rebuild_projection(config: Config, progress: Callable[[int, int], None]) -> None:
    """Write the graph to Neo4j again beside the current projection, then switch to the new one. The call takes the
    worker's place.

    Raise BadInputError if the graph is not projected; UnavailableError, TimedOutError and StoreError are those of the
    server.
    """
    if config.graph.store != "neo4j":
        raise BadInputError("graph.store is not 'neo4j': the graph is projected to no server.")
    from kgfs.ingest.working.projecting import write_anew

    with in_place_of_worker(config.run), open_home(config, make=False) as stores:
        write_anew(config, stores, progress)


def check_home(
    config: Config, *, deep: bool, mend: bool, progress: Callable[[int, int, str], None]
) -> list[tuple[Damage, str]]:
    """Return the damage found and, with ``mend``, the repair of each ('' if it could not be repaired)."""
    from kgfs.ingest.repair.repair import repair
    from kgfs.knowledge.check import check

    refuse_others(config)  # against the ledger of another garage, the names of the home would look like an older copy
    mended: list[tuple[Damage, str]] = []
    with ExitStack() as stack:
        if mend:
            stack.enter_context(in_place_of_worker(config.run))
            mended = [*_remove_unusable(config), *_replace_front(config)]
        stores = stack.enter_context(as_they_are(config))
        worker = not mend and worker_alive(config.run)
        found = check(config, stores, alive_sessions(config.run), worker=worker, deep=deep, progress=progress)
        return [*mended, *repair(config, stores, found, progress)] if mend else [(damage, "") for damage in found]


def back_up_home(config: Config, folder: Path, keep: int, progress: Callable[[int, int], None]) -> BackedUp:
    """Back up the home to ``folder`` as ``stores.backup`` describes. Mounts and a worker may use the home meanwhile."""
    _kept_in_files(config, "backed up")
    with open_home(config, make=False) as stores:
        # A file that a killed process was settling may be in the garage already and gone from the spool, where the
        # names still place it.
        Settler(config, stores).settle_now()
        return back_up(config, stores.garage.objects.stored, folder, keep, progress)


def restore_home(config: Config, folder: Path, snapshot: str, progress: Callable[[int, int, str], None]) -> Manifest:
    """Create the home from a backup, and derive its graph and index."""
    _kept_in_files(config, "restored from a backup")

    def derive(there: Config) -> None:
        make_home(there)
        rebuild_home(there, "", lambda done, total: progress(done, total, "documents derived"))

    return restore(folder, snapshot, config, lambda done, total: progress(done, total, "objects restored"), derive)


def _kept_in_files(config: Config, what: str) -> None:
    if config.garage_store.store != "files":
        raise UnsupportedError(
            f"A garage in a bucket cannot be {what} so. kgfs migrate copies it into the files of another home; or let the"
            " server keep it twice (docs/servers.md)."
        )


def _replace_front(config: Config) -> list[tuple[Damage, str]]:
    """Quarantine a names database that is unusable or an older copy, and rebuild it from the ledger. Return the
    repaired damage.
    """
    from kgfs.stores.quarantine import quarantine_file

    if not config.catalog_db.exists():
        return []
    complaint, kind = fault_of(config.catalog_db), Kind.DAMAGED_DATABASE
    if not complaint:
        with closing(Catalog(config.catalog_db)) as catalog, closing(open_garage(config)) as garage:
            if garage.ledger.faults() or catalog.seq() >= garage.ledger.last_seq():
                return []
            complaint, kind = f"fact {catalog.seq()} of {garage.ledger.last_seq()}", Kind.OLD_FRONT
    if alive_sessions(config.run):
        raise BusyError(
            f"{config.catalog_db}: {complaint}. Unmount (kgfs umount) and repeat, so that it can be replaced."
        )
    for path in sorted(
        config.home.glob(f"{config.catalog_db.name}*")
    ):  # the database first: if the process is killed then, the database is rebuilt
        quarantine_file(config, path, complaint)
    with open_home(config):
        return [(Damage(kind, config.catalog_db.name, complaint), "made anew from the ledger")]


def _remove_unusable(config: Config) -> list[tuple[Damage, str]]:
    """Remove graph and vector databases that are unusable; the next process that opens them derives them again.
    Return the damage.
    """
    removed = []
    for path, remedy in (
        (config.graph_db, "derived anew"),
        (config.vectors_db, "removed: the worker derives it anew"),
    ):
        if path.exists() and (complaint := fault_of(path)):
            if alive_sessions(config.run):
                raise BusyError(f"{path}: {complaint}. Unmount (kgfs umount) and repeat, so that it can be replaced.")
            remove_database(path)
            removed.append((Damage(Kind.DAMAGED_DATABASE, path.name, complaint), remedy))
    return removed
