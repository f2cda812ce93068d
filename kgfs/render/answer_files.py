"""The files of ``ask/<question>/``: ``answer.md`` for people, ``answer.json`` for programs, and ``context.md``, the
Sources that were looked at, with the headers that a language model is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from kgfs.domain.places import Locator
from kgfs.render.answer import ValidatedCitation, plain, sources_of
from kgfs.render.answer_context import NOT_FOUND, AnswerSource, context
from kgfs.render.words import json_page, rendered, time_of

PENDING, DONE, NOT_THERE, FAILED = "pending", "done", "not_found", "failed"
"""The states of an answer."""
MISSING = 4
"""The number of words found nowhere near that an answer names, the heaviest first."""


@dataclass(frozen=True, slots=True)
class ShownQuote:
    """A sentence that answers. ``text`` is exactly ``text[char_start:char_end]`` of its document's Text."""

    index: int
    """The number of its citation."""
    chunk_id: str
    doc_id: str
    ontology: str
    """The ontology's name."""
    document: str
    """The present path of the document, below the ontology's folder."""
    title: str
    text: str
    char_start: int
    char_end: int
    line_start: int
    line_end: int
    page: int | None
    section_path: tuple[str, ...]
    score: float
    locator: Locator = field(default_factory=dict)
    """Where in the original it begins: page, slide, sheet and row, message or cell; empty where it has none."""


@dataclass(frozen=True, slots=True)
class ShownStatement:
    """A sentence that a language model wrote."""

    text: str
    chunk_ids: tuple[str, ...]
    quotes: tuple[str, ...]
    """The sentences of the documents that it rests on."""
    line: int


@dataclass(frozen=True, slots=True)
class AnswerPage:
    question: str
    ontology: str
    """The name of the ontology that was asked; '' for all."""
    state: str
    response: str
    """The sentences, a paragraph for each document, with ``[C:chunk_id]`` behind each."""
    quotes: tuple[ShownQuote, ...]
    citations: tuple[ValidatedCitation, ...]
    invalid_citations: tuple[str, ...]
    missing_archives: tuple[str, ...]
    needs_retry: bool
    looked: tuple[AnswerSource, ...]
    epoch: int
    asked_at: int
    """Nanoseconds; 0 while it is pending."""
    only_text: str
    surety: float
    missing: tuple[str, ...]
    reason: str
    saved: bool
    """Whether the answer was kept for a saved question, so that it may be of an earlier epoch."""
    statements: tuple[ShownStatement, ...] = ()
    """What a language model answered, with ``quotes`` as what that rests on; none where the quotes are the answer."""
    model: str = ""
    """The language model that answered."""
    trouble: str = ""
    """Why it did not."""
    intent: Mapping[str, Any] | None = None


def answer_md(page: AnswerPage, up: str) -> bytes:
    """Return ``answer.md``. ``up`` leads from its folder to the mount: ``../../``. No ``[C:`` stands in it."""
    body = {PENDING: _pending, DONE: _done, NOT_THERE: _not_found, FAILED: _failed}[page.state](page, up)
    end = f"\nAnswered {time_of(page.asked_at)}, from epoch {page.epoch}.\n" if page.saved and page.asked_at else ""
    ways = f"Without the language model: {plain(page.trouble)}\n\n" if page.trouble else ""
    ways += f"By words only: {plain(page.only_text)}\n\n" if page.only_text else ""
    return rendered(f"# {plain(page.question)}\n\n{ways}{body}{end}")


def _pending(page: AnswerPage, up: str) -> str:
    return "The answer is being worked out. Read this file again in a moment.\n"


def _failed(page: AnswerPage, up: str) -> str:
    return f"The question could not be answered: {plain(page.reason)}\n"


def _not_found(page: AnswerPage, up: str) -> str:
    words = ", ".join(f"“{plain(word)}”" for word in page.missing[:MISSING])
    why = f" Near what comes closest there is no {words}." if words else ""
    if page.model:
        why = f" So says {plain(page.model)}: {plain(page.reason) or 'none of the sources that it was shown says it'}."
    return f"{NOT_FOUND}.{why}\n\n[What was looked at](context.md)\n"


def _done(page: AnswerPage, up: str) -> str:
    if page.model:
        return _written(page, up)
    out: list[str] = []
    last = ""
    for quote in page.quotes:
        if quote.doc_id != last:
            folder = "" if page.ontology else f"{quote.ontology}/"
            title = plain(quote.title) or plain(f"{folder}{quote.document}")
            out.append(f"{'' if not out else chr(10)}**{_ASTERISK.sub(_escaped, title)}**\n\n")
        out.append(f"- {_said(quote.text)} [{quote.index}]\n")
        last = quote.doc_id
    return f"{''.join(out)}{sources_of(page.citations, up)}\n[What was looked at](context.md)\n"


def _written(page: AnswerPage, up: str) -> str:
    """Return what a model wrote, with numbers for its citations, and below it the sentences that it rests on."""
    numbers = {one.chunk_id: one.index for one in page.citations}
    said = "\n".join(
        " ".join(f"{plain(one.text)}{''.join(f' [{numbers[at]}]' for at in one.chunk_ids)}" for one in line)
        for line in _lines(page.statements)
    )
    rests = "".join(f"- {_said(quote.text)} [{quote.index}]\n" for quote in page.quotes)
    end = f"\nWritten by {plain(page.model)}. [What it was shown](context.md)\n"
    return f"{said}\n\nIt rests on:\n\n{rests}{sources_of(page.citations, up)}{end}"


def _lines(statements: Sequence[ShownStatement]) -> list[list[ShownStatement]]:
    return [list(line) for _, line in groupby(statements, key=lambda one: one.line)]


def response_written(statements: Sequence[ShownStatement]) -> str:
    """Return the sentences that a model wrote, each with its citations behind it, line by line."""
    return "\n".join(
        " ".join(f"{plain(one.text)} {''.join(f'[C:{at}]' for at in one.chunk_ids)}" for one in line)
        for line in _lines(statements)
    )


def _said(quote: str) -> str:
    """Return a quote on one line, without the marks of quoted lines."""
    return plain(_QUOTE_MARK.sub("\n", quote))


_QUOTE_MARK = re.compile(r"\n[ \t]*>[ \t>]*")
_ASTERISK = re.compile(r"[*\\]")


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def answer_json(page: AnswerPage) -> bytes:
    return json_page(as_data(page))


def as_data(page: AnswerPage) -> dict[str, Any]:
    """Return the fields of ``answer.json``, which ``kgfs ask --json`` prints too."""
    return {
        "question": page.question,
        "ontology": page.ontology or None,
        "state": page.state,
        "response": page.response,
        "citations": [asdict(citation) for citation in page.citations],
        "invalid_citations": list(page.invalid_citations),
        "missing_archives": list(page.missing_archives),
        "needs_retry": page.needs_retry,
        "had_invalid_citations": bool(page.invalid_citations),
        "quotes": [asdict(quote) for quote in page.quotes],
        "sentences": [
            {"text": one.text, "chunk_ids": list(one.chunk_ids), "quotes": list(one.quotes)} for one in page.statements
        ],
        "model": page.model or None,
        "without_model": page.trouble or None,
        "intent": dict(page.intent) if page.intent else None,
        "missing": list(page.missing),
        "surety": page.surety,
        "by": ["full text"] if page.only_text else ["full text", "meaning"],
        "only_text": page.only_text or None,
        "epoch": page.epoch,
        "asked_at": time_of(page.asked_at) if page.asked_at else None,
        "reason": page.reason or None,
    }


def context_md(page: AnswerPage) -> bytes:
    """Return ``context.md``: the Sources below their headers, parted by ``---``; a sentence where there are none."""
    return rendered(f"{context(page.looked)}\n" if page.looked else _nothing(page.state))


def _nothing(state: str) -> str:
    return "The answer is being worked out.\n" if state == PENDING else "No Source was looked at.\n"


def response_of(quotes: Sequence[tuple[str, str, str]]) -> str:
    """Return the sentences with their citations, given as (doc_id, chunk_id, text): a paragraph for each document."""
    out: list[str] = []
    for place, (doc_id, chunk_id, text) in enumerate(quotes):
        if place:
            out.append("\n" if quotes[place - 1][0] == doc_id else "\n\n")
        out.append(f"{_said(text)} [C:{chunk_id}]")
    return "".join(out)
