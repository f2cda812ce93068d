"""How far what a home derives for itself has followed a ledger that it shares: notes in its run folder.

A note that is lost, or unreadable after a power loss, costs no more than deriving anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from kgfs.config import Config


def graph_note(config: Config) -> Path:
    """[the last fact that the graph has, its epoch then], as a former version noted it. The graph's file says it now."""
    return config.run / "graph.upto"


def vectors_note(config: Config, model: str) -> Path:
    """[the last fact that was done to vectors of the home's own]. Read and written by ``working.follow_vectors``."""
    return config.run / f"vectors-{hashlib.sha256(model.encode()).hexdigest()[:12]}.upto"


def read_note(note: Path) -> list[int] | None:
    try:
        return [int(number) for number in json.loads(note.read_text())]
    except (FileNotFoundError, ValueError, TypeError):
        return None
