"""The check of catalog, inbox and spool: work and files that nothing will finish."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Name, StorageTier
from kgfs.errors import MissingError
from kgfs.knowledge import timing
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.locks import is_locked
from kgfs.stores.object_copies import COPY, key_on_the_way
from kgfs.stores.stores import Stores


def in_catalog(config: Config, stores: Stores, alive: Sequence[str], *, worker: bool) -> Iterator[Damage]:
    names, now = stores.catalog.names, time.time_ns()
    for job in stores.catalog.jobs.all():
        if names.document(job.doc_id) is None:
            yield Damage(Kind.STUCK_JOB, f"{job.kind} {job.doc_id}", "no such document", job.doc_id)
        elif job.state == "working" and job.lease_until + timing.JOB_STUCK_NS < now and not worker:
            yield Damage(Kind.STUCK_JOB, f"{job.kind} {job.doc_id}", f"its worker {job.worker} is gone", job.doc_id)
    # The order matters. A file without a writer is listed first, so its name is unsettled by now if it was kept. A
    # file with a writer may be new.
    paths = [path for path in sorted(config.spool.glob("*-*")) if not is_locked(path)]
    waiting = names.unsettled()
    wanted = {name.key for name in waiting if name.place is StorageTier.SPOOL}
    for path in paths:
        if path.name not in wanted and path.name.partition("-")[0] not in alive and not _is_under_way(path):
            yield Damage(Kind.LEFT_SPOOL, path.name, f"{path.stat().st_size} bytes" if path.exists() else "")
    for name in waiting:
        if (
            name.place is StorageTier.SPOOL
            and not (config.spool / name.key).exists()
            and not _is_in_garage(stores, name)
        ):
            yield Damage(Kind.LOST_SPOOL, names.path(name.id) or name.name, name.key)
    for sha256 in stores.catalog.left_inbox():
        yield Damage(Kind.LEFT_INBOX, sha256)


def _is_under_way(path: Path) -> bool:
    """Return whether a process may be uploading this copy to the garage.

    The copy of a working copy may be a hard link to it, so only its ctime is its own. It cannot be locked either,
    because the lock would apply to the working copy too.
    """
    try:
        return path.name.startswith(COPY) and time.time() - path.stat().st_ctime < timing.COPY_UPLOAD
    except FileNotFoundError:
        return True


def _is_in_garage(stores: Stores, name: Name) -> bool:
    """Return whether the garage has the content of a name whose spool file is gone.

    A process that was killed or lost the connection may have uploaded it without recording that.
    """
    try:
        key_on_the_way(stores, name)
    except MissingError:
        return False
    return True
