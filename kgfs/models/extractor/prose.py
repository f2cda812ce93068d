"""The prose of a passage: its paragraphs without markup, with the position of each character in the passage.

Plain text, Markdown and reStructuredText are handled alike, by what lines look like. Code, tables, field lists,
comments and addresses are left out. Inline markup is removed and its words stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from kgfs.domain.identity import normalise_label
from kgfs.models.extractor import junk
from kgfs.models.extractor.background import is_written_small


@dataclass(slots=True)
class Prose:
    """One paragraph, list item, heading or term, as a person would read it aloud."""

    kind: str
    """paragraph, item, heading, term (which the next block, its definition, explains), or row (of a table of few rows)."""
    text: str = ""
    starts: list[int] = field(default_factory=list)
    """For each character of ``text``, the position in the passage where its original starts."""
    ends: list[int] = field(default_factory=list)
    """For each character of ``text``, the position in the passage where its original ends."""
    literal: list[tuple[int, int]] = field(default_factory=list)
    """Spans of ``text`` that were marked up as code."""
    marks: list[tuple[int, int, str]] = field(default_factory=list)
    """Spans of ``text`` that the writer marked: ``strong`` (emphasis), ``anchor`` (the words of a link),
    ``link`` (a wikilink) or ``tag``."""
    targets: list[tuple[int, int, str]] = field(default_factory=list)
    """Spans of ``text`` that are shown for a wikilink to a note of another name, with that name."""
    context: int = -1
    """The position in the passage from which an item that is no sentence can be understood: where the heading or the
    words before its list begin. -1 for a block that stands for itself."""
    markup: list[tuple[int, int]] = field(default_factory=list)
    """Spans of the passage that are one piece of inline markup: a link, emphasis or code with its marks."""
    topic: bool = False
    """Whether an item is the topic of an agenda: it ends with the number of an issue."""
    nested: bool = False
    """Whether it may be a topic because items stand below it: a sentence is none."""
    depth: int = -1
    """How far an item is indented."""
    first_cell: int = 0
    """The length of the first cell of a row."""
    order: bool = False
    """Whether the grammar reads a heading as an order: "Limit resources"."""
    lead: str = ""
    """The words before a colon that the block began with, a speaker or a field. They were cut off."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the passage of the characters ``start:end`` of ``text``, which must not be empty."""
        return self.starts[start], self.ends[end - 1]


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str
    """The line without its line end, trailing white space and a trailing anchor."""

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
_QUOTED = re.compile(r"(?:[ ]{0,3}>[ \t]?)+")
"""The marks before a quoted line."""
_CALLOUT = re.compile(r"\s*\[!(?:[^\]\n]*\][-+]?[ \t]+(?=\S)|(?=[^\]\n]+\][-+]?$))")
"""What stands before the title of a callout: all of the mark, or its opening where the mark is the title."""
_HASH_HEADING = re.compile(r"\s{0,3}#{1,6}\s+")
_CODE_LINE = re.compile(
    r"\s*(?:>>>|\.\.\. |\$ |#include|def \w+\(|class \w+.*:$|(?:from [\w.]+ )?import \w|return\b.*|if .*:$|else:|elif .*:$|for .*:$"
    r"|while .*:$|try:|except.*:$|finally:|with .*:$|raise \w|@\w|print\b|pass$|static \w|struct \w|typedef |int \w|void \w"
    r"|[}{]|</?\w|#|//|/\*)"
    r"|.*(?:[;{}]|\)\s*:|->.*:)\s*$"
    r"|(?:(?=\s* )\s*|\s*[\w.\[\]*\"',][\w.\[\]*\"', ]*\s*)(?:[-+*/|&]?=|:=)\s*\S"
    r"|\s*[\w.]+\([^)]*\)\s*(?:#.*)?$"
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_SHOWN = re.compile(r"[^\n]")
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}\n]*\}\s*$")
"""An anchor or class at the end of a line, as Markdown's dialects write it: ``{#name}``, ``{: .note}``."""
_WORD = re.compile(r"[^\W\d_]{2,}")
_NAMED = re.compile(r"[^\W\d_][\w'’-]*")
_LOWER = frozenset("a an and as at by for from in into of on or the to with".split())  # noqa: SIM905
_LONGEST_HEADING = 9
"""The most words of a lone line that is a heading by its capitals."""
_TOPIC = re.compile(
    r"\s*(?:\(?\[[^\]\n]*#?\d+\]\([^)\s]+\)\)?|\(?[\w./-]*#\d+\)?|https?://\S+/(?:issues|pull|pulls|discussions)/\d+)[\s.:]*$"
)
"""The number of an issue, with which the topic of an agenda ends."""
_TOPIC_PREFIX = re.compile(r"(?:\[[\w./-]+\]\s*|[a-z][\w/.-]*(?:,\s*[a-z][\w/.-]*)*:\s+)+(?=\S)")
"""The parts of a program before a topic: "lib, src: "."""
_TIMED = re.compile(r"\s*\([^()\n]*(?:\d+|\?+|remaining)[^()\n]*\)[\s.:]*$|\?$")
"""The person and the time in brackets, or the question mark, with which the topic of an agenda ends."""
_LASTS = re.compile(r"\s*\([^()\n]*\b\d+ ?(?:m|min|mins|minutes|h|hours?)\b[^()\n]*\)[\s.:]*$")
"""The time, and perhaps the person, in brackets with which a heading of an agenda ends: "(15m, Ann)"."""
_FEWEST_ITEMS = 2
_LONGEST_TOPIC = 14
"""The most words of a topic with items below it."""
DECIDES = re.compile(
    r"(?:decisions?|decided|agreed|agreement|resolved|resolution|consensus|outcome|conclusion|approved|actions?|action items?|ai|to-?do"
    r"|next steps?|follow-?up)",
    re.IGNORECASE,
)
"""The lead of a line that says what was decided, or who does what."""
TASK = "action"
"""The lead of an action item with a box."""
_TASK = re.compile(r"\s*\[[ xX]\]\s+(?=\S)")
"""The box before an action item."""
_MOST_ROWS = 60
"""The most rows of a table that people read. A longer one is data."""
_MOST_WORDS_OF_A_NAME = 6
_CELL = re.compile(r"(?<!\\)\|")
_TARGETS = frozenset(("ref", "numref", "doc", "download", "eq", "footcite", "cite"))
"""Roles of reStructuredText whose words without a title are the target's id, and no name."""
_FRONT = re.compile(r"---[ \t]*\n(?P<inside>.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.DOTALL)
_TITLE = re.compile(r"---[ \t]*\n(?:[^\n]+\n)*?title[ \t]*:[ \t]*[\"']?(?P<title>[^\n\"']*[^\s\"'])", re.IGNORECASE)
_TITLE_FIELD = re.compile(r"(?:[A-Z:][\w-]*:[ \t][^\n]*\n){0,3}:?title:[ \t]+(?P<title>[^\n]*\S)", re.IGNORECASE)
_KEYWORDS = re.compile(
    r"^(?:tags?|keywords|aliases|topics|categories)[ \t]*:[ \t]*(?P<inline>\[[^\]\n]*\]|[^\n]*)(?P<rows>(?:\n[ \t]*-[ \t]+[^\n]+)*)",
    re.MULTILINE | re.IGNORECASE,
)
_KEYWORD = re.compile(r"[^\W\d_](?:[^\n,\[\]\"'#]*[\w+)])?")
_ATTENDEE = re.compile(
    r"(?P<name>[A-Z][\w.'’-]+(?: [A-Z][\w.'’-]+){1,3})[ \t]*(?:-[ \t]*)?(?:\([^()\n]{1,40}\)|@[\w-]+)"
)
_BETWEEN = re.compile(r"(?:[ \t,;*•–-]|\n(?![ \t]*\n)|@[\w-]+|\([^()\n]{1,40}\))*")
_FEWEST_NAMES = 3
_LEAD = re.compile(r"(?:\[[\d:.]{4,12}\]\s*)?(?P<lead>[A-ZÀ-ÖØ-Þ][\w.'’-]*(?: [\w.'’()@-]+){0,4})\s?:\s+(?=\S)")
SPOKEN_LEAD = re.compile(
    r"[*_]{0,3}@?(?P<lead>[^\W\d_][\w.'’-]*(?: [^\W\d_(][\w.'’-]*){0,2})[*_]{0,3}(?:\s?:[*_]{0,3}\s+|\s+[-–—]\s+)(?=\S)"
)
"""What may be a speaker before a colon or dash: a name or handle, whatever its case."""
_LONGEST_CONTEXT = 160
"""The most characters of the words before a list that its items are quoted with."""
_SHORT = 160
"""The most characters of a paragraph that is quoted with the heading above it, where it is no sentence."""
_LONGEST_LIST = 300
"""The most characters from these words to the end of an item."""
_FEWEST_EXPLAINING = 4
"""The fewest words that explain a term."""
_FEWEST_SMALL = 2
"""The fewest of them in small letters: a list of names explains nothing."""
_SPEECH = 8
"""Words in a line with a lead, on average, from which lines are what speakers say and not fields."""

_INLINE = re.compile(
    r"!?\[\[(?P<target>[^\]\[|#\n]*)(?:#[^\]\[|\n]*)?(?:(?<! )\|(?P<alias>[^\]\[\n]+))?\]\]"
    r"|``(?P<literal>[^`]+(?:`[^`]+)*?)``"
    r"|:(?P<role>[A-Za-z][\w:+-]*):`(?P<named>[^`<]*?)\s*(?:<(?P<aim>[^`>]*)>)?`"
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
    r"|(?<![\w#&/{])\#(?P<hashed>[^\W\d_][\w-]*(?:/[\w-]+)*)(?![\w/#])"
    r"|(?P<space>\s+)"
)
_PLAIN = re.compile(r"[^\W_]+(?:[ ’'-][^\W_]+)+")
"""Words in single backticks that are no code: in reStructuredText these are emphasis."""
_READABLE_CODE = re.compile(r"[\w.-]+(?:\(\))?(?: [\w.-]+){0,2}")


def prose_of(passage: str, speakers: Collection[str] = (), *, minutes: bool = False) -> list[Prose]:
    """Return the passage's prose in order. Comments of HTML are none.

    ``speakers`` are the normalised names of those who speak in the document: they are leads wherever a block or line begins
    with one. In ``minutes`` an item with items below it is a topic.
    """
    if "<!--" in passage:
        passage = _COMMENT.sub(lambda found: _SHOWN.sub(" ", found[0]), passage)
    found: list[Prose] = list(_title(passage))
    front = _FRONT.match(passage)
    if front:
        found.extend(_keywords(passage, *front.span("inside")))
    before, headed = -1, False
    blocks = [*_blocks(passage, front.end() if front else 0, speakers)]
    for place, (kind, lines) in enumerate(blocks):
        block = _read_row(passage, lines[0]) if kind == "row" else _read(kind, passage, lines)
        if ends := _end_of_topic(kind, passage, lines):
            block = _read_topic(kind, passage, lines, ends.start()) or block
        elif minutes and kind == "item" and _is_nested(passage, lines, blocks[place + 1 : place + 1 + _FEWEST_ITEMS]):
            timed = _TIMED.search(passage, lines[0].start, lines[-1].end)
            block = _read_topic(kind, passage, lines, timed.start() if timed else lines[-1].end) or block
            block.nested = True
        block.depth = _depth(passage, lines[0]) if kind == "item" and (block.nested or not block.topic) else -1
        _cut_lead(block, speakers, spoken=minutes or bool(speakers))
        if _WORD.search(block.text):
            found.append(block)
        if kind == "paragraph" and headed and lines[-1].end - lines[0].start <= _SHORT:
            block.context = before  # a line that is no sentence is understood by its heading
        if kind != "item":
            headed = kind == "heading"
            first = lines[0].start
            opened = passage.rfind("[!", passage.rfind("\n", 0, first) + 1, first)
            before = (opened if opened >= 0 else first) if lines[-1].end - lines[0].start <= _LONGEST_CONTEXT else -1
        elif before >= 0 and lines[-1].end - before <= _LONGEST_LIST:
            block.context = before
    return found


def _end_of_topic(kind: str, passage: str, lines: Sequence[_Line]) -> re.Match[str] | None:
    """Return the number of an issue with which an item or heading ends, or the time with which a heading ends."""
    place = passage, lines[0].start, lines[-1].end
    if kind == "heading":
        return _TOPIC.search(*place) or _LASTS.search(*place)
    return _TOPIC.search(*place) if kind == "item" else None


def _is_nested(passage: str, lines: Sequence[_Line], below: Sequence[tuple[str, Sequence[_Line]]]) -> bool:
    """Return whether an item of few words has two items below it."""
    depth = _depth(passage, lines[0])
    deeper = sum(kind == "item" and _depth(passage, inner[0]) > depth for kind, inner in below)
    return deeper == _FEWEST_ITEMS and len(lines[0].text.split()) <= _LONGEST_TOPIC and len(lines) == 1


def _depth(passage: str, line: _Line) -> int:
    """Return how far an item's line is indented."""
    before = passage[passage.rfind("\n", 0, line.start) + 1 : line.start]
    return len(before) - len(before.lstrip(" \t>"))


def lines_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the kind of each paragraph, item and heading of a text, and its lines as they stand; the first without its mark."""
    for kind, lines in _blocks(text, 0, ()):
        yield kind, [line.text for line in lines]


def attendees(passage: str) -> list[str]:
    """Return the persons that a passage lists: three names or more in a row, each with brackets or a handle."""
    found: list[str] = []
    row: list[re.Match[str]] = []
    for name in (*_ATTENDEE.finditer(passage), None):
        if row and (name is None or _BETWEEN.fullmatch(passage, row[-1].end(), name.start()) is None):
            found += [one["name"] for one in row] if len(row) >= _FEWEST_NAMES else []
            row = []
        if name is not None:
            row.append(name)
    return found


def _title(passage: str) -> Iterator[Prose]:
    """Yield the title in front matter or in a field at the start of the passage, as a heading."""
    field_ = _TITLE.match(passage) or _TITLE_FIELD.match(passage)
    if field_ and _WORD.search(field_["title"]):
        first, last = field_.span("title")
        yield Prose("heading", field_["title"], [*range(first, last)], [*range(first + 1, last + 1)])


def _keywords(passage: str, start: int, end: int) -> Iterator[Prose]:
    """Yield the tags, keywords and aliases of front matter, each as a block of the kind ``tag``."""
    for field_ in _KEYWORDS.finditer(passage, start, end):
        for group in ("inline", "rows"):
            for word in _KEYWORD.finditer(passage, *field_.span(group)):
                first, last = word.span()
                block = Prose("tag", word[0], [*range(first, last)], [*range(first + 1, last + 1)])
                block.marks.append((0, last - first, "tag"))
                block.context = field_.start()
                yield block


def _spoken(text: str, speakers: Collection[str]) -> re.Match[str] | None:
    """Return the speaker that a text begins with; None if that is none of these."""
    found = SPOKEN_LEAD.match(text) if speakers else None
    return found if found and normalise_label(found["lead"]) in speakers else None


def _cut_lead(block: Prose, speakers: Collection[str], *, spoken: bool) -> None:
    """Cut a speaker or field off the start of a paragraph or item. The lead of an action item with a box is "action".

    ``spoken``: persons speak in the document, so that a single word is a speaker.
    """
    if block.kind not in ("paragraph", "item"):
        return
    if task := _TASK.match(block.text):
        _cut_off(block, task.end(), TASK)
    speaker = _spoken(block.text, speakers)
    found = speaker or _LEAD.match(block.text)
    if found is None:
        return
    marked = (*block.literal, *((start, end) for start, end, _ in block.marks))
    decides = DECIDES.fullmatch(found["lead"])
    if not (speaker or decides):
        is_marked = any(start == 0 and end == found.end("lead") for start, end in marked)
        is_term = _explains(found["lead"], block.text[found.end() :], single=block.kind == "item" and not spoken)
        if is_term and not is_marked:
            block.marks.append((0, found.end("lead"), "term"))
        if is_term or (is_marked and block.kind == "item"):
            block.lead = ""  # "- **Locality**: each …" explains a term
            return
    _cut_off(block, found.end(), found["lead"])


def _explains(lead: str, words: str, *, single: bool) -> bool:
    """Return whether a lead is a term that the words behind it explain: no person, whose names all have capitals, and no field
    with a short value. A ``single`` word may be one if it is ordinary."""
    named, said = lead.split(), words.split()
    few = len(said) < _FEWEST_EXPLAINING or sum(word.islower() for word in said) < _FEWEST_SMALL
    ordinary = named[-1].islower() if len(named) > 1 else single and is_written_small(lead)
    return ordinary and named[-1].lower() not in junk.HOLLOW and not few


def _cut_off(block: Prose, cut: int, lead: str) -> None:
    block.lead = lead
    block.text, block.starts, block.ends = block.text[cut:], block.starts[cut:], block.ends[cut:]
    block.literal = [(start - cut, end - cut) for start, end in block.literal if start >= cut]
    block.marks = [(start - cut, end - cut, what) for start, end, what in block.marks if start >= cut]
    block.targets = [(start - cut, end - cut, name) for start, end, name in block.targets if start >= cut]


# ------------------------------------------------------------------------------------------ structure


ANCHOR = re.compile(r"^\[\[[\w.-]+\]\][ \t]*\n(?=[ \t]*(?:={1,6} |\.\S|\[(?!\[)|\|={3}|-{4}|\w+::))", re.MULTILINE)
"""An anchor of AsciiDoc before a heading, title or block, which is no link to a note."""


def _lines(passage: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    anchors = {anchor.start() for anchor in ANCHOR.finditer(passage)} if "[[" in passage else set()
    for raw in passage.split("\n"):
        text = _ATTRIBUTES.sub("", raw.rstrip())
        at = start
        if start in anchors:
            text = ""
        if (mark := _QUOTED.match(text)) and not text.lstrip().startswith(">>>"):
            at, text = start + mark.end(), text[mark.end() :]
        lines.append(_Line(at, at + len(text), text))
        start += len(raw) + 1
    return lines


def _blocks(passage: str, start: int, speakers: Collection[str]) -> Iterator[tuple[str, list[_Line]]]:
    fenced = False
    skip_deeper: int | None = None
    for group in _groups([line for line in _lines(passage) if line.start >= start]):
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
                yield from _paragraphs(rest, speakers)
            else:
                skip_deeper = kept[0].indent
            continue
        if _is_table(kept):
            yield from (("row", [row]) for row in _rows(kept))
            continue
        if _is_fields(kept) or _is_code(kept):
            continue
        yield from _paragraphs(kept, speakers)
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


def _paragraphs(lines: Sequence[_Line], speakers: Collection[str]) -> Iterator[tuple[str, list[_Line]]]:
    """Yield the units of a group: headings without their rules, list items, terms with definitions, paragraphs."""
    current: list[_Line] = []
    kind, defined = "paragraph", -1
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else None
        if _RULE.match(line.text):
            continue
        underlined = following is not None and _RULE.match(following.text) and len(line.text.split()) <= 20
        called = _CALLOUT.match(line.text)
        if called and line.text.rstrip("-+").endswith("]"):
            line = _Line(line.start, line.end, line.text.rstrip("-+")[:-1])
        hashed = _HASH_HEADING.match(line.text) or called
        item = _ITEM.match(line.text)
        if item and current and kind == "paragraph" and not _interrupts(item[0], current[-1].text):
            item = None
        if underlined or hashed:
            if current:
                yield kind, current
            yield "heading", [_cut(line, hashed.end() if hashed else 0)]
            current, kind = [], "paragraph"
        elif item:
            if current:
                yield kind, current
            current, kind = [_cut(line, item.end())], "item"
        elif current and kind == "paragraph" and (_LEAD.match(line.text) or _spoken(line.text.lstrip(), speakers)):
            yield kind, current
            current = [line]
        elif following is not None and (not current or line.indent == defined) and _is_term(line, following):
            if current:
                yield kind, current
            yield "term", [line]
            current, kind, defined = [], "paragraph", line.indent
        else:
            current.append(line)
    if current:
        lone = len(lines) == 1 and kind == "paragraph" and _is_lone_heading(current[0].text)
        yield ("heading" if lone else kind), current


def _interrupts(marker: str, before: str) -> bool:
    """Return whether a list begins in the middle of a paragraph: by a bullet or the number 1, or behind a full stop or colon.

    Else the number ends the sentence of the line before: "as in PEP", "380. It has …".
    """
    number = re.search(r"\d+", marker)
    return number is None or int(number[0]) == 1 or before[-1:] in ".:;!?"


def _is_lone_heading(text: str) -> bool:
    """Return whether a line that stands alone is a heading: all of it is bold, or its words have capitals."""
    words = text.split()
    if not 0 < len(words) <= _LONGEST_HEADING or text.rstrip("*_ ")[-1:] in (*".,;:!?", ""):
        return False
    bold = re.fullmatch(r"\s*(\*\*|__)(?!\s)[^*]+\1\s*", text)
    named = [word for word in _NAMED.findall(text) if word not in _LOWER]
    return bool(bold) or (len(named) > 1 and len(named) * 2 > len(words) and all(word[0].isupper() for word in named))


def _cut(line: _Line, count: int) -> _Line:
    return _Line(line.start + count, line.start + len(line.text), line.text[count:])


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


def _rows(lines: Sequence[_Line]) -> list[_Line]:
    """Return the rows of a table of bars whose first cells are few different names; else none."""
    rows = [line for line in lines if line.text.count("|") > 1 and not _TABLE_BORDER.match(line.text)]
    if len(rows) < len(lines):
        rows = rows[1:]  # below the border after its header
    if not 1 < len(rows) <= _MOST_ROWS:
        return []
    names = [_CELL.split(row.text.strip().strip("|"))[0].strip() for row in rows]
    named = [name for name in names if _WORD.search(name) and len(name.split()) <= _MOST_WORDS_OF_A_NAME]
    return rows if len({*named}) == len(rows) else []


def _is_fields(lines: Sequence[_Line]) -> bool:
    outer = [line for line in lines if line.indent == lines[0].indent]
    named = [found[0] for line in outer if (found := _FIELD.match(line.text.lstrip()))]
    fields = len(named)
    if len({*named}) < fields and lines[0].text[0] != ":":
        return False  # a record has each of its fields once: these are turns of speakers
    if fields and sum(len(line.text.split()) for line in lines) >= _SPEECH * fields and lines[0].text[0] != ":":
        return False
    return fields == len(outer) and (fields > 1 or lines[0].text.lstrip().startswith(":"))


def _is_code(lines: Sequence[_Line]) -> bool:
    looks = sum(1 for line in lines if _CODE_LINE.match(line.text) or not _WORD.search(line.text))
    if lines[0].text.lstrip().startswith(">>>"):
        return True
    needed = 0.34 if lines[0].indent >= 4 else 0.6
    return looks >= needed * len(lines) and not all(_HASH_HEADING.match(line.text) for line in lines)


# --------------------------------------------------------------------------------------------- inline


def _read_row(passage: str, line: _Line) -> Prose:
    """Return the cells of a row as one block: the first, a colon, and the others with commas between them."""
    row = Prose("row")
    start, end = line.start + line.indent, line.end
    borders = [start - 1, *(bar.start() for bar in _CELL.finditer(passage, start, end)), end]
    for first, last in pairwise(borders):
        cell = _read("row", passage, [_Line(first + 1, last, passage[first + 1 : last])])
        text = cell.text.rstrip()
        if not text:
            continue
        if row.text:
            joint = ", " if row.first_cell else ": "
            row.first_cell = row.first_cell or len(row.text)
            row.text += joint
            row.starts += [first] * len(joint)
            row.ends += [first + 1] * len(joint)
        offset, count = len(row.text), len(text)
        row.text += text
        row.starts += cell.starts[:count]
        row.ends += cell.ends[:count]
        row.markup += cell.markup
        row.marks += [(one + offset, other + offset, mark) for one, other, mark in cell.marks]
        row.literal += [(one + offset, other + offset) for one, other in cell.literal]
    return row


def _read_topic(kind: str, passage: str, lines: Sequence[_Line], end: int) -> Prose | None:
    """Return an item or heading without the number of an issue at its end and the name of a part at its start; None if nothing is left."""
    first = lines[0]
    start = first.start + first.indent
    prefix = _TOPIC_PREFIX.match(passage, start, max(start, end))
    start = prefix.end() if prefix else start
    if not _WORD.search(passage, start, max(start, end)) or passage[start:end].rstrip(" *_").endswith(":"):
        return None
    block = _read(kind, passage, [_Line(start, end, passage[start:end])])
    block.topic = kind == "item"
    return block


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
            if groups["space"] is None:
                block.markup.append(found.span())
            if groups["space"] is not None:
                say(" ", found.start(), found.end())
            elif groups["colons"] is not None:
                say(":", found.start(), found.end())
            elif groups["literal"] is not None:
                code(*found.span("literal"), found.span())
            elif groups["quoted"] is not None and found[0][-1] == "`" and not _PLAIN.fullmatch(groups["quoted"]):
                code(*found.span("quoted"), found.span())
            elif groups["target"] is not None and found[0][0] == "!":
                continue  # a picture or a note that is shown in place
            elif groups["target"] is not None:
                shown = "alias" if groups["alias"] else "target"
                before = length
                keep(*found.span(shown))
                block.marks.append((before, length, "link" if shown == "target" else "strong"))
                if shown == "alias" and (target := groups["target"].strip()):
                    block.targets.append((before, length, target))
            elif groups["hashed"] is not None:
                before = length
                keep(*found.span("hashed"))
                block.marks.append((before, length, "tag"))
            elif groups["role"] is not None:
                named = groups["named"].strip()
                if groups["role"] in _TARGETS and not groups["aim"]:
                    say(STAND_IN, *found.span())
                elif groups["role"] in _TARGETS:
                    keep(*found.span("named"))
                elif named.isdigit():
                    say(f"{groups['role'].upper()} {named}", *found.span())
                elif named:
                    inner = found.start("named") + len(groups["named"]) - len(groups["named"].lstrip("~!. "))
                    code(inner, found.start("named") + len(groups["named"].rstrip()), found.span())
                elif groups["aim"]:
                    code(*found.span("aim"), found.span())
            elif groups["word"] is not None:
                keep(*found.span("word"))
            else:
                for name in ("link", "quoted", "text", "starred", "barred", "strong"):
                    if groups[name] is not None and depth < 3:
                        before = length
                        read(*found.span(name), depth + 1)
                        if name in ("starred", "barred", "strong"):
                            ends = length - parts[-1].endswith(":") if parts else length  # "**Locality:** each …"
                            block.marks.append((before, ends, "strong"))
                        elif name in ("link", "text"):
                            block.marks.append((before, length, "anchor"))
        if done < end:
            keep(done, end)

    read(lines[0].start + lines[0].indent, lines[-1].end)
    block.text = "".join(parts)
    return block
