"""The language model of a home: whether it works, what it was used for, and the Records of its answers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from kgfs.app.home import open_home
from kgfs.config import Config
from kgfs.errors import KgfsError, MissingError
from kgfs.models.extractor.table import needs_llm
from kgfs.stores.resolve import find_document
from kgfs.stores.servers import is_open_to_others
from kgfs.stores.usage import read

_TRIAL = (
    "You answer questions about kgfs in JSON.",
    "Is a copied file kept byte for byte? Answer yes or no, and give one short reason.",
)
_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "reason": {"type": "string"}},
    "required": ["answer"],
}


@dataclass(frozen=True, slots=True)
class ModelFinding:
    """One line about the language model."""

    level: str
    """``ok``, ``note`` or ``missing``."""
    found: str
    remedy: str = ""


def llm_usage(config: Config) -> dict[str, Any]:
    """Return what the language model was used for: ``total``, ``days`` and ``runs``, and ``outcomes`` of requests."""
    return read(config.home)


def examine_model(config: Config) -> Iterator[ModelFinding]:
    """Ask the configured model a question, and yield what is found. Yield nothing where none is configured."""
    settings = config.llm
    if not settings.base_url:
        return
    from kgfs.models.extractor.llm import json_object
    from kgfs.models.llm import REJECTED, Prompt, load

    try:
        with closing(load(settings)) as model:
            began = time.monotonic()
            attempt = model.ask(Prompt(*_TRIAL, 200, _SCHEMA))
            spent = time.monotonic() - began
    except KgfsError as error:
        yield ModelFinding("missing", str(error), "Mend [llm] in config.toml.")
        return
    if attempt.outcome == REJECTED:
        yield ModelFinding("missing", f"{attempt.model} rejected a question: {attempt.reason}.", "Mend [llm].")
        return
    speed = attempt.completion_tokens / spent if spent else 0.0
    yield ModelFinding(
        "ok",
        f"{attempt.model} answered in {spent:.1f} s ({speed:.0f} tokens a second), with response format"
        f" {attempt.response_format}; prompt and answer may have {settings.context_tokens:,} tokens.",
    )
    try:
        json_object(attempt.text)
    except KgfsError as error:
        yield ModelFinding(
            "note", f"Its answer was no JSON: {error}.", "A larger model, or a server with JSON schemas."
        )
    if is_open_to_others(settings.base_url, settings.base_url.startswith(("https", "local:"))):
        yield ModelFinding("note", "Documents and the key go to it unencrypted.", "Use https in llm.base_url.")
    if needs_llm(config.models.extractor):
        yield ModelFinding("ok", f"New documents are read with it (models.extractor = '{config.models.extractor}').")
    else:
        yield ModelFinding(
            "note",
            f"It reads no documents: models.extractor is '{config.models.extractor}'.",
            "Set models.extractor = 'llm' or 'llm+grammar'; for documents that are there: kgfs regenerate --extractor llm",
        )


@dataclass(frozen=True, slots=True)
class RecordShown:
    """One Record of a document."""

    key: str
    extractor: str
    model: str
    prompt_hash: str
    outcome: str
    reason: str
    attempt: int
    created_at: int
    """In nanoseconds."""
    prompt_tokens: int
    completion_tokens: int
    raw_output: str
    parsed_output: str
    """What it was parsed to, as JSON; '' where it is of no language model or could not be parsed."""

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def records_of(config: Config, words: str) -> list[RecordShown]:
    """Return the Records of a document, which a path, a doc_id or a chunk_id names, in the order in which they were made.

    Raise MissingError where nothing has that name.
    """
    from kgfs.ingest.reading.records import rows

    with open_home(config, make=False) as stores:
        found = find_document(stores, config.run, words)
        if found.document is None:
            raise MissingError(f"{words}: no document.")
        kept = list(rows(stores.garage.objects, found.document.doc_id))
        parsed = {row["of"]: row["parsed_output"] for _, row in kept if "of" in row}
        shown = [_shown(key, row, parsed.get(key)) for key, row in kept if "of" not in row]
        return sorted(shown, key=lambda one: (one.created_at, one.attempt))


def _shown(key: str, row: Mapping[str, Any], parsed: Any) -> RecordShown:
    return RecordShown(
        key,
        row.get("extractor", ""),
        row.get("model", ""),
        row.get("prompt_hash", ""),
        row.get("outcome", "answer"),
        row.get("reason", ""),
        row.get("attempt", 1),
        row.get("created_at", 0),
        row.get("prompt_tokens", 0),
        row.get("completion_tokens", 0),
        row.get("raw_output", ""),
        json.dumps(parsed, ensure_ascii=False) if parsed is not None else "",
    )
