"""A home whose documents are read on a Ray cluster that the worker starts on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.domain.documents import State
from tests.support.knowledge_of import knowledge_of
from tests.support.peers.homes import lifecycle
from tests.support.required import missing
from tests.support.running import LET_GO_SOON

pytestmark = pytest.mark.slow

STATISTICS = {"KGFS_MODELS_EXTRACTOR": "statistics", "KGFS_MODELS_EMBEDDER": "none"}
ON_RAY = {**STATISTICS, "KGFS_COMPUTE_ENGINE": "ray", "KGFS_COMPUTE_PLACES": "2", "KGFS_COMPUTE_CPUS_EACH": "0.5"}

LISTEN = "0A"
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, the same as one of IPv6, and ::1, as a little-endian kernel writes them."""


@pytest.fixture(autouse=True)
def _ray() -> None:
    if importlib.util.find_spec("ray") is None:
        missing("ray", "it is not installed")


@pytest.fixture
def documents(tmp_path: Path) -> list[str]:
    paths = []
    for number in range(6):
        path = tmp_path / f"{number}.txt"
        path.write_text(
            "\n\n".join(
                f"Reference counting {number}{n} is a form of garbage collection. A tracing algorithm visits objects."
                for n in range(30)
            )
        )
        paths.append(str(path))
    return paths


def started(home: Path, *words: str, **environment: str) -> subprocess.Popen[str]:
    everything = {**os.environ, "KGFS_HOME": str(home), "HOME": str(home.parent), **environment}
    return subprocess.Popen(
        [sys.executable, "-m", "kgfs", *words],
        env=everything,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def kgfs(home: Path, *words: str, **environment: str) -> int:
    process = started(home, *words, **environment)
    _, complaint = process.communicate(timeout=180)
    assert process.returncode in (0, -signal.SIGKILL), complaint
    return process.returncode


def fingerprints(home: Path) -> list[str]:
    with open_home(load(home)) as stores:
        objects = stores.garage.objects
        lines = [line for key, _ in objects.keys("records/") for line in objects.get(key).splitlines()]
    return [json.loads(line)["fingerprint"] for line in lines]


def published(home: Path, documents: int) -> bool:
    """Whether so many are within three minutes, by the worker that runs."""
    until = time.monotonic() + 180
    with open_home(load(home)) as stores:
        while (done := stores.catalog.names.counts().get(State.DONE, 0)) < documents and time.monotonic() < until:
            time.sleep(0.2)
    return done == documents


def others(worker: int, home: Path) -> set[int]:
    """Processes, besides the worker, that have the environment it was given."""
    mark, found = f"HOME={home.parent}".encode(), set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != worker:
                found.add(int(folder.name))
        except OSError:
            continue  # it ended, or is another user's
    return found


def seen_of(pid: int) -> bytes:
    """The command line and the environment of a process; nothing of one that ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() + b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


def listening(pids: Iterable[int]) -> set[tuple[str, int]]:
    """Where processes wait for connections over TCP: the local address, as the kernel writes it, and the port."""
    sockets: set[str] = set()
    for pid in pids:
        try:
            sockets |= {os.readlink(found) for found in Path(f"/proc/{pid}/fd").iterdir()}
        except OSError:
            continue  # it ended
    rows = [row.split() for table in ("tcp", "tcp6") for row in Path(f"/proc/net/{table}").read_text().splitlines()[1:]]
    found = [row[1].partition(":") for row in rows if row[3] == LISTEN and f"socket:[{row[9]}]" in sockets]
    return {(address, int(port, 16)) for address, _, port in found}


def started_with(pids: Iterable[int], program: str) -> dict[int, dict[str, str]]:
    """The environments of those that run a program, by process id."""
    found = {}
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/exe").readlink().name == program:
                raw = Path(f"/proc/{pid}/environ").read_bytes()
                if raw:  # it has none left while it ends
                    found[pid] = dict(os.fsdecode(entry).partition("=")[::2] for entry in raw.split(b"\0"))
        except OSError:
            continue  # it ended
    return found


def answer(port: int, token: str) -> str:
    """What the head of a cluster says to who has this token."""
    import grpc

    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        ask = channel.unary_unary("/ray.rpc.NodeInfoGcsService/CheckAlive", bytes, bytes)
        try:
            ask(b"", timeout=10, metadata=[("authorization", f"Bearer {token}")])
        except grpc.RpcError as error:
            return str(error.code().name)
        return "OK"


def test_a_cluster_of_this_machine_listens_on_loopback_alone_to_who_has_its_token(
    home: Path, documents: list[str]
) -> None:
    assert kgfs(home, "ingest", *documents, "--ontology", "Test", "--no-wait", **ON_RAY) == 0
    otherwise = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "1"}
    worker = started(home, "worker", "--until-idle", **ON_RAY, **otherwise)
    seen: set[tuple[str, int]] = set()
    answers: dict[str, set[str]] = {"ours": set(), "another": set()}
    environments: list[dict[str, str]] = []
    kept = home.parent / ".ray" / "auth_token"
    try:
        while worker.poll() is None:
            processes = others(worker.pid, home)
            seen |= listening({worker.pid, *processes})
            heads = started_with(processes, "gcs_server")
            environments += [*heads.values(), *started_with(processes, "raylet").values()]
            if kept.exists() and "OK" not in answers["ours"]:
                tokens = {"another": "0" * 64, "ours": kept.read_text().strip()}
                for whose, token in tokens.items():
                    answers[whose] |= {answer(port, token) for _, port in listening(heads)}
            time.sleep(0.5)
        assert worker.returncode == 0
    finally:
        worker.kill()
        worker.communicate()
    assert seen and {address for address, _ in seen} <= LOOPBACK
    assert "OK" in answers["ours"]
    assert "UNAUTHENTICATED" in answers["another"] and "OK" not in answers["another"]
    assert {(env["RAY_AUTH_MODE"], env["RAY_USAGE_STATS_ENABLED"]) for env in environments} == {("token", "0")}


SHOW = """
import sys
from kgfs.compute.cluster import connected
from kgfs.settings import Cluster
ray = connected(Cluster(engine="ray", token_file=sys.argv[1]))
from ray._raylet import AuthenticationTokenLoader
print(AuthenticationTokenLoader.instance().get_token_for_http_header()["authorization"])
ray.shutdown()
"""


def test_the_token_is_that_of_the_setting_whatever_the_environment_has(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("1" * 64)
    shown = subprocess.run(
        [sys.executable, "-c", SHOW, tmp_path / "token"],
        env={**os.environ, "HOME": str(tmp_path), "RAY_AUTH_TOKEN": "2" * 64},
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert shown.stdout.splitlines()[-1] == f"Bearer {'1' * 64}"


@pytest.mark.long
@lifecycle
def test_a_killed_coordinator_loses_no_record_leaves_no_process_and_shows_no_token(
    home: Path, documents: list[str], tmp_path: Path
) -> None:
    wanted = tmp_path / "undisturbed"
    assert kgfs(wanted, "ingest", *documents, "--ontology", "Test", **STATISTICS) == 0
    assert kgfs(home, "ingest", *documents, "--ontology", "Test", "--no-wait", **ON_RAY, **LET_GO_SOON) == 0
    worker = started(home, "worker", "--until-idle", **ON_RAY, **LET_GO_SOON, KGFS_FAIL_AT="decided:2")
    cluster: set[int] = set()
    shown = b""
    while worker.poll() is None:
        cluster |= (now := others(worker.pid, home))
        shown += b"".join(map(seen_of, {worker.pid, *now}))
        time.sleep(0.2)
    _, reported = worker.communicate()
    assert worker.returncode == -signal.SIGKILL, reported
    assert len(cluster) > 2
    token = (home.parent / ".ray/auth_token").read_bytes().strip()
    assert len(token) > 30 and b"gcs_server" in shown
    assert token not in shown
    until = time.monotonic() + 180
    while others(worker.pid, home) and time.monotonic() < until:
        time.sleep(0.2)
    assert not [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in others(worker.pid, home)]
    kept = fingerprints(home)
    assert kept
    assert kgfs(home, "worker", "--until-idle", **ON_RAY, **LET_GO_SOON) == 0
    after = fingerprints(home)
    assert len(after) == len(set(after)) and set(kept) <= set(after)
    assert knowledge_of(home) == knowledge_of(wanted)
    assert not [path for path in home.rglob("*") if path.is_file() and token in path.read_bytes()]


def test_a_worker_that_is_asked_to_end_gives_its_documents_back(home: Path, documents: list[str]) -> None:
    assert kgfs(home, "ingest", *documents, "--ontology", "Test", "--no-wait", **ON_RAY) == 0
    worker = started(home, "worker", **ON_RAY)
    try:
        until = time.monotonic() + 120
        while not (home / "garage" / "objects" / "records").exists() and time.monotonic() < until:
            time.sleep(0.1)
        worker.send_signal(signal.SIGTERM)
        _, complaint = worker.communicate(timeout=240)
        assert worker.returncode == 0, complaint
    finally:
        worker.kill()
    with open_home(load(home)) as stores:
        assert not stores.catalog.jobs.working()


@pytest.mark.logs("no Ray cluster at .* Documents are read on this machine")
def test_where_the_token_is_not_there_documents_are_read_here_and_the_worker_says_so(
    home: Path, documents: list[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as head:
        address = f"127.0.0.1:{head.getsockname()[1]}"
        named = {"KGFS_COMPUTE_ADDRESS": address, "KGFS_COMPUTE_TOKEN_FILE": str(home.parent / "absent")}
        assert kgfs(home, "ingest", *documents, "--ontology", "Test", "--no-wait", **ON_RAY) == 0
        worker = started(home, "worker", **ON_RAY | named)
        try:
            assert published(home, len(documents))
            shown = started(home, "status", **ON_RAY | named).communicate(timeout=60)[0]
            assert f"no Ray cluster at {address}: " in shown and "Check compute.address and the token." in shown
            assert "Documents are read on this machine until the worker is started again." in shown
            worker.send_signal(signal.SIGTERM)
            _, reported = worker.communicate(timeout=60)
        finally:
            worker.kill()
    assert worker.returncode == 0 and "Traceback" not in reported


@pytest.mark.logs("The Ray cluster at .* is gone")
def test_a_worker_whose_cluster_is_killed_reads_here_and_says_so(home: Path, documents: list[str]) -> None:
    assert kgfs(home, "ingest", *documents[:1], "--ontology", "Test", "--no-wait", **ON_RAY) == 0
    worker = started(home, "worker", **ON_RAY)
    try:
        assert published(home, 1)
        [head] = started_with(others(worker.pid, home), "gcs_server")
        os.kill(head, signal.SIGKILL)
        assert kgfs(home, "ingest", *documents[1:], "--ontology", "Test", "--no-wait", **ON_RAY) == 0
        assert published(home, len(documents))
        for verb in (["status"], ["doctor", "--quiet"]):
            shown = started(home, *verb, **ON_RAY).communicate(timeout=60)[0]
            assert "is gone" in shown and "Documents are read on this machine" in shown
        worker.send_signal(signal.SIGTERM)
        _, complaint = worker.communicate(timeout=120)
        assert worker.returncode == 0, complaint
    finally:
        worker.kill()
        worker.communicate()
