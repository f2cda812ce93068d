"""The engine on a Ray cluster. Each place is a Ray actor with its own models.

Ray distributes the places over the nodes and restarts a lost place on another node. No state of a document is stored
here. Ray's usage reports are off and its token authentication is on. Without an address the cluster runs on this
machine, on loopback.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar
from urllib.parse import urlsplit

from kgfs.compute.engine import Progress, Work, WorkerSlot
from kgfs.domain.documents import INGEST_VERSION
from kgfs.errors import BadInputError, KgfsError, LostLeaseError, MachineError, UnavailableError
from kgfs.settings import Cluster

T = TypeVar("T")

log = logging.getLogger("kgfs.worker")

LOOK = 0.25
"""Seconds between two polls of a place's progress."""
PATIENCE = 3
"""How many times a work is started whose place was lost. The work itself may end the place, by its use of memory for
example."""
ROUNDED = 1e-6
"""Tolerance for rounding when CPUs are divided by a place's share: a node with 0.3 CPUs has room for three places of
0.1."""
LOOPBACK = "127.0.0.1"
STORE_BYTES = 128 << 20
"""Size in bytes of Ray's shared memory on a cluster that is started here. It is small because works are small, and
Readings go through the garage."""

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
        self._said = ("", 0.0)
        self._ended = threading.Event()

    def assert_fit(self) -> None:
        """Raise the error that keeps this place from reading, if there is one."""
        if self._unfit is not None:
            raise self._unfit

    def run(self, work: Work[T]) -> T:
        if self._unfit is not None:
            raise _UnfitError(_told(self._unfit))
        self._said = ("", 0.0)
        self._ended.clear()
        return work(self._place, self._say)

    def said(self) -> tuple[str, float]:
        return self._said

    def end(self) -> None:
        self._ended.set()

    def _say(self, stage: str, share: float) -> None:
        if self._ended.is_set():
            raise LostLeaseError("The coordinator does not want this document any more.")
        self._said = (stage, share)


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
    """

    def __init__(self, settings: Cluster, make: Callable[[], WorkerSlot], expected: About) -> None:
        """Connect to the cluster, or start one, and make its places.

        Raises MachineError where Ray is not installed, where no cluster is available, where no place found its CPUs
        within the timeout, and where ``make`` failed at a node with an error that is no KgfsError. Raises
        BadInputError where a node's versions differ from ``expected``. A KgfsError of ``make`` at a node is raised as
        it is.
        """
        self._ray = _connected(settings)
        ray = self._ray
        self._timeout = settings.timeout
        with ExitStack() as stack:
            stack.callback(self.close)
            cpus = settings.cpus_each
            fit = _fit(ray, cpus)
            wanted = settings.places or fit
            kind = ray.remote(num_cpus=cpus, max_restarts=-1, max_task_retries=0, max_concurrency=2)(_Actor)
            # Nodes may still join a remote cluster, which may start them for the actors that wait. No node ever joins
            # the cluster of this machine.
            count = wanted if settings.address else min(wanted, fit)
            ready = self._ready([kind.remote(make, expected) for _ in range(count)], settings)
            stack.pop_all()
        self.width = len(ready)
        self.held = 2 * self.width
        if self.width < wanted:
            log.warning(
                "compute: %d of %d places read: for the others no Ray node had %g CPUs free, or they were not ready within"
                " %g s. Lower compute.places or compute.cpus_each, or add nodes.",
                self.width,
                wanted,
                cpus,
                settings.timeout,
            )
        self._idle: SimpleQueue[Any] = SimpleQueue()
        for actor in ready:
            self._idle.put(actor)

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
                raise (cause if isinstance(cause, KgfsError) else _unfit(_told(cause))) from error
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

    def run(self, work: Work[T], progress: Progress) -> T:
        ray = self._ray
        actor = self._idle.get()
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
            said = f"Ray lost the process that read this document, {PATIENCE} times: {lost}"
            raise MachineError(said) if came_back else UnavailableError(said)
        finally:
            self._idle.put(actor)

    def _wait_for(self, actor: Any, progress: Progress) -> bool:
        """Wait until Ray has restarted a lost place, and return whether it has.

        A work that is sent to the place before that is refused. The wait lasts at most the timeout; after that the
        next call to the place shows its state.
        """
        ray, until = self._ray, time.monotonic() + self._timeout
        while time.monotonic() < until:
            progress("waiting for a place", 0.0)
            asked = actor.said.remote()
            try:
                if ray.wait([asked], timeout=LOOK)[0]:
                    ray.get(asked)
                    return True
            except (ray.exceptions.RayActorError, ray.exceptions.NodeDiedError):
                time.sleep(LOOK)
        return False

    def _watched(self, actor: Any, work: Work[T], progress: Progress) -> T:
        ray = self._ray
        running = actor.run.remote(work)
        try:
            while not ray.wait([running], timeout=LOOK)[0]:
                asked = actor.said.remote()
                if ray.wait([asked], timeout=LOOK)[0]:
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
            actor.end.remote()
            if not ray.wait([running], timeout=self._timeout)[0]:  # the actor did not react to ``end``
                ray.kill(actor, no_restart=False)
            raise

    def close(self) -> None:
        """Disconnect from Ray. Works that run are lost; what they stored in the garage is not."""
        self._ray.shutdown()


def _cause(error: Exception) -> Exception:
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, Exception) else UnavailableError(f"Ray: {_last_line(error)}")


def _unfit(said: str) -> MachineError:
    return MachineError(
        f"compute: a Ray node cannot read: {said}. Install the same kgfs and models on all, and give all the same"
        " configuration."
    )


def _told(error: Exception) -> str:
    """Return an error's message in one line, with its type where it is no KgfsError."""
    said = _last_line(error)
    return said if isinstance(error, KgfsError) else f"{type(error).__name__}: {said}"


def _last_line(error: Exception) -> str:
    """Return the last line of an error's message, where Ray puts the cause."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def _fit(ray: Any, cpus_each: float) -> int:
    """Return how many places the living nodes have CPUs for, at least one. A place needs all its CPUs on one node."""
    nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    return max(1, sum(int(cpus / cpus_each + ROUNDED) for cpus in nodes))


def _connected(settings: Cluster) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    if settings.token_file:
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(Path(settings.token_file).expanduser())
        os.environ.pop("RAY_AUTH_TOKEN", None)  # Ray would use it instead of the file
    if not settings.address:
        # Without this, Ray replaces loopback by another address of the machine, unless it runs as a cluster of one
        # node.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    look_for(settings)
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
    if settings.address:
        del options["include_dashboard"]
        options["address"] = settings.address
    else:
        # By default Ray would join a foreign cluster that it finds on this machine.
        options |= {"address": "local", "num_cpus": os.cpu_count(), "_node_ip_address": LOOPBACK}
        options["object_store_memory"] = STORE_BYTES
        # Without its head node such a cluster cannot continue, so its processes shall end soon.
        options["_system_config"] = {"gcs_rpc_server_reconnect_timeout_s": 5}
    try:
        with _signals_kept():
            ray.init(**options)
    except ray.exceptions.AuthenticationError as error:
        raise _none(settings.address or "this machine", error.message) from error
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _none(settings.address or "this machine", error) from error
    connected: Any = ray  # Any, because ray has types for only some of its functions
    if not settings.address and (found := connected.util.get_node_ip_address()) != LOOPBACK:
        connected.shutdown()
        raise MachineError(f"compute: Ray listens at {found}, not on loopback alone. Give compute.address a cluster.")
    return connected


def look_for(settings: Cluster) -> None:
    """Raise MachineError where Ray is not installed, or where the address accepts no connection within the timeout.

    Ray itself would retry for minutes. This function sends nothing to the cluster and imports no Ray.
    """
    if find_spec("ray") is None:
        raise MachineError("compute.engine is 'ray', and Ray is not installed. Install kgfs[ray].")
    if not settings.address:
        return
    head = urlsplit(f"ray://{settings.address}")
    try:
        socket.create_connection((head.hostname or "", head.port or 0), settings.timeout).close()
    except OSError as error:
        raise _none(settings.address, error) from error


def _none(where: str, error: Exception | str) -> MachineError:
    return MachineError(f"compute: no Ray cluster at {where}: {error}. Check compute.address and the token.")


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore this process's handlers of SIGTERM and SIGINT, which Ray replaces.

    Here SIGTERM means that the worker returns its documents first. Outside the main thread nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
