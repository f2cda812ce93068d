"""Connect to a Ray cluster, start one on this machine, and ask what it has."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kgfs.compute import timing
from kgfs.errors import MachineError
from kgfs.settings import Cluster

log = logging.getLogger("kgfs.worker")

ROUNDED = 1e-6
"""Tolerance for rounding when CPUs are divided by a place's share: a node with 0.3 CPUs has room for three places of
0.1."""
NEEDED = ("gcs_server", "raylet")
"""Ray's processes without which a cluster of this machine is dead. A raylet ends with its DashboardAgent."""
SIGACTION_BYTES = 1024
"""More than a ``struct sigaction`` has on any machine."""
LOOPBACK = "127.0.0.1"
STORE_BYTES = 128 << 20
"""Size in bytes of Ray's shared memory on a cluster that is started here. It is small because works are small, and
Readings go through the garage."""


def connected(settings: Cluster) -> Any:
    """Return the module ``ray``, connected to the cluster of the settings, or to one that is started here.

    Raise MachineError where Ray is not installed, and where no cluster is available.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_AUTH_MODE"] = "token"
    if settings.token_file:
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(Path(settings.token_file).expanduser())
        os.environ.pop("RAY_AUTH_TOKEN", None)  # Ray would use it instead of the file
    if not settings.address:
        # Without this, Ray replaces loopback by another address of the machine, unless it runs as a cluster of one
        # node.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    probe_cluster(settings)
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False, "include_dashboard": False}
    if settings.address:
        del options["include_dashboard"]
        options["address"] = settings.address
    else:
        # By default Ray would join a foreign cluster that it finds on this machine.
        options |= {"address": "local", "num_cpus": os.cpu_count(), "_node_ip_address": LOOPBACK}
        options["object_store_memory"] = STORE_BYTES
        # Without its head node such a cluster cannot continue, so its processes shall end soon; but so does this one, which
        # on a busy machine takes longer than five seconds to leave a cluster that has ended.
        options["_system_config"] = {"gcs_rpc_server_reconnect_timeout_s": 15}
    try:
        with or_ends("connected to a cluster"), _signals_kept():
            ray.init(**options)
    except ray.exceptions.AuthenticationError as error:
        raise _none(settings.address or "this machine", error.message) from error
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise _none(settings.address or "this machine", error) from error
    started: Any = ray  # Any, because ray has types for only some of its functions
    if not settings.address and (found := started.util.get_node_ip_address()) != LOOPBACK:
        disconnect(started)
        raise MachineError(f"compute: Ray listens at {found}, not on loopback alone. Give compute.address a cluster.")
    return started


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


def disconnect(ray: Any) -> None:
    """Disconnect from the cluster, and end one that was started here. Harmless twice."""
    with or_ends("left its cluster"), _signals_kept():
        ray.shutdown()


@contextmanager
def or_ends(what: str) -> Iterator[None]:
    """End this process, with MachineError's exit code, if the block takes longer than ``timing.CLUSTER_STUCK`` seconds.

    ``what`` says in the log what Ray has not done. Nothing is lost, as by a kill: the documents are read again. A mount,
    or systemd, starts the worker again.
    """
    timer = threading.Timer(timing.CLUSTER_STUCK, _end, [what])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(what: str) -> None:
    log.error("compute: Ray has not %s within %g s. This process ends; start it again.", what, timing.CLUSTER_STUCK)
    logging.shutdown()
    os._exit(MachineError.exit_code)


def probe_cluster(settings: Cluster) -> None:
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


def fitting_places(ray: Any, cpus_each: float) -> int:
    """Return how many places the living nodes have CPUs for, at least one. A place needs all its CPUs on one node."""
    nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    return max(1, sum(int(cpus / cpus_each + ROUNDED) for cpus in nodes))


def ended_processes() -> list[str]:
    """Return the names of the processes that the cluster of this machine needs and has lost."""
    from ray._private import worker  # Ray has no public way to ask; the watcher's test fails where this one changes

    node: Any = worker._global_node
    return [kind for kind, _ in node.dead_processes() if kind in NEEDED]
