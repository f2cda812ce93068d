"""The engine on a Ray cluster: each place is an actor with models of its own.

Ray spreads the places and starts a lost one again on another node; nothing here keeps a document's state. Its usage
reports are off and its token authentication is on; without an address the cluster is this machine's, on loopback.
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

from kgfs.compute.engine import Place, Progress, Work
from kgfs.domain.documents import INGEST_VERSION
from kgfs.errors import AwayError, BadInputError, KgfsError, LostLeaseError, MachineError
from kgfs.settings import Cluster

T = TypeVar("T")

log = logging.getLogger("kgfs.worker")

LOOK = 0.25
"""Seconds between looks at how far a place is."""
PATIENCE = 3
"""How often a work is started whose place was lost: it may be what ends the place, by its memory say."""
ROUNDED = 1e-6
"""Of a place: a node with 0.3 CPUs has room for three of 0.1."""
LOOPBACK = "127.0.0.1"
STORE_BYTES = 128 << 20
"""Of Ray's shared memory, on a cluster started here. Works and Readings are small, and go through the garage."""

About = tuple[int, str, str, str]
"""What must agree: ingest version; extractor, its model; embedding model."""


def about(place: Place) -> About:
    compute = place.compute
    return INGEST_VERSION, compute.extractor, compute.extractor_model, compute.embedding_model


class _Actor:
    """A place in a process of its own. ``run`` is called by one at a time; the others beside it.

    A node that cannot read, or reads otherwise than ``expected``, makes an actor that says so whenever it is asked:
    one whose constructor raises Ray never starts again."""

    def __init__(self, make: Callable[[], Place], expected: About) -> None:
        self._unfit: Exception | None = None
        try:
            self._place = _fitting(make(), expected)
        except Exception as error:  # noqa: BLE001  # raised by ``assert_fit`` and ``run``
            self._unfit = error
        self._said = ("", 0.0)
        self._ended = threading.Event()

    def assert_fit(self) -> None:
        """Raises what keeps it from reading."""
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
    """The place cannot read; the work has not begun."""


def _fitting(place: Place, expected: About) -> Place:
    if (found := about(place)) != expected:
        raise BadInputError(
            f"compute: the Ray nodes read with {found}, this machine with {expected}. Install the same kgfs and"
            " models on all, and give all the same configuration."
        )
    return place


class RayEngine:
    """See ``Engine``. Loads nothing here: ``make`` is sent to each actor, and makes its place. The width is that of the
    places that were ready within the time-out."""

    def __init__(self, settings: Cluster, make: Callable[[], Place], expected: About) -> None:
        """MachineError where Ray is not installed, no cluster can be had or no place found its CPUs within the time-out;
        BadInputError where a node would read otherwise than ``expected``; what ``make`` raises at a node, MachineError where
        kgfs has no name for it."""
        self._ray = _connected(settings)
        ray = self._ray
        self._timeout = settings.timeout
        with ExitStack() as stack:
            stack.callback(self.close)
            cpus = settings.cpus_each
            fit = _fit(ray, cpus)
            wanted = settings.places or fit
            kind = ray.remote(num_cpus=cpus, max_restarts=-1, max_task_retries=0, max_concurrency=2)(_Actor)
            # Nodes may yet join a cluster of others, who start them for what waits; none joins this machine's own.
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
        """Those that can read within the time-out; the rest are ended, for whoever was given one of them would wait
        without end."""
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
                if error.actor_init_failed:  # before this module could be loaded there
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
                    ray.kill(actor, no_restart=False)  # next it may be another node, or this one can read by then
                    raise AwayError(f"Ray started a lost place again on a node that cannot read: {error}") from None
            said = f"Ray lost the process that read this document, {PATIENCE} times: {lost}"
            raise MachineError(said) if came_back else AwayError(said)
        finally:
            self._idle.put(actor)

    def _wait_for(self, actor: Any, progress: Progress) -> bool:
        """Until a place that was lost is started again: whatever it is given before is refused. No longer than the
        time-out; then it shows what is given next. Whether it was."""
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
        except BaseException:  # of ``progress``, or an interruption: the place is to be free again
            actor.end.remote()
            if not ray.wait([running], timeout=self._timeout)[0]:  # it does not hear that it is to end
                ray.kill(actor, no_restart=False)
            raise

    def close(self) -> None:
        """Works that run are lost, what they kept is not."""
        self._ray.shutdown()


def _cause(error: Exception) -> Exception:
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, Exception) else AwayError(f"Ray: {_last_line(error)}")


def _unfit(said: str) -> MachineError:
    return MachineError(
        f"compute: a Ray node cannot read: {said}. Install the same kgfs and models on all, and give all the same"
        " configuration."
    )


def _told(error: Exception) -> str:
    """In one line; with its kind where kgfs has no words of its own for it."""
    said = _last_line(error)
    return said if isinstance(error, KgfsError) else f"{type(error).__name__}: {said}"


def _last_line(error: Exception) -> str:
    """Of what it says, which Ray puts the cause at the end of."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def _fit(ray: Any, cpus_each: float) -> int:
    """How many places the nodes that are there have CPUs for, each of them on one node; at least one."""
    nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    return max(1, sum(int(cpus / cpus_each + ROUNDED) for cpus in nodes))


def _connected(settings: Cluster) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    if settings.token_file:
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(Path(settings.token_file).expanduser())
        os.environ.pop("RAY_AUTH_TOKEN", None)  # which Ray would take instead
    if not settings.address:
        # Ray looks up another address of the machine for loopback, unless it takes itself for a cluster of one node.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    look_for(settings)
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
    if settings.address:
        del options["include_dashboard"]
        options["address"] = settings.address
    else:
        # By itself Ray would join a cluster of somebody else that it finds on this machine.
        options |= {"address": "local", "num_cpus": os.cpu_count(), "_node_ip_address": LOOPBACK}
        options["object_store_memory"] = STORE_BYTES
        # Without its head nothing of such a cluster can go on: what is left of it ends soon.
        options["_system_config"] = {"gcs_rpc_server_reconnect_timeout_s": 5}
    try:
        with _signals_kept():
            ray.init(**options)
    except ray.exceptions.AuthenticationError as error:
        raise _none(settings.address or "this machine", error.message) from error
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _none(settings.address or "this machine", error) from error
    connected: Any = ray  # which has types for only some of its functions
    if not settings.address and (found := connected.util.get_node_ip_address()) != LOOPBACK:
        connected.shutdown()
        raise MachineError(f"compute: Ray listens at {found}, not on loopback alone. Give compute.address a cluster.")
    return connected


def look_for(settings: Cluster) -> None:
    """MachineError where Ray is not installed, or nobody listens at the address within the time-out: Ray itself tries for
    minutes. Says nothing to it, and loads nothing."""
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
    """Ray takes SIGTERM for itself; here it means to give documents back first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
