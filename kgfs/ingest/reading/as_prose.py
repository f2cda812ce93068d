"""What of a Text is read as prose, where that is not all of it; the rest is white space, so that offsets stay.

Of program source the comments are read; of logs and tables nothing is.
"""

from __future__ import annotations

import re

from kgfs.formats import delimited, log
from kgfs.formats.outline import Comment
from kgfs.formats.source import outline

UNREAD = frozenset((delimited.MEDIA_TYPE, log.MEDIA_TYPE))
"""Media types of which nothing is read as prose."""
_SPACE = re.compile(r"[ \t]+")
_SHOWN = re.compile(r"[^\r\n]+")
_MARK = re.compile(
    r"[ \t]*(?:/\*+[!<]*|\*+/|//[/!<]*|\*+(?=[ \t\r\n]|$)|#[#:]*(?=[ \t]|$)|[A-Za-z]{0,2}(?:\"\"\"|''')|[A-Za-z]{0,2}[\"'])"
)
_END = re.compile(r"(?:\*+/|\"\"\"|'''|[\"'])\s*\Z")
_TAG = re.compile(r"[ \t]*(?:[@\\][a-z]\w*\b|:(?:param|type|returns?|rtype|raises?|var|ivar|meta)\b[^:\n]*:)")
"""A field of documentation: its lines say of a parameter what no sentence does."""
_SPOKEN_TAG = re.compile(r"[ \t]*[@\\](?:brief|summary|desc|description|details|file|fileoverview|note|remark)\b")
"""A field whose words are sentences about what is documented."""
_SECTION = re.compile(
    r"[ \t]*(?:Args|Arguments|Parameters|Params|Raises|Returns|Yields|Keyword Args|Other Parameters|Throws|Attributes|Examples?):?[ \t]*\Z"
)
_RULER = re.compile(r"[ \t]*[-=*#~_/+.]{3,}[ \t]*\Z")
_INLINE = re.compile(
    r"\{@(?:code|link|linkplain|literal|inheritDoc|value)\b|(?<=\w)\}|</?[a-z]+/?>|(?<![\w\\])[@\\](?:p|c|a|ref|b|e)\b(?= )"
)


def prose_only(media_type: str, source: str) -> str:
    """Return the comments of program source, without their marks, at their places; of any other text all of it, but
    nothing of logs and tables."""
    if media_type in UNREAD:
        return _blank(source)
    found = outline(media_type, source)
    if found is None:
        return source
    pieces: list[str] = []
    at = 0
    for comment in found.comments:
        if comment.start < at:
            continue
        pieces += (_blank(source[at : comment.start]), prose(source, comment))
        at = comment.end
    pieces.append(_blank(source[at:]))
    return "".join(pieces)


def prose_told(media_type: str, source: str) -> str:
    """Return the comments of program source, one after the other, without marks and needless space; of any other text
    all of it, but nothing of logs and tables."""
    if media_type in UNREAD:
        return ""
    found = outline(media_type, source)
    if found is None:
        return source
    return "\n\n".join(_SPACE.sub(" ", prose(source, comment)).strip() for comment in found.comments)


def prose(source: str, comment: Comment) -> str:
    """Return the words of a comment with white space for its marks, its fields of parameters and its rulers."""
    words = source[comment.start : comment.end]
    if closing := _END.search(words, comment.marker - comment.start):
        words = words[: closing.start()] + _blank(closing[0])
    is_string = source[comment.start] not in "/#"
    lines: list[str] = []
    skipped: int | None = None
    for n, line in enumerate(words.split("\n")):
        mark = _MARK.match(line) if n == 0 or not is_string else None
        if mark:
            line = _blank(mark[0]) + line[mark.end() :]
        indent = len(line) - len(line.lstrip())
        inside = skipped is not None and bool(line.strip()) and indent > skipped
        if spoken := _SPOKEN_TAG.match(line):
            skipped = None
            line = _blank(spoken[0]) + line[spoken.end() :]
        elif (inside and not _TAG.match(line)) or _RULER.match(line):
            line = _blank(line)
        elif _TAG.match(line) or _SECTION.match(line):
            skipped = indent
            line = _blank(line)
        elif line.strip():
            skipped = None
        lines.append(_INLINE.sub(lambda found: _blank(found[0]), line))
    return "\n".join(lines)


def _blank(piece: str) -> str:
    return _SHOWN.sub(lambda found: " " * len(found[0]), piece)
