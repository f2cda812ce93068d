"""A wire to a server that loses answers: a request gets there and is carried out, and who asked hears nothing of it. Or that is
slow: a request gets there when who asked is gone. Or that forgets connections, as what stands between machines does: they look
open to who asks, whatever becomes of the server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PIECE = 1 << 16
PAUSE = 0.3
"""Seconds without another piece after which a request is taken for whole."""


class Losing:
    """Any number of connections, each in two threads of its own."""

    def __init__(self, port: int) -> None:
        self.lost = 0
        """Answers so far."""
        self.sent = 0
        """Bytes that got to the server so far."""
        self.late = 0
        """Requests so far that are whole, and were kept back."""
        self.swallowed = 0
        """Bytes so far that were sent on connections which were forgotten."""
        self._goal = port
        self._words = b""
        self._late_words = b""
        self._goes_on = threading.Event()
        self._open: list[socket.socket] = []
        self._forgotten: set[socket.socket] = set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    @contextmanager
    def losing(self, words: bytes) -> Iterator[None]:
        """Meanwhile what answers a request that has these words is lost, and all that follows on its connection."""
        self._words = words
        try:
            yield
        finally:
            self._words = b""

    @contextmanager
    def delaying(self, words: bytes) -> Iterator[None]:
        """A request that has these words gets to the server when this ends, with all that follows on its connection."""
        self._late_words = words
        self._goes_on.clear()
        try:
            yield
        finally:
            self._late_words = b""
            self._goes_on.set()

    def forget(self) -> int:
        """The connections that are open say nothing from now on, to neither end, not even that they end; those who ask may send what
        they like. New ones are as ever. How many there were."""
        before, self._forgotten = len(self._forgotten), set(self._open)
        return (len(self._forgotten) - before) // 2

    def close(self) -> None:
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _run(self) -> None:
        with suppress(OSError):  # closed
            while True:
                asker, _ = self._listening.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._goal))
                except ConnectionRefusedError:  # it is away; it may come back
                    asker.close()
                    continue
                self._open += [asker, server]
                silent = threading.Event()
                threading.Thread(target=self._carry, args=(asker, server, silent, True), daemon=True).start()
                threading.Thread(target=self._carry, args=(server, asker, silent, False), daemon=True).start()

    def _carry(self, source: socket.socket, goal: socket.socket, silent: threading.Event, asks: bool) -> None:
        with suppress(OSError):
            while piece := source.recv(PIECE):
                if source in self._forgotten:
                    self.swallowed += len(piece) * asks
                    continue
                self.sent += len(piece) * asks
                if asks and self._words and self._words in piece:
                    silent.set()
                    self.lost += 1
                if asks and self._late_words and self._late_words in piece:
                    piece += _rest(source)
                    self.late += 1
                    self._goes_on.wait()
                if asks or not silent.is_set():
                    goal.sendall(piece)
            if source not in self._forgotten:
                goal.shutdown(socket.SHUT_WR)


def _rest(source: socket.socket) -> bytes:
    """What else of the request comes without a pause."""
    found = b""
    source.settimeout(PAUSE)
    with suppress(TimeoutError):
        while piece := source.recv(PIECE):
            found += piece
    source.settimeout(None)
    return found
