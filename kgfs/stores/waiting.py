"""Where the garage has bytes that homes share before they are settled, so that all of them can read what one has written."""

from __future__ import annotations

WAITING = "inbox/"


def waiting_key(name_id: int, sha256: str) -> str:
    """The object of a content of one name. It goes once the name is settled, unless a version has it."""
    return f"{WAITING}{name_id:x}.{sha256}"
