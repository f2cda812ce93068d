"""Sync cursors: how far the data that a home derives for itself has followed the ledger that it shares, as files of
the run folder.

A cursor that is lost, or unreadable after a power loss, costs a full derivation and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from kgfs.config import Config


def vectors_note(config: Config, model: str) -> Path:
    """Return the path of the cursor of the home's own vectors for ``model``: [the last fact that was applied to
    them].

    ``working.follow_vectors`` reads and writes it.
    """
    return config.run / f"vectors-{hashlib.sha256(model.encode()).hexdigest()[:12]}.upto"


def read_note(note: Path) -> list[int] | None:
    """Return the numbers of a cursor; None if the file is absent or not valid."""
    try:
        return [int(number) for number in json.loads(note.read_text())]
    except (FileNotFoundError, ValueError, TypeError):
        return None
