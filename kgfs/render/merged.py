"""Merge Sources of one document into what is read of it: exact slices, with gaps named [CHUNKS 2].

Sources partition the Text, so adjacent ones joined are a slice of it. Indices count from 0, numbers in words from 1.
All functions are pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SHOWN = 5000
"""The most characters of a document that a person is shown [CHUNKS: 3,000–5,000]."""
LEAST = 80
"""A part that would be cut to fewer characters is left out."""

_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*(?=\s|$)|\n\s*\n")  # full-width stops of CJK
_MARGIN = 40
"""Room for the words between two parts."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One Source. ``matched`` is False for a neighbour, which is shown for context only; its score is 0."""

    index: int
    text: str
    score: float = 0.0
    matched: bool = False
    begins: bool = False
    """Whether it begins a further segment of a transcript: a line end parts it from the text before."""


def omitted(first: int, last: int) -> str:
    """Return ``[... chunk 4 omitted ...]`` or ``[... chunks 4-7 omitted ...]`` for the indices from ``first`` to ``last``."""
    return f"[... {_numbers('chunk', 'chunks', first, last)} omitted ...]"


def full_content(pieces: Sequence[Piece]) -> str:
    """Return the pieces, in order of index, joined. A line names what is missing between two of them."""
    parts = [piece.text for piece in pieces[:1]]
    for before, piece in pairwise(pieces):
        if piece.index > before.index + 1:
            parts.append(f"\n{omitted(before.index + 1, piece.index - 1)}\n")
        elif piece.begins:
            parts.append("\n")
        parts.append(piece.text)
    return "".join(parts)


def coverage(indices: Sequence[int], count: int) -> str:
    """Return ``chunks 1-3,7-9 of 12`` for the given indices, in order, of ``count`` Sources."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    numbers = ",".join(str(first + 1) if first == last else f"{first + 1}-{last + 1}" for first, last in runs)
    return f"{'chunk' if len(indices) == 1 else 'chunks'} {numbers} of {count}"


@dataclass(frozen=True, slots=True)
class Part:
    """What is shown of a piece: its text or the start of it; ``text`` is '' where nothing of it is shown."""

    piece: Piece
    text: str

    @property
    def whole(self) -> bool:
        return len(self.text) == len(self.piece.text)


def weighted(pieces: Sequence[Piece], room: int = SHOWN) -> list[Part]:
    """Return what is shown of each piece, in order: matched ones whole, neighbours by their first sentence.

    All parts together, with the words between them, have at most ``room`` characters. The best match is served first,
    so that what scores lowest is cut or left out.
    """
    shown: dict[int, str] = {}
    for piece in sorted(pieces, key=lambda piece: (not piece.matched, -piece.score, piece.index)):
        left = room - _MARGIN
        wanted = piece.text if piece.matched else piece.text[: _first_sentence(piece.text)]
        text = wanted if len(wanted) <= left else _cut(wanted, left)
        if not text.strip() or (len(text) < LEAST and len(text) < len(wanted)):
            text = ""
        shown[piece.index] = text
        room -= len(text) + (_MARGIN if text else 0)
    return [Part(piece, shown[piece.index]) for piece in pieces]


def _first_sentence(text: str) -> int:
    """Return the end of the first sentence that says something, or of the text."""
    for found in _SENTENCE_END.finditer(text):
        if text[: found.end()].strip(" \n#*=-_~>|."):
            return found.end()
    return len(text)


def _cut(text: str, length: int) -> str:
    """Return the start of a text, at most ``length`` characters, up to the end of a word."""
    if length <= 0:
        return ""
    head = text[:length]
    end = max(head.rfind(" "), head.rfind("\n"))
    return head[:end] if end > length // 2 else head


def _numbers(one: str, many: str, first: int, last: int) -> str:
    return f"{one} {first + 1}" if first == last else f"{many} {first + 1}-{last + 1}"
