"""Commands of kgfs, each a process of its own, without what Python and its libraries take at each start: a quarter of a
second of a core, and a whole one for a home on servers.

One process, ``python -m tests.support.starting``, loads what commands use and forks one for each that is asked for,
with the environment and output it is given, in :data:`ROOT`. It lives and dies as if it had been started, but that what
others read of it in /proc, its command line and environment, is its parent's; that Python does not take itself apart at
its end; and that all have one seed of hashes. What Python itself reads when it starts cannot be told to a process that
runs: a command whose environment has another ``PYTHON…`` than the parent's is started as a shell does, as by
``{"PYTHONHASHSEED": "1"}``.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
ON_SERVERS = ("kgfs.stores.garage.s3.garage",)
"""What commands load besides, for homes on servers."""
KEEP_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
CONSTANTS = "CONSTANTS_OF_TESTS"
"""The word of the environment that gives numbers of modules another value, as ``kgfs.app.timing.NO_WORKER=1``: for what
a command waits for, and a test knows not to come. One that is started as a shell does keeps its own."""
_asked_one_by_one = threading.Lock()
_homes: dict[int, str] = {}
"""Of commands that run, by process id."""


def run(
    words: Sequence[str | bytes | os.PathLike[str]], env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` of ``python -m kgfs WORDS`` in :data:`ROOT` that captures text. From any thread."""
    if _of_python(env) != _of_python(os.environ):
        return subprocess.run(
            [sys.executable, "-m", "kgfs", *words],
            env=env,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
        )
    mine, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with mine, tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pickle.dump(([os.fsdecode(word) for word in words], dict(env)), told)
        told.seek(0)
        with theirs, _asked_one_by_one:
            socket.send_fds(_parent(), [b"run"], [end.fileno() for end in (theirs, told, out, err)])
        mine.settimeout(timeout)
        pid = int(mine.recv(32))
        _homes[pid] = env.get("KGFS_HOME", "")
        try:
            status = int(mine.recv(32))
        except BaseException as error:
            os.kill(pid, signal.SIGKILL)
            if isinstance(error, TimeoutError):
                raise subprocess.TimeoutExpired([*words], timeout) from None
            raise
        finally:
            del _homes[pid]
        reported = []
        for file in (out, err):
            file.seek(0)
            reported.append(file.read().decode("utf-8", "surrogateescape"))
    return subprocess.CompletedProcess([*words], os.waitstatus_to_exitcode(status), *reported)


def running(home: Path) -> list[int]:
    """The process ids of a home's commands that are not started as a shell does."""
    return [pid for pid, one in list(_homes.items()) if one == str(home)]


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith("PYTHON") and name != KEEP_NO_BYTECODE}


@functools.cache
def _parent() -> socket.socket:
    """Where the parent of commands is asked; it ends with whoever asks."""
    mine, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.starting", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(mine.close)
    process.returncode = 0  # else Popen complains of what nobody waits for
    return mine


def _serve(asked: socket.socket) -> None:
    """Ends with who asks. Returns in the process of a command, once that is to begin."""
    selector = selectors.DefaultSelector()
    selector.register(asked, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is asked:
                word, given, _, _ = socket.recv_fds(asked, 16, 4)
                if not word:
                    asked.close()
                    sys.exit()
                answer, *files = given
                pid = os.fork()
                if pid == 0:
                    for inherited in (asked.detach(), answer):
                        os.close(inherited)
                    return _become(*files)
                for file in files:
                    os.close(file)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, answer))
                with suppress(BrokenPipeError):
                    os.write(answer, str(pid).encode())
            else:
                pid, answer = key.data
                selector.unregister(key.fd)
                os.close(key.fd)
                _, status = os.waitpid(pid, 0)
                with suppress(BrokenPipeError):  # nobody waited so long
                    os.write(answer, str(status).encode())
                os.close(answer)


def _become(told: int, out: int, err: int) -> None:
    from kgfs import failpoints

    with open(told, "rb") as pickled:
        sys.argv[1:], environment = pickle.load(pickled)
    for file, number in ((out, 1), (err, 2)):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(environment)
    sys.dont_write_bytecode = bool(environment.get(KEEP_NO_BYTECODE))
    importlib.reload(failpoints)  # it learns of them when it is loaded
    for given in environment.get(CONSTANTS, "").split():
        name, _, value = given.partition("=")
        module, _, constant = name.rpartition(".")
        owner = importlib.import_module(module)
        assert hasattr(owner, constant), name
        setattr(owner, constant, float(value))


def _end(status: object) -> None:
    """As Python does, but for taking everything apart: each page of it would be copied for that."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    if isinstance(status, str):
        print(status, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else bool(status))


if __name__ == "__main__":
    from kgfs import cli

    for name in (*(f"kgfs.cli.{verb.replace('-', '_')}" for verb in cli.VERBS), *ON_SERVERS):
        with suppress(ModuleNotFoundError):  # of a client that is not installed; who needs it says so
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        cli.main()
    except SystemExit as ended:
        _end(ended.code)
