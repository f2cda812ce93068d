"""Repair what ``kgfs check`` found: derive it again from stored data, or quarantine it.

Nothing that is kept is thrown away. The caller holds the worker lock. Each repair is idempotent.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from kgfs.config import Config
from kgfs.errors import CorruptError
from kgfs.failpoints import border
from kgfs.ingest import timing
from kgfs.ingest.lifecycle.rebuild import rebuild_graph, rebuild_vectors
from kgfs.ingest.lifecycle.runs import Order, owe
from kgfs.ingest.storing.settle import Settler
from kgfs.stores.catalog.encoding import encode
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.object_copies import is_wanted
from kgfs.stores.quarantine import quarantine, quarantine_file
from kgfs.stores.ship import ship_from_reserve
from kgfs.stores.stores import Stores

Progress = Callable[[int, int, str], None]

BY_GRAPH = frozenset({Kind.NOT_IN_GRAPH, Kind.NOT_IN_CATALOG, Kind.DANGLING, Kind.WRONG_SPAN, Kind.STALE_WORDS})
BY_VECTORS = frozenset({Kind.MISSING_VECTORS, Kind.STALE_VECTORS})


def repair(
    config: Config, stores: Stores, found: Sequence[Damage], progress: Progress = lambda *_: None
) -> list[tuple[Damage, str]]:
    """Repair the damages, first those that others are derived from; return each with what was done.

    The text is '' for a damage that could not be repaired.
    """
    mend = _Mending(config, stores)
    done = [(damage, mend.one(damage)) for damage in found if damage.kind not in BY_GRAPH | BY_VECTORS]
    by_graph = [damage for damage in found if damage.kind in BY_GRAPH]
    if by_graph:
        rebuild_graph(stores, lambda at, of: progress(at, of, "documents derived"))
    by_vectors = [damage for damage in found if damage.kind in BY_VECTORS]
    if by_graph or by_vectors:
        rebuild_vectors(stores)
    done += [(damage, "derived anew") for damage in (*by_graph, *by_vectors)]
    return done


class _Mending:
    def __init__(self, config: Config, stores: Stores) -> None:
        self._config = config
        self._stores = stores
        self._owed: set[str] = set()
        """``doc_id`` of documents with a job to read them again, so that each is enqueued once."""

    def one(self, damage: Damage) -> str:
        """Repair one damage; return what was done, '' if it could not be repaired."""
        done = self._mended(damage)
        border("mended")
        return done

    def _mended(self, damage: Damage) -> str:
        match damage.kind:
            case Kind.MISSING_ORIGINAL:
                return self._part_again(damage.doc_id)
            case Kind.ROTTEN_ORIGINAL:
                return self._rotten_original(damage)
            case Kind.MISSING_PART:
                return self._read_again(damage.doc_id)
            case Kind.ROTTEN_PART:
                quarantine(self._config, self._stores, damage.what, damage.detail)
                return self._read_again(damage.doc_id) or "quarantined"
            case Kind.LOST_SUMS:
                return self._sums(damage)
            case Kind.ORPHAN:
                return self._orphan(damage.what)
            case Kind.TORN_LEDGER | Kind.ROTTEN_LEDGER:
                return "" if self._stores.garage.ledger.mend(self._entry) else "mended"
            case Kind.UNSHIPPED:
                ship_from_reserve(self._config.home, self._stores)
                return "shipped"
            case Kind.STUCK_JOB:
                return self._job(damage)
            case Kind.LEFT_SPOOL:
                return self._left_spool(damage.what)
            case Kind.LEFT_INBOX:
                self._stores.catalog.drop_inbox([damage.what])
                return "dropped"
            case Kind.LEFT_UPLOAD:
                return self._upload(damage.what)
            case Kind.LEFT_CACHE:
                (self._config.garage_cache / damage.what).unlink(missing_ok=True)
                return "removed"
            case _:
                return ""

    def _rotten_original(self, damage: Damage) -> str:
        with Settler(self._config, self._stores).alone():  # others' versions may come to rest on it
            quarantine(self._config, self._stores, damage.what, damage.detail)
        return self._part_again(damage.doc_id) or "quarantined; the original is missing now"

    def _part_again(self, doc_id: str) -> str:
        """Read the documents again that a lost original is a part of, which puts it again. Return '' if there are none."""
        parents = [row.parent for row in self._stores.catalog.names.part_of(doc_id)]
        return next(filter(None, [self._read_again(parent) for parent in dict.fromkeys(parents)]), "")

    def _read_again(self, doc_id: str) -> str:
        document = self._stores.catalog.names.document(doc_id)
        if document is None or not self._stores.catalog.names.held(doc_id):
            return ""
        if doc_id not in self._owed:
            self._owed.add(doc_id)
            owe(self._stores.catalog, lambda: [document], Order("what was kept of its reading is lost"))
        return "owed to the worker"

    def _sums(self, damage: Damage) -> str:
        objects = self._stores.garage.objects
        try:
            objects.stat(damage.what)
        except CorruptError as error:
            content = objects.salvage(damage.what)
            digest, name = hashlib.sha256(content).hexdigest(), damage.what.rpartition("/")[2].partition(".")[0]
            if not digest.startswith(name.rpartition("-")[2]):
                quarantine(self._config, self._stores, damage.what, str(error))
                return self._read_again(damage.doc_id) or "quarantined"
            objects.put(damage.what, content)  # writing the same content again makes its checksums anew
        return "made again"

    def _orphan(self, key: str) -> str:
        """Quarantine an object that nothing refers to.

        Check that again while nothing settles: the same bytes may have been deposited since, and the new document
        then uses this object.
        """
        with Settler(self._config, self._stores).alone():
            if is_wanted(self._stores, key):
                return "wanted again"
            quarantine(self._config, self._stores, key, "nothing refers to it")
        return "quarantined"

    def _left_spool(self, name: str) -> str:
        """Quarantine a spool file that no name refers to.

        Check that again: a process may have begun to write or keep the file since ``kgfs check`` looked.
        """
        path, settler = self._config.spool / name, Settler(self._config, self._stores)
        with settler.alone():
            if not settler.nobodys([path]):
                return "wanted again"
            quarantine_file(self._config, path, "no file refers to it")
        return "quarantined"

    def _upload(self, key: str) -> str:
        objects = self._stores.garage.objects
        objects.sweep(time.time() - timing.UPLOAD_ENDS)
        return "" if key in {left for left, _ in objects.left_over()} else "aborted"

    def _entry(self, seq: int) -> bytes | None:
        found = self._stores.catalog.facts(seq - 1, 1)
        return encode(found[0][1]) if found and found[0][0] == seq else None

    def _job(self, damage: Damage) -> str:
        jobs = self._stores.catalog.jobs
        for job in jobs.of(damage.doc_id):
            if self._stores.catalog.names.document(job.doc_id) is None:
                jobs.drop(job)
            elif job.state == "working":
                jobs.put_back(job, "its worker is gone", 0.0, counted=False)
        return "given back"
