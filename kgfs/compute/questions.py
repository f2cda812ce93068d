"""Questions to the worker's models, over a Unix socket in the home: whoever asks loads no model and waits for none.

A question and its answer are one JSON object each on a line of its own; one question a connection. An answer has
``answer``, or ``refused`` with the reason. The socket is 0600 and stands where its worker is; what a killed worker left
behind is replaced by the next.
"""

from __future__ import annotations

import json
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from kgfs.compute.patience import SLICE, Patience
from kgfs.errors import BadInputError, KgfsError, NoWorkerError, StoreError, TimedOutError, from_os_error
from kgfs.failpoints import slowly
from kgfs.stores.worker_lock import told_of_the_last

if TYPE_CHECKING:  # numpy, which a mount does not need
    import numpy as np
    import numpy.typing as npt

    from kgfs.stores.vectors.contract import Vectors

NAME = "questions.sock"
LONGEST = 1 << 20
"""Bytes of a question, or of an answer."""
AT_ONCE = 4
"""Questions worked on at one time; others are refused at once."""
LISTENING = 64
UNHURRIED = 10.0
"""Seconds an asker has to say its question and to take its answer."""

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Materials:
    """What a worker answers with."""

    embed: Callable[[Sequence[str]], list[npt.NDArray[np.float32]]] | None
    """The embedding model, if there is one."""
    vectors: Vectors | None


Answering = Callable[[Message], Any]
"""What answers one question with plain data; KgfsError refuses it. Called by several threads."""


def ask(run: Path, question: Message, patience: Patience) -> Any:
    """The answer of the home's worker. NoWorkerError where none listens, StoreError where it refuses or breaks off,
    TimedOutError and GivenUpError as ``patience`` says."""
    line = _line(question)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as asker:
        try:
            with _addressed(run, NAME) as address:
                asker.settimeout(patience.left or SLICE)
                asker.connect(address)
            with suppress(BrokenPipeError):  # it says why
                asker.sendall(line)
            said = _heard(asker, patience)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            last = told_of_the_last(run)
            what = f"Start one: kgfs worker, or kgfs mount{'.' * bool(last)}{last}"
            raise NoWorkerError(f"No worker listens to questions. {what}") from error
        except TimeoutError as error:
            raise TimedOutError("The worker takes no questions at the moment.") from error
        except OSError as error:
            raise from_os_error(error, "Asking the worker") from error
    if not said:
        raise StoreError("The worker ended before it answered.")
    answer = _message(said)
    if "answer" not in answer:
        raise StoreError(f"The worker did not answer: {answer.get('refused', 'it said something else')}")
    return answer["answer"]


def _heard(asker: socket.socket, patience: Patience) -> bytes:
    """A line without its end; b"" where the other side ended before one did."""
    asker.setblocking(False)
    said = bytearray()
    while not said.endswith(b"\n"):
        patience.check()
        if not select.select([asker], [], [], min(SLICE, patience.left or SLICE))[0]:
            continue
        piece = asker.recv(1 << 16)
        if not piece:
            return b""
        said += piece
        if len(said) > LONGEST:
            raise StoreError(f"A message of more than {LONGEST} bytes is not taken.")
    return bytes(said[:-1])


@contextmanager
def _addressed(run: Path, name: str) -> Iterator[str]:
    """The address of a socket, through a descriptor of its folder: a path may be longer than the 107 bytes of one."""
    folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{name}"
    finally:
        os.close(folder)


def _line(message: Message) -> bytes:
    line = json.dumps(message).encode() + b"\n"
    if len(line) > LONGEST:
        raise BadInputError(f"A message of {len(line)} bytes is too long for the worker.")
    return line


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise StoreError(f"Not a message of kgfs: {line[:100]!r}.") from error
    if not isinstance(message, dict):
        raise StoreError(f"Not a message of kgfs: {line[:100]!r}.")
    return message


class QuestionServer:
    """Listens while the object is open. The caller holds the worker's lock, so that there is one a home."""

    def __init__(self, run: Path, answering: Answering) -> None:
        self._path = run / NAME
        self._answering = answering
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._closed = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        fresh = self._path.with_name(f"{NAME}.new")
        try:
            fresh.unlink(missing_ok=True)
            with _addressed(run, fresh.name) as address:
                self._socket.bind(address)
            fresh.chmod(0o600)
            self._socket.listen(LISTENING)
            fresh.replace(self._path)  # whoever finds it is heard
        except OSError as error:
            self._socket.close()
            raise from_os_error(error, f"{self._path}: cannot listen") from error
        threading.Thread(target=self._listen, name="questions", daemon=True).start()

    def _listen(self) -> None:
        while not self._closed.is_set():
            try:
                asker, _ = self._socket.accept()
            except OSError:
                if self._closed.is_set():
                    return
                self._closed.wait(SLICE)  # no descriptor is free at the moment
                continue
            if self._room.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(asker,), name="question", daemon=True).start()
            else:
                self._refuse(asker, f"{AT_ONCE} questions are being answered already")

    def _serve(self, asker: socket.socket) -> None:
        try:
            with asker:
                self._tell(asker, self._answer(asker))
        finally:
            self._room.release()

    def _answer(self, asker: socket.socket) -> Message:
        try:
            said = _heard(asker, Patience(UNHURRIED))
            if not said:
                return {"refused": "nothing was asked"}
            question = _message(said)
            slowly("answering")
            return {"answer": self._answering(question)}
        except KgfsError as error:
            return {"refused": str(error)}
        except Exception as error:  # noqa: BLE001  # a question that cannot be answered must not end the worker
            return {"refused": f"{type(error).__name__}: {error}"}

    def _refuse(self, asker: socket.socket, reason: str) -> None:
        """Without hearing what it asks. Closing with something unheard would take the reason away from the asker."""
        with asker, suppress(OSError):  # it did not wait
            asker.shutdown(socket.SHUT_RD)
            asker.setblocking(False)
            with suppress(BlockingIOError):
                while asker.recv(1 << 16):
                    pass
            self._tell(asker, {"refused": reason})

    @staticmethod
    def _tell(asker: socket.socket, message: Message) -> None:
        asker.settimeout(UNHURRIED)
        with suppress(OSError):  # it did not wait
            asker.sendall(_line(message))

    def close(self) -> None:
        self._closed.set()
        with suppress(OSError):  # nobody is connected to what only listens, yet this wakes accept()
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> QuestionServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
