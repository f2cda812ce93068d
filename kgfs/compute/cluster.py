"""The engine on a Ray cluster. Each place is a Ray actor with its own models.

Ray distributes the places over the nodes and restarts a lost place on another node. No state of a document is stored
here. Ray's usage reports are off and its token authentication is on. Without an address the cluster runs on this
machine, on loopback, and a cluster that lost one of its own processes is started again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from typing import Any, TypeVar

from kgfs.compute import timing
from kgfs.compute.engine import Progress, Work, WorkerSlot
from kgfs.compute.ray_connection import connected, disconnect, ended_processes, fitting_places
from kgfs.domain.documents import INGEST_VERSION
from kgfs.errors import BadInputError, KgfsError, LostLeaseError, MachineError, UnavailableError
from kgfs.settings import Cluster

T = TypeVar("T")

log = logging.getLogger("kgfs.worker")

PATIENCE = 3
"""How many times a work is started whose place was lost. The work itself may end the place, by its use of memory for
example."""

About = tuple[int, str, str, str]
"""What all nodes must agree on: ingest version; extractor and its model; embedding model."""


def about(place: WorkerSlot) -> About:
    compute = place.compute
    return INGEST_VERSION, compute.extractor, compute.extractor_model, compute.embedding_model


class _Actor:
    """A place in a process of its own.

    One thread at a time calls ``run``. The other methods may be called while ``run`` works.

    A node that cannot read, or whose versions differ from ``expected``, still makes an actor, which raises the reason
    in every call. Ray would never restart an actor whose constructor raised.
    """

    def __init__(self, make: Callable[[], WorkerSlot], expected: About) -> None:
        self._unfit: Exception | None = None
        try:
            self._place = _fitting(make(), expected)
        except Exception as error:  # noqa: BLE001  # raised by ``assert_fit`` and ``run``
            self._unfit = error
        self._progress = ("", 0.0)
        self._ended = threading.Event()

    def assert_fit(self) -> None:
        """Raise the error that keeps this place from reading, if there is one."""
        if self._unfit is not None:
            raise self._unfit

    def run(self, work: Work[T]) -> T:
        if self._unfit is not None:
            raise _UnfitError(_message(self._unfit))
        self._progress = ("", 0.0)
        self._ended.clear()
        return work(self._place, self._say)

    def progress(self) -> tuple[str, float]:
        return self._progress

    def end(self) -> None:
        self._ended.set()

    def _say(self, stage: str, share: float) -> None:
        if self._ended.is_set():
            raise LostLeaseError("The coordinator does not want this document any more.")
        self._progress = (stage, share)


class _UnfitError(Exception):
    """Raised where the place cannot read. The work has not begun."""


def _fitting(place: WorkerSlot, expected: About) -> WorkerSlot:
    if (found := about(place)) != expected:
        raise BadInputError(
            f"compute: the Ray nodes read with {found}, this machine with {expected}. Install the same kgfs and"
            " models on all, and give all the same configuration."
        )
    return place


class RayEngine:
    """An Engine whose places are actors of a Ray cluster. See ``Engine``.

    This process loads no models. ``make`` is sent to each actor and makes its place there. ``width`` is the number of
    places that were ready within the timeout.

    A thread watches a cluster of this machine. Where the cluster is lost, works raise UnavailableError, and the thread
    starts another cluster, with growing pauses between failed attempts and without end.
    """

    def __init__(self, settings: Cluster, make: Callable[[], WorkerSlot], expected: About) -> None:
        """Connect to the cluster, or start one, and make its places.

        Raises MachineError where Ray is not installed, where no cluster is available, where no place found its CPUs
        within the timeout, and where ``make`` failed at a node with an error that is no KgfsError. Raises
        BadInputError where a node's versions differ from ``expected``. A KgfsError of ``make`` at a node is raised as
        it is.
        """
        self._settings = settings
        self._timeout = settings.timeout
        self._make, self._expected = make, expected
        self._closed = threading.Event()
        self._lost = ""
        """Why no place can work now; empty while the cluster lives."""
        self._running = 0
        """Works that use the connection to the cluster."""
        self._changed = threading.Condition()
        """Guards the two fields above."""
        self.width = self._connect()
        self.held = 2 * self.width
        self._watcher = threading.Thread(target=self._keep_alive, name="ray-cluster", daemon=True)
        if not settings.address:
            self._watcher.start()

    @property
    def trouble(self) -> str:
        return self._lost

    def _connect(self) -> int:
        """Connect to the cluster, or start one, make its places, and return how many there are."""
        settings = self._settings
        self._ray = ray = connected(settings)
        with ExitStack() as stack:
            stack.callback(disconnect, ray)
            cpus = settings.cpus_each
            fit = fitting_places(ray, cpus)
            wanted = settings.places or fit
            kind = ray.remote(num_cpus=cpus, max_restarts=-1, max_task_retries=0, max_concurrency=2)(_Actor)
            # Nodes may still join a remote cluster, which may start them for the actors that wait. No node ever joins
            # the cluster of this machine.
            count = wanted if settings.address else min(wanted, fit)
            ready = self._ready([kind.remote(self._make, self._expected) for _ in range(count)], settings)
            stack.pop_all()
        if len(ready) < wanted:
            log.warning(
                "compute: %d of %d places read: for the others no Ray node had %g CPUs free, or they were not ready within"
                " %g s. Lower compute.places or compute.cpus_each, or add nodes.",
                len(ready),
                wanted,
                cpus,
                settings.timeout,
            )
        self._idle: SimpleQueue[Any] = SimpleQueue()
        for actor in ready:
            self._idle.put(actor)
        return len(ready)

    def _keep_alive(self) -> None:
        """Watch the cluster of this machine until the engine is closed, and start another where it is lost."""
        pause, since = timing.CLUSTER_RESTART, time.monotonic()
        while not self._closed.wait(timing.CLUSTER_POLL):
            if not self._lost:
                if not (ended := ended_processes()):
                    continue
                if time.monotonic() - since > timing.CLUSTER_RESTART_AT_MOST:
                    pause = timing.CLUSTER_RESTART
                self._leave(
                    f"The Ray cluster of this machine lost its {' and '.join(ended)}. Another is being started."
                )
            if self._closed.wait(pause):
                return
            pause = min(pause * 2, timing.CLUSTER_RESTART_AT_MOST)
            try:
                self._connect()
            except Exception as error:  # noqa: BLE001  # whatever Ray raises, the next attempt may succeed
                message = f"The Ray cluster of this machine is lost, and another cannot be started: {_message(error)}"
                self._lost = f"{message} The next attempt is in {pause:g} s."
                log.warning("compute: %s", self._lost)
                continue
            since = time.monotonic()
            log.warning("compute: another Ray cluster was started on this machine.")
            self._lost = ""

    def _leave(self, reason: str) -> None:
        """Refuse works, wait until those that run have left the cluster, and disconnect from it."""
        log.warning("compute: %s", reason)
        with self._changed:
            self._lost = reason
            self._changed.wait_for(lambda: not self._running, timing.CLUSTER_LEAVE)
        disconnect(self._ray)

    @contextmanager
    def _in_cluster(self) -> Iterator[None]:
        """Keep the connection to the cluster open meanwhile. Raise UnavailableError if the cluster is lost."""
        with self._changed:
            self._assert_alive()
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _assert_alive(self) -> None:
        if self._lost:
            raise UnavailableError(self._lost)

    def _ready(self, actors: list[Any], settings: Cluster) -> list[Any]:
        """Return the actors that can read within the timeout, and kill the rest.

        A work that was given to an actor without a node would wait without end.
        """
        ray, until = self._ray, time.monotonic() + settings.timeout
        asked = {actor.assert_fit.remote(): actor for actor in actors}
        ready: list[Any] = []
        lost: Exception | None = None
        waiting = list(asked)
        while waiting:
            come, waiting = ray.wait(waiting, timeout=max(0.0, until - time.monotonic()))
            if not come:
                break
            actor = asked[come[0]]
            try:
                ray.get(come[0])
                ready.append(actor)
            except ray.exceptions.RayTaskError as error:
                cause = _cause(error)
                raise (cause if isinstance(cause, KgfsError) else _unfit(_message(cause))) from error
            except ray.exceptions.RayActorError as error:
                if error.actor_init_failed:  # Ray could not load this module at the node
                    raise _unfit(_last_line(error)) from error
                lost = error
                log.warning("compute: Ray lost a place before it was ready: %s", _last_line(error))
                ray.kill(actor)
            except ray.exceptions.RayError as error:
                raise _cause(error) from error
        if not ready and lost is not None:
            raise _cause(lost) from lost
        if not ready:
            raise MachineError(
                f"compute: no Ray node had {settings.cpus_each} CPUs free within {settings.timeout:g} s."
                " Lower compute.cpus_each or add nodes."
            )
        for one in waiting:
            ray.kill(asked[one])
        return ready

    has_express = False

    def widen(self, documents: int, size: int) -> None:
        return

    def run(self, work: Work[T], progress: Progress) -> T:
        with self._in_cluster():
            return self._run(work, progress)

    def _run(self, work: Work[T], progress: Progress) -> T:
        ray, idle = self._ray, self._idle
        actor = idle.get()
        lost, came_back = "", True
        try:
            for _ in range(PATIENCE):
                if lost:
                    came_back &= self._wait_for(actor, progress)
                try:
                    return self._watched(actor, work, progress)
                except (ray.exceptions.RayActorError, ray.exceptions.NodeDiedError) as error:
                    lost = _last_line(error)
                except _UnfitError as error:
                    ray.kill(actor, no_restart=False)  # the next node may be fit, or this one by then
                    raise UnavailableError(
                        f"Ray started a lost place again on a node that cannot read: {error}"
                    ) from None
            message = f"Ray lost the process that read this document, {PATIENCE} times: {lost}"
            raise MachineError(message) if came_back else UnavailableError(message)
        finally:
            idle.put(actor)

    def _wait_for(self, actor: Any, progress: Progress) -> bool:
        """Wait until Ray has restarted a lost place, and return whether it has.

        A work that is sent to the place before that is refused. The wait lasts at most the timeout; after that the
        next call to the place shows its state.
        """
        ray, until = self._ray, time.monotonic() + self._timeout
        while time.monotonic() < until:
            self._assert_alive()
            progress("waiting for a place", 0.0)
            asked = actor.progress.remote()
            try:
                if ray.wait([asked], timeout=timing.CLUSTER_POLL)[0]:
                    ray.get(asked)
                    return True
            except (ray.exceptions.RayActorError, ray.exceptions.NodeDiedError):
                time.sleep(timing.CLUSTER_POLL)
        return False

    def _watched(self, actor: Any, work: Work[T], progress: Progress) -> T:
        ray = self._ray
        running = actor.run.remote(work)
        try:
            while not ray.wait([running], timeout=timing.CLUSTER_POLL)[0]:
                self._assert_alive()
                asked = actor.progress.remote()
                if ray.wait([asked], timeout=timing.CLUSTER_POLL)[0]:
                    progress(*ray.get(asked))
                else:
                    progress("waiting for a place", 0.0)
            result: T = ray.get(running)
            return result
        except ray.exceptions.RayTaskError as error:
            raise _cause(error) from None
        except ray.exceptions.RayError:
            raise
        except BaseException:  # raised by ``progress``, or an interruption: the place must be free for other works
            if self._lost:
                raise
            actor.end.remote()
            if not ray.wait([running], timeout=self._timeout)[0]:  # the actor did not react to ``end``
                ray.kill(actor, no_restart=False)
            raise

    def close(self) -> None:
        """Disconnect from Ray. Works that run are lost; what they stored in the garage is not."""
        self._closed.set()
        if self._watcher.is_alive():
            self._watcher.join()
        disconnect(self._ray)


def _cause(error: Exception) -> Exception:
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, Exception) else UnavailableError(f"Ray: {_last_line(error)}")


def _unfit(reason: str) -> MachineError:
    return MachineError(
        f"compute: a Ray node cannot read: {reason}. Install the same kgfs and models on all, and give all the same"
        " configuration."
    )


def _message(error: Exception) -> str:
    """Return an error's message in one line, with its type where it is no KgfsError."""
    message = _last_line(error)
    return message if isinstance(error, KgfsError) else f"{type(error).__name__}: {message}"


def _last_line(error: Exception) -> str:
    """Return the last line of an error's message, where Ray puts the cause."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
