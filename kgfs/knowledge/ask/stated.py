"""Check what a language model wrote as an answer, sentence by sentence, against the Sources that it was shown. Pure functions.

Nothing that it wrote is shown as it came. A sentence stays where it cites a shown Source, where what it quotes stands in one, and
where its numbers and names stand in the document; all else is left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgfs.domain.sentences import sentence_starts
from kgfs.domain.word_forms import forms_in
from kgfs.knowledge.ask.sentences import blocks_of, sentences_of
from kgfs.render.answer import CITATION
from kgfs.render.answer_context import NOT_FOUND, AnswerSource
from kgfs.render.words import fold

UNKNOWN_ID = "0"
"""What stands for a citation that is no id at all: it is never shown, so it is invalid."""
QUOTED_WORDS = 4
"""The words from which a text between quotation marks is a quote, and no title or term."""

_CITING = re.compile(r"\[\s*[CS]\s*:[^\[\]\n]{0,300}\]", re.IGNORECASE)
_ID = re.compile(r"(?:c:)?([0-9a-f]{8,64})")
_BETWEEN = re.compile(r"[\s|,;\[\]]+")
_LATE = re.compile(r"([.!?…]+[\"'”’»)]*)((?:\s*\[C:[0-9a-f]+\])+)")
_SPACED = re.compile(r"\s*\[C:[0-9a-f]+\]")
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+(?=\S)")
_NO_STATEMENT = re.compile(r"\s*(?:#|```|~~~|\||-{3,}\s*$|\*{3,}\s*$)")
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n]+)[\"”“»]")
_GAP = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")
_MARKS = re.compile(r"[*_`\"“”„«»]")
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, without its citations."""

    text: str
    chunk_ids: tuple[str, ...]
    """What it cites, shown or not."""
    line: int
    """The line of the answer that it stands in."""


def tidied(text: str) -> str:
    """Return an answer with each citation, however it is written, as ``[C:id]`` before the stop of its sentence."""

    def cited(found: re.Match[str]) -> str:
        parts = map(_ID.fullmatch, _BETWEEN.split(found[0].lower()))
        return "".join(f"[C:{one}]" for one in [part[1] for part in parts if part] or [UNKNOWN_ID])

    return _LATE.sub(lambda found: f"{found[2]}{found[1]}", _CITING.sub(cited, text))


def says_not_found(text: str) -> bool:
    """Return whether an answer is that the Sources do not say it, whatever it says besides."""
    return text.strip().strip("\"'.*_ ").casefold().startswith(NOT_FOUND.casefold())


def sentences_in(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a tidied answer, but for headings and the like."""
    for number, line in enumerate(text.splitlines()):
        if _NO_STATEMENT.match(line):
            continue
        bullet = _BULLET.match(line)
        begin = bullet.end() if bullet else 0
        starts = [begin, *sentence_starts(line, begin, len(line)), len(line)]
        for at, (start, end) in enumerate(pairwise(starts)):
            piece = line[start:end]
            bare = fold(_SPACED.sub("", piece)).strip()
            if _WORD.search(bare):
                mark = "- " if bullet and not at else ""
                yield Sentence(f"{mark}{bare}", tuple(dict.fromkeys(CITATION.findall(piece))), number)


def borne_out(
    sentence: Sentence,
    shown: Mapping[str, AnswerSource],
    invented: Callable[[str, Sequence[str]], bool],
    concerns: Callable[[str], bool],
) -> Sentence | None:
    """Return the sentence with the Sources that bear it out; None where none does.

    ``invented`` tells whether a sentence has numbers or names that the documents of some Sources have not, ``concerns`` whether
    a Source is about the question at all.
    """
    if says_not_found(sentence.text):
        return None
    cited = [one for one in sentence.chunk_ids if one in shown]
    for quote in quotes_in(sentence.text):
        held = next((one for one in dict.fromkeys((*cited, *shown)) if stands_in(quote, shown[one])), None)
        if held is None:
            return None
        cited = [held, *(one for one in cited if one != held and stands_in(quote, shown[one]))]
    cited = [one for one in cited if concerns(one)]
    if not cited or invented(sentence.text.removeprefix("- "), cited):
        return None
    return Sentence(sentence.text, tuple(dict.fromkeys(cited)), sentence.line)


def quotes_in(text: str) -> list[str]:
    """Return what stands between quotation marks and has at least QUOTED_WORDS words."""
    return [quote for quote in _QUOTED.findall(text) if len(quote.split()) >= QUOTED_WORDS]


def stands_in(quote: str, source: AnswerSource) -> bool:
    """Return whether a Source, or its title, has a quote letter by letter, but for white space, case, typography and markup.
    What is left out is marked by dots."""
    held = f"{_folded(source.text)}\n{_folded(source.source_title)}"
    at = 0
    for piece in filter(None, map(_folded, _GAP.split(quote))):
        found = held.find(piece.strip(" .,;:"), at)
        if found < 0:
            return False
        at = found + 1
    return at > 0


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace("‘", "'").replace("–", "-").replace("—", "-")
    return " ".join(_MARKS.sub("", plain).casefold().split())


def closest(text: str, statement: str) -> tuple[int, int]:
    """Return the span of the sentence of a Source's text that is most like a statement by its words; of the whole text, without
    white space around, where it has no sentences."""
    wanted = frozenset(forms_in(statement))

    def likeness(span: tuple[int, int]) -> float:
        forms = frozenset(forms_in(text[span[0] : span[1]]))
        return float(len(forms & wanted) / max(len(forms), 1) ** 0.5)

    spans = [(one.start, one.end) for one in sentences_of(text, blocks_of(text))]
    whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
    return max(spans, key=likeness, default=whole)
