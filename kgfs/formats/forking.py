"""Start parsing processes quickly: one process has loaded the parsers, and forks once for each file.

Starting Python and loading the parsers costs ten times what a mail costs. The forked process is limited as one that was
started anew (:mod:`.sandbox`), has seen no other file, and ends with its file. The process that forks does nothing else: it
reads no file, and ends when the process that started it ends; those that it forked end with it.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence

from kgfs.errors import ParserFailedError

STARTING = 60.0
"""Seconds that the process that forks has to answer. One that was stopped (SIGSTOP) is ended then, with those that it
forked, and another one is started."""
BEAT = 1.0
"""Seconds after which the caller is called while that is waited for."""
_PR_SET_PDEATHSIG = 1
_LONGEST = 1 << 16
_CODE = struct.Struct("i")
_SAMPLE = b"From: a@example.org\nTo: b@example.org\nSubject: a\nContent-Type: text/html\n\n<p>A word.</p>\n"
"""Parsed once, so that what most files need is loaded before a process is forked."""


class ForkedProcess:
    """A parsing process. One thread uses it."""

    def __init__(
        self, words: Sequence[str], descriptors: Sequence[int], beat: Callable[[], None] = lambda: None
    ) -> None:
        """Start it with standard input, output and error, and one more descriptor, whose number it gets as a last word.

        ``beat`` is called at least every BEAT seconds meanwhile. Raise ParserFailedError if it cannot be started, after
        twice STARTING seconds at the latest, and what ``beat`` raises.
        """
        for last in (False, True):
            self._status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            asked: subprocess.Popen[bytes] | None = None
            try:
                with theirs:
                    asked = _SERVER.ask(json.dumps(list(words)).encode(), [*descriptors, theirs.fileno()])
                self._pidfd = _one(_answer(self._status, beat))
            except BaseException as error:
                self._status.close()
                if not isinstance(error, TimeoutError):
                    raise
                _SERVER.end(asked)
                if last:
                    raise ParserFailedError("The process that starts parsers stands still.") from error
            else:
                return

    def kill(self) -> None:
        """End it at once; do nothing where it has ended."""
        try:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        except ProcessLookupError:
            return

    def wait(self, timeout: float) -> int:
        """Return its exit code, negative for a signal. Raise ParserFailedError if it does not end within ``timeout``
        seconds."""
        self._status.settimeout(timeout)
        try:
            raw = self._status.recv(_CODE.size)
        except TimeoutError as error:
            raise ParserFailedError("The parser does not end.") from error
        # without an answer the process that forks was killed, and this one with it
        return int(_CODE.unpack(raw)[0]) if len(raw) == _CODE.size else -signal.SIGKILL

    def close(self) -> None:
        """End it, and give up what is held for it."""
        self.kill()
        os.close(self._pidfd)
        self._status.close()


def _answer(status: socket.socket, beat: Callable[[], None]) -> Sequence[int]:
    """Return the descriptors of the answer. Raise TimeoutError where none comes within STARTING seconds."""
    deadline = time.monotonic() + STARTING
    status.settimeout(min(BEAT, STARTING))
    while True:
        try:
            return socket.recv_fds(status, _LONGEST, 1)[1]
        except TimeoutError:
            beat()
            if time.monotonic() >= deadline:
                raise


def _one(passed: Sequence[int]) -> int:
    if not passed:
        raise ParserFailedError("The process that starts parsers ended; another one is started for the next file.")
    return passed[0]


class _Server:
    """The process that forks, seen from the process that started it. Any thread may ask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._owner = 0
        self._environment: dict[str, str] = {}
        """That of the process that forks; another one is started where this process has changed its own."""

    def ask(self, words: bytes, descriptors: Sequence[int]) -> subprocess.Popen[bytes]:
        """Have a process forked, and return the one that forks. Start that one if there is none (any more)."""
        with self._lock:
            for last in (False, True):
                if not self._is_usable():
                    self._give_up()
                    self._start()
                assert self._socket is not None and self._process is not None
                try:
                    socket.send_fds(self._socket, [words], list(descriptors))
                except (ConnectionError, TimeoutError) as error:
                    if last:
                        raise ParserFailedError(f"No parser can be started ({error}).") from error
                    self._give_up()
                else:
                    return self._process
            raise AssertionError("unreachable")

    def _is_usable(self) -> bool:
        mine = self._owner == os.getpid() and self._environment == dict(os.environ)
        return mine and self._process is not None and self._process.poll() is None

    def end(self, which: subprocess.Popen[bytes] | None = None) -> None:
        """End the process that forks, and those that it forked; with ``which`` only if it is that one still."""
        with self._lock:
            if which is None or which is self._process:
                self._give_up()

    def _give_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()  # it has nothing to lose
            self._process.wait()
        self._process = self._socket = None

    def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "kgfs.formats.child", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
        ours.settimeout(STARTING)
        self._socket, self._owner, self._environment = ours, os.getpid(), dict(os.environ)


_SERVER = _Server()
atexit.register(_SERVER.end)


def end_parsers() -> None:
    """End the process that forks; the next file starts another one. When this returns, what the parsers used counts as
    that of this process's children (RUSAGE_CHILDREN)."""
    _SERVER.end()


def serve(asked: socket.socket, parse: Callable[[list[str]], None], warm: Callable[[bytes], None]) -> None:
    """Fork a process for each request that ``asked`` brings, until its other end is closed.

    A forked process has the descriptors of the request as its standard input, output and error, calls ``parse`` with its
    words, and ends. Its exit code is sent to the last descriptor of the request.
    """
    warm(_SAMPLE)
    gc.collect()
    gc.freeze()  # else the first collection of each forked process would copy all of it
    running: dict[int, tuple[int, socket.socket]] = {}
    poller = select.poll()
    poller.register(asked, select.POLLIN)
    while True:
        for descriptor, _ in poller.poll():
            if descriptor in running:
                poller.unregister(descriptor)
                _report(descriptor, *running.pop(descriptor))
                continue
            message, passed, _, _ = socket.recv_fds(asked, _LONGEST, 5)
            if not message:
                return
            status = socket.socket(fileno=passed[4])
            mine = os.getpid()
            pid = os.fork()
            if pid == 0:
                _become(mine, json.loads(message), passed, parse)
            pidfd = os.pidfd_open(pid)
            for given in passed[:4]:
                os.close(given)
            try:
                socket.send_fds(status, [b"."], [pidfd])
            except OSError:  # who asked has ended or given up
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            running[pidfd] = (pid, status)
            poller.register(pidfd, select.POLLIN)


def _report(pidfd: int, pid: int, status: socket.socket) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(pidfd)
    with status:
        try:
            status.send(_CODE.pack(code))
        except OSError:  # nobody waits for it any more
            return


def _become(parent: int, words: list[str], passed: Sequence[int], parse: Callable[[list[str]], None]) -> None:
    """Be the parsing process: never returns."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that
            os._exit(1)
        os.setsid()
        moved = os.dup(passed[3])  # where no other descriptor is closed over it
        for target, given in enumerate(passed[:3]):
            os.dup2(given, target)
        keep = max(moved, 16)
        os.dup2(moved, keep)
        os.closerange(3, keep)
        os.closerange(keep + 1, 4096)
        parse([*words, str(keep)])
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001  # its message and the code 1 reach who asked
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
