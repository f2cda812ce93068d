"""What else may listen where Neo4j is looked for: nobody yet, or a web server's port, most often Neo4j's own one for browsers."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

GREETING = b"\x60\x60\xb0\x17" + b"\0\0\0\5" + bytes(12) + b"\r\n\r\n"
"""How Bolt begins, which Neo4j answers with a number that begins with 0; with an empty line, which others wait for."""
SECONDS = 1.0


def is_closed(uri: str) -> bool:
    """Whether the machine is there and nobody listens: the server was ended, or is just starting."""
    try:
        _connected(uri).close()
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):  # no such machine, or silent
        return False
    return False


def answers_as_another(uri: str) -> bool:
    """Whether something speaks there, and not Bolt. Asks in plain text: not to be asked about what is behind TLS. Looks for so
    many SECONDS at most."""
    try:
        with _connected(uri) as connection:
            connection.settimeout(SECONDS)
            connection.sendall(GREETING)
            answer = connection.recv(4)
    except (OSError, ValueError):  # nobody there, or silent
        return False
    return answer[:1] not in (b"", b"\0")


def _connected(uri: str) -> socket.socket:
    there = urlsplit(uri)
    return socket.create_connection((there.hostname or "", there.port or 7687), SECONDS)
