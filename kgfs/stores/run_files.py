"""Small run files by which the processes of a home inform each other."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from kgfs.stores.garage.durable import os_errors, sync_folder


def write_note(note: Path, content: Any, *, durable: bool = False) -> None:
    """Replace the file ``note`` atomically by ``content`` as JSON, with mode 0600. Readers see the former content or
    the new one. If ``durable``, the file is durable when this returns; otherwise a power failure may lose it or
    leave it empty. Raises NoSpaceError or StoreError if the disk refuses it; the former file then stays."""
    fresh = note.with_suffix(f".{secrets.token_hex(4)}.new")
    with os_errors(f"writing {note}"):
        try:
            with open(fresh, "w", opener=_for_the_owner) as file:
                json.dump(content, file)
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
