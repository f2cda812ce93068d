"""Marks at the beginning of each page or slide in a document's readable Markdown, to which links lead: ``#page-7``.

Every page has one, so that their size follows from the number of pages alone. A page without text of its own has its
mark where the next one begins, and at the end of a document where the last page with text does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgfs.domain.places import Place

_MARKED: Mapping[str, str] = {
    "application/pdf": "page",
    "image/tiff": "page",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "slide",
}
"""What is marked in documents of a media type, by its name in a locator."""
_LINKED = ("page", "slide", "message")
"""What a fragment leads to. Messages have no marks: they have headings, which are called as they are."""
_NO_TEXT = "\n\ufeff"  # a byte order mark stays the first character, because it is not shown


def has_marks(media_type: str, pages: int) -> bool:
    """Return whether the readable form of such a document has marks. ``pages`` is the number of its pages or slides."""
    return pages > 0 and media_type in _MARKED


def size(media_type: str, pages: int) -> int:
    """Return the bytes that the marks take."""
    if not has_marks(media_type, pages):
        return 0
    kind = _MARKED[media_type]
    digits: int = sum(pages - 10**n + 1 for n in range(len(str(pages))))
    return pages * (len(_mark(kind, 1)) - 1) + digits


def with_marks(text: str, media_type: str, pages: int, places: Sequence[Place]) -> str:
    """Return the Text of a document with its marks, each in a paragraph of its own."""
    if not has_marks(media_type, pages):
        return text
    kind = _MARKED[media_type]
    found: dict[int, int] = {}
    for at, place in places:
        number = place.get(kind)
        start = _beginning(text, at)
        if isinstance(number, int) and 1 <= number <= pages and start < len(text):
            found.setdefault(number, start)
    starts = [0] * pages
    behind = max(found.values(), default=0)
    for number in range(pages, 0, -1):
        behind = starts[number - 1] = min(behind, found.get(number, behind))
    out, last = [], 0
    for number, start in enumerate(starts, 1):
        out += [text[last:start], _mark(kind, number)]
        last = start
    return "".join([*out, text[last:]])


def fragment(locator: Mapping[str, str | int]) -> str:
    """Return the end of a link that leads to a place within a readable form; '' where it has no mark for that."""
    return next((f"#{kind}-{locator[kind]}" for kind in _LINKED if kind in locator), "")


def _mark(kind: str, number: int) -> str:
    return f'<a id="{kind}-{number}"></a>\n\n'


def _beginning(text: str, at: int) -> int:
    """Return where the text of a page begins: its place may lie before the blank line that parts it from the former page."""
    while at < len(text) and text[at] in _NO_TEXT:
        at += 1
    return at
