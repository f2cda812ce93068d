"""Persons of whom a document says what they do: their role, or the action items that they own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.models.extractor import junk
from kgfs.models.extractor.prose import DECIDES, Prose

if TYPE_CHECKING:
    from spacy.tokens import Doc

_WORD = r"[^\W\d_a-z][^\W\d_]*(?:['’.-][^\W\d_]+)*\.?"
_NAME = rf"{_WORD}(?: {_WORD}){{0,2}}"
_FULL = rf"{_WORD}(?: {_WORD}){{1,2}}"
_OWNER = re.compile(
    rf"(?:@(?P<handle>[\w-]+)\s+\S|(?P<name>{_NAME})\s+(?:to|will|shall|must|should|needs to|has to)\s+[a-z])"
)
"""Who does what an action item says: "Ann to …", "@ann …"."""
_DATED = re.compile(
    r"\b(?:by|before|until|on)\s+(?:the\s+)?(?:end of\s+)?(?:next\s+)?(?:mon|tue|wed|thu|fri|sat|sun|week|month|quarter|tomorrow|jan|feb|mar|apr"
    r"|may|jun|jul|aug|sep|oct|nov|dec|\d)",
    re.IGNORECASE,
)
_BEHIND = re.compile(rf"(?:\(|[-–—]\s|owner:\s*)@?(?P<name>{_NAME})(?:\s*[,;][^()\n]*)?\)?[\s.]*$", re.IGNORECASE)
"""The owner behind an action item: "… (Ann)", "… - Ann, by Friday"."""
_ROLE = re.compile(rf"(?P<name>{_FULL})\s*(?:\((?P<role>[^()\d@]+)\)|,\s+(?:the|our|a|an)\s+\S)")
_HELD = re.compile(rf"(?P<name>{_FULL})[\s.]*")
_MOST_WORDS_OF_A_ROLE = 6


@dataclass(frozen=True, slots=True)
class Person:
    """A person as one block of the prose tells of them."""

    name: str
    role: bool
    """Whether it states their role. Else it is an action item that they own."""


def told(block: Prose, read: Doc) -> Iterator[Person]:
    """Yield the persons of whom a paragraph or an item says what they do. ``read`` is its grammar."""
    if block.kind not in ("paragraph", "item"):
        return
    action = bool(block.lead) and DECIDES.fullmatch(block.lead) is not None
    owner = _OWNER.match(block.text)
    if owner and not (action or owner["handle"] or _DATED.search(block.text)):
        owner = None
    behind = _BEHIND.search(block.text) if action and owner is None else None
    if owner or behind:
        name = owner["handle"] or owner["name"] if owner else behind["name"] if behind else ""
        if not junk.reason(name) and name.casefold() not in junk.STOP_WORDS:
            yield Person(name, role=False)
    elif block.lead and not action and " " in block.lead and not block.lead.istitle() and _HELD.fullmatch(block.text):
        yield Person(block.text.strip(" ."), role=True)  # "Project lead: Ann Smith"
    elif (found := _ROLE.match(block.text)) and (found["role"] is None or _is_role(found, read)):
        yield Person(found["name"], role=True)


def _is_role(found: re.Match[str], read: Doc) -> bool:
    """Return whether the words in brackets behind a name are a role: no state, as in "(sick)", and no affiliation, which is one
    name: "(TSC)"."""
    words = read.char_span(*found.span("role"))
    if words is None or len(words) > _MOST_WORDS_OF_A_ROLE or words.root.pos_ not in ("NOUN", "PROPN"):
        return False
    return len(words) > 1 or words.text.islower()
