"""The offline extractor: English grammar proposes candidates for concepts, with their signs, and relationships."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kgfs.domain.identity import normalise_label
from kgfs.domain.languages import ENGLISH
from kgfs.models.contract import Extraction, Passage, RawConcept, RawQuote, RawRelationship, Signs
from kgfs.models.extractor import by_counts, headings, junk, output, quotes, telling, typed
from kgfs.models.extractor.definitions import defining, names_a_thing
from kgfs.models.extractor.page import Candidate, Page, page_of
from kgfs.models.extractor.persons import Person
from kgfs.models.extractor.prose import Prose, attendees, prose_of
from kgfs.models.extractor.quotes import Definitions, forms_of, headed, read
from kgfs.models.extractor.related import stated_by
from kgfs.models.extractor.speakers import SPEAKER
from kgfs.models.grammar import English

if TYPE_CHECKING:
    from spacy.tokens import Doc

_MINUTES = re.compile(r"\b(?:minutes|meeting|agenda|stand-?up)\b", re.IGNORECASE)
"""What the title of minutes says."""
TOGETHER = 8
"""The number of passages that are parsed at the same time. It bounds memory."""


class GrammarExtractor:
    """An Extractor. It is deterministic; any number of threads may call."""

    name = "grammar"
    version = "8"
    billed = False
    takes_known = False

    def __init__(self, english: English) -> None:
        self._english = english
        self.model = english.model
        weights = (telling.ROLES, telling.PART, telling.BIAS, telling.WEIGHTS, quotes.TELLING)
        rules = repr((weights, typed.VERBS, typed.PREPOSITIONS))
        self.prompt_hash = hashlib.sha256(f"{self.name}/{self.version} {rules}".encode()).hexdigest()[:16]

    def extract(self, passages: Sequence[Passage], known: Sequence[str] = ()) -> list[str]:
        """Return the raw output of each passage, as the contract says.

        ``known`` is ignored: the same words give the same concepts, and matching joins them later.
        """
        raw: list[str] = []
        for at in range(0, len(passages), TOGETHER):
            raw.extend(self._extract(passages[at : at + TOGETHER]))
        return raw

    def parse(self, raw: str) -> Extraction:
        return output.decode(raw)

    def _extract(self, passages: Sequence[Passage]) -> list[str]:
        """Return the outputs. Passages in other languages are read by counts."""
        english = iter(self._in_english([passage for passage in passages if passage.language == ENGLISH]))
        return [
            next(english) if passage.language == ENGLISH else output.encode(by_counts.extraction(passage))
            for passage in passages
        ]

    def _in_english(self, passages: Sequence[Passage]) -> list[str]:
        prose = [prose_of(passage.text, passage.speakers, minutes=_is_minutes(passage)) for passage in passages]
        parsed = iter(self._english.read([block.text for blocks in prose for block in blocks]))
        headed = [block for blocks in prose for block in blocks if block.kind == "heading" or block.topic]
        orders = self._english.read([headings.as_order(block.text) for block in headed])
        for block, pieces in zip(headed, orders, strict=True):
            block.order = headings.is_order(pieces[0][1])
        pages = [
            _page(passage, [(block, next(parsed)) for block in blocks])
            for blocks, passage in zip(prose, passages, strict=True)
        ]
        return [output.encode(_extraction(passage.text, page)) for passage, page in zip(passages, pages, strict=True)]


def _page(passage: Passage, blocks: Sequence[tuple[Prose, Sequence[tuple[int, Doc]]]]) -> Page:
    """Return the page of a passage. Persons whom it lists count as speakers."""
    page = page_of(blocks, passage.text)
    page.minutes = _is_minutes(passage)
    page.leads.extend(name for name in (*attendees(passage.text), *passage.speakers) for _ in range(SPEAKER))
    return page


def _is_minutes(passage: Passage) -> bool:
    return bool(passage.speakers) or _MINUTES.search(passage.title) is not None


def _extraction(text: str, page: Page) -> Extraction:
    definitions = _definitions(text, page)
    relationships = _relationships(text, page)
    forms = forms_of(page)
    ends = {end for found in relationships if found[1] != "RELATED_TO" for end in (found[0], found[2])}
    concepts: dict[str, RawConcept] = {}
    for key, candidate in page.candidates.items():
        signs, said = read(text, page, candidate, forms, definitions.get(key, {}))
        if signs.whole or signs.structure or signs.cell or key in definitions or key in ends:
            concepts[key] = RawConcept(candidate.label, "term", 0.0, len(candidate.mentions), said, signs)
    wanted = set(concepts)
    for person, span in page.persons:
        key = junk.fold(normalise_label(person.name))
        concepts[key] = _with_person(text, person, span, concepts.get(key))
    return Extraction(
        tuple(concepts.values()),
        tuple(
            RawRelationship(page.candidates[subject].label, kind, page.candidates[object_].label, quote, confidence)
            for subject, kind, object_, quote, confidence in relationships
            if {subject, object_} <= wanted
        ),
        tuple(page.leads),
    )


def _with_person(text: str, person: Person, span: tuple[int, int], known: RawConcept | None) -> RawConcept:
    """Return the concept of a person with what one block says of them."""
    quote = RawQuote(text[span[0] : span[1]], *span, score=quotes.TELLS)
    signs = Signs(role=person.role, owns=not person.role)
    if known is None:
        return RawConcept(person.name, "person", 0.0, 1, (quote,), signs)
    said = {(one.start, one.end): one for one in (quote, *known.quotes)}
    ordered = tuple(said[at] for at in sorted(said))
    return replace(known, kind="person", quotes=ordered, signs=known.signs + signs if known.signs else signs)


def _definitions(text: str, page: Page) -> dict[str, Definitions]:
    """Return, for each key, sentence index → the words that define it."""
    found: dict[str, Definitions] = {}
    marked = {
        mention.sentence: mention.last
        for candidate in page.candidates.values()
        for mention in candidate.mentions
        if mention.mark in ("strong", "link", "term", "code")
        and mention.first == page.sentences[mention.sentence].words.start
    }
    first = next((at for at, sentence in enumerate(page.sentences) if sentence.kind != "heading"), -1)
    for index, sentence in enumerate(page.sentences):
        if sentence.kind == "term":
            _define_term(page, index, found)
        elif sentence.kind != "heading" and not (
            sentence.kind == "row" and text.count("|", sentence.start, sentence.end) > 1
        ):
            said = bool(sentence.lead)  # a speaker's colon explains nothing
            listed = sentence.kind in ("item", "row") and not said
            for definition in defining(sentence.words, listed=listed, marked=0 if said else marked.get(index, 0)):
                key = page.concept_at(index, definition.defined)
                if key and (not definition.pointed or index == first or index in headed(page, page.candidates[key])):
                    words = sentence.words.doc[definition.first : definition.last].text.strip()
                    found.setdefault(key, {}).setdefault(index, words)
    return found


def _define_term(page: Page, index: int, found: dict[str, Definitions]) -> None:
    """Add the definition of a term: the sentence that follows it, indented below it."""
    if index + 1 < len(page.sentences) and page.sentences[index + 1].kind == "paragraph":
        key = junk.fold(normalise_label(page.sentences[index].words.text))
        definition = page.sentences[index + 1].words
        if key in page.candidates and names_a_thing(definition):
            found.setdefault(key, {})[index + 1] = definition.text.strip().rstrip(".")


def _is_likely(candidate: Candidate) -> bool:
    """Return whether a candidate may be a concept by what the passage shows: marked, or whole in a sentence of it."""
    return any(mention.mark or mention.whole for mention in candidate.mentions)


def _relationships(text: str, page: Page) -> list[tuple[str, str, str, RawQuote, float]]:
    found: list[tuple[str, str, str, RawQuote, float]] = []
    likely = {key for key, candidate in page.candidates.items() if _is_likely(candidate)}
    for index, sentence in enumerate(page.sentences):
        if sentence.kind in ("heading", "term"):
            continue
        topic = sentence.kind == "topic"
        for stated in stated_by(sentence.words, page.places(index), is_likely=likely.__contains__, topic=topic):
            quote = RawQuote(text[sentence.start : sentence.end], sentence.start, sentence.end)
            found.append((stated.subject, stated.type, stated.object, quote, stated.confidence))
    return found
