"""The :class:`~kgfs.stores.graph.contract.Graph` of a home whose graph stands on a server: reads are answered from the replica
in the home, whatever becomes of the server; what changes the graph is done by the server and then read back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from kgfs.errors import GraphLostError, StoreError, TimedOutError
from kgfs.stores.database import remove_database
from kgfs.stores.graph.adopting import BUILT, adopt
from kgfs.stores.graph.contract import Graph
from kgfs.stores.graph.reading import GraphReads
from kgfs.stores.graph.replica.file import SCRUB_OWED, Notes, note, open_file
from kgfs.stores.graph.replica.filling import fill
from kgfs.stores.graph.replica.following import OutdatedError, Source, follow, gone
from kgfs.stores.graph.replica.outage import Outage
from kgfs.stores.graph.replica.standing import Standing
from kgfs.stores.graph.vocabulary import Batch, Fault, Lag, Mark, Publication, Redaction, RelationshipRow, Said
from kgfs.stores.leases.contract import Lease, Leases, SharedGraph
from kgfs.stores.locks import is_locked, locked_within
from kgfs.stores.spare import leave_spare

PATIENCE = 10.0
"""Seconds that whoever wrote waits for another process which is following the server just then. Where that makes the
replica anew it takes longer: TimedOutError, though what was to be done is done; doing it again finds that out."""


class Replica(GraphReads):
    """Any number of threads and processes. Writing raises AwayError while the server is away; it is done when it
    returned, and reads of this home show it then. Of several processes only one follows the server at a time."""

    def __init__(
        self, origin: Source, path: Path, lock: Path, connect: Callable[[], SharedGraph], outage: Outage
    ) -> None:
        """``path`` is a whole replica (see ``opening``), ``connect`` opens the graph on the server."""
        super().__init__(open_file(path))
        self._origin = origin
        self._path = path
        self._lock = lock
        self._connect = connect
        self._outage = outage
        self._connected: list[SharedGraph] = []
        self._connecting = threading.Lock()
        self._asked = threading.Lock()
        self._seen = self._state()
        self._current_at: float | None = None
        """By a clock that nobody sets."""
        self._server_epoch: int | None = None
        self._is_fenced = False

    # ------------------------------------------------------------------------------- following the server

    def follow(self, *, patience: float = 0.0, refill: bool = True) -> bool:
        """Show what the server shows. False where another process was at it for all of ``patience`` seconds.

        AwayError and other errors leave what is shown as it was, and are noted once an outage. A replica that no feed
        leads on from is made anew or, without ``refill``, OutdatedError is raised."""
        with locked_within(self._lock, patience) as mine:
            if not mine:
                return False
            try:
                self._follow(refill)
            except OutdatedError:
                raise
            except Exception as error:  # whatever it is: readers must be told that they see the past
                self._outage.begins(error)
                raise
            self._outage.ends()
            return True

    def _follow(self, refill: bool) -> None:
        while True:
            try:
                standing = follow(self._origin, self._database)
                break
            except OutdatedError:
                if not refill:
                    raise
                self._make_anew()
        self._current_at, self._server_epoch = time.monotonic(), standing.epoch
        if being_made(self._path).exists():  # of one who was killed when it had the former one's place
            remove_database(being_made(self._path))
        if Notes(self._database).all().get(SCRUB_OWED):
            size, log = self._database.sizes()
            leave_spare(self._path, "writing it anew without what left the graph", size, size + log)
            self._database.scrub()
            with self._database.write(durable=False) as connection:
                note(connection, **{SCRUB_OWED: 0})

    def _make_anew(self) -> None:
        """Readers see the former replica until the new one is whole. GraphLostError where the new one would be of a graph that was
        just made, in place of one that had something: what is known is not given up for that."""
        beside, standing = being_made(self._path), self._origin.standing()
        if standing is not None:
            self.heard(standing)
            self._keep_what_is_known(standing)
        fill(self._origin, beside)
        made = open_file(beside)
        filled = Notes(made).standing()
        (epoch,) = made.row("SELECT value FROM meta WHERE name = 'epoch'")
        size, _ = made.sizes()
        made.close()
        if filled is not None:
            self._keep_what_is_known(filled)
        known = Notes(self._database).standing()
        self._database.shorten_log()
        leave_spare(self._path, "the copy of the graph, until it has the former one's place", size, size)
        with self._database.attached(beside, BUILT), self._database.write(durable=False) as connection:
            adopt(connection, "")
            connection.execute("UPDATE meta SET value = ? WHERE name IN ('epoch', 'changes_above')", (epoch,))
            note(connection, **{SCRUB_OWED: 1})
        self._database.shorten_log()
        remove_database(beside)
        if known and filled and known.identity == filled.identity and filled.epoch < known.epoch:
            self._outage.tell(
                f"The graph's server was put back to an earlier day: it is at epoch {filled.epoch}, and {known.epoch} was known."
                " That day's graph is shown; 'kgfs check' says what it lacks, and 'kgfs rebuild' derives today's."
            )

    def _keep_what_is_known(self, standing: Standing) -> None:
        if standing.is_new and self.epoch():
            raise gone()

    def refresh(self) -> None:
        if not self.follow(patience=PATIENCE):
            raise TimedOutError(f"{self._path}: another process is copying the graph anew. Trying again can succeed.")

    def heard(self, standing: Standing) -> None:
        """What the server told, though nothing of it is followed."""
        self._server_epoch = standing.epoch

    def lag(self) -> Lag:
        seconds = None if self._current_at is None else time.monotonic() - self._current_at
        is_copied = being_made(self._path).exists() and is_locked(self._lock)
        outage = self._outage
        is_lost = outage.is_of(GraphLostError)
        return Lag(self.epoch(), self._server_epoch, seconds, outage.since(), outage.reason(), is_copied, is_lost)

    # ---------------------------------------------------------------------------------- done by the server

    @property
    def _server(self) -> SharedGraph:
        with self._connecting:
            if not self._connected:
                self._connected.append(self._connect())
            return self._connected[0]

    def stage(self, commit_id: str, document: str, batch: Batch) -> None:
        self._server.stage(commit_id, document, batch)

    def publish(self, publication: Publication) -> int:
        return self._shown(self._server.publish(publication))

    def abandon(self, commit_id: str) -> None:
        self._server.abandon(commit_id)

    def forget(self, commit_id: str, doc_ids: Sequence[str], at: int, concepts: Sequence[str] = ()) -> int:
        return self._shown(self._server.forget(commit_id, doc_ids, at, concepts))

    def reassign(
        self, commit_id: str, said: Sequence[Said], at: int, marks: Sequence[Mark] = (), unmarked: Sequence[Mark] = ()
    ) -> int:
        return self._shown(self._server.reassign(commit_id, said, at, marks, unmarked))

    def redact(self, concepts: Sequence[str], relationships: Sequence[RelationshipRow]) -> Redaction:
        redaction = self._server.redact(concepts, relationships)
        with locked_within(self._lock, PATIENCE) as mine:
            if mine:  # else it is just being made, and hears of this at its end
                remove_database(being_made(self._path))
        self.refresh()
        return redaction

    def impose(self, redaction: Redaction) -> None:
        self._server.impose(redaction)
        self.refresh()

    def clear(self) -> None:
        self._server.clear()
        self.refresh()

    def aside(self) -> Graph:
        return self._server.aside()

    def adopt(self, built: Graph, ontology: str = "") -> int:
        return self._shown(self._server.adopt(built, ontology))

    def _shown(self, epoch: int) -> int:
        self.refresh()
        return epoch

    # Who asks these is about to commit, or to say that something was: the server's word counts.

    def staged(self) -> list[str]:
        return self._server.staged()

    def published(self, commit_id: str) -> int | None:
        return self._server.published(commit_id)

    def faults(self) -> list[Fault]:
        """Those of the graph, and those of the replica, which is made anew with it."""
        return [*self._server.faults(), *super().faults()]

    def leases(self, patience: float) -> Leases:
        return self._server.leases(patience)

    def fenced(self, lease: Lease) -> Replica:
        graph = copy(self)
        graph._connected = [self._server.fenced(lease)]
        graph._is_fenced = True
        return graph

    # ------------------------------------------------------------------------------------------- polling

    def changed(self) -> bool:
        with self._asked:
            state = self._state()
            moved, self._seen = state != self._seen, state
            return moved

    def _state(self) -> list[Any]:
        found = self._database.rows("SELECT value FROM meta WHERE name IN ('epoch', 'clears') ORDER BY name")
        if len(found) != 2:
            raise StoreError(f"{self._path}: has lost its epoch. Remove it, kgfs mount makes it again.")
        return found

    def close(self) -> None:
        if self._is_fenced:
            return
        self._origin.close()
        for server in self._connected:
            server.close()
        self._database.close()


def being_made(path: Path) -> Path:
    """Where a replica is made that will be shown at ``path``."""
    return path.with_name(f"{path.name}.new")
