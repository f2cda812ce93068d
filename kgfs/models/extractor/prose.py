"""The prose of a passage: its paragraphs without markup, with the position of each character in the passage.

Plain text, Markdown and reStructuredText are handled alike, by what lines look like. Code, tables, field lists,
comments and addresses are left out. Inline markup is removed and its words stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(slots=True)
class Prose:
    """One paragraph, list item, heading or term, as a person would read it aloud."""

    kind: str
    """paragraph, item, heading, or term (which the next block, its definition, explains)."""
    text: str = ""
    starts: list[int] = field(default_factory=list)
    """For each character of ``text``, the position in the passage where its original starts."""
    ends: list[int] = field(default_factory=list)
    """For each character of ``text``, the position in the passage where its original ends."""
    literal: list[tuple[int, int]] = field(default_factory=list)
    """Spans of ``text`` that were marked up as code."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the passage of the characters ``start:end`` of ``text``, which must not be empty."""
        return self.starts[start], self.ends[end - 1]


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str
    """The line without its line end and trailing white space."""

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


STAND_IN = "it"
"""The word that replaces code that cannot be read aloud, so that its sentence stays a sentence."""

_FENCE = re.compile(r"\s*(```|~~~)")
_RULE = re.compile(r"\s*([=\-~^\"'`#*+:.<>_])\1{2,}\s*$")
_TABLE_BORDER = re.compile(
    r"\s*(?:\+[-=+]{3,}\+|[=-]{2,}(?:\s+[=-]{2,})+|\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?)\s*$"
)
_ITEM = re.compile(r"\s*(?:[-*+•–]|\(?(?:\d{1,3}|[A-Za-z]|[ivx]{1,4})[.)])\s+(?=\S)")
_FIELD = re.compile(r"(?:[A-Z][A-Za-z-]{1,30}|:[^:`\n]{1,40}):(?:\s|$)")
_DIRECTIVE = re.compile(r"\s*\.\.(?:\s|$)")
_ADMONITION = re.compile(
    r"\s*\.\. (?:note|tip|hint|important|warning|caution|attention|danger|error|admonition|topic|sidebar|seealso|versionadded"
    r"|versionchanged|deprecated)::"
)
_HASH_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_CODE_LINE = re.compile(
    r"\s*(?:>>>|\.\.\. |\$ |#include|def \w+\(|class \w+.*:$|(?:from [\w.]+ )?import \w|return\b.*|if .*:$|else:|elif .*:$|for .*:$"
    r"|while .*:$|try:|except.*:$|finally:|with .*:$|raise \w|@\w|print\b|pass$|static \w|struct \w|typedef |int \w|void \w"
    r"|[}{]|</?\w|#|//|/\*)"
    r"|.*(?:[;{}]|\)\s*:|->.*:)\s*$"
    r"|\s*[\w.\[\]*\"', ]+\s*(?:[-+*/|&]?=|:=)\s*\S"
    r"|\s*[\w.]+\([^)]*\)\s*(?:#.*)?$"
)
_WORD = re.compile(r"[A-Za-z]{2,}")

_INLINE = re.compile(
    r"``(?P<literal>[^`]+(?:`[^`]+)*?)``"
    r"|:(?P<role>[A-Za-z][\w:+-]*):`(?P<named>[^`<]*?)\s*(?:<(?P<target>[^`>]*)>)?`"
    r"|`(?P<link>[^`<>]+?)\s*<[^`>]*>`__?"
    r"|`(?P<quoted>[^`]+)`(?:__?(?!\w))?"
    r"|(?P<note>\[(?:\d+|\#[\w-]*|\*|[A-Z][\w-]*)\]_)"
    r"|!?\[(?P<text>[^\]\[]+)\]\((?:[^()\s]|\([^()]*\))+(?:\s+\"[^\"]*\")?\)"
    r"|(?P<address><?(?:https?|ftp|file)://[^\s>]+>?|(?:mailto:)?[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<tag></?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>)"
    r"|(?<![\w*])(?P<stars>\*{1,3})(?P<starred>[^\s*](?:[^*]*[^\s*])?)(?P=stars)(?![\w*])"
    r"|(?<!\w)(?:_(?P<barred>[A-Za-z][^_]*[^\s_])_|__(?P<strong>[A-Za-z][^_]* [^_]*[^\s_])__)(?!\w)"
    r"|(?P<colons>::)(?=\s|$)"
    r"|(?<!\w)(?P<word>[^\W_]\w*?)(?P<trail>__?)(?=[\s.,;:)])"
    r"|(?P<space>\s+)"
)
_READABLE_CODE = re.compile(r"[\w.-]+(?:\(\))?(?: [\w.-]+){0,2}")


def prose_of(passage: str) -> list[Prose]:
    """Return the passage's prose in order."""
    found: list[Prose] = []
    for kind, lines in _blocks(passage):
        block = _read(kind, passage, lines)
        if _WORD.search(block.text):
            found.append(block)
    return found


# ------------------------------------------------------------------------------------------ structure


def _lines(passage: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    for raw in passage.split("\n"):
        text = raw.rstrip()
        lines.append(_Line(start, start + len(text), text))
        start += len(raw) + 1
    return lines


def _blocks(passage: str) -> Iterator[tuple[str, list[_Line]]]:
    fenced = False
    skip_deeper: int | None = None
    for group in _groups(_lines(passage)):
        kept: list[_Line] = []
        for line in group:
            if _FENCE.match(line.text):
                fenced = not fenced
            elif not fenced:
                kept.append(line)
        if not kept:
            continue
        if skip_deeper is not None:
            if kept[0].indent > skip_deeper:
                continue
            skip_deeper = None
        if _DIRECTIVE.match(kept[0].text):
            rest = kept[1:]
            if _ADMONITION.match(kept[0].text):
                yield from _paragraphs(rest)
            else:
                skip_deeper = kept[0].indent
            continue
        if _is_table(kept) or _is_fields(kept) or _is_code(kept):
            continue
        yield from _paragraphs(kept)
        if kept[-1].text.endswith("::"):
            skip_deeper = min(line.indent for line in kept)


def _groups(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield the groups of lines between blank lines."""
    group: list[_Line] = []
    for line in lines:
        if line.text.strip():
            group.append(line)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _paragraphs(lines: Sequence[_Line]) -> Iterator[tuple[str, list[_Line]]]:
    """Yield the units of a group: headings without their rules, list items, terms with definitions, paragraphs."""
    current: list[_Line] = []
    kind = "paragraph"
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else None
        if _RULE.match(line.text):
            continue
        underlined = following is not None and _RULE.match(following.text) and len(line.text.split()) <= 20
        hashed = _HASH_HEADING.match(line.text)
        item = _ITEM.match(line.text)
        if underlined or hashed:
            if current:
                yield kind, current
            yield "heading", [_cut(line, hashed.end() if hashed else 0)]
            current, kind = [], "paragraph"
        elif item:
            if current:
                yield kind, current
            current, kind = [_cut(line, item.end())], "item"
        elif not current and following is not None and _is_term(line, following):
            yield "term", [line]
            kind = "paragraph"
        else:
            current.append(line)
    if current:
        yield kind, current


def _cut(line: _Line, count: int) -> _Line:
    return _Line(line.start + count, line.end, line.text[count:])


def _is_term(line: _Line, following: _Line) -> bool:
    return (
        following.indent >= line.indent + 2
        and len(line.text.split()) <= 6
        and line.text[-1] not in ".,;:!?"
        and not _ITEM.match(following.text)
        and not _CODE_LINE.match(line.text)
    )


def _is_table(lines: Sequence[_Line]) -> bool:
    return any(_TABLE_BORDER.match(line.text) for line in lines) or (
        len(lines) > 1 and all(line.text.lstrip().startswith("|") for line in lines)
    )


def _is_fields(lines: Sequence[_Line]) -> bool:
    outer = [line for line in lines if line.indent == lines[0].indent]
    fields = sum(1 for line in outer if _FIELD.match(line.text.lstrip()))
    return fields == len(outer) and (fields > 1 or lines[0].text.lstrip().startswith(":"))


def _is_code(lines: Sequence[_Line]) -> bool:
    looks = sum(1 for line in lines if _CODE_LINE.match(line.text) or not _WORD.search(line.text))
    if lines[0].text.lstrip().startswith(">>>"):
        return True
    needed = 0.34 if lines[0].indent >= 4 else 0.6
    return looks >= needed * len(lines) and not all(_HASH_HEADING.match(line.text) for line in lines)


# --------------------------------------------------------------------------------------------- inline


def _read(kind: str, passage: str, lines: Sequence[_Line]) -> Prose:
    block = Prose(kind)
    parts: list[str] = []
    length = 0

    def keep(start: int, end: int) -> None:
        nonlocal length
        parts.append(passage[start:end])
        block.starts.extend(range(start, end))
        block.ends.extend(range(start + 1, end + 1))
        length += end - start

    def say(words: str, start: int, end: int) -> None:
        nonlocal length
        parts.append(words)
        block.starts.extend([start] * len(words))
        block.ends.extend([end] * len(words))
        length += len(words)

    def code(start: int, end: int, outer: tuple[int, int]) -> None:
        before = length
        if _READABLE_CODE.fullmatch(passage, start, end):
            keep(start, end)
        else:
            say(STAND_IN, *outer)
        block.literal.append((before, length))

    def read(start: int, end: int, depth: int = 0) -> None:
        done = start
        for found in _INLINE.finditer(passage, start, end):
            if found.start() > done:
                keep(done, found.start())
            done = found.end()
            groups = found.groupdict()
            if groups["space"] is not None:
                say(" ", found.start(), found.end())
            elif groups["colons"] is not None:
                say(":", found.start(), found.end())
            elif groups["literal"] is not None:
                code(*found.span("literal"), found.span())
            elif groups["role"] is not None:
                named = groups["named"].strip()
                if named.isdigit():
                    say(f"{groups['role'].upper()} {named}", *found.span())
                elif named:
                    inner = found.start("named") + len(groups["named"]) - len(groups["named"].lstrip("~!. "))
                    code(inner, found.start("named") + len(groups["named"].rstrip()), found.span())
                elif groups["target"]:
                    code(*found.span("target"), found.span())
            elif groups["word"] is not None:
                keep(*found.span("word"))
            else:
                for name in ("link", "quoted", "text", "starred", "barred", "strong"):
                    if groups[name] is not None and depth < 3:
                        read(*found.span(name), depth + 1)
        if done < end:
            keep(done, end)

    read(lines[0].start + lines[0].indent, lines[-1].end)
    block.text = "".join(parts)
    return block
