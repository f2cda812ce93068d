"""What a home would show of a folder of documents, without a home: the same stages, with the models' answers kept.

Documents are read in the order of their names. Joinings across documents are those of equal forms alone, so that a home
may show a few concepts less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.quality.kept import Answers, KeptEnglish, KeptVectors
from bench.quality.pipe import Found, Pipe
from bench.quality.shown import Shown, ShownConcept, ShownDocument, ShownRelationship
from kgfs.compute.local import LocalCompute
from kgfs.domain.forms import form_key
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, holds
from kgfs.formats.headings import section_paths
from kgfs.ingest.matching.candidates import forms_of, headings_of
from kgfs.ingest.reading.by_headings import with_headings
from kgfs.ingest.reading.choice import is_concept
from kgfs.ingest.reading.joining import folded, join
from kgfs.ingest.reading.notes import with_links
from kgfs.ingest.reading.passages import language_told
from kgfs.models import tokens
from kgfs.models.extractor.grammar import GrammarExtractor
from kgfs.models.extractor.quotes import TELLING
from kgfs.models.selection import Selection
from kgfs.render.words import below
from kgfs.settings import Models, Pipeline
from kgfs.stores.graph.terms import HEADINGS
from kgfs.stores.graph.vocabulary import Concept


@dataclass(slots=True)
class _One:
    """A concept and what the documents before showed of it."""

    found: FoundConcept
    forms: dict[str, None]
    documents: list[int] = field(default_factory=list)
    quotes: list[tuple[bool, float, int, str, str]] = field(default_factory=list)
    """(not defines, -score, number, quote, title and headings above it)."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What of a Reading can be looked up."""

    concepts: tuple[FoundConcept, ...]
    sections: tuple[tuple[int, tuple[str, ...]], ...]
    title: str
    language: str

    def section_at(self, at: int) -> tuple[str, ...]:
        """Return the titles of the headings above a place."""
        behind = bisect_right(self.sections, at, key=lambda section: section[0])
        return self.sections[behind - 1][1] if behind else ()


def pipe_of(answers: Path) -> Pipe:
    """Return the stages with the grammar and MiniLM, whose answers are kept in a file."""
    kept = Answers(answers)
    english = KeptEnglish(kept)
    selection = Selection(tokens.load(), KeptVectors(kept), GrammarExtractor(english), english.has_verb, ())
    return Pipe(Models(), Pipeline(), LocalCompute(Models(), selection))


def read(pipe: Pipe, folder: Path) -> Shown:
    """Return what an ontology of the files of a folder shows."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    found = [_with_links(pipe.read(path), path) for path in paths]
    ontology = _Ontology(found)
    for at in range(len(found)):
        ontology.publish(at)
    ontology.add_terms()
    return ontology.shown([path.name for path in paths])


def _with_links(found: Found, path: Path) -> Found:
    concepts, relationships = join(found.concepts, found.relationships, found.text.text)
    concepts, relationships = with_links(found.text, path.name, found.passed, concepts, relationships)
    return replace(
        found, concepts=concepts, relationships=with_headings(found.text, found.passed, concepts, relationships)
    )


class _Ontology:
    def __init__(self, found: Sequence[Found]) -> None:
        self._found = found
        self._concepts: dict[str, _One] = {}
        self._of: dict[str, str] = {}
        """The key of each form → the key of its concept."""
        self._candidates: Counter[str] = Counter()
        self._headings: Counter[str] = Counter()
        self._first: dict[str, tuple[str, int]] = {}
        """The key of a candidate → its label, and the document that has it first."""
        self._linked: set[str] = set()
        """The keys of the concepts that a note links to."""
        self._terms: list[tuple[int, FoundConcept, str]] = []
        """Candidates that are no concept by their document, with its number and their key."""
        self._said: dict[tuple[str, str, str], dict[str, float]] = {}
        """Subject, type, object → quote → confidence."""

    def publish(self, at: int) -> None:
        found = self._found[at]
        said = self._said_of(at)
        headings = headings_of(said)
        norms: dict[str, str] = {}
        for concept in found.concepts:
            key = form_key(concept.label)
            structure = key in headings and self._headings[key] + 1 >= HEADINGS
            linked = key == form_key(said.title) and self._of.get(key) in self._linked
            if linked or (not structure and is_concept(concept, self._candidates[key], at)):
                norms[concept.norm] = self._add(at, concept, key)
            elif not structure:
                self._terms.append((at, concept, key))
        labels = {form_key(concept.label): concept.label for concept in found.concepts}
        for key, forms in forms_of("", said, lambda ids: ()).items():
            self._candidates[key] += 1
            self._headings[key] += forms.heading
            self._first.setdefault(key, (labels.get(key, forms.norm), at))
        for one in found.relationships:
            self._linked |= {norms[one.object]} if one.type == "LINKS_TO" and one.object in norms else set()
            if one.subject in norms and one.object in norms and norms[one.subject] != norms[one.object]:
                self._relate(found, one, norms)

    def _said_of(self, at: int) -> _Said:
        found = self._found[at]
        text = found.text
        return _Said(found.concepts, tuple(section_paths(text.blocks)), text.title, language_told(text))

    def _add(self, at: int, concept: FoundConcept, key: str) -> str:
        key = self._of.get(key, key)
        one = self._concepts.setdefault(key, _One(concept, {}))
        for form in concept.forms:
            one.forms[form] = None
            self._of.setdefault(form_key(form), key)
        if concept.definition and not one.found.definition:
            one.found = replace(one.found, definition=concept.definition)
        one.documents.append(at)
        self._quote(at, concept, one)
        return key

    def add_terms(self) -> None:
        """Add what documents say of terms that are concepts by others."""
        for at, term, key in self._terms:
            if key in self._of and any(quote.defines or quote.score >= TELLING for quote in term.quotes):
                self._quote(at, term, self._concepts[self._of[key]])

    def _quote(self, at: int, concept: FoundConcept, one: _One) -> None:
        text, said = self._found[at].text.text, self._said_of(at)
        for quote in concept.quotes:
            place = f"{said.title}{below(said.title, said.section_at(quote.start))}"
            one.quotes.append((not quote.defines, -quote.score, len(one.quotes), text[quote.start : quote.end], place))

    def _relate(self, found: Found, one: FoundRelationship, norms: dict[str, str]) -> None:
        subject, object_ = norms[one.subject], norms[one.object]
        if one.type == "RELATED_TO":
            subject, object_ = sorted((subject, object_))
        quotes = self._said.setdefault((subject, one.type, object_), {})
        quote = found.text.text[one.quote.start : one.quote.end]
        quotes[quote] = max(one.confidence, quotes.get(quote, 0.0))

    def shown(self, names: Sequence[str]) -> Shown:
        related = list(self._related())
        linked = {end for said in related for end in (said.subject, said.object)}
        concepts = tuple(self._concept(one, names, linked) for one in self._concepts.values())
        terms = sorted(
            (label, self._found[at].text.title)
            for key, (label, at) in self._first.items()
            if key not in self._of and self._headings[key] < HEADINGS
        )
        return Shown(
            tuple(self._document(at, name) for at, name in enumerate(names)),
            tuple(sorted(concepts, key=lambda one: one.concept.label)),
            (*related, *self._by_name()),
            tuple(terms),
        )

    def _concept(self, one: _One, names: Sequence[str], linked: set[str]) -> ShownConcept:
        best = min(one.quotes)
        label = one.found.label
        aliases = tuple(form for form in one.forms if form != label and folded(form) != folded(label))
        concept = Concept(
            label,
            "",
            one.found.norm,
            label,
            label,
            aliases,
            one.found.definition,
            one.found.kind,
            len(one.quotes),
            0,
            0,
            0,
        )
        documents = tuple(names[at] for at in one.documents)
        return ShownConcept(concept, best[3], best[4], documents, label in linked)

    def _related(self) -> Iterator[ShownRelationship]:
        for (subject, type_, object_), quotes in sorted(self._said.items()):
            if holds(type_, len(quotes), max(quotes.values())):
                ends = (self._concepts[end].found.label for end in (subject, object_))
                sentences = tuple(quotes)[:3]
                first, second = ends
                yield ShownRelationship(first, type_, second, sentences)

    def _by_name(self) -> Iterator[ShownRelationship]:
        for one in self._concepts.values():
            kind = next((self._of[kind] for kind in one.found.kinds if kind in self._of), "")
            if kind and self._concepts[kind] is not one:
                yield ShownRelationship(one.found.label, "IS_A", self._concepts[kind].found.label, ())

    def _document(self, at: int, name: str) -> ShownDocument:
        found = self._found[at]
        forms = {form for concept in found.concepts for form in (concept.label, *concept.forms)}
        headings = tuple(b.title for b in found.text.blocks if b.kind == "heading")
        words = len(found.text.text.split())
        return ShownDocument(name, name, found.text.title, words, headings, frozenset(map(folded, forms)))
