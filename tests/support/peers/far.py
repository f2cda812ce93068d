"""A wire to a server that is far away: its answers take their time, however many are under way."""

from __future__ import annotations

import queue
import socket
import threading
import time
from contextlib import suppress

PIECE = 1 << 16


class Far:
    """Any number of connections, each in three threads of its own. There is no waiting for a connection itself."""

    def __init__(self, port: int, seconds: float) -> None:
        self._goal = port
        self._seconds = seconds
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _run(self) -> None:
        with suppress(OSError):  # closed
            while True:
                asker, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._goal))
                for end in (asker, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open += [asker, server]
                under_way = queue.SimpleQueue[tuple[float, bytes]]()
                for work in (
                    lambda source=asker, goal=server: self._ask(source, goal),
                    lambda source=server, under_way=under_way: self._hear(source, under_way),
                    lambda goal=asker, under_way=under_way: self._arrive(goal, under_way),
                ):
                    threading.Thread(target=work, daemon=True).start()

    def _ask(self, asker: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while piece := asker.recv(PIECE):
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)

    def _hear(self, server: socket.socket, under_way: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        piece = b"."
        while piece:
            piece = b""
            with suppress(OSError):
                piece = server.recv(PIECE)
            under_way.put((time.monotonic() + self._seconds, piece))

    def _arrive(self, asker: socket.socket, under_way: queue.SimpleQueue[tuple[float, bytes]]) -> None:
        with suppress(OSError):
            while True:
                at, piece = under_way.get()
                time.sleep(max(0.0, at - time.monotonic()))
                if not piece:
                    asker.shutdown(socket.SHUT_WR)
                    return
                asker.sendall(piece)
