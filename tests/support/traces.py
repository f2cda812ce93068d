"""Texts with a marker, and a search of every byte of a home for it."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from kgfs.config import load
from tests.support.peers.buckets import in_bucket

ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")


def told(marker: str) -> str:
    """A text in which the marker is a concept, in quotes and in labels."""
    return (
        f"# The {marker} monastery\n\nThe {marker} monastery is a school of Buddhism. A {marker} abbot uses a koan.\n\n"
        f"Zen practice is taught by the {marker} abbot. The {marker} monastery keeps direct experience.\n"
    )


def traces(home: Path, *markers: str) -> list[tuple[str, str]]:
    """(file or object, marker) wherever one stands, in either case and any of the encodings; a database's free pages and log too."""
    wanted = [(marker, marker.lower().encode(e)) for marker in markers for e in ENCODINGS]
    files = ((str(path.relative_to(home)), path.read_bytes()) for path in sorted(home.rglob("*")) if path.is_file())
    found = set()
    for name, content in chain(files, in_bucket(load(home))):
        reported = content.lower()
        found |= {(name, marker) for marker, raw in wanted if raw in reported}
    return sorted(found)
