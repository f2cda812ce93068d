"""A passage as the grammar parses it: its sentences, and its candidates with all their mentions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgfs.domain.identity import normalise_label
from kgfs.models.extractor import headings, junk, persons
from kgfs.models.extractor.candidates import Phrase, belongs_to_of, is_numbered, is_vague, phrases
from kgfs.models.extractor.junk import MAX_WORDS
from kgfs.models.extractor.persons import Person
from kgfs.models.extractor.prose import DECIDES, TASK, Prose

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_LITERAL = re.compile(r"_{0,2}[A-Za-z][\w-]{2,}(?:(?:\.[A-Za-z_][\w-]*)+|(?: [A-Za-z][\w-]*){0,2})")
_SPOKEN = re.compile(r"\w")
_DECIDED = re.compile(r"(?:We|The \w+) (?:will|shall|agreed|decided|resolved|approved|voted)\b")
_LONGEST_MARKED = 5
"""The most words of emphasis that name something. Longer emphasis is a sentence."""
_LONGEST_LINK = 8
_LONGEST_LEAD = 6
"""The most words and signs of a term and the colon behind it."""
_FINITE = ("VBZ", "VBP", "VBD", "MD")
_FEWEST_LETTERS = 2
_LONGEST_PARTICLE = 3
"""The most letters of what joins the parts of a name: "do", "di", "of"."""
_EMPHATIC = ("strong", "anchor", "term")
"""Marks of words that name something only where they are a noun phrase."""
_FEW = 0.3
"""The weight of a spelling that its position explains: at the start of a sentence, or in a heading."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence. Characters ``start:end`` of the passage are its quote."""

    start: int
    end: int
    kind: str
    """The kind of the paragraph that contains the sentence."""
    words: Span
    context: int = -1
    """The position of the passage from which the words can be understood, where they are no sentence; -1 for none."""
    lead: str = ""
    """The speaker or field before a colon that the sentence's paragraph begins with."""
    decides: bool = False
    """Whether it says what was decided, or who does what."""
    depth: int = -1
    """How far its item is indented; -1 for what is no item, and for a topic with items beside it."""


@dataclass(frozen=True, slots=True)
class Mention:
    sentence: int
    first: int
    last: int
    """Tokens ``first:last`` of the sentence's Doc."""
    whole: bool
    mark: str = ""
    """How the writer marked it: ``strong``, ``anchor``, ``term``, ``link``, ``tag``, ``code``, or empty."""


@dataclass(slots=True)
class Candidate:
    key: str
    label: str = ""
    mentions: list[Mention] = field(default_factory=list)
    run: bool = False
    chunk: bool = False
    cell: bool = False
    """Whether it fills the cell of a row, up to the next comma."""
    spellings: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Page:
    sentences: list[Sentence] = field(default_factory=list)
    leads: list[str] = field(default_factory=list)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    """The candidates by folded normalised label, in order of their first mention."""
    ending: dict[tuple[int, int], list[tuple[int, str]]] = field(default_factory=dict)
    """(sentence, index of a phrase's last token) → (index of its first token, key), longest first."""
    mentions: dict[int, list[tuple[tuple[int, int], str]]] = field(default_factory=dict)
    """Sentence → (first token, token after the last) and key of each mention."""
    named: dict[str, list[int]] = field(default_factory=dict)
    """Key of a candidate → the headings and topics that are its name."""
    minutes: bool = False
    """Whether the document has minutes."""
    persons: list[tuple[Person, tuple[int, int]]] = field(default_factory=list)
    """Persons of whom a block says what they do, with the span of the block in the passage."""
    orders: set[int] = field(default_factory=set)
    """Headings that the grammar reads as an order, or as an activity."""

    def is_topic(self, index: int) -> bool:
        """Return whether a sentence is a topic of an agenda: an item with the number of an issue, or a heading of minutes
        above a list."""
        if self.sentences[index].kind == "heading":
            below = self.sentences[index + 1 : index + 2]
            return self.minutes and bool(below) and below[0].kind == "item"
        return self.sentences[index].kind == "topic"

    def places(self, sentence: int) -> dict[tuple[int, int], str]:
        """Return the keys of the candidates of a sentence, by the tokens ``first:end`` of its Doc."""
        return dict(self.mentions.get(sentence, ()))

    def concept_at(self, sentence: int, head: Token) -> str:
        """Return the key of the candidate that is the whole noun phrase with this head; '' if there is none.

        A part of the phrase would say more than the sentence does: of 'lazy generator objects' not 'objects', of
        'domain (TLD) server' not 'server'.
        """
        end = head.i + 1 if is_numbered(head.doc, head.i + 1) else head.i
        places = self.ending.get((sentence, end))
        if not places:
            return ""
        first, key = places[0]
        cut = first > self.sentences[sentence].words.start and (
            head.doc[first - 1].pos_ in ("NOUN", "PROPN") or head.doc[first - 1].text == ")"
        )
        return "" if cut else key


def page_of(blocks: Sequence[tuple[Prose, Sequence[tuple[int, Doc]]]], passage: str) -> Page:
    """Return the page of a passage. ``blocks`` are the passage's prose with its parsed pieces."""
    page = Page()
    for prose, pieces in blocks:
        if prose.lead:
            page.leads.append(prose.lead)
        page.leads += (prose.text[start:end] for start, end, how in prose.marks if how == "term")
        if prose.nested and (prose.text[0].islower() or any(word.tag_ in _FINITE for word in pieces[0][1])):
            prose.topic = False
        for offset, doc in pieces:
            _add(page, prose, offset, doc, passage)
        span = prose.span(0, len(prose.text.rstrip()))
        page.persons += ((person, span) for person in persons.told(prose, pieces[0][1]))
    for candidate in page.candidates.values():
        candidate.label = max(sorted(candidate.spellings), key=lambda spelling: candidate.spellings[spelling])
    for ends in page.ending.values():
        ends.sort()
    return page


def _add(page: Page, prose: Prose, offset: int, doc: Doc, passage: str) -> None:
    marks = _marks(prose, offset, doc)
    owner: list[int] = [-1] * len(doc)
    for span in _sentences(prose, offset, doc):
        quote = _quote(prose, offset + span.start_char, offset + span.end_char, passage)
        if quote is None:
            continue
        for index in range(span.start, span.end):
            owner[index] = len(page.sentences)
        kind = "topic" if prose.topic else prose.kind
        decides = bool(DECIDES.fullmatch(prose.lead)) or (kind == "item" and bool(_DECIDED.match(span.text)))
        page.sentences.append(Sentence(*quote, kind, span, prose.context, prose.lead, decides, prose.depth))
    names = [span for span, how in marks.items() if how == "code"]
    whole = (phrase for phrase in phrases(doc) if not any(_cuts(phrase, name) for name in names))
    for phrase in (*whole, *(Phrase(first, last, run=True) for first, last in marks)):
        sentence = owner[phrase.start]
        ordered = prose.topic and prose.order and not (prose.nested and doc[0].tag_ in ("NN", "NNS"))
        if phrase.start == 0 and (ordered or prose.lead == TASK):
            continue  # a verb: "add", "revert", "phone"
        if sentence >= 0 and sentence == owner[phrase.end - 1] and not is_numbered(doc, phrase.end):
            _mention(page, doc, phrase, sentence, marks.get((phrase.start, phrase.end), ""))
    for start, end, name in prose.targets:
        shown = doc.char_span(start - offset, end - offset) if offset <= start < end else None
        if shown is not None and len(name.split()) <= _LONGEST_LINK and owner[shown.start] == owner[shown.end - 1] >= 0:
            _mention(page, doc, Phrase(shown.start, shown.end, run=True), owner[shown.start], "link", name)
    if prose.kind in ("heading", "row"):
        _name(page, prose, doc, owner, marks)


def _name(page: Page, prose: Prose, doc: Doc, owner: Sequence[int], marks: Mapping[tuple[int, int], str]) -> None:
    """Note what a heading, or the first cell of a row, names."""
    span = headings.name_in(doc, prose.first_cell or len(prose.text))
    heading = owner[span[0]] if span else -1
    if span is None or heading < 0 or heading != owner[span[1] - 1]:
        return
    _mention(page, doc, Phrase(*span, run=True), heading, marks.get(span, ""))
    key = page.places(heading).get(span)
    if key:
        page.named.setdefault(key, []).append(heading)
        page.orders |= {heading} if prose.order or headings.is_activity(doc[span[0] : span[1]]) else set()


def _cuts(phrase: Phrase, name: tuple[int, int]) -> bool:
    """Return whether a phrase has a part of a name in code, and not all of it."""
    shared = min(phrase.end, name[1]) - max(phrase.start, name[0])
    return 0 < shared < name[1] - name[0]


def _mention(page: Page, doc: Doc, phrase: Phrase, sentence: int, mark: str, name: str = "") -> None:
    """Add a mention of a phrase; of ``name`` where the phrase is shown for a link to it."""
    spelling = name or doc[phrase.start : phrase.end].text
    if junk.reason(spelling):
        return
    key = junk.fold(normalise_label(spelling))
    candidate = page.candidates.setdefault(key, Candidate(key))
    places = page.ending.setdefault((sentence, phrase.end - 1), [])
    if (phrase.start, key) in places:
        return
    places.append((phrase.start, key))
    page.mentions.setdefault(sentence, []).append(((phrase.start, phrase.end), key))
    whole = phrase.whole and (bool(mark) or not belongs_to_of(doc, phrase.start, phrase.end))
    if page.sentences[sentence].kind == "row":
        candidate.cell |= phrase.whole and _fills(doc, phrase)
    candidate.mentions.append(Mention(sentence, phrase.start, phrase.end, whole, mark))
    candidate.run |= phrase.run
    candidate.chunk |= phrase.chunk
    in_heading = page.sentences[sentence].kind in ("heading", "term")
    explained = (in_heading or phrase.start == page.sentences[sentence].words.start) and not name
    if explained and doc[phrase.start].pos_ != "PROPN" and spelling[:1].isupper() and spelling[1:].islower():
        spelling = spelling[0].lower() + spelling[1:]
    candidate.spellings[spelling] += _FEW if explained else 1  # type: ignore[assignment]


def _quote(prose: Prose, start: int, end: int, passage: str) -> tuple[int, int] | None:
    while start < end and prose.text[start].isspace():
        start += 1
    while end > start and prose.text[end - 1].isspace():
        end -= 1
    if start == end:
        return None
    first, last = prose.span(start, end)
    # Marks that open before the first word, and close behind the last, belong to the sentence.
    for opened, closed in prose.markup:
        if passage.startswith(("[[", ":"), opened):  # a link, or a role of reStructuredText, is quoted whole
            first = opened if opened < first < closed else first
            last = closed if opened < last < closed else last
        if opened <= first < closed and not _SPOKEN.search(passage, opened, first):
            first = opened
        if opened < last <= closed and (passage[last : last + 2] == "](" or not _SPOKEN.search(passage, last, closed)):
            last = closed
    return first, last


def _sentences(prose: Prose, offset: int, doc: Doc) -> Iterator[Span]:
    """Yield the sentences. None ends inside code, whose full stops are part of names, nor before what goes on."""
    if prose.kind == "row" or prose.topic:
        yield doc[0 : len(doc)]
        return
    start = 0
    for span in doc.sents:
        end = offset + span.end_char
        inside = any(first < end < last for first, last in prose.literal)
        if span.end == len(doc) or not (inside or _goes_on(doc, span.end)):
            yield doc[start : span.end] if start < span.start else span
            start = span.end


def _goes_on(doc: Doc, at: int) -> bool:
    """Return whether a sentence goes on at a token: behind the term that it explains, or without a full stop, or behind an
    abbreviation, with a number or a small letter ("PEP 380")."""
    before, first = doc[at - 1].text, doc[at].text[0]
    if before == ":" and at <= _LONGEST_LEAD:
        return True
    return (first.isdigit() or first.islower()) and (before[-1].isalnum() or (before[-1] in ".," and len(before) > 2))


def _marks(prose: Prose, offset: int, doc: Doc) -> dict[tuple[int, int], str]:
    """Return the token spans that the writer marked, with how: short names in code, emphasis, links and tags."""
    found: dict[tuple[int, int], str] = {}
    code = [(start, end, "code") for start, end in prose.literal if _LITERAL.fullmatch(prose.text, start, end)]
    for start, end, how in (*code, *prose.marks):
        span = doc.char_span(start - offset, end - offset) if offset <= start < end else None
        if span is None or (how in _EMPHATIC and not _is_name(span)) or len(span) > _LONGEST_LINK:
            continue
        start = span.start
        while how in _EMPHATIC and start < span.end - 1 and is_vague(doc[start]):
            start += 1
        found[start, span.end] = how
    for at in range(2, len(doc) - 1):
        if doc[at - 1].text == "(" and doc[at + 1].text.startswith(")") and (first := _long_form(doc, at)) is not None:
            found |= {(first, at - 1): "term", (at, at + 1): "term"}
    return found


def _long_form(doc: Doc, at: int) -> int | None:
    """Return the first token of the words that the acronym in brackets stands for, by their initials; None if they do not spell it."""
    letters = "".join(filter(str.isalnum, doc[at].text.removesuffix("s"))).lower()
    if not headings.is_acronym(doc[at].text) or len(letters) < _FEWEST_LETTERS:
        return None
    initials = every = ""
    for first in range(at - 2, max(at - 2 - 2 * MAX_WORDS, -1), -1):
        word = doc[first]
        if not word.text[0].isalpha():
            if word.text in "-/":
                continue
            break
        every = word.lower_[0] + every
        initials = initials if word.lower_ in headings.SMALL else word.lower_[0] + initials
        if letters in (initials, every) and word.lower_ not in headings.SMALL:
            return first
    return None


def _is_name(span: Span) -> bool:
    """Return whether emphasised words are a noun phrase of at most five words, without a determiner."""
    follows = span.doc[span.end : span.end + 1].text in (":", "-", "–", "—")
    if follows and span.start == 0 and 0 < len(span) <= 2 and _is_misread(span):
        return True
    nominal = all(word.pos_ in ("NOUN", "PROPN", "ADJ") or word.text in "-/" or word.tag_ == "VBG" for word in span)
    return len(span) <= _LONGEST_MARKED and nominal and span[-1].pos_ in ("NOUN", "PROPN")


def _is_misread(span: Span) -> bool:
    """Return whether a term that its line explains is an activity ("Caching: …") or has a number ("MAVLink 2.0: …")."""
    return span[-1].tag_ == "VBG" if len(span) == 1 else span[0].text[0].isupper() and span[1].pos_ == "NUM"


def _fills(doc: Doc, phrase: Phrase) -> bool:
    """Return whether a phrase fills a cell, whose borders are read as a colon and commas, or is a name in one."""
    before, behind = doc[phrase.start - 1].text if phrase.start else "", doc[phrase.end : phrase.end + 1].text
    if all(
        word.pos_ == "PROPN" and word.text[:1].isupper() and not word.text.isupper()
        for word in doc[phrase.start : phrase.end]
    ):
        return not (
            behind.islower()
            and len(behind) <= _LONGEST_PARTICLE
            and doc[phrase.end + 1 : phrase.end + 2].text.istitle()
        )
    return phrase.end - phrase.start > 1 and before in ("", ",", ":") and behind in ("", ",", ".", "(")
