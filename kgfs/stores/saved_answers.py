"""The last answers of saved questions: a file each, below the home. They are derived: what is missing is asked again.

An answer quotes documents, so a purge removes the answers that have text of a purged document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kgfs.config import Config
from kgfs.errors import from_os_error
from kgfs.stores.garage.durable import os_errors
from kgfs.stores.run_files import write_note

FOLDER = "answers"


def put(config: Config, ontology: str, question: str, answer: dict[str, Any]) -> None:
    """Store the answer of a question (encoded, as it is saved) in place of an earlier one. Readers see all or nothing."""
    path = _path(config, ontology, question)
    with os_errors(f"{path.parent}: the answer cannot be stored"):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    write_note(path, answer)


def get(config: Config, ontology: str, question: str) -> dict[str, Any] | None:
    """Return the stored answer; None if there is none, or none that can be read."""
    path = _path(config, ontology, question)
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os_error(error, f"{path}: the answer cannot be read") from error
    except ValueError:  # a power failure may leave an incomplete file
        return None
    return found if isinstance(found, dict) else None


def remove(config: Config, ontology: str, question: str) -> None:
    """Remove the stored answer. Idempotent."""
    _unlink(_path(config, ontology, question))


def erase(config: Config, doc_ids: Iterable[str]) -> None:
    """Remove all answers that name one of these documents. Idempotent."""
    marks = [doc_id.encode() for doc_id in doc_ids]
    for path in (config.home / FOLDER).glob("*"):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise from_os_error(error, f"{path}: what it says of purged documents cannot be removed") from error
        if any(mark in content for mark in marks):
            _unlink(path)


def _unlink(path: Path) -> None:
    with os_errors(f"{path}: the answer cannot be removed"):
        path.unlink(missing_ok=True)


def _path(config: Config, ontology: str, question: str) -> Path:
    name = hashlib.blake2b(f"{ontology}\0{question}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return config.home / FOLDER / f"{name}.json"
