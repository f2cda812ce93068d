"""Find the span of a Text that an extractor quotes.

Searched in this order: the position that the extractor claims; the same words elsewhere in the Source; the same words
apart from white space, case, accents and typography; and last the most similar sentences, if they are similar enough.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from kgfs.domain.domains import ADDRESS
from kgfs.domain.markup import links
from kgfs.domain.sentences import sentence_starts
from kgfs.models.contract import RawQuote

ALIKE = 0.75
"""Least word ratio, 2 × common words in order / all words, at which a paraphrase is anchored at sentences."""

_FEWEST_WORDS = 4
"""Shorter paraphrases are similar to too many sentences."""

_MOST_WORDS = 200
_MOST_SENTENCES = 400
"""No paraphrase is searched for longer quotes or in Sources with more sentences, which no extractor should give. This
bounds the time."""

_WINDOW = 3
"""Most sentences that a paraphrase may span."""

_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
    }
)
_MARKUP = "`*"
_WORD = re.compile(r"\w+")
_SPACED_LETTER = re.compile(r"[0-9A-Za-zÀ-ԯ]")
"""A letter of a script that writes spaces between words."""

_PARAGRAPH_END = re.compile(r"\n[ \t\r\f]*\n")

Span = tuple[int, int]


class Source:
    """The Source ``text[start:end]``, prepared for finding quotes in it. Spans are offsets in ``text``."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._start = start
        self._piece = text[start:end]

    def find(self, quote: RawQuote) -> Span | None:
        """Return the span of the quote, without outer white space and never empty. A link that it begins or ends in is in it
        whole.

        Return None if the Source does not say it.
        """
        words = quote.text.strip()
        if not words:
            return None
        found = self._claimed(quote) or self._exact(words, quote.start) or self._folded(words, quote.start)
        found = found or self._alike(words)
        return self._trimmed(*found) if found else None

    def find_copied(self, words: str) -> Span | None:
        """Return the span of a quote that a language model copied, which must be equal apart from white space, case,
        typography, backticks and asterisks. None if the Source does not say it, and for addresses alone, which say nothing."""
        words = words.strip()
        if not ADDRESS.sub("", words).strip():
            return None
        found = self._exact(words, -1) or self._folded(words, -1) or self._bared(words)
        return self._trimmed(*found) if found else None

    def _bared(self, words: str) -> Span | None:
        wanted = fold(words, _MARKUP)[0].strip().strip("\"'").strip()
        if not wanted:
            return None
        folded, origins = self._bare
        at = _nearest(folded, wanted, -1)
        return None if at < 0 else (origins[at], origins[at + len(wanted) - 1] + 1)

    def _trimmed(self, start: int, end: int) -> Span | None:
        quoted = self._piece[start:end]
        start += len(quoted) - len(quoted.lstrip())
        end = start + len(quoted.strip())
        for opened, closed in self._links:
            start = opened if opened < start < closed else start
            end = closed if opened < end < closed else end
        return (self._start + start, self._start + end) if start < end else None

    def _claimed(self, quote: RawQuote) -> Span | None:
        believed = 0 <= quote.start < quote.end and self._piece[quote.start : quote.end] == quote.text
        return (quote.start, quote.end) if believed else None

    def _exact(self, words: str, claimed: int) -> Span | None:
        at = _nearest(self._piece, words, claimed)
        return None if at < 0 else (at, at + len(words))

    def _folded(self, words: str, claimed: int) -> Span | None:
        folded, origins = self._fold
        wanted = fold(words)[0].strip().strip("\"'").strip()
        if not wanted:
            return None
        at = _nearest(folded, wanted, bisect_left(origins, claimed) if claimed >= 0 else -1)
        if at < 0:
            return None
        end = origins[at + len(wanted) - 1] + 1
        while end < len(self._piece) and unicodedata.combining(self._piece[end]):
            end += 1
        return origins[at], end

    def _alike(self, words: str) -> Span | None:
        wanted = words_of(words)
        if not _FEWEST_WORDS <= len(wanted) <= _MOST_WORDS or len(self._sentences) > _MOST_SENTENCES:
            return None
        best, ratio = None, ALIKE
        bag = Counter(wanted)
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(wanted)
        for first in range(len(self._sentences)):
            passage: list[str] = []
            for _, end, sentence in self._sentences[first : first + _WINDOW]:
                passage = passage + sentence
                if len(passage) > 2 * len(wanted):
                    break
                common = (Counter(passage) & bag).total()
                if 2 * common < ratio * (len(passage) + len(wanted)):
                    continue
                matcher.set_seq1(passage)
                if (found := matcher.ratio()) > ratio or (best is None and found == ratio):
                    best, ratio = (self._sentences[first][0], end), found
        return best

    @cached_property
    def _links(self) -> list[Span]:
        return list(links(self._piece))

    @cached_property
    def _fold(self) -> tuple[str, list[int]]:
        return fold(self._piece)

    @cached_property
    def _bare(self) -> tuple[str, list[int]]:
        return fold(self._piece, _MARKUP)

    @cached_property
    def _sentences(self) -> list[tuple[int, int, list[str]]]:
        spans = _sentence_spans(self._piece)
        return [(start, end, words_of(self._piece[start:end])) for start, end in spans]


def fold(piece: str, without: str = "") -> tuple[str, list[int]]:
    """Return the text folded, and for each of its characters the position it came from.

    Folding removes differences that do not matter: white space, case, accents, typography, and the characters of ``without``.
    """
    out: list[str] = []
    origins: list[int] = []
    for at, char in enumerate(piece):
        if char in without:
            continue
        if char.isspace():
            if out and out[-1] != " ":
                out.append(" ")
                origins.append(at)
            continue
        for plain in _plain(char):
            out.append(plain)
            origins.append(at)
    return "".join(out), origins


@lru_cache(maxsize=4096)
def _plain(char: str) -> str:
    """Return one character folded: compatibility form, no accents, case-folded, plain typography. May be empty."""
    folded = unicodedata.normalize("NFKD", char.translate(_TYPOGRAPHY)).casefold().translate(_TYPOGRAPHY)
    return "".join(part for part in folded if not unicodedata.combining(part) and not part.isspace())


def _nearest(piece: str, words: str, claimed: int) -> int:
    """Return the start of the occurrence of ``words`` nearest to ``claimed``; -1 for none.

    If ``claimed`` is negative, return the first. Occurrences within longer words do not count: "art" is not quoted
    from "party".
    """
    before = r"(?<![0-9A-Za-zÀ-ԯ])" if _SPACED_LETTER.match(words[0]) else ""
    behind = r"(?![0-9A-Za-zÀ-ԯ])" if _SPACED_LETTER.match(words[-1]) else ""
    starts = (found.start() for found in re.finditer(before + re.escape(words) + behind, piece))
    return min(starts, key=lambda start: abs(start - claimed), default=-1) if claimed >= 0 else next(starts, -1)


def words_of(piece: str) -> list[str]:
    """Return the words of a text, folded."""
    return _WORD.findall(fold(piece)[0])


def _sentence_spans(piece: str) -> Iterator[Span]:
    """Yield the spans of sentences. No sentence runs over a blank line."""
    start = 0
    for found in _PARAGRAPH_END.finditer(piece):
        yield from _within(piece, start, found.start())
        start = found.end()
    yield from _within(piece, start, len(piece))


def _within(piece: str, start: int, end: int) -> Iterator[Span]:
    for here in sentence_starts(piece, start, end):
        yield start, here
        start = here
    if piece[start:end].strip():
        yield start, end
