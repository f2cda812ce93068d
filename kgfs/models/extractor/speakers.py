"""Who speaks in a document: the names before a colon or dash that its turns begin with, and those that its list of persons has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from kgfs.domain.identity import normalise_label
from kgfs.models.extractor.prose import SPOKEN_LEAD, lines_of

SPEAKER = 3
"""How often a lead stands that is a speaker."""
_PEOPLE = re.compile(
    r"[\s#*_]*(?:list of )?(?:attend(?:ees|ance|ing|ants)|participants|(?:people |members )?present|(?:\w+ ){0,3}in attendance(?: were)?)[\s*_]*"
    r"(?:\([^()\n]*\)[\s*_]*)?(?::(?P<names>[^\n]*))?",
    re.IGNORECASE,
)
"""The heading of a list of persons, or a field that has it."""
_NAME = re.compile(
    r"[*_@]*(?P<name>[^\W\d_][\w.'’-]+(?: [\w.'’-]+){0,3})[*_]*(?:\s*\((?:@?(?P<handle>[\w.-]+)|[^()\n]*)\)|\s+-?\s*@(?P<at>[\w-]+))?[*_]*"
)
_WORD = re.compile(r"\w+")
_REMARK = re.compile(r"\S+\s+\S")
_INDENT = "    "
_LIST = 3
"""The fewest bare items that are a list of persons where two of them speak."""


def speakers_told(words: str) -> tuple[str, ...]:
    """Return the normalised names of those who speak in a document, or are listed as present, in order.

    A lead that stands SPEAKER times speaks; a name below a heading such as "Attendees" does, and each of a list of bare names
    two of which speak.
    """
    leads: Counter[str] = Counter()
    lists: list[list[str]] = []
    listed: list[str] = []
    inside = False
    for kind, lines in lines_of(words):
        if kind != "item" and lines[0].startswith(_INDENT):
            continue  # code without marks: "    name: str = find()"
        lines = [line.strip() for line in lines]
        counted = lines if all(SPOKEN_LEAD.match(line) for line in lines) else lines[:1]
        leads.update(lead for line in counted if (lead := _lead(line)))
        people = _PEOPLE.fullmatch(lines[0]) if kind != "item" else None
        if people:
            inside = True
            listed += _names((people["names"] or "").split(","))
            if lines[1:]:  # a heading without a mark, its list on the next lines
                listed += _names(lines[1:])
        elif kind == "item" and len(lines) == 1 and (names := _names(lines)):
            lists[-1:] = [[*lists[-1], *names]] if lists else [names]
            listed += names if inside else []
        else:
            inside = False
            lists.append([])
    often = [lead for lead, count in leads.items() if count >= SPEAKER]
    speaking = {*often}
    named = [name for names in lists if len(names) >= _LIST and len(speaking & {*names}) > 1 for name in names]
    return tuple(dict.fromkeys((*often, *listed, *named)))


def named_in(text: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """Return the speakers whom a text names."""
    said = f" {' '.join(_WORD.findall(text.casefold()))} " if speakers else ""
    return tuple(name for name in speakers if f" {' '.join(_WORD.findall(name))} " in said)


def _lead(line: str) -> str:
    """Return the normalised lead of a line with a remark; '' if there is none. Of several words, only one before a colon is."""
    found = SPOKEN_LEAD.match(line)
    if found is None or not _REMARK.match(line, found.end()) or (" " in found["lead"] and ":" not in found[0]):
        return ""
    return normalise_label(found["lead"])


def _names(pieces: Iterable[str]) -> list[str]:
    """Return the normalised names and handles of those pieces that are a name, with or without a handle."""
    found = [match for piece in pieces if (match := _NAME.fullmatch(piece.strip(" \t.;")))]
    return [normalise_label(name) for one in found for name in one.groups() if name]
