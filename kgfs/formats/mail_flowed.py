"""Paragraphs of mails that are broken into lines for the way only (``format=flowed``, RFC 3676)."""

from __future__ import annotations

import re

_MARKS = re.compile(r"(>*) ?(.*)", re.DOTALL)
_SIGNATURE = "-- "


def unflowed(words: str, without_space: bool) -> str:
    """Return a text with the lines joined that are one paragraph of one depth of quotation.

    ``without_space`` is the parameter ``delsp``: the space that says that a line goes on is none of the words.
    """
    joined: list[str] = []
    open_at = -1
    """The depth of quotation of the last line if it goes on, else -1."""
    for line in words.split("\n"):
        found = _MARKS.fullmatch(line)
        assert found is not None
        depth, text = len(found[1]), found[2]
        goes_on = text.endswith(" ") and text != _SIGNATURE
        kept = text[:-1] if goes_on and without_space else text
        if depth == open_at and text and text != _SIGNATURE:
            joined[-1] += kept
        else:
            joined.append(f"{found[1]} {kept}" if depth else kept)
        open_at = depth if goes_on else -1
    return "\n".join(line if line == _SIGNATURE else line.rstrip(" ") for line in joined)
