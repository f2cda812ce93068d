"""Entries of a ledger."""

from __future__ import annotations

import json


def entries(first: int, last: int) -> list[bytes]:
    return [json.dumps({"fact": "Test", "n": n, "ä": "\n\0"}).encode() for n in range(first, last + 1)]


def numbered(first: int, last: int) -> list[tuple[int, bytes]]:
    return list(enumerate(entries(first, last), first))
