"""What a passage says of a candidate: its signs, and the sentences that are evidence for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from kgfs.models.contract import RawQuote, Signs
from kgfs.models.extractor import background, headings, junk
from kgfs.models.extractor.by_name import restricts
from kgfs.models.extractor.page import Candidate, Mention, Page
from kgfs.models.extractor.telling import Form, PhraseScore, form_of, score_of

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span

Definitions = dict[int, str]
"""Index of a sentence → the words in it that define the concept."""

TELLING = 0.5
"""The least Q of a sentence that is evidence, unless no sentence of the passage has it."""
TELLS = 0.7
"""The Q of a line that states a person's role, or an action item."""
CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "NUM")
EARLY = 3
"""The most words before the noun that such a line is about."""
BESIDE = 2
"""The fewest words of content that say something of a phrase beside them."""
FRAGMENT = 0.1
"""The Q of a line without a verb that says something of the noun that it is about."""
LONGEST = 400
"""The most characters of two sentences that are quoted together."""
_DEFINES = 0.1
"""What a definition adds to a sentence's Q."""
COMMON = 700
"""The background rank below which an adjective is a common one."""
_OWNING = ("to", "will", "shall", "must", "should", "needs", "has")
_APART = re.compile(r"\s*\n[\W_]{0,12}|\s*\n[=~^-]+\s+")
"""What may stand between a heading and the sentence below it."""
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]+s?")


def forms_of(page: Page) -> list[Form | None]:
    """Return the form of each sentence of a page; None for headings, terms, tags and sentences that say nothing."""
    return [
        form_of(sentence.words, record=bool(sentence.lead), decides=sentence.decides)
        if sentence.kind in ("paragraph", "item")
        else None
        for sentence in page.sentences
    ]


def read(
    text: str, page: Page, candidate: Candidate, forms: Sequence[Form | None], definitions: Mapping[int, str]
) -> tuple[Signs, tuple[RawQuote, ...]]:
    """Return the signs of a candidate and its quotes, exact spans of ``text``, in order.

    The quotes are all sentences with a Q of TELLING or more, all that define the candidate, or else the best one. A
    sentence that says nothing is quoted only where no other mentions it, a heading only where no sentence does.
    """
    scores: dict[int, PhraseScore] = {}
    whole: set[int] = set()
    fragments: set[int] = set()
    below = _below(page, candidate, forms)
    first = candidate.mentions[0].sentence
    under_heading = headed(page, candidate)
    for mention in candidate.mentions:
        form = forms[mention.sentence]
        if mention.whole and page.sentences[mention.sentence].kind in ("paragraph", "item"):
            whole.add(mention.sentence)
        words = page.sentences[mention.sentence].words
        if form is None:
            fragments |= {mention.sentence} if mention.whole and _is_told(words, mention) else set()
            continue
        new = score_of(
            words,
            form,
            mention.first,
            mention.last,
            part=not mention.whole,
            strong=mention.mark in ("strong", "link", "term"),
            earliest=mention.sentence == first,
            headed=mention.sentence in under_heading,
            code=mention.mark == "code",
        )
        known = scores.get(mention.sentence)
        if known is None or known.telling < new.telling:
            scores[mention.sentence] = new
    signs = _signs(page, candidate, scores, whole)
    if below:
        signs = replace(signs, named=max(one.echo for one in below))
    return signs, _quotes(text, page, candidate, scores, definitions, below, fragments)


def _is_told(words: Span, mention: Mention) -> bool:
    """Return whether a sentence without a verb begins with what it is about, and has two words of content beside it."""
    inside = words.doc[mention.first : mention.last]
    listed = any(child.dep_ == "conj" for child in inside.root.children)
    beside = sum(word.pos_ in CONTENT for word in words) - sum(word.pos_ in CONTENT for word in inside)
    begins = mention.first - words.start <= EARLY and words.text.rstrip().endswith(".")
    return begins and inside.root == words.root and not listed and beside >= BESIDE


@dataclass(frozen=True, slots=True)
class _Below:
    """What stands below a heading or topic that names a candidate."""

    sentence: int
    """The sentence that is evidence: of a topic its own, which is quoted with all below it."""
    start: int
    end: int
    """Where the quote starts and ends in the passage."""
    telling: float
    """Its Q for what the heading names."""
    echo: float = -1.0
    """The share of a heading's words that the text below says again."""


def _below(page: Page, candidate: Candidate, forms: Sequence[Form | None]) -> list[_Below]:
    found: list[_Below] = []
    for heading in page.named.get(candidate.key, ()):
        section = headings.section_of(page, heading)
        said = headings.evidence(page, forms, heading, section)
        if said and not (heading in page.orders and not headings.says_again(page, candidate.label, section)):
            start, end = page.sentences[heading].start, page.sentences[said[0]].end
            echo = headings.echo(page, heading, candidate.label, section)
            found.append(_Below(said[0], start, end, said[1], echo))
    for topic in sorted({m.sentence for m in candidate.mentions if m.whole and page.is_topic(m.sentence)}):
        section = headings.section_of(page, topic)
        said = headings.evidence(page, forms, topic, section)
        start = page.sentences[topic].start
        ends = [page.sentences[at].end for at in section if page.sentences[at].end - start <= LONGEST]
        if said and ends:
            found.append(_Below(topic, start, ends[-1], said[1]))
    return found


def headed(page: Page, candidate: Candidate) -> set[int]:
    """Return the sentences that name a candidate first after a heading that names it."""
    at = sorted({mention.sentence for mention in candidate.mentions})
    found: set[int] = set()
    for one, other in pairwise(at):
        if page.sentences[one].kind == "heading" and page.sentences[other].kind != "heading":
            between = page.sentences[one + 1 : other]
            if all(sentence.kind != "heading" for sentence in between):
                found.add(other)
    return found


def _before(page: Page, index: int) -> int | None:
    """Return the sentence before one in its paragraph, with which it can be quoted; None where there is none."""
    one, before = page.sentences[index], page.sentences[index - 1] if index else None
    same = before is not None and before.kind == one.kind and before.words.doc == one.words.doc
    if before is None or not same or before.end > one.start or one.end - before.start > LONGEST:
        return None
    return index - 1


def _signs(page: Page, candidate: Candidate, scores: Mapping[int, PhraseScore], whole: set[int]) -> Signs:
    marks = {mention.mark for mention in candidate.mentions}
    kinds = {page.sentences[mention.sentence].kind for mention in candidate.mentions if mention.whole}
    one = candidate.mentions[0]
    doc = page.sentences[one.sentence].words.doc
    lone = one.last - one.first == 1 and candidate.label[:1].isupper() and not _ACRONYM.fullmatch(candidate.label)
    spoken = all(page.sentences[mention.sentence].lead for mention in candidate.mentions)
    words = [word.text for word in doc[one.first : one.last] if word.is_alpha] or [candidate.label]
    return Signs(
        whole=len(whole),
        subject=sum(one.subject for one in scores.values()),
        pointed=sum(one.pointed for one in scores.values()),
        heading="heading" in kinds,
        link="link" in marks,
        tag="tag" in marks,
        strong=not marks.isdisjoint(("strong", "term")) or "term" in kinds,
        record=lone and spoken,
        participle=len(words) > 1 and doc[one.first].tag_ in ("VBG", "VBN"),
        says=max((one.says for one in scores.values()), default=0.0),
        rank=background.rank(words[-1]),
        restricts=restricts(doc, one.first, one.last),
        code="code" in marks,
        plain=len(words) > 1 and doc[one.first].tag_ == "JJ" and background.rank(words[0]) < COMMON,
        anchor="anchor" in marks,
        cell=candidate.cell,
        topic=any(mention.whole and _is_topical(page, mention) for mention in candidate.mentions),
    )


def _needs_context(page: Page, index: int, scores: Mapping[int, PhraseScore]) -> bool:
    """Return whether a line is quoted with what stands before its list, or its heading. A sentence is not, where other items
    stand between."""
    context = page.sentences[index].context
    items = sum(one.kind == "item" and one.start >= context for one in page.sentences[:index])
    return context >= 0 and not (index in scores and items > 0)


def _is_topical(page: Page, mention: Mention) -> bool:
    """Return whether a topic, a decision or an action item names a candidate, which is not its owner."""
    sentence = page.sentences[mention.sentence]
    doc = sentence.words.doc
    owns = mention.first == sentence.words.start and doc[mention.last : mention.last + 1].text in _OWNING
    if _is_part_of_a_name(doc, mention):
        return False
    return page.is_topic(mention.sentence) or (sentence.decides and not owns)


def _with_next(text: str, page: Page, index: int) -> int:
    """Return the end of a sentence; of a heading that of the sentence directly below it."""
    one, below = page.sentences[index], page.sentences[index + 1 : index + 2]
    if one.kind != "heading" or not below or below[0].kind not in ("paragraph", "item"):
        return one.end
    near = below[0].end - one.start <= LONGEST and _APART.fullmatch(text, one.end, below[0].start)
    return below[0].end if near else one.end


def _is_part_of_a_name(doc: Doc, mention: Mention) -> bool:
    """Return whether a phrase in small letters is cut from a name with "of": "interest review" of "conflict of interest review"."""
    of = mention.first - 1
    behind = of >= 1 and doc[of].lower_ == "of" and junk.fold(doc[of - 1].lower_) not in junk.HOLLOW
    if not behind:
        return mention.last < len(doc) and doc[mention.last].lower_ == "of"
    return doc[mention.first : mention.last].text.islower()


def _quotes(
    text: str,
    page: Page,
    candidate: Candidate,
    scores: Mapping[int, PhraseScore],
    definitions: Mapping[int, str],
    below: Sequence[_Below],
    fragments: Collection[int],
) -> tuple[RawQuote, ...]:
    telling = dict.fromkeys(fragments, FRAGMENT) | {index: one.telling for index, one in scores.items()}
    widened = {index: before for index in scores if (before := _before(page, index)) is not None}
    for index in widened:
        telling[index] = max(telling[index], scores[index].apart)
    if candidate.cell:
        telling |= {one.sentence: FRAGMENT for one in candidate.mentions if page.sentences[one.sentence].kind == "row"}
    for index in definitions:
        telling[index] = min(1.0, telling.get(index, TELLING) + _DEFINES)
    for index in telling:
        if "```" in text[page.sentences[index].start : page.sentences[index].end]:
            telling[index] = 0.0  # code stands inside
    opened: dict[int, _Below] = {}
    for one in below:
        coded = "```" in text[one.start : one.end]
        if one.telling > telling.get(one.sentence, 0.0) and one.end - one.start <= LONGEST and not coded:
            telling[one.sentence], opened[one.sentence] = one.telling, one
    chosen = {index for index, worth in telling.items() if worth >= TELLING or index in definitions}
    if not chosen:
        named = telling or {mention.sentence: 0.0 for mention in candidate.mentions}
        silent = {index: page.sentences[index].kind not in ("paragraph", "item") for index in named}
        chosen = {min(named, key=lambda index: (silent[index], -named[index], index))}
    starts = {index: page.sentences[index].start for index in chosen}
    ends = {index: page.sentences[index].end for index in chosen}
    for index in chosen:
        ends[index] = _with_next(text, page, index)
    for index in chosen & opened.keys():
        starts[index], ends[index] = opened[index].start, opened[index].end
    for index in chosen - opened.keys():
        told = index in scores and scores[index].telling >= TELLING
        if index in widened and not told and scores[index].apart > scores[index].telling:
            starts[index] = page.sentences[widened[index]].start
        elif _needs_context(page, index, scores) and not told and index not in definitions:
            starts[index] = page.sentences[
                index
            ].context  # it is quoted with what stands before its list, or its heading
    return tuple(
        RawQuote(
            text=text[starts[index] : ends[index]],
            start=starts[index],
            end=ends[index],
            defines=index in definitions,
            definition=definitions.get(index, ""),
            score=round(telling.get(index, 0.0), 3),
        )
        for index in sorted(chosen)
    )
