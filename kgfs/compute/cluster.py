"""The engine on a Ray cluster: each place is an actor with models of its own.

Ray spreads the places and starts a lost one again on another node; nothing here keeps a document's state. Its usage
reports are off and its token authentication is on; without an address the cluster is this machine's, on loopback.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from kgfs.compute.engine import Place, Progress, Work
from kgfs.config import Cluster
from kgfs.domain.documents import INGEST_VERSION
from kgfs.errors import AwayError, BadInputError, LostLeaseError, MachineError

T = TypeVar("T")

LOOK = 0.25
"""Seconds between looks at how far a place is."""
PATIENCE = 3
"""How often a work is started whose place was lost: it may be what ends the place, by its memory say."""
LOOPBACK = "127.0.0.1"
STORE_BYTES = 128 << 20
"""Of Ray's shared memory, on a cluster started here. Works and Readings are small, and go through the garage."""

About = tuple[int, str, str, str]
"""What must agree: ingest version; extractor, its model; embedding model."""


def about(place: Place) -> About:
    compute = place.compute
    return INGEST_VERSION, compute.extractor, compute.extractor_model, compute.embedding_model


class _Actor:
    """A place in a process of its own. ``run`` is called by one at a time; the others beside it."""

    def __init__(self, make: Callable[[], Place]) -> None:
        self._place = make()
        self._said = ("", 0.0)
        self._ended = threading.Event()

    def about(self) -> About:
        return about(self._place)

    def run(self, work: Work[T]) -> T:
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


class RayEngine:
    """See ``Engine``. Loads nothing here: ``make`` is sent to each actor, and makes its place."""

    def __init__(self, settings: Cluster, make: Callable[[], Place], expected: About) -> None:
        """MachineError where Ray is not installed or no cluster can be had; BadInputError where the nodes would read
        otherwise than ``expected``."""
        self._ray = _connected(settings)
        ray = self._ray
        cpus = settings.cpus_each
        self.width = settings.places or max(1, int(ray.cluster_resources().get("CPU", 1) / cpus))
        self.held = 2 * self.width
        self._timeout = settings.timeout
        kind = ray.remote(num_cpus=cpus, max_restarts=-1, max_task_retries=0, max_concurrency=2)(_Actor)
        actors = [kind.remote(make) for _ in range(self.width)]
        with ExitStack() as stack:
            stack.callback(self.close)
            self._compare(actors[0], settings, expected)
            stack.pop_all()
        self._idle: SimpleQueue[Any] = SimpleQueue()
        for actor in actors:
            self._idle.put(actor)

    def _compare(self, actor: Any, settings: Cluster, expected: About) -> None:
        ray = self._ray
        try:
            found = ray.get(actor.about.remote(), timeout=settings.timeout)
        except ray.exceptions.GetTimeoutError as error:
            raise MachineError(
                f"compute: no Ray node had {settings.cpus_each} CPUs free within {settings.timeout:g} s."
                " Lower compute.cpus_each or add nodes."
            ) from error
        except ray.exceptions.RayError as error:
            raise _cause(error) from error
        if found != expected:
            raise BadInputError(
                f"compute: the Ray nodes read with {found}, this machine with {expected}. Install the same kgfs and"
                " models on all, and give all the same configuration."
            )

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
                    lost = str(error).partition("\n")[0]
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
            ray.wait([running], timeout=None)
            raise

    def close(self) -> None:
        """Works that run are lost, what they kept is not."""
        self._ray.shutdown()


def _cause(error: Exception) -> Exception:
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, Exception) else AwayError(f"Ray: {error}")


def _connected(settings: Cluster) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    if settings.token_file:
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(Path(settings.token_file).expanduser())
    if not settings.address:
        # Ray looks up another address of the machine for loopback, unless it takes itself for a cluster of one node.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MachineError("compute.engine is 'ray', and Ray is not installed. Install kgfs[ray].") from error
    if settings.address:
        _look_for(settings)
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


def _look_for(settings: Cluster) -> None:
    """Ray itself tries for minutes."""
    host, _, port = settings.address.rpartition(":")
    if not (host and port.isdigit()):
        raise BadInputError(f"compute.address is 'host:port' of a Ray cluster's head, not '{settings.address}'.")
    try:
        socket.create_connection((host, int(port)), settings.timeout).close()
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
