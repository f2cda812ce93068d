"""Small files of a home: its id, and notes by which its processes inform each other."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from kgfs.config import Config
from kgfs.stores.garage.durable import os_errors, sync_folder


def home_id(home: Path) -> str:
    """Return the id of a home, and make it on the first call: 12 hexadecimal digits in the file ``id`` of its folder.

    A copy of the folder has the same id; delete the file in one of them.
    """
    path = home / "id"
    if not path.exists():
        fresh = path.with_name(f"id.{secrets.token_hex(4)}")
        fresh.touch(0o600)
        fresh.write_text(secrets.token_hex(6))
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # another process of the home has made it meanwhile
        finally:
            fresh.unlink()
    return path.read_text()


BEGUN = "snapshot.begun"
"""Note in the run folder of a home that has not replayed what came after the snapshot that it began with."""
VECTORS_AFTER = "vectors.after"
"""File in the run folder of a home that took over: the number of the fact up to which its vectors are known to be
complete."""


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


def begun(config: Config) -> int | None:
    """Return the position of the snapshot that this home began with, while it has not replayed what came after."""
    try:
        return int(json.loads((config.run / BEGUN).read_bytes()))
    except FileNotFoundError:
        return None


def replayed(config: Config) -> None:
    """Note that the home has replayed what came after its snapshot."""
    with os_errors(f"Removing {config.run / BEGUN}"):
        (config.run / BEGUN).unlink(missing_ok=True)
