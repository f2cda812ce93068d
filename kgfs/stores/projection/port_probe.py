"""Find out what listens at a server's port where the Bolt driver fails: nobody, or something that speaks another protocol."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from kgfs.stores import timing

GREETING = b"\x60\x60\xb0\x17" + b"\0\0\0\5" + bytes(12) + b"\r\n\r\n"
"""The Bolt handshake, which Neo4j answers with a version that begins with 0, and an empty line, which others wait for."""


def answers_as_another(uri: str) -> bool:
    """Return whether something answers at ``uri`` that does not speak Bolt in plain text. Takes at most two seconds."""
    return _greeted(uri)[:1] not in (b"", b"\0")


def answers_in_plain_text(uri: str) -> bool:
    """Return whether a Bolt server answers at ``uri`` without TLS."""
    return _greeted(uri)[:1] == b"\0"


def _greeted(uri: str) -> bytes:
    """Return the first bytes of the answer to the handshake; none where nobody listens or nothing is answered."""
    there = urlsplit(uri)
    try:
        with socket.create_connection((there.hostname or "", there.port or 7687), timing.PORT_PROBE) as connection:
            connection.settimeout(timing.PORT_PROBE)
            connection.sendall(GREETING)
            return connection.recv(4)
    except (OSError, ValueError):
        return b""
