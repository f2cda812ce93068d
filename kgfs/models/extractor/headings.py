"""Headings that name what the text below them is about, and what that text says of it.

The rules, their thresholds and what readers thought of the results are in ``docs/knowledge.md``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kgfs.models.extractor import junk
from kgfs.models.extractor.candidates import is_vague
from kgfs.models.extractor.noun_phrases import LOOSE
from kgfs.models.extractor.telling import Form, below_heading

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

    from kgfs.models.extractor.page import Page

MOST_WORDS = 5
"""The most words of a heading that is a name."""
TELLING = 0.7
"""The Q from which the first sentence below a heading is its evidence."""
LEAST = 0.3
"""The least Q of the best sentence, where no sentence has TELLING."""
_SENTENCES, _ITEMS = 3, 6
"""How many sentences below a heading, and items below a topic, may be its evidence."""
_FEW_NOUNS, _FEW_WORDS = 3, 6
"""A remark with fewer nouns, or fewer words of content, says little of its topic."""
_MUCH, _FEWEST_SAYING = 12, 6
"""The fewest words of content of items that say something together, and the fewest of these that are no names."""
_THIN = 1.5
"""What such a remark loses in the log odds of Q."""
_FEWEST_WORDS_OF_A_ROW = 2
_STEM, _ENDING = 4, 3

_NUMBER = re.compile(
    r"\s*(?:\d{4}-\d{2}-\d{2}\s+)?(?:(?:re|fwd?|aw|wg)\s*:\s*)*(?:(?:[A-Za-z]+ )?#?\d{1,3}(?:\.\d{1,3})*\s*[-–—:)]|\d{1,4}(?:\.\d{1,3})*\.?(?=\s))?\s*",
    re.IGNORECASE,
)
"""The number of a heading: "9.1 ", "Step 2: ", "Rule #3 - "; of a mail's subject what tells that it is an answer."""
_ACRONYM = re.compile(r"[A-Z][A-Za-z0-9&/-]*[A-Z0-9]s?")
_AROUND = re.compile(r"^(?:the|an?)\s+|\s*\([A-Z][A-Za-z0-9&/-]*[A-Z0-9]s?\)$", re.IGNORECASE)
SMALL = frozenset(("a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"))
_SIGNS = frozenset((",", ":", ";", "?", "!", '"', "“", "”", "‘", "’", "/", "&", "+", "="))
_NOUNS = ("NOUN", "PROPN")
_CONTENT = (*_NOUNS, "VERB", "ADJ")
_WORD = re.compile(r"[^\W_]+")


def bare(heading: str) -> str:
    """Return the words of a heading without its number, its article and an acronym in brackets behind it."""
    return _AROUND.sub("", heading[_number(heading) :].strip())


def is_acronym(word: str) -> bool:
    return _ACRONYM.fullmatch(word) is not None


def as_order(heading: str) -> str:
    """Return the words by which the grammar tells whether a heading is an order: "to limit resources"."""
    words = heading[_number(heading) :].split()
    return " ".join(("to", *(word.lower() if word.istitle() else word for word in words)))


def is_order(read: Doc) -> bool:
    """Return whether the first word behind "to" is a verb."""
    return len(read) > 1 and read[1].tag_ == "VB"


def is_activity(name: Span) -> bool:
    """Return whether a heading says what somebody does: "Creating Permissions"."""
    return len(name) > 1 and name[0].tag_ == "VBG" and name.root == name[0]


def name_in(doc: Doc, length: int) -> tuple[int, int] | None:
    """Return the tokens among the first ``length`` characters that are a name, without number, article and acronym in brackets; None if it is no name.

    A name has one to five words, no pronoun, question word, modal, conjunction or sign between its words, begins with no vague
    modifier, preposition or verb, and ends with a noun, has a noun as its root or capitals in all its words.
    """
    skipped = _number(doc.text)
    first = next((token.i for token in doc if token.idx >= skipped), len(doc))
    last = next((token.i for token in doc if token.idx >= length), len(doc))
    if last - first > 2 and doc[first + 1].text == ":" and junk.fold(doc[first].lower_) in junk.HOLLOW:
        first += 2  # "Proposal: …"
    while first < last and doc[first].pos_ == "DET":
        first += 1
    if last - first > 3 and doc[last - 1].text == ")" and doc[last - 3].text == "(":
        last -= 3 if _ACRONYM.fullmatch(doc[last - 2].text) else 0
    while last > first and (doc[last - 1].is_punct or doc[last - 1].is_space):
        last -= 1
    words = [token for token in doc[first:last] if token.text[0].isalnum()]
    if not 0 < len(words) <= MOST_WORDS or any(_parts_a_name(token) for token in doc[first:last]):
        return None
    begins, ends = doc[first], doc[last - 1]
    if (
        is_vague(begins)
        or begins.lower_ in LOOSE
        or begins.pos_ in ("ADP", "SCONJ", "PART", "ADV")
        or not begins.text[0].isalnum()
    ):
        return None
    if ends.text[0].isdigit() and (last - first == 1 or doc[last - 2].text.islower()):
        return None
    capitals = len(words) > 1 and all(word.text[0].isupper() or word.lower_ in SMALL for word in words)
    is_noun = ends.pos_ in _NOUNS or (ends.text[0].isdigit() and last - first > 1)
    root = doc[first:last].root
    is_about = root.i < last - 1 and junk.fold(root.lower_) in junk.HOLLOW  # "Note about moonlighting"
    if is_about or (begins.tag_ == "VB" and not capitals):
        return None
    return (first, last) if is_noun or capitals or root.pos_ in _NOUNS else None


def _number(heading: str) -> int:
    found = _NUMBER.match(heading)
    return found.end() if found and found.end() < len(heading) else 0


def _parts_a_name(token: Token) -> bool:
    if (
        token.pos_ in ("PRON", "DET")
        or token.tag_ in ("MD", "WDT", "WP", "WRB", "WP$")
        or token.lower_ in ("and", "or")
    ):
        return True
    dash = token.text in ("-", "–", "—") and bool(token.whitespace_)
    return token.text in _SIGNS or dash or token.text in "()[]{}"


def section_of(page: Page, heading: int) -> range:
    """Return the indices of the sentences between a heading, or a topic, and the next one; of a row its own.

    Of a heading directly above another one they are those below both.
    """
    if page.sentences[heading].kind == "row":
        return range(heading, heading + 1)
    kinds = ("heading", "topic") if page.sentences[heading].kind == "topic" else ("heading",)
    first = heading + 1
    while first < len(page.sentences) and page.sentences[first].kind in kinds:
        first += 1
    end = first
    depth = page.sentences[first - 1].depth
    while end < len(page.sentences) and page.sentences[end].kind not in kinds:
        if 0 <= page.sentences[end].depth <= depth:
            break
        end += 1
    return range(first, end)


def echo(page: Page, heading: int, label: str, section: Sequence[int]) -> float:
    """Return the share of the words of a heading that its own text says again, by their stems. A row says its own."""
    if page.sentences[heading].kind == "row":
        return 1.0
    if section and section[0] > heading + 1:
        return 0.0
    said = {word.casefold() for at in section for word in _WORD.findall(page.sentences[at].words.text)}
    words = [word for word in _WORD.findall(label.casefold()) if word not in SMALL]
    again = [any(other.startswith(word[: max(_STEM, len(word) - _ENDING)]) for other in said) for word in words]
    return sum(again) / len(again) if again else 0.0


def says_again(page: Page, label: str, section: Sequence[int]) -> bool:
    """Return whether the text below a heading has its words together."""
    wanted = f" {' '.join(_WORD.findall(label.casefold()))}"
    return any(wanted in f" {' '.join(_WORD.findall(page.sentences[at].words.text.casefold()))}" for at in section)


def _tells(row: Span) -> bool:
    """Return whether the cells behind the first one have words."""
    border = next((token.i for token in row if token.text == ":"), row.end)
    return sum(token.is_alpha for token in row.doc[border : row.end]) >= _FEWEST_WORDS_OF_A_ROW


def evidence(
    page: Page, forms: Sequence[Form | None], heading: int, section: Sequence[int]
) -> tuple[int, float] | None:
    """Return the index and the Q of the sentence below a heading, or a topic, that is its evidence; None if none is."""
    if page.sentences[heading].kind == "row":
        return (heading, TELLING) if _tells(page.sentences[heading].words) else None
    topic = page.is_topic(heading)
    best: tuple[int, float] | None = None
    for place, at in enumerate(section[: _ITEMS if topic else _SENTENCES]):
        form = forms[at]
        if form is None or not form.signs.isdisjoint(("question", "symbols", "colon at the end")):
            continue
        words = page.sentences[at].words
        little = topic and (
            sum(word.pos_ in _NOUNS for word in words) < _FEW_NOUNS
            or sum(word.pos_ in _CONTENT for word in words) < _FEW_WORDS
        )
        telling = below_heading(words, form, later=place > 0 and not topic, less=_THIN if little else 0.0)
        if best is None or (telling > best[1] and (topic or best[1] < TELLING)):
            best = at, telling
    if topic and (best is None or best[1] < TELLING) and _says_much(page, section[:_ITEMS]):
        best = section[0], TELLING
    return best if best is not None and best[1] >= LEAST else None


def _says_much(page: Page, items: Sequence[int]) -> bool:
    """Return whether the items below a topic say something together, though none is a telling sentence."""
    words = (word for at in items for word in page.sentences[at].words)
    said = [word.pos_ for word in words if word.pos_ in _CONTENT]
    return len(items) > 1 and len(said) >= _MUCH and len(said) - said.count("PROPN") >= _FEWEST_SAYING
