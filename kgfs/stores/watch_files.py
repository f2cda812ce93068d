"""The files of a home about folders that are watched: notes (``.jsonl``), state, lock, and confirmation of removals."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

from kgfs.errors import from_os_error
from kgfs.stores.locks import is_locked


def notes_of(home: Path, folder: Path, ontology: str, into: str) -> Path:
    """Return the file that has the notes about a watched folder, and make the folder that it is in.

    The names of the other files differ in their suffix only.
    """
    words = "\0".join((str(folder), ontology, into))
    notes = home / "watch" / f"{sha256(words.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}.jsonl"
    try:
        notes.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise from_os_error(error, f"Making {notes.parent}") from error
    return notes


def lock_of(notes: Path) -> Path:
    """Return the file whose lock the watching process holds."""
    return notes.with_suffix(".lock")


def confirmation_of(notes: Path) -> Path:
    """Return the file whose presence lets the next scan remove what was held back."""
    return notes.with_suffix(".confirmed")


def write_state(notes: Path, state: dict[str, Any]) -> None:
    """Write the state of a watch for :func:`watch_states`. Raise OSError where the disk refuses."""
    fresh = notes.with_suffix(".json.new")
    fresh.write_text(json.dumps(state), "utf-8")
    fresh.replace(notes.with_suffix(".json"))


def watch_states(home: Path) -> list[dict[str, Any]]:
    """Return the state of each folder that is or was watched.

    ``folder``, ``ontology``, ``into`` (the folder below documents/), ``files`` (how many were taken), ``held`` (why
    nothing is removed), ``reports`` (why changes are polled for), ``refused`` (files that could not be taken, with
    reasons), and ``alive``: whether a process watches it now.
    """
    states = []
    for path in sorted((home / "watch").glob("*.json")):
        try:
            state = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):
            continue  # a power failure left it empty; the watch writes it again
        states.append(state | {"alive": is_locked(lock_of(path))})
    return states
