"""A process that reads documents for a worker: started by it, told what to read, and ended with it.

The two speak through a pair of sockets, in pickles: a function that makes the place, then one work after the other. The
process answers with reports of progress, each of which the worker lets it go on from, and with a result or an error for each work.
"""

from __future__ import annotations

import os
import pickle
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from kgfs.compute import timing
from kgfs.compute.contract import Progress, Work, WorkerSlot
from kgfs.errors import MachineError

T = TypeVar("T")

GO_ON = b""
"""The answer to a report of progress."""
NICER = 5
"""By how much the process gives way to the worker, which shows texts and publishes, and to mounts."""


class ReadingProcess:
    """One reading process, as its worker sees it. It is started by the first work, and again after it was lost.

    One thread at a time calls :meth:`run`; any thread may call :meth:`end`.
    """

    def __init__(self, make_place: Callable[[], WorkerSlot]) -> None:
        self._make_place = make_place
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._ended = False
        self._lock = threading.Lock()

    def run(self, work: Work[T], progress: Progress) -> T:
        """Run a work in the process and return its result. Raises what the work raises, and what ``progress`` raises, which
        ends the process. Raises MachineError where the process ends before the work."""
        try:
            kind, answer = self._answer(work, progress)
        except (OSError, EOFError, pickle.UnpicklingError) as error:
            code = self._stop()
            raise MachineError(f"A reading process ended, with {code}, while it read a document.") from error
        except BaseException:
            self._stop()
            raise
        if kind == "raised":
            raise answer
        result: T = answer
        return result

    def _answer(self, work: Work[T], progress: Progress) -> tuple[str, Any]:
        connection = self._begun()
        connection.send_bytes(pickle.dumps(work))
        while True:
            while not connection.poll(timing.PROCESS_POLL):
                pass
            kind, *told = pickle.loads(connection.recv_bytes())
            if kind != "progress":
                return kind, told[0]
            progress(*told)
            connection.send_bytes(GO_ON)

    def _begun(self) -> Connection:
        with self._lock:
            if self._ended:
                raise EOFError("ended")
            if self._connection is None:
                ours, theirs = socket.socketpair()
                with theirs:
                    words = [sys.executable, "-m", "kgfs.compute.reading_process", str(theirs.fileno())]
                    self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
                self._connection = Connection(ours.detach())
                self._connection.send_bytes(pickle.dumps(self._make_place))
            return self._connection

    def _stop(self) -> int | None:
        """End the process, and return the code that it ended with."""
        with self._lock:
            process, connection, self._process, self._connection = self._process, self._connection, None, None
        if connection is not None:
            connection.close()
        if process is None:
            return None
        process.kill()
        return process.wait()

    def end(self) -> None:
        """End the process for good. A work that it runs raises MachineError."""
        with self._lock:
            self._ended = True
            process = self._process
        if process is not None:
            process.kill()
            process.wait()


def serve(connection: Connection) -> None:
    """Run works until the worker closes its end."""
    make_place: Callable[[], WorkerSlot] = pickle.loads(connection.recv_bytes())
    place: WorkerSlot | None = None

    def progress(stage: str, share: float) -> None:
        connection.send_bytes(pickle.dumps(("progress", stage, share)))
        connection.recv_bytes()  # the worker says when to go on

    while True:
        work: Work[object] = pickle.loads(connection.recv_bytes())
        try:
            place = place or make_place()
            answer = pickle.dumps(("result", work(place, progress)))
        except (BrokenPipeError, ConnectionResetError):  # nobody listens any more
            raise
        except Exception as error:  # noqa: BLE001 - whatever the work raises, the worker raises it
            answer = _told(error)
        connection.send_bytes(answer)


def _told(error: Exception) -> bytes:
    try:
        told = pickle.dumps(("raised", error))
        pickle.loads(told)
        return told
    except Exception:  # noqa: BLE001 - whatever keeps the error from being pickled, its words are left
        return pickle.dumps(("raised", MachineError(f"{type(error).__name__}: {error}")))


def _end_with(process: int) -> None:
    """End this process at once when another one, of which ``process`` is a descriptor, ends.

    A worker that is killed gives up its lock: what it had begun to read may be purged while this process goes on with it.
    """
    select.select([process], [], [])
    os._exit(1)


def main() -> None:
    threading.Thread(target=_end_with, args=(os.pidfd_open(os.getppid()),), daemon=True).start()
    os.nice(NICER)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError), Connection(int(sys.argv[1])) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
