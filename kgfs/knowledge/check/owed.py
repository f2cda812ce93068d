"""Journal, inbox and spool: what waits for nobody."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Name, Place
from kgfs.errors import MissingError
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.locks import is_locked
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import COPY, key_on_the_way

LONG_AGO = 600 * 10**9
"""Nanoseconds after which a lease that ran out is nobody's business any more."""
A_DAY = 24 * 3600.0
"""Seconds in which a large copy is delivered."""


def in_journal(config: Config, stores: Stores, alive: Sequence[str], *, worker: bool) -> Iterator[Damage]:
    names, now = stores.journal.names, time.time_ns()
    for job in stores.journal.jobs.all():
        if names.document(job.doc_id) is None:
            yield Damage(Kind.STUCK_JOB, f"{job.kind} {job.doc_id}", "no such document", job.doc_id)
        elif job.state == "working" and job.lease_until + LONG_AGO < now and not worker:
            yield Damage(Kind.STUCK_JOB, f"{job.kind} {job.doc_id}", f"its worker {job.worker} is gone", job.doc_id)
    # In this order: what nobody writes any more is spoken of by then, if it was kept; who writes may have begun just now.
    paths = [path for path in sorted(config.spool.glob("*-*")) if not is_locked(path)]
    waiting = names.unsettled(quiet_before=2**63 - 1)
    wanted = {name.key for name in waiting if name.place is Place.SPOOL}
    for path in paths:
        if path.name not in wanted and path.name.partition("-")[0] not in alive and not _is_under_way(path):
            yield Damage(Kind.LEFT_SPOOL, path.name, f"{path.stat().st_size} bytes" if path.exists() else "")
    for name in waiting:
        if name.place is Place.SPOOL and not (config.spool / name.key).exists() and not _is_in_garage(stores, name):
            yield Damage(Kind.LOST_SPOOL, names.path(name.id) or name.name, name.key)
    for sha256 in stores.journal.left_inbox():
        yield Damage(Kind.LEFT_INBOX, sha256)


def _is_under_way(path: Path) -> bool:
    """Whether somebody may be bringing this copy to the garage. One of a working copy is another name of it perhaps, and as old as
    that but for when it got this name; nor can it be locked, for so would that be."""
    try:
        return path.name.startswith(COPY) and time.time() - path.stat().st_ctime < A_DAY
    except FileNotFoundError:
        return True


def _is_in_garage(stores: Stores, name: Name) -> bool:
    """Brought there by one that was killed, or heard no more of a server, before it could note that; or by the home that wrote it."""
    try:
        key_on_the_way(stores, name)
    except MissingError:
        return False
    return True
