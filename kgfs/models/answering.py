"""The prompts with which a language model answers a question from Sources, or says what the question is after."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgfs.errors import BadInputError
from kgfs.models.contract import Tokens
from kgfs.models.extractor.llm import LONGEST_PROMPT, json_object, prompt_text
from kgfs.models.llm import Prompt
from kgfs.render.answer_context import SEPARATOR
from kgfs.render.words import fold
from kgfs.settings import Llm

ANSWER, INTENT = KINDS = ("answer", "intent")
LONGEST_ANSWER: Mapping[str, int] = {ANSWER: 800, INTENT: 300}
"""Tokens of an answer at most. One to three sentences, with ids, take a third of it."""
INTENTS = ("educational", "persuasive", "contrarian", "comparative", "procedural")
STAGES = ("awareness", "consideration", "decision", "retention", "unknown")
EXPANSIONS = 5

_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "intent": {"enum": list(INTENTS)},
        "domain": {"type": "string"},
        "funnel_stage": {"enum": list(STAGES)},
        "expansions": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["intent", "funnel_stage", "expansions"],
}


@dataclass(frozen=True, slots=True)
class Composed:
    """A request, and what of the blocks it shows."""

    prompt: Prompt
    shown: tuple[int, ...]
    prompt_hash: str
    """Of the rules, without blocks and question."""


def compose(
    kind: str,
    blocks: Sequence[str],
    question: str,
    hint: str,
    *,
    settings: Llm,
    prompts: Path | None,
    tokens: Tokens,
) -> Composed:
    """Return the request of a kind: the blocks first, as many as fit, then rules and question. ``hint`` ends it.

    Raise BadInputError for another kind, where the user's prompt cannot be read, and where not even the question fits.
    """
    if kind not in KINDS:
        raise BadInputError("this question is not known")
    rules = prompt_text(kind, prompts)
    longest = min(settings.max_tokens, LONGEST_ANSWER[kind], settings.context_tokens // 4)
    room = min(LONGEST_PROMPT, settings.context_tokens - longest)
    asked = f"Question: {fold(question)}"
    system = f"{rules}\n\n{asked}" if kind == ANSWER else rules
    system = f"{system}\n{hint.strip()}" if hint.strip() else system
    shown = _fitting(blocks, room - tokens.count(f"{system}{asked}{_SCHEMA}"), tokens.counts)
    above = SEPARATOR.join(blocks[at] for at in shown)
    user = f"{above}{SEPARATOR.rstrip()}" if kind == ANSWER else "\n".join(filter(None, (above, asked)))
    prompt = Prompt(system, user, longest, None if kind == ANSWER else _SCHEMA, rules_last=True)
    return Composed(prompt, shown, hashlib.sha256(f"{kind}\n{rules}".encode()).hexdigest()[:16])


def _fitting(blocks: Sequence[str], room: int, counts: Callable[[Sequence[str]], list[int]]) -> tuple[int, ...]:
    """Return the blocks that fit, whole ones alone. A block that does not leaves its room to those behind it."""
    if room < 0:
        raise BadInputError("the question is too long for the language model")
    shown: list[int] = []
    for at, count in enumerate(counts([f"{block}{SEPARATOR}" for block in blocks]) if blocks else ()):
        if count <= room:
            shown.append(at)
            room -= count
    return tuple(shown)


def read_intent(raw: str) -> dict[str, Any]:
    """Return what a model says a question is after: ``intent``, ``domain``, ``funnel_stage``, ``expansions``. What is none of
    the known words is left out. Raise BadInputError where the answer is no JSON object."""
    body = json_object(raw)
    listed = body["expansions"] if isinstance(body.get("expansions"), list) else []
    expansions = [fold(one) for one in listed if isinstance(one, str) and one.strip()]
    return {
        "intent": body["intent"] if body.get("intent") in INTENTS else "",
        "domain": fold(body["domain"]) if isinstance(body.get("domain"), str) else "",
        "funnel_stage": body["funnel_stage"] if body.get("funnel_stage") in STAGES else "unknown",
        "expansions": expansions[:EXPANSIONS],
    }
