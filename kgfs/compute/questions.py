"""Questions to the worker's models over a Unix socket in the home. The asking process loads no model.

A question and its answer are one JSON object each, on a line of its own. A connection carries one question. An answer
has ``answer``, or ``refused`` with the reason. The socket has mode 0600 and is on the machine of its worker. A socket
that a killed worker left behind is replaced by the next worker.
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
from typing import TYPE_CHECKING, Any

from kgfs.compute import timing
from kgfs.compute.deadline import Deadline
from kgfs.errors import BadInputError, KgfsError, NoWorkerError, StoreError, TimedOutError, from_os_error
from kgfs.failpoints import slowly
from kgfs.stores.worker_lock import reason_of_last_end

if TYPE_CHECKING:  # numpy, which a mount does not need
    import numpy as np
    import numpy.typing as npt

    from kgfs.stores.vectors.contract import Vectors

NAME = "questions.sock"
LONGEST = 1 << 20
"""The largest size of a question, or of an answer, in bytes."""
CONCURRENCY = 4
"""The number of questions that are answered at the same time. Further questions are refused immediately."""
SLOW = "complete"
"""The question that takes as long as a language model does. It holds no place of the others."""
WAITING = 16
"""The number of those that are answered at the same time."""
LISTENING = 64
NO_MODEL = "it has no embedding model"
REFUSED = "The worker did not answer: "
"""What stands before the worker's own reason."""

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Materials:
    """What a worker needs in order to answer."""

    embed: Callable[[Sequence[str]], list[npt.NDArray[np.float32]]] | None
    """The embedding model; None where the worker has none."""
    vectors: Vectors | None
    verbs: Callable[[str], bool] | None = None
    """Tells whether a text has a verb; None where no grammar is loaded."""
    known: Callable[[str], bool] | None = None
    """Whether the model's vocabulary has a word whole; None where it cannot be asked."""
    find: Callable[[str, str, frozenset[str] | None, float | None, float], Any] | None = None
    """Finds Sources, by words, ontology, documents (None for all), the least cosine and seconds (:mod:`.finding`); None where no index is
    at hand."""
    complete: Callable[[Any, float], Any] | None = None
    """Asks the language model (:mod:`.completing`) within some seconds; None where none is configured."""
    lacks: str = NO_MODEL
    """What a question about meaning is refused with where there is no model, or there are no vectors."""


Answering = Callable[[Message], Any]
"""A function that answers one question with plain data, and raises KgfsError to refuse it. Several threads call it."""
Asking = Callable[[Message, Deadline], Any]
"""A function that asks a worker a question as :func:`ask` does, and raises the same errors."""


def text_in(question: Message, name: str) -> str:
    """Return a field of a question that is a text. Raise BadInputError where it is none."""
    value = question.get(name)
    if not isinstance(value, str):
        raise BadInputError("this question is not known")
    return value


def texts_in(question: Message, name: str) -> list[str]:
    """Return a field of a question that is a list of texts. Raise BadInputError where it is none."""
    value = question.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadInputError("this question is not known")
    return value


def asking_itself(answering: Answering) -> Asking:
    """Return the function with which a worker asks itself, without its socket."""

    def asked(question: Message, patience: Deadline) -> Any:
        patience.check()
        try:
            return answering(question)
        except KgfsError as error:
            raise StoreError(f"{REFUSED}{error}") from error

    return asked


def refusing(error: KgfsError) -> Asking:
    """Return a function that answers every question with this error, for one who knows that no answer will come."""

    def asked(question: Message, patience: Deadline) -> Any:
        patience.check()
        raise error

    return asked


def ask(run: Path, question: Message, patience: Deadline) -> Any:
    """Ask the home's worker a question and return its answer.

    Blocks until the answer comes. Raises NoWorkerError where no worker listens, StoreError where the worker refuses
    or breaks off, BadInputError where the question is too long, TimedOutError where the worker accepts no connection
    in time, and TimedOutError and GivenUpError as ``patience`` says.
    """
    line = _line(question)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as asker:
        try:
            with _addressed(run, NAME) as address:
                asker.settimeout(patience.left or timing.CANCEL_POLL)
                asker.connect(address)
            with suppress(BrokenPipeError):  # the worker closed its end, and its answer says why
                asker.sendall(line)
            received = _heard(asker, patience)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            last = reason_of_last_end(run)
            what = f"Start one: kgfs worker, or kgfs mount{'.' * bool(last)}{last}"
            raise NoWorkerError(f"No worker listens to questions. {what}") from error
        except TimeoutError as error:
            raise TimedOutError("The worker takes no questions at the moment.") from error
        except OSError as error:
            raise from_os_error(error, "Asking the worker") from error
    if not received:
        raise StoreError("The worker ended before it answered.")
    answer = _message(received)
    if "answer" not in answer:
        raise StoreError(f"{REFUSED}{answer.get('refused', 'it said something else')}")
    return answer["answer"]


def _heard(asker: socket.socket, patience: Deadline) -> bytes:
    """Return one line without its line end; empty bytes where the other side closed before a line ended."""
    asker.setblocking(False)
    received = bytearray()
    while not received.endswith(b"\n"):
        patience.check()
        if not select.select([asker], [], [], min(timing.CANCEL_POLL, patience.left or timing.CANCEL_POLL))[0]:
            continue
        piece = asker.recv(1 << 16)
        if not piece:
            return b""
        received += piece
        if len(received) > LONGEST:
            raise StoreError(f"A message of more than {LONGEST} bytes is not taken.")
    return bytes(received[:-1])


@contextmanager
def _addressed(run: Path, name: str) -> Iterator[str]:
    """Yield an address of the socket ``name`` in ``run`` through a descriptor of the folder.

    A path may be longer than the 107 bytes that an address has room for.
    """
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
    """A server of questions, which listens while the object is open.

    The caller holds the worker's lock, so a home has one server.
    """

    def __init__(self, run: Path, answering: Answering) -> None:
        self._path = run / NAME
        self._answering = answering
        self._room = threading.BoundedSemaphore(CONCURRENCY)
        self._waiting = threading.BoundedSemaphore(WAITING)
        self._closed = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        fresh = self._path.with_name(f"{NAME}.new")
        try:
            fresh.unlink(missing_ok=True)
            with _addressed(run, fresh.name) as address:
                self._socket.bind(address)
            fresh.chmod(0o600)
            self._socket.listen(LISTENING)
            fresh.replace(self._path)  # from here on every client that finds the socket is accepted
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
                self._closed.wait(timing.CANCEL_POLL)  # no descriptor is free at the moment
                continue
            if self._room.acquire(blocking=False):
                threading.Thread(target=self._serve, args=(asker,), name="question", daemon=True).start()
            else:
                self._refuse(asker, f"{CONCURRENCY} questions are being answered already")

    def _serve(self, asker: socket.socket) -> None:
        held = [self._room]
        try:
            with asker:
                self._tell(asker, self._answer(asker, held))
        finally:
            held[0].release()

    def _answer(self, asker: socket.socket, held: list[threading.BoundedSemaphore]) -> Message:
        """Return the answer to the question that comes. ``held`` has the place that it takes, which may be exchanged."""
        try:
            received = _heard(asker, Deadline(timing.QUESTION_CLIENT))
            if not received:
                return {"refused": "nothing was asked"}
            question = _message(received)
            if question.get("question") == SLOW:
                if not self._waiting.acquire(blocking=False):
                    return {"refused": f"{WAITING} questions wait for the language model already"}
                held[0], former = self._waiting, held[0]
                former.release()
            slowly("answering")
            return {"answer": self._answering(question)}
        except KgfsError as error:
            return {"refused": str(error)}
        except Exception as error:  # a question that cannot be answered must not end the worker
            import logging  # takes a while to load, and those who ask never log

            # A process that ranks instead does not tell of it.
            logging.getLogger("kgfs.worker").exception("A question could not be answered.")
            return {"refused": f"{type(error).__name__}: {error}"}

    def _refuse(self, asker: socket.socket, reason: str) -> None:
        """Refuse a question without reading it.

        The client's data is drained first: closing a socket with unread data would discard the reason before the
        client reads it.
        """
        with asker, suppress(OSError):  # the client did not wait
            asker.shutdown(socket.SHUT_RD)
            asker.setblocking(False)
            with suppress(BlockingIOError):
                while asker.recv(1 << 16):
                    pass
            self._tell(asker, {"refused": reason})

    @staticmethod
    def _tell(asker: socket.socket, message: Message) -> None:
        asker.settimeout(timing.QUESTION_CLIENT)
        with suppress(OSError):  # the client did not wait
            asker.sendall(_line(message))

    def close(self) -> None:
        self._closed.set()
        with suppress(OSError):  # a listening socket is not connected, but shutdown still wakes accept()
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> QuestionServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
