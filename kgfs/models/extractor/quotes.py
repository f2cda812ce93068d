"""The sentences of a passage that are evidence for a concept, the strongest first."""

from __future__ import annotations

from collections.abc import Mapping

from kgfs.models.contract import RawQuote
from kgfs.models.extractor.page import Candidate, Page

Definitions = dict[int, str]
"""Index of a sentence → the words in it that define the concept."""

QUOTES = 3
_SHORT, _LONG = 5, 60
"""Sentences with fewer or more words score lower: they say too little, or too much at once."""


def quotes_of(text: str, page: Page, candidate: Candidate, definitions: Mapping[int, str]) -> tuple[RawQuote, ...]:
    """Return at most QUOTES quotes, exact spans of ``text``.

    A heading is quoted only where no sentence mentions the concept.
    """
    mentioned = dict.fromkeys((*definitions, *(mention.sentence for mention in candidate.mentions)))
    scored = sorted((-_telling(page, candidate, index, index in definitions), index) for index in mentioned)
    sentences = [(-score, index) for score, index in scored if page.sentences[index].kind not in ("heading", "term")]
    best = sentences or [(-score, index) for score, index in scored]
    quotes = []
    for score, index in best[:QUOTES]:
        sentence = page.sentences[index]
        quotes.append(
            RawQuote(
                text=text[sentence.start : sentence.end],
                start=sentence.start,
                end=sentence.end,
                defines=index in definitions,
                definition=definitions.get(index, ""),
                score=round(score, 3),
            )
        )
    return tuple(quotes)


def _telling(page: Page, candidate: Candidate, index: int, defines: bool) -> float:
    """Return a score of 0 to 1.

    A sentence scores higher if it defines the concept, has the concept as its subject, has a verb, and is neither
    short nor long.
    """
    sentence = page.sentences[index]
    words = sentence.words
    length = sum(1 for word in words if word.is_alpha)
    score = 0.5 if defines else 0.0
    ends = {mention.last - 1 for mention in candidate.mentions if mention.sentence == index}
    if any(words.doc[end].dep_ in ("nsubj", "nsubjpass") for end in ends):
        score += 0.2
    if any(word.pos_ in ("VERB", "AUX") for word in words):
        score += 0.1
    if _SHORT <= length <= _LONG:
        score += 0.15
    return score + 0.05 / (1 + index)
