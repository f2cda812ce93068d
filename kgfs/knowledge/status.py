"""The state of a home, as ``.kgfs/status.json`` and ``kgfs status`` show it, and the files that a bucket does not
have as they are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import kgfs
from kgfs.config import Config
from kgfs.domain.documents import INGEST_VERSION, State
from kgfs.knowledge.backlog import owed, unread
from kgfs.knowledge.compiled import compiled
from kgfs.knowledge.document_location import standing_of
from kgfs.stores.catalog.rows import WAITING, Job
from kgfs.stores.disk_reserve import DiskReserve, ReserveState
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.mount_files import mount_notes
from kgfs.stores.stores import Stores
from kgfs.stores.watch_files import watch_states
from kgfs.stores.worker_lock import worker_alive, worker_note

UNREAD = 100
"""The number of documents that were not read which a status names."""


def status(config: Config, stores: Stores) -> dict[str, Any]:
    """Return the state of a home as plain data.

    Quick: the cost grows with the numbers of ontologies, claims and gated Sources, which indexes count.

    ``unshipped`` counts the facts that the bucket lacks, and ``taken_over_by`` names the home that owns it now if this one
    lost its right. ``owed`` is all that ``kgfs wait`` waits for, including ``unsettled`` paths and ``forgettings`` that are not carried out.
    ``worker.note`` is what the newest worker wrote about itself, its models included; its ``state`` is idle where the worker
    has nothing to do. ``worker.alive`` says whether that worker still runs. ``mounts`` are the mounts
    that registered themselves and did not deregister; a killed mount is not ``alive``. ``reserve`` is the disk reserve in bytes. ``documents`` counts by state and leaves out states with
    none. ``read_by_earlier_rules`` counts the documents that an earlier ingest version read, which ``kgfs reprocess`` reads
    anew. ``language_model`` has what :func:`~.compiled.compiled` counts. ``waiting`` are documents that wait for the language model, or for its limit, with the reason. ``neo4j`` says how far the projection is behind (:func:`~.projection.progress.projection_page`), and is None where
    there is none.
    """
    names, left = stores.catalog.names, owed(stores.catalog)
    counts = compiled(config, stores)
    return {
        "version": kgfs.__version__,
        "home": str(config.home),
        "taken_over_by": stores.garage.taken_over_by(),
        "unshipped": 0 if config.garage_store.store == "files" else stores.catalog.seq() - stores.catalog.confirmed(),
        "owed": left.total,
        "unsettled": left.unsettled,
        "forgettings": left.forgettings,
        "worker": {"alive": worker_alive(config.run), "note": _note(config, left.jobs + left.forgettings)},
        "mounts": [
            {"mountpoint": str(note.mountpoint), "view": note.view, "pid": note.pid, "alive": note.alive}
            for note in mount_notes(config.run)
        ],
        "watches": watch_states(config.home),
        "reserve": asdict(reserve_state(config)),
        "epoch": stores.graph.epoch(),
        "neo4j": _projection_page(config, stores.graph),
        "seq": stores.catalog.seq(),
        "language_model": counts.plain(),
        "read_by_earlier_rules": stores.graph.read_before(INGEST_VERSION),
        "documents": _by_state(names.counts()),
        "waiting": [{"doc_id": job.doc_id, "reason": job.reason} for job in stores.catalog.jobs.waiting(UNREAD)],
        "not_read": [
            {"path": f"{one.ontology}/{one.path}", "state": one.state, "reason": one.reason, "doc_id": one.doc_id}
            for one in unread(names, UNREAD)
        ],
        "ontologies": [
            {
                "name": ontology.name,
                "id": ontology.id,
                "documents": _by_state(names.counts(ontology.id)),
                "read": dict(stores.graph.counts(ontology.id)),
                "gated": dict(sorted(counts.gated_in.get(ontology.id, {}).items())),
            }
            for ontology in names.ontologies()
        ],
    }


def reserve_state(config: Config) -> ReserveState:
    """Return the state of the disk reserve, the space that is held for removals on a full disk."""
    return DiskReserve(config.home).state()


def _note(config: Config, owed: int) -> dict[str, Any]:
    note = worker_note(config.run)
    return note | {"state": "idle"} if note.get("state") == "working" and not owed else note


def _by_state(counts: Mapping[State, int]) -> dict[str, int]:
    return {state.value: counts[state] for state in State if counts.get(state)}


def job_page(stores: Stores, job: Job) -> dict[str, Any]:
    """Return the content of ``.kgfs/jobs/<doc_id>.json`` for a pending job."""
    ontology = stores.catalog.names.ontology(job.ontology)
    held = stores.catalog.names.version_of(job.doc_id)
    return {
        "doc_id": job.doc_id,
        "kind": job.kind,
        "ontology": ontology.name if ontology else "",
        "document": standing_of(stores.catalog.names, job.doc_id).origin.path,
        "decision": held[0].decision if held else "",
        "decision_reason": held[0].reason if held else "",
        "state": job.stage if job.stage == WAITING else job.state,
        "stage": job.stage,
        "progress": round(job.progress, 3),
        "attempts": job.attempts,
        "reason": job.reason,
        "worker": job.worker,
    }


def _projection_page(config: Config, graph: Graph) -> dict[str, Any] | None:
    if config.graph.store != "neo4j":
        return None
    from kgfs.stores.projection.progress import projection_page  # loads what only a projection needs

    return projection_page(config, graph)
