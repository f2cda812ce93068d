"""What the language model was asked and what that cost: counts by day and by run, and the limits on them.

One file of the home, written after each request by the worker, who alone asks. Days are those of UTC.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgfs.errors import UnavailableError
from kgfs.stores.run_files import write_note

if TYPE_CHECKING:
    from kgfs.models.llm import Attempt
    from kgfs.settings import Llm

DAYS, RUNS = 31, 100
"""Days and runs that are remembered one by one."""
FILE = "llm-usage.json"
_KINDS = ("requests", "prompt_tokens", "completion_tokens", "cost")


class Usage:
    """The counts of one home. Any thread of the worker may call."""

    def __init__(self, home: Path, settings: Llm) -> None:
        self._path, self._settings, self._lock = home / FILE, settings, threading.Lock()
        self._counts = read(home)
        self._reserved = 0.0
        self._run = threading.local()

    def of_run(self, run: str) -> None:
        """Count the requests of the calling thread to a run from now on; '' for none."""
        self._run.id = run

    def begin(self, tokens: int) -> None:
        """Reserve about so many tokens of a prompt. Raise UnavailableError where a limit is reached."""
        with self._lock:
            self._check("day", self._settings.day_limit, self._counts["days"].get(_today(), {}))
            if run := getattr(self._run, "id", ""):
                self._check("run", self._settings.run_limit, self._counts["runs"].get(run, {}))
            self._reserved += self._price(tokens)

    def end(self, tokens: int, attempt: Attempt) -> None:
        """Replace a reservation by what the attempt used. Counted on return."""
        with self._lock:
            self._reserved = max(0.0, self._reserved - self._price(tokens))
            prompt = attempt.prompt_tokens or (tokens if attempt.status == 200 else 0)
            used = (1, prompt, attempt.completion_tokens, self._cost(prompt, attempt.completion_tokens))
            run = getattr(self._run, "id", "")
            rows = [self._counts["total"], self._counts["days"].setdefault(_today(), {})]
            rows += [self._counts["runs"].setdefault(run, {})] if run else []
            for row in rows:
                for kind, more in zip(_KINDS, used, strict=True):
                    row[kind] = round(row.get(kind, 0) + more, 8)
            outcomes = self._counts["outcomes"]
            outcomes[attempt.outcome] = outcomes.get(attempt.outcome, 0) + 1
            for name, most in (("days", DAYS), ("runs", RUNS)):
                for old in [*self._counts[name]][:-most]:
                    del self._counts[name][old]
            write_note(self._path, self._counts)

    def answered(self, shown: int, cited: int) -> None:
        """Count the claims on Sources that the model was shown to answer from, and on those that it cited. Counted on return."""
        with self._lock:
            for name, more in (("claims_shown", shown), ("claims_cited", cited)):
                self._counts["answers"][name] += more
            write_note(self._path, self._counts)

    def _check(self, what: str, limit: float, used: Mapping[str, float]) -> None:
        if not limit:
            return
        tokens = used.get("prompt_tokens", 0) + used.get("completion_tokens", 0)
        spent = used.get("cost", 0.0) if self._is_priced else tokens
        if spent + self._reserved >= limit:
            unit = "" if self._is_priced else " tokens"
            later = "Work goes on at midnight UTC, or" if what == "day" else "Work goes on"
            raise UnavailableError(
                f"The limit of the {what} for the language model is reached: {spent:g} of {limit:g}{unit}."
                f" {later} after a restart with a higher llm.{what}_limit."
            )

    @property
    def _is_priced(self) -> bool:
        return bool(self._settings.price_in or self._settings.price_out)

    def _cost(self, prompt: int, answer: int) -> float:
        return (prompt * self._settings.price_in + answer * self._settings.price_out) / 1e6

    def _price(self, prompt: int) -> float:
        return self._cost(prompt, 0) if self._is_priced else prompt


def read(home: Path) -> dict[str, Any]:
    """Return the counts of a home: ``total``, ``days`` and ``runs`` (requests, tokens, cost), ``outcomes`` of requests, and
    ``answers`` (claims shown and cited)."""
    empty: dict[str, Any] = {"total": {}, "days": {}, "runs": {}, "outcomes": {}}
    empty["answers"] = {"claims_shown": 0, "claims_cited": 0}
    with suppress(OSError, ValueError):
        found = json.loads((home / FILE).read_text("utf-8"))
        if isinstance(found, dict) and all(isinstance(found.get(name, {}), dict) for name in empty):
            return {**empty, **found}
    return empty


def _today() -> str:
    return datetime.fromtimestamp(time.time(), UTC).date().isoformat()
