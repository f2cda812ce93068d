"""What the Sources of a document gave, grouped by concept, in little memory.

A text of ten megabytes gives tens of thousands of groups, hundreds of thousands of quotes and as many relationships. So
quotes and relationships stand in columns of numbers, and a group has its rarer parts only where they are needed.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import Quote
from kgfs.ingest.reading.validate import ValidConcept, ValidExtraction, ValidRelationship
from kgfs.models.contract import Signs
from kgfs.models.extractor import by_counts, junk

NO_QUOTE = -1


def key_of(label: str) -> str:
    """Return the key that spellings of one concept share: the normalised label with its last word in the singular."""
    return junk.fold(normalise_label(label))


class Quotes:
    """Quotes in columns. Each may follow another one, so that those of a concept are a chain."""

    def __init__(self) -> None:
        self._start, self._end, self._chunk = array("I"), array("I"), array("I")
        self._defines, self._score = bytearray(), array("d")
        self._before = array("i")

    def add(self, quote: Quote, before: int = NO_QUOTE) -> int:
        """Add a quote behind the one with the number ``before``, and return its number."""
        self._start.append(quote.start)
        self._end.append(quote.end)
        self._chunk.append(quote.chunk)
        self._defines.append(quote.defines)
        self._score.append(quote.score)
        self._before.append(before)
        return len(self._start) - 1

    def __getitem__(self, at: int) -> Quote:
        return Quote(self._start[at], self._end[at], self._chunk[at], bool(self._defines[at]), self._score[at])

    def chain(self, last: int) -> Iterator[Quote]:
        """Yield a quote and those before it, the last one first."""
        while last != NO_QUOTE:
            yield self[last]
            last = self._before[last]

    def extend(self, last: int, quote: Quote) -> int:
        """Add a quote to the chain that ends with ``last``, and return the new end.

        Of two of one span, which are of one Source, the one with the higher score is kept in the place of the first.
        """
        at = last
        while at != NO_QUOTE and self._chunk[at] == quote.chunk:
            if (self._start[at], self._end[at]) == (quote.start, quote.end):
                if quote.score > self._score[at]:
                    self._defines[at], self._score[at] = quote.defines, quote.score
                return last
            at = self._before[at]
        return self.add(quote, last)


@dataclass(slots=True)
class Group:
    """One concept of the document: all spellings with the same ``key``."""

    key: str
    frequency: int = 0
    form: str = ""
    """The first spelling."""
    counts: dict[str, int] | None = None
    """The frequency of each spelling, where there are several."""
    relevance: dict[int, float] | None = None
    """Relevance in each Source that mentions it, by the Source's position in the document. None if there are signs."""
    found: int = 0
    """The number of concepts of Sources that it has."""
    kinds: dict[str, int] | None = None
    """How many of these have each kind other than ``term``; None if none has."""
    last: int = NO_QUOTE
    """Its last quote in the Text; no span occurs twice in its chain."""
    best: float = 0.0
    """The highest score of its quotes."""
    definitions: tuple[tuple[float, int, str], ...] = ()
    """(-score of the quote, start, definition) per defining quote."""
    score: float = 0.0
    signs: Signs | None = None
    odds: float | None = None

    @property
    def forms(self) -> dict[str, int]:
        """Return the frequency of each spelling."""
        return self.counts if self.counts is not None else {self.form: self.frequency}

    @property
    def label(self) -> str:
        """Return the most frequent spelling."""
        if self.counts is None:
            return self.form
        return min(self.counts, key=lambda form: (-self.forms[form], form))


@dataclass(slots=True)
class Relationships:
    """Relationships between keys of concepts, in columns."""

    quotes: Quotes
    _ends: dict[str, int] = field(default_factory=dict)
    """Normalised label → its number."""
    _keys: list[str] = field(default_factory=list)
    """The key of each normalised label."""
    _types: list[str] = field(default_factory=list)
    _subject: array[int] = field(default_factory=lambda: array("I"))
    _object: array[int] = field(default_factory=lambda: array("I"))
    _type: array[int] = field(default_factory=lambda: array("H"))
    _quote: array[int] = field(default_factory=lambda: array("I"))
    _confidence: array[float] = field(default_factory=lambda: array("d"))
    _latest: Quote | None = None
    """The quote that was added last: neighbours often are of one sentence."""

    def add(self, stated: ValidRelationship) -> None:
        if stated.type not in self._types:
            self._types.append(stated.type)
        self._subject.append(self._end(stated.subject))
        self._object.append(self._end(stated.object))
        self._type.append(self._types.index(stated.type))
        self._quote.append(self._quote[-1] if stated.quote == self._latest else self.quotes.add(stated.quote))
        self._latest = stated.quote
        self._confidence.append(stated.confidence)

    def _end(self, norm: str) -> int:
        number = self._ends.setdefault(norm, len(self._keys))
        if number == len(self._keys):
            key = key_of(norm)
            self._keys.append(norm if key == norm else key)
        return number

    def __len__(self) -> int:
        return len(self._quote)

    def __iter__(self) -> Iterator[tuple[str, str, str, int, float]]:
        """Yield key of the subject, type, key of the object, number of the quote and confidence of each, in order."""
        for at, quote in enumerate(self._quote):
            subject, object_ = self._keys[self._subject[at]], self._keys[self._object[at]]
            yield subject, self._types[self._type[at]], object_, quote, self._confidence[at]


class Gathered:
    """What the Sources of a document gave, grouped by concept. Sources are added in their order."""

    def __init__(self, extractions: Iterable[ValidExtraction] = ()) -> None:
        self.groups: dict[str, Group] = {}
        self.quotes = Quotes()
        self.relationships = Relationships(self.quotes)
        self.leads: list[str] = []
        self._places = 0
        for extraction in extractions:
            self.add(extraction)

    def skip(self) -> None:
        """Count a Source that gave nothing."""
        self._places += 1

    def add(self, extraction: ValidExtraction) -> None:
        """Add what the next Source gave."""
        for concept in extraction.concepts:
            language = concept.signs.language if concept.signs else ""
            if not concept.quotes or (junk.reason(concept.label) and not language):
                continue
            key = by_counts.key_of(concept.label, language) if language else key_of(concept.label)
            group = self.groups.get(key)
            if group is None:
                group = self.groups[key] = Group(concept.label if key == concept.label else key)
            self._add(group, concept)
        for stated in extraction.relationships:
            self.relationships.add(stated)
        self.leads += extraction.leads
        self._places += 1

    def _add(self, group: Group, concept: ValidConcept) -> None:
        if group.counts is None and group.found and group.form != concept.label:
            group.counts = {group.form: group.frequency}
        if concept.aliases and group.counts is None:
            group.counts = {group.form: group.frequency} if group.found else {}
        if group.counts is not None:
            for alias in concept.aliases:
                group.counts.setdefault(alias, 0)
            group.counts[concept.label] = group.counts.get(concept.label, 0) + concept.frequency
        group.form = group.form or (group.key if concept.label == group.key else concept.label)
        group.frequency += concept.frequency
        if concept.signs is not None:
            group.signs = group.signs + concept.signs if group.signs else concept.signs
        else:
            group.relevance = {} if group.relevance is None else group.relevance
            group.relevance[self._places] = max(concept.relevance, group.relevance.get(self._places, 0.0))
        group.found += 1
        if concept.kind != "term":
            group.kinds = {} if group.kinds is None else group.kinds
            group.kinds[concept.kind] = group.kinds.get(concept.kind, 0) + 1
        for quote in concept.quotes:
            group.best = max(quote.score, group.best) if group.last != NO_QUOTE else quote.score
            group.last = self.quotes.extend(group.last, quote)
        if concept.definition:
            best = max(
                (quote for quote in concept.quotes if quote.defines), key=lambda quote: quote.score, default=None
            )
            if best is not None:
                group.definitions += ((-best.score, best.start, concept.definition),)
            elif concept.signs is None:  # the words of a language model, which rest on all quotes
                group.definitions += ((0.0, concept.quotes[0].start, concept.definition),)

    def quotes_of(self, group: Group) -> list[Quote]:
        """Return the quotes of a group in order of the Sources."""
        return list(self.quotes.chain(group.last))[::-1]
