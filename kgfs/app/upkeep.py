"""Finds and mends damage, rebuilds what is derived, backs up and restores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from kgfs.app.binding import refuse_others
from kgfs.app.home import as_they_are, make_home, model_in_use, open_existing, open_stores, open_to_derive
from kgfs.config import Config
from kgfs.errors import BadInputError, BusyError, UnsupportedError
from kgfs.ingest.keeping.sessions import alive_sessions
from kgfs.ingest.keeping.settle import Settler
from kgfs.ingest.keeping.ship import is_graph_lost
from kgfs.ingest.sharing.shipping import meeting
from kgfs.ingest.working.turns import only_changer, only_deriver
from kgfs.stores.backup.layout import Manifest
from kgfs.stores.backup.making import BackedUp, back_up
from kgfs.stores.backup.restoring import restore
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.database import fault_of, remove_database
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.journal.sqlite import SqliteJournal
from kgfs.stores.naming import ontology_called
from kgfs.stores.stores import Stores
from kgfs.stores.worker_lock import worker_alive
from kgfs.stores.worker_turn import in_place_of_worker


def rebuild_home(config: Config, ontology: str, progress: Callable[[int, int], None]) -> int:
    """Derive graph and vectors anew, of everything or of the ontology of that name, in place of the worker; how many
    publications were carried out; of everything in any case where the graph was lost. A database that cannot be used any more is
    removed first, which needs that nobody else has it open (BusyError)."""
    from kgfs.ingest.life.rebuild import rebuild_graph, rebuild_vectors

    with in_place_of_worker(config.run):
        _remove_unusable(config)
        with open_to_derive(config, make=False) as stores:
            found = ontology_called(stores, ontology) if ontology else None
            if found and is_graph_lost(stores):  # the others would look as if they had been emptied
                found = None
            model = model_in_use(config, stores)
        vectors_lost = config.run / "vectors.rebuilding"
        with (
            open_to_derive(config, vectors_of=model) as stores,
            only_deriver(config, stores, meeting(config), whole=found is None) as stores,
        ):
            vectors_lost.touch(mode=0o600)  # so that, killed before the end, they are derived when they are next opened
            done = rebuild_graph(stores, progress, found.id if found else "")
            with _writing_vectors(config, stores) as alone:
                rebuild_vectors(alone, found.id if found else "")
            vectors_lost.unlink()
            return done


def rebuild_projection(config: Config, progress: Callable[[int, int], None]) -> None:
    """Write the graph to Neo4j anew, beside what is there, and show it in its place. In place of the worker. BadInputError where the
    graph is not projected; AwayError, TimedOutError and StoreError as the server has it."""
    if config.graph.store != "neo4j":
        raise BadInputError("graph.store is not 'neo4j': the graph is projected to no server.")
    from kgfs.ingest.working.projecting import write_anew

    with in_place_of_worker(config.run), open_existing(config) as stores:
        write_anew(config, stores, progress)


@contextmanager
def _writing_vectors(config: Config, stores: Stores) -> Iterator[Stores]:
    """Where homes share a server of vectors one at a time writes there. Killed, the next that has its turn begins anew."""
    if not stores.journal.sharing or config.vectors.store == "sqlite" or stores.vectors is None:
        yield stores
        return
    from kgfs.ingest.working.vector_positions import position_of

    with only_changer(config, stores, meeting(config)) as alone:
        position = position_of(config, alone)
        position.forget()
        yield alone
        position.write(alone.graph.followed() or 0)
        position.conclude()


def check_home(
    config: Config, *, deep: bool, mend: bool, progress: Callable[[int, int, str], None]
) -> list[tuple[Damage, str]]:
    """What is damaged, and with ``mend`` what was done about it ('' where nothing could be)."""
    from kgfs.ingest.mending.repair import repair
    from kgfs.knowledge.check import check

    refuse_others(config)  # compared with the ledger of another, the home's names look like an older copy
    mended: list[tuple[Damage, str]] = []
    with ExitStack() as stack:
        if mend:
            stack.enter_context(in_place_of_worker(config.run))
            mended = [*_remove_unusable(config), *_replace_front(config)]
        stores = stack.enter_context(as_they_are(config))
        if mend:
            stores = stack.enter_context(only_changer(config, stores, meeting(config)))
        worker = not mend and worker_alive(config.run)
        found = check(config, stores, alive_sessions(config.run), worker=worker, deep=deep, progress=progress)
        return [*mended, *repair(config, stores, found, progress)] if mend else [(damage, "") for damage in found]


def restore_originals(
    config: Config, *, dry_run: bool, progress: Callable[[int, int, str], None]
) -> list[tuple[str, str]]:
    """(key, where it was or could be made from) of every original that is lost; '' where it cannot be."""
    from kgfs.ingest.mending.restore_garage import lost, restore_original, source_of
    from kgfs.knowledge.check.kept import in_garage

    with as_they_are(config) as stores:
        kinds = (Kind.MISSING_ORIGINAL, Kind.ROTTEN_ORIGINAL)
        keys = [damage.what for damage in in_garage(stores, deep=True, progress=progress) if damage.kind in kinds]
        if dry_run:
            found = [(original.key, source_of(config, stores, original)) for original in lost(stores, keys)]
            return [(key, source[0] if source else "") for key, source in found]
        made: dict[str, str] = {}
        left = list(lost(stores, keys))
        while left:  # what is made again may have the bytes of another
            made |= {original.key: restore_original(config, stores, original) for original in left}
            again = [original for original in left if not made[original.key]]
            left = again if len(again) < len(left) else []
        return list(made.items())


def back_up_home(config: Config, folder: Path, keep: int, progress: Callable[[int, int], None]) -> BackedUp:
    """See ``stores.backup``. Works while mounts and a worker use the home."""
    _kept_in_files(config, "backed up")
    with open_existing(config) as stores:
        # What one that was killed was settling is in the garage, and in the spool no more, where the names say it is.
        Settler(config, stores).settle_now()
        return back_up(config, stores.garage.objects, folder, keep, progress)


def restore_home(config: Config, folder: Path, snapshot: str, progress: Callable[[int, int, str], None]) -> Manifest:
    """Make the home from a backup, its graph and index too."""
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
    """Where the names are beyond use, or an older copy, they are quarantined and made anew from the ledger."""
    from kgfs.ingest.keeping.quarantine import quarantine_file

    if not config.front_db.exists():
        return []
    complaint, kind = fault_of(config.front_db), Kind.DAMAGED_DATABASE
    if not complaint:
        with closing(SqliteJournal(config.front_db)) as journal, closing(open_garage(config)) as garage:
            if journal.sharing or garage.ledger.faults() or journal.seq() >= garage.ledger.last_seq():
                return []
            complaint, kind = f"fact {journal.seq()} of {garage.ledger.last_seq()}", Kind.OLD_FRONT
    if alive_sessions(config.run):
        raise BusyError(
            f"{config.front_db}: {complaint}. Unmount (kgfs umount) and repeat, so that it can be replaced."
        )
    for path in sorted(
        config.home.glob(f"{config.front_db.name}*")
    ):  # the database first: killed then, it is made anew
        quarantine_file(config, path, complaint)
    with open_stores(config):
        return [(Damage(kind, config.front_db.name, complaint), "made anew from the ledger")]


def _remove_unusable(config: Config) -> list[tuple[Damage, str]]:
    """Graph and vectors where they are beyond use: whoever opens them next derives them anew."""
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
