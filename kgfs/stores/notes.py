"""Small files by which processes of a home tell others something."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from kgfs.stores.garage.durable import os_errors, sync_folder


def write_note(note: Path, told: Any, *, durable: bool = False) -> None:
    """As JSON, for the home's owner alone, and replaced whole: who reads it has the former one or this. Unless it is to be
    ``durable`` it may be lost, or be empty, after a power loss. FullError or StoreError where the disk does not take it; then the
    former one stands."""
    fresh = note.with_suffix(f".{secrets.token_hex(4)}.new")
    with os_errors(f"writing {note}"):
        try:
            with open(fresh, "w", opener=_for_the_owner) as file:
                json.dump(told, file)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            fresh.replace(note)
        except BaseException:
            fresh.unlink(missing_ok=True)
            raise
        if durable:
            sync_folder(note.parent)


def _for_the_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
