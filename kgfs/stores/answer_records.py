"""What a language model answered to questions: a file each below the home, beside the answers of saved questions.

A Record is begun before the model is asked, and names the documents whose text is asked about. A purge removes it by their
names, whether or not the answer has come: what is written afterwards goes with the removed file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kgfs.stores.garage.durable import os_errors
from kgfs.stores.saved_answers import FOLDER

DAYS = 30
"""Days after which a Record is removed."""


class AnswerRecord:
    """An open Record of one request. Each attempt is on the disk when :meth:`keep` returns."""

    def __init__(self, home: Path, doc_ids: Sequence[str], fields: Mapping[str, Any]) -> None:
        """Begin a Record with these fields, and remove the old ones."""
        at = time.time_ns()
        # The names of documents come first, so that they are there at every moment while the rest is written again.
        self._body: dict[str, Any] = {"doc_ids": list(doc_ids), **fields, "created_at": at, "attempts": []}
        name = hashlib.blake2b(json.dumps([at, os.getpid(), self._body]).encode(), digest_size=8).hexdigest()
        self.path = home / FOLDER / f"{datetime.now(UTC):%Y-%m-%d}-{name}.json"
        with os_errors(f"{self.path}: the Record cannot be stored"):
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            _remove_old(self.path.parent)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._write()

    def keep(self, attempt: Mapping[str, Any]) -> None:
        """Add an attempt."""
        self._body["attempts"].append(dict(attempt))
        self._write()

    def _write(self) -> None:
        with os_errors(f"{self.path}: the Record cannot be stored"):
            os.pwrite(self._file, json.dumps(self._body, indent=1).encode(), 0)
            os.fsync(self._file)

    def __enter__(self) -> AnswerRecord:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._file)


def _remove_old(folder: Path) -> None:
    oldest = f"{datetime.now(UTC) - timedelta(days=DAYS):%Y-%m-%d}"
    for path in folder.glob("????-??-??-*.json"):
        if path.name[: len(oldest)] < oldest:
            path.unlink(missing_ok=True)
