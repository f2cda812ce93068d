"""Small files by which processes of a home tell others something."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_note(note: Path, told: Any) -> None:
    """As JSON, for the home's owner alone, and replaced whole: who reads it has the former one or this. It may be lost, or be
    empty, after a power loss."""
    fresh = note.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(told))
    fresh.replace(note)
