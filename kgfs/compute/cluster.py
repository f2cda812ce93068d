"""The engine on a Ray cluster: documents are sent to it as tasks, and read on this machine where there is no cluster.

Ray spreads the tasks over the nodes, keeps processes with loaded models, and repeats a task whose process or node was lost. No state
of a document is stored there. Ray's usage reports are off and its token authentication is on. Without an address a cluster is started
on this machine, on loopback.
"""

from __future__ import annotations

import ctypes
import logging
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from kgfs.compute import timing
from kgfs.compute.contract import Engine, Progress, Work, WorkerSlot
from kgfs.domain.documents import INGEST_VERSION
from kgfs.errors import BadInputError, KgfsError, MachineError, UnavailableError
from kgfs.settings import Cluster

T = TypeVar("T")

log = logging.getLogger("kgfs.worker")

PATIENCE = 3
"""How many times a work is started whose process was lost. The work itself may end it, by its use of memory for example."""
ROUNDED = 1e-6
"""Tolerance for rounding when CPUs are divided by a task's share: a node with 0.3 CPUs has room for three tasks of 0.1."""
SIGACTION_BYTES = 1024
"""More than a ``struct sigaction`` has on any machine."""
LOOPBACK = "127.0.0.1"
STORE_BYTES = 128 << 20
"""Size in bytes of Ray's shared memory on a cluster that is started here. It is small because works are small, and
Readings go through the garage."""

About = tuple[int, str, str, str]
"""What all nodes must agree on: ingest version; extractor and its model; embedding model."""


def about(place: WorkerSlot) -> About:
    compute = place.compute
    return INGEST_VERSION, compute.extractor, compute.extractor_model, compute.embedding_model


# ------------------------------------------------------------------------------------------------ on a node


class _UnfitError(Exception):
    """Raised where a node cannot read. The work has not begun."""


@lru_cache(maxsize=1)
def _place(made: bytes, expected: About) -> WorkerSlot:
    """Return the place of this process, whose models stay loaded for the works that follow."""
    place: WorkerSlot = pickle.loads(made)()
    if (found := about(place)) != expected:
        raise BadInputError(f"it reads with {found}, this machine with {expected}.")
    return place


def _read(made: bytes, expected: About, work: Work[T] | None) -> T | None:
    """Carry out a work in a process of a node; without one, only find out whether it could read."""
    try:
        place = _place(made, expected)
    except Exception as error:  # noqa: BLE001  # whatever it is, the node cannot read
        message = _last_line(error)
        raise _UnfitError(message if isinstance(error, KgfsError) else f"{type(error).__name__}: {message}") from None
    return work(place, lambda stage, share: None) if work is not None else None


# ------------------------------------------------------------------------------------------- on this machine


class _GoneError(Exception):
    """Raised where the cluster is gone."""


class RayEngine:
    """An Engine whose works are tasks of a Ray cluster. See ``Engine``.

    Where there is no cluster that can read, or it is gone, works run at ``here``, and ``notice`` says why. The cluster is asked for
    again when the worker is started again.
    """

    def __init__(self, settings: Cluster, make: Callable[[], WorkerSlot], expected: About, here: Engine) -> None:
        """Connect to the cluster, or start one, and find out whether it can read. ``make`` can be pickled; a process of a node makes
        its place by it."""
        self._here = here
        self._about = pickle.dumps(make), expected
        self._width = 0
        self._running = 0
        """Works that use the connection to the cluster."""
        self._lock = threading.Lock()
        self._ray: Any = None
        self.notice = ""
        try:
            self._connect(settings)
        except KgfsError as error:
            self._lose(str(error))

    def _connect(self, settings: Cluster) -> None:
        self._ray = ray = connected(settings)
        self._task = ray.remote(num_cpus=settings.cpus_each, max_retries=PATIENCE - 1)(_read)
        self._address = settings.address or str(ray.get_runtime_context().gcs_address)
        self._seen = time.monotonic()
        try:
            ray.get(self._task.remote(*self._about, None), timeout=settings.timeout)
        except ray.exceptions.GetTimeoutError as error:
            raise MachineError(
                f"compute: no Ray node had {settings.cpus_each:g} CPUs free within {settings.timeout:g} s."
                " Lower compute.cpus_each or add nodes."
            ) from error
        except ray.exceptions.RayError as error:
            raise _cause(error) from error
        nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
        fit = sum(int(cpus / settings.cpus_each + ROUNDED) for cpus in nodes)
        self._width = settings.places or max(1, fit)

    @property
    def width(self) -> int:
        return max(self._width, self._here.width)

    @property
    def held(self) -> int:
        return self._here.held if self.notice else 2 * self._width

    @property
    def has_express(self) -> bool:
        return bool(self.notice) and self._here.has_express

    def widen(self, documents: int, size: int) -> None:
        if self.notice:
            self._here.widen(documents, size)

    def run(self, work: Work[T], progress: Progress) -> T:
        with self._lock:
            is_there = not self.notice
            self._running += is_there
        if is_there:
            try:
                return self._run(work, progress)
            except _GoneError as error:
                self._lose(f"The Ray cluster at {self._address} is gone ({error}).")
            finally:
                with self._lock:
                    self._running -= 1
                    if self.notice and not self._running:
                        threading.Thread(target=_disconnect, args=[self._ray], name="ray-leaving", daemon=True).start()
        return self._here.run(work, progress)

    def _run(self, work: Work[T], progress: Progress) -> T:
        ray = self._ray
        try:
            task = self._task.remote(*self._about, work)
            try:
                while not ray.wait([task], timeout=timing.CLUSTER_POLL)[0]:
                    self._assert_there()
                    progress("reading on Ray", 0.0)
            except (ray.exceptions.RayError, _GoneError):
                raise
            except BaseException:  # raised by ``progress``, or an interruption: its CPUs must be free for other works
                ray.cancel(task)
                if not ray.wait([task], timeout=timing.CLUSTER_CANCEL)[0]:
                    ray.cancel(task, force=True)
                raise
            result: T = ray.get(task)
            return result
        except ray.exceptions.RayTaskError as error:
            raise _cause(error) from None
        except ray.exceptions.RayError as error:
            lost = ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError
            if not isinstance(error, lost):
                raise _GoneError(_last_line(error)) from error
            message = f"Ray lost the process that read this document, {PATIENCE} times: {_last_line(error)}"
            raise MachineError(message) from error

    def _assert_there(self) -> None:
        """Raise _GoneError if the cluster's head has accepted no connection for some seconds."""
        if self.notice:
            raise _GoneError("as another work has found")
        if time.monotonic() - self._seen < timing.CLUSTER_ASKED:
            return
        try:
            _knock(self._address, timing.CLUSTER_ASKED)
        except OSError as error:
            if time.monotonic() - self._seen > timing.CLUSTER_GONE:
                raise _GoneError(str(error)) from error
        else:
            self._seen = time.monotonic()

    def _lose(self, reason: str) -> None:
        with self._lock:
            if not self.notice:
                remedy = "Documents are read on this machine until the worker is started again."
                self.notice = f"{reason} {remedy}"
                log.warning("%s", self.notice)

    def close(self) -> None:
        """Leave the cluster, and end one that was started here. Works that run are lost; what they stored in the garage is not."""
        self._here.close()
        if self._ray is not None:
            _disconnect(self._ray)


def _cause(error: Exception) -> KgfsError | Exception:
    """Return the error that a task raised."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, _UnfitError):
        return UnavailableError(
            f"compute: a Ray node cannot read: {cause} Install the same kgfs and models on all, and give all the same"
            " configuration."
        )
    return cause if isinstance(cause, Exception) else UnavailableError(f"Ray: {_last_line(error)}")


def _last_line(error: Exception) -> str:
    """Return the last line of an error's message, where Ray puts the cause."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


# ------------------------------------------------------------------------------------------------ connecting


def connected(settings: Cluster) -> Any:
    """Return the module ``ray``, connected to the cluster of the settings, or to one that is started here.

    Raise MachineError where Ray is not installed, and where no cluster is available.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    if settings.token_file:
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(Path(settings.token_file).expanduser())
        os.environ.pop("RAY_AUTH_TOKEN", None)  # Ray would use it instead of the file
    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if settings.address:
        options["address"] = settings.address
    else:
        # Without this, Ray replaces loopback by another address of the machine, unless it runs as a cluster of one node.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        # By default Ray would join a foreign cluster that it finds on this machine.
        options |= {"address": "local", "num_cpus": os.cpu_count(), "_node_ip_address": LOOPBACK}
        options |= {"object_store_memory": STORE_BYTES, "include_dashboard": False}
    probe_cluster(settings)
    import ray

    try:
        with _or_ends("connected to a cluster"), _signals_kept():
            ray.init(**options)
    except ray.exceptions.AuthenticationError as error:
        raise _none(settings.address or "this machine", error.message) from error
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _none(settings.address or "this machine", error) from error
    started: Any = ray  # Any, because ray has types for only some of its functions
    if not settings.address and (found := started.util.get_node_ip_address()) != LOOPBACK:
        _disconnect(started)
        raise MachineError(f"compute: Ray listens at {found}, not on loopback alone. Give compute.address a cluster.")
    return started


def probe_cluster(settings: Cluster) -> None:
    """Raise MachineError where Ray is not installed, or where the address accepts no connection within the timeout.

    Ray itself would retry for minutes. This function sends nothing to the cluster and imports no Ray.
    """
    if find_spec("ray") is None:
        raise MachineError("compute.engine is 'ray', and Ray is not installed. Install kgfs[ray].")
    if settings.address:
        try:
            _knock(settings.address, settings.timeout)
        except OSError as error:
            raise _none(settings.address, error) from error


def _knock(address: str, seconds: float) -> None:
    """Raise OSError if nobody accepts a connection."""
    head = urlsplit(f"ray://{address}")
    socket.create_connection((head.hostname or "", head.port or 0), seconds).close()


def _none(where: str, error: Exception | str) -> MachineError:
    return MachineError(f"compute: no Ray cluster at {where}: {error}. Check compute.address and the token.")


def _disconnect(ray: Any) -> None:
    """Leave the cluster, and end one that was started here. Harmless twice."""
    with _or_ends("left its cluster"), _signals_kept():
        ray.shutdown()


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Restore this process's handlers of SIGTERM and SIGINT, which Ray replaces.

    Here SIGTERM means that the worker returns its documents first. Ray sets handlers of Python, in the main thread
    only, and handlers of the C library below them, which only the C library can restore in another thread.
    """
    libc, numbers = ctypes.CDLL(None), (signal.SIGTERM, signal.SIGINT)
    actions = {number: ctypes.create_string_buffer(SIGACTION_BYTES) for number in numbers}
    for number, action in actions.items():
        libc.sigaction(number, None, action)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)
        for number, action in actions.items():
            libc.sigaction(number, action, None)


@contextmanager
def _or_ends(what: str) -> Iterator[None]:
    """End this process if the block takes longer than ``timing.CLUSTER_STUCK`` seconds: a thread in Ray cannot be given up.

    Nothing is lost, as by a kill: the documents are read again. A mount, or systemd, starts the worker again.
    """

    def end() -> None:
        log.error("compute: Ray has not %s within %g s. This process ends; start it again.", what, timing.CLUSTER_STUCK)
        logging.shutdown()
        os._exit(MachineError.exit_code)

    timer = threading.Timer(timing.CLUSTER_STUCK, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
