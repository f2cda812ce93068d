"""The language model of a home: whether it works, what it was used for, and the Records of its answers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
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
_SHOWN: Mapping[str, Any] = {
    **dict.fromkeys(("extractor", "model", "prompt_hash"), ""),
    "outcome": "answer",
    "reason": "",
    "attempt": 1,
    "created_at": 0,
    "prompt_tokens": 0,
    "completion_tokens": 0,
    "raw_output": "",
}
"""What is shown of a Record, with what it is where the Record does not say it."""


def llm_usage(config: Config) -> dict[str, Any]:
    """Return what the language model was used for: ``total``, ``days`` and ``runs``, and ``outcomes`` of requests."""
    return read(config.home)


def examine_model(config: Config) -> Iterator[tuple[str, str, str]]:
    """Ask the configured model a question, and yield what is found: the level (``ok``, ``note`` or ``missing``), the finding and
    its remedy. Yield nothing where none is configured."""
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
        yield "missing", str(error), "Mend [llm] in config.toml."
        return
    if attempt.outcome == REJECTED:
        yield "missing", f"{attempt.model} rejected a question: {attempt.reason}.", "Mend [llm]."
        return
    speed = attempt.completion_tokens / spent if spent else 0.0
    answered = f"{attempt.model} answered in {spent:.1f} s ({speed:.0f} tokens a second), with response format"
    room = f"prompt and answer may have {settings.context_tokens:,} tokens"
    yield "ok", f"{answered} {attempt.response_format}; {room}.", ""
    try:
        json_object(attempt.text)
    except KgfsError as error:
        yield "note", f"Its answer was no JSON: {error}.", "A larger model, or a server with JSON schemas."
    if is_open_to_others(settings.base_url, settings.base_url.startswith(("https", "local:"))):
        yield "note", "Documents and the key go to it unencrypted.", "Use https in llm.base_url."
    extractor = config.models.extractor
    if needs_llm(extractor):
        yield "ok", f"New documents are read with it (models.extractor = '{extractor}').", ""
    else:
        other = "Set models.extractor = 'llm' or 'llm+grammar'; for documents that are there: kgfs regenerate --extractor llm"
        yield "note", f"It reads no documents: models.extractor is '{extractor}'.", other


def records_of(config: Config, words: str) -> list[dict[str, Any]]:
    """Return the Records of a document, which a path, a doc_id or a chunk_id names, in the order in which they were made.

    ``created_at`` is in nanoseconds; ``parsed_output`` is '' where the Record is of no language model or could not be parsed. Raise
    MissingError where nothing has that name.
    """
    from kgfs.ingest.reading.records import rows

    with open_home(config, make=False) as stores:
        found = find_document(stores, config.run, words)
        if found.document is None:
            raise MissingError(f"{words}: no document.")
        kept = list(rows(stores.garage.objects, found.document.doc_id))
        parsed = {row["of"]: json.dumps(row["parsed_output"], ensure_ascii=False) for _, row in kept if "of" in row}
        shown = [
            {"key": key}
            | {name: row.get(name, unless) for name, unless in _SHOWN.items()}
            | {"parsed_output": parsed.get(key, "")}
            for key, row in kept
            if "of" not in row
        ]
        return sorted(shown, key=lambda one: (one["created_at"], one["attempt"]))
