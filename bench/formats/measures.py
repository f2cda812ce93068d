"""How much of a truth a Text holds: words, bigrams, rows, cells, headings, and whether places are right."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from bench.formats.truths import Truth
from kgfs.domain.places import locate
from kgfs.domain.text import Text

_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W_\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
"""A run of letters and digits; each character of Chinese, Japanese and Korean is a word of its own."""
_BAR = re.compile(r"(?<!\\)\|")
_MARKS = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\u00ad\ufeff\u0640]")
"""What directs the writing or is not shown, and the Arabic letter that only stretches a word."""
_TARGET = re.compile(r"\[\^\w+\]")
_NUMBER = re.compile(r"(?<!\S)\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-z]|[ivxlc]{1,5})[.)](?!\S)", re.IGNORECASE)
"""The automatic number of an item, which some truths lack."""
Share = tuple[int, int]
"""(found, wanted)."""


def words_of(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", _MARKS.sub("", text)).casefold())


def found(truth: list[str], shown: list[str], size: int) -> float:
    """Return the share of the truth's runs of ``size`` words that are in what is shown, each as often as it is there."""
    wanted = Counter(zip(*(truth[n:] for n in range(size)), strict=False))
    given = Counter(zip(*(shown[n:] for n in range(size)), strict=False))
    return sum((wanted & given).values()) / max(1, sum(wanted.values()))


def rows_found(truth: Truth, text: Text) -> tuple[Share, list[str]]:
    """Return how many rows stand in one line of a table with all their cells apart, and those that do not."""
    given: Counter[tuple[str, ...]] = Counter()
    for line in text.text.split("\n"):
        if line.startswith(("|", "> |")):
            cells = _cells(_TARGET.sub("", cell) for cell in _BAR.split(line))
            given[cells] += 1
            if cells and cells[0].isdecimal():  # a column of automatic numbers only, which some truths lack
                given[cells[1:]] += 1
    missing: list[str] = []
    wanted = 0
    for row in truth.rows:
        cells = _cells(row)
        if cells:
            wanted += 1
            if given[cells]:
                given[cells] -= 1
            else:
                missing.append(" | ".join(cells))
    return (wanted - len(missing), wanted), missing


def _cells(row: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, (" ".join(words_of(_NUMBER.sub("", cell))) for cell in row)))


def headings_found(truth: Truth, text: Text) -> tuple[Share, list[str]]:
    """Return how many headings are headings of the Text, too; one may have its automatic number before it."""
    given = Counter(" ".join(words_of(block.title)) for block in text.blocks if block.kind == "heading")
    missing: list[str] = []
    wanted = 0
    for _, words in truth.headings:
        title = " ".join(words_of(words))[:200]
        if not title:
            continue
        wanted += 1
        match = next(
            (each for each in given if given[each] and (each[:200] == title or each.endswith(f" {title}"))), None
        )
        if match is None:
            missing.append(title)
        else:
            given[match] -= 1
    return (wanted - len(missing), wanted), missing


def pages_right(truth: Truth, text: Text, key: str) -> tuple[Share, list[str]]:
    """Return of how many runs of three words the Text tells the right page or slide. Runs count that are once in the truth
    and once in the Text."""
    where: dict[tuple[str, ...], int] = {}
    for number, page in enumerate(truth.pages, 1):
        words = words_of(page)
        for run in zip(*(words[n:] for n in range(3)), strict=False):
            where[run] = 0 if run in where else number
    placed = [(word, match.start()) for match in _WORD.finditer(text.text) for word in words_of(match[0])[:1]]
    seen: dict[tuple[str, ...], int] = {}
    for at in range(len(placed) - 2):
        run = tuple(word for word, _ in placed[at : at + 3])
        seen[run] = -1 if run in seen else placed[at][1]
    wrong: list[str] = []
    wanted = 0
    for run, page_number in where.items():
        at = seen.get(run, -1)
        if page_number and at >= 0:
            wanted += 1
            if locate(text.text, text.places, at).get(key) != page_number:
                wrong.append(f"{page_number}: {' '.join(run)}")
    return (wanted - len(wrong), wanted), wrong


def cells_found(truth: Truth, text: Text) -> tuple[Share, list[str]]:
    """Return how many cells stand at their place in the Text with exactly their words."""
    if not truth.cells:
        return (0, 0), []
    given = _cells_of_csv(text, truth) if text.media_type == "text/csv" else _cells_of_sheets(text)
    missing = []
    for place, words in truth.cells.items():
        plain = " ".join(words.split())
        shown = " ".join(given.get(place, "").split())
        if shown not in (plain, f"{plain}T00:00:00"):  # a date whose format shows the time has its midnight
            missing.append(f"{place}: {plain[:60]!r}, not {given.get(place, '')[:60]!r}")
    return (len(truth.cells) - len(missing), len(truth.cells)), missing


def _cells_of_sheets(text: Text) -> dict[tuple[str, int, int], str]:
    cells: dict[tuple[str, int, int], str] = {}
    for block in text.blocks:
        at = block.start
        if block.kind == "table":
            for n, line in enumerate(text.text[block.start : block.end].split("\n")):
                if n != 1:
                    place = locate(text.text, text.places, at + 2)
                    for column, words in enumerate(_BAR.split(line)[1:-1], int(place["column"])):
                        key = str(place["sheet"]), int(place["row"]), column
                        cells[key] = words.strip().replace("\\|", "|")
                at += len(line) + 1
        elif block.kind == "paragraph" and "column" in (place := locate(text.text, text.places, at)):
            key = str(place["sheet"]), int(place["row"]), int(place["column"])
            cells.setdefault(key, text.text[block.start : block.end])
    return cells


def _cells_of_csv(text: Text, truth: Truth) -> dict[tuple[str, int, int], str]:
    """Return the truth's cells whose words stand in the Text in their order at the places that are theirs."""
    cells: dict[tuple[str, int, int], str] = {}
    at = 0
    for (_, row, column), words in truth.cells.items():
        shown = words.replace('"', '""')
        position = text.text.find(shown if shown in text.text[at : at + len(shown) + 1000] else words, at)
        if position < 0:
            continue
        place = locate(text.text, text.places, position)
        if (place.get("row"), place.get("column")) == (row, column):
            cells["", row, column] = words
        at = position + len(words)
    return cells
