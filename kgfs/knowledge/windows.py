"""Cut contents to the window of a model without losing any: segments by structure, the best of them first [FULL 5].

A content that fits is given whole. Of a longer one the best segment stands for it, and the result says so, how long the whole is,
and where it is. ``count`` counts tokens (cl100k); ``alike`` compares texts with a question. Both are given, so all functions are
pure where these are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgfs.domain.word_forms import forms_in
from kgfs.knowledge.ask.sentences import blocks_of
from kgfs.render.search import telling_words

MAX_TOKENS = 8000
"""The most tokens that a model is given of one document."""
MAX_SECTIONS = 5
"""The most sections of a document that are looked at for contradictions."""
COMPARED = 4
"""The number of segments, best by words, whose meanings are compared."""
SECTIONS_COMPARED = 40

Count = Callable[[str], int]
Alike = Callable[[str, Sequence[str]], Sequence[float] | None]
"""(words, texts) → the cosine of each text to the words; None where there is no model."""


@dataclass(frozen=True, slots=True)
class Content:
    id: str
    content: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document as a model that ranks is given it."""

    id: str
    text: str
    """Exactly ``content[start:end]``."""
    start: int
    end: int
    is_truncated: bool
    full_content_available: bool
    full_token_count: int


@dataclass(frozen=True, slots=True)
class Section:
    """A span of a content: ``text`` is exactly ``content[start:end]``."""

    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class Relevant:
    """A document as a model that looks for contradictions is given it."""

    id: str
    relevant_sections: tuple[Section, ...]
    """In order of the content; together at most MAX_TOKENS."""
    full_content_id: str
    section_count: int


def prepare_for_reranking(
    query: str, documents: Sequence[Content], count: Count, alike: Alike, max_tokens: int = MAX_TOKENS
) -> list[Prepared]:
    """Return each document whole where it has at most ``max_tokens``, else the segment of it that fits the query best."""
    return [_prepared(query, one, count, alike, max_tokens) for one in documents]


def _prepared(query: str, one: Content, count: Count, alike: Alike, max_tokens: int) -> Prepared:
    tokens = count(one.content)
    if tokens <= max_tokens:
        return Prepared(one.id, one.content, 0, len(one.content), False, True, tokens)
    spans = segments(one.content, count, max_tokens)
    texts = [one.content[start:end] for start, end in spans]
    best = max(_best(query, texts, alike, COMPARED, 1), key=lambda found: found[0])[1]
    start, end = spans[best]
    return Prepared(one.id, texts[best], start, end, True, True, tokens)


def prepare_for_contradiction_check(
    claim: str,
    documents: Sequence[Content],
    count: Count,
    alike: Alike,
    max_sections: int = MAX_SECTIONS,
    max_tokens: int = MAX_TOKENS,
) -> list[Relevant]:
    """Return of each document the sections that say most of the claim, at most ``max_sections`` and ``max_tokens`` together."""
    found = []
    for one in documents:
        spans = [span for block in paragraphs(one.content) for span in _within(one.content, block, count, max_tokens)]
        texts = [one.content[start:end] for start, end in spans]
        taken: list[Section] = []
        left = max_tokens
        for score, at in _best(claim, texts, alike, SECTIONS_COMPARED, len(texts)):
            tokens = count(texts[at])
            if len(taken) < max_sections and tokens <= left:
                taken.append(Section(texts[at], *spans[at], round(score, 6)))
                left -= tokens
        taken.sort(key=lambda section: section.start)
        found.append(Relevant(one.id, tuple(taken), one.id, len(taken)))
    return found


def segments(content: str, count: Count, max_tokens: int = MAX_TOKENS) -> list[tuple[int, int]]:
    """Return spans of at most ``max_tokens`` that cover the content, cut before headings and between paragraphs where that
    is possible, else at lines, spaces, or anywhere.
    """
    spans: list[tuple[int, int]] = []
    room = 0
    for block in paragraphs(content):
        tokens = count(content[block[0] : block[1]])
        if spans and tokens <= room:
            spans[-1] = (spans[-1][0], block[1])
            room -= tokens
        else:
            spans.append(block)
            room = max_tokens - tokens
    # A joined text may have a token more than its parts; a paragraph may have more than the window.
    return [part for span in spans for part in _within(content, span, count, max_tokens)]


def paragraphs(content: str) -> list[tuple[int, int]]:
    """Return spans of the paragraphs, each with the white space after it and with its heading; together they are the content."""
    blocks = blocks_of(content, begins=True)
    starts = [0]
    follows_heading = False
    for block in blocks:
        if not follows_heading and block.start > starts[-1] and block.kind != "row":
            starts.append(content.rfind("\n", 0, block.start) + 1 or block.start)
        follows_heading = block.kind == "heading"
    borders = sorted({*starts, len(content)})
    return list(pairwise(borders))


def _within(content: str, span: tuple[int, int], count: Count, max_tokens: int) -> list[tuple[int, int]]:
    """Return spans of at most ``max_tokens`` that cover a span."""
    start, end = span
    if end - start <= 1 or count(content[start:end]) <= max_tokens:
        return [span]
    middle = start + (end - start) // 2
    cut = next((at + len(mark) for mark in ("\n", " ") if (at := content.rfind(mark, start, middle)) > start), middle)
    return [
        *_within(content, (start, cut), count, max_tokens),
        *_within(content, (cut, end), count, max_tokens),
    ]


def _best(query: str, texts: Sequence[str], alike: Alike, compared: int, wanted: int) -> list[tuple[float, int]]:
    """Return (score, number) of the texts, best first: by their words, and the best of these by their meaning first."""
    by_words = sorted(((-score, at) for at, score in enumerate(_by_words(query, texts))))
    near = [at for _, at in by_words[:compared]]
    cosines = alike(query, [texts[at] for at in near]) if len(texts) > wanted or wanted > 1 else None
    if cosines is None:
        return [(-score, at) for score, at in by_words]
    top = max((-score for score, _ in by_words), default=0.0) or 1.0
    words = {at: -score / top for score, at in by_words}
    first = sorted(((cosine + words[at], at) for cosine, at in zip(cosines, near, strict=True)), reverse=True)
    return [*first, *((words[at] - 1, at) for _, at in by_words[compared:])]


def _by_words(query: str, texts: Sequence[str]) -> list[float]:
    """Return how much of the query each text has: rare words among the texts count more, repetitions less and less."""
    wanted = {form for word in telling_words(query) for form in forms_in(word)[:1]}
    bags = [Counter(form for form in forms_in(text) if form in wanted) for text in texts]
    held = Counter(form for bag in bags for form in bag)
    rarity = {form: math.log(1 + (len(texts) + 1) / (held[form] + 0.5)) for form in wanted}
    return [math.fsum(rarity[form] * n / (n + 1.2) for form, n in bag.items()) for bag in bags]
