"""Find positions between clusters of characters that belong together."""

from __future__ import annotations

import unicodedata

_REACH = 32
"""A cluster longer than this many characters is cut: a page of combining marks is no character."""

_JOINER = "\u200d"


def joined(content: str, at: int) -> bool:
    """Return whether a cut before ``content[at]`` would split a cluster of characters.

    Clusters are a CRLF pair, a base character and its marks, an emoji sequence, and the two halves of a surrogate
    pair. This is a light form of Unicode's grapheme clusters (UAX 29).
    """
    before, here = content[at - 1], content[at]
    if here < "\u0300":
        return before == "\r" and here == "\n"
    if before == _JOINER or here == _JOINER or unicodedata.category(here).startswith("M"):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff" or "\U000e0020" <= here <= "\U000e007f":
        return True
    if "\U0001f1e6" <= here <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff":
        return _flag_letters_before(content, at) % 2 == 1
    if "\udc00" <= here <= "\udfff":
        return "\ud800" <= before <= "\udbff"
    return "\u1160" <= here <= "\u11ff" and "\u1100" <= before <= "\u11ff"


def _flag_letters_before(content: str, at: int) -> int:
    count = 0
    while count < min(at, _REACH) and "\U0001f1e6" <= content[at - count - 1] <= "\U0001f1ff":
        count += 1
    return count


def cluster_border(content: str, at: int, start: int, end: int) -> int:
    """Return a position near ``at`` that splits no cluster; ``at`` if none is near.

    The position is after ``start`` and at most ``end``.
    """
    for border in range(at, max(start, at - _REACH), -1):
        if not joined(content, border):
            return border
    for border in range(at + 1, min(end, at + _REACH)):
        if not joined(content, border):
            return border
    return at if end - at > _REACH else end
