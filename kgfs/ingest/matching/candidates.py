"""List what could be looked up in a document, its candidates, headings and the words of its title; decide which of them
are concepts; and choose the concepts that they are compared with.

Those that are concepts are candidates too: other documents count them, and they are terms again when the concept goes.
A candidate is written down by its first place in the Text, so that Decisions hold no words.

The candidates of the documents that were published before decide which candidates of a Reading are concepts. The
decision is written in the Decisions of the document's publication, which name the concepts, and never made again.
A new version keeps its predecessor's decision about each candidate whose own sentences are unchanged. A heading of
three other documents is structure and no concept.

Exact labels and aliases are matched against the whole ontology, whatever the strategy. Similarity is computed only
against the concepts that the strategy offers, so that the cost of a match does not grow with the graph. A concept
that is not offered is not recognised by its meaning, only by its name:

- ``popularity`` joins to the most frequent concepts, and leaves the rest apart;
- ``random`` joins to any concepts, different ones for each document;
- ``hybrid`` takes most of the list by popularity and the rest at random.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol

from kgfs.domain.forms import Span, form_key
from kgfs.domain.function_words import HOLLOW, JOINING, WORDS
from kgfs.domain.identity import concept_id_of, normalise_label
from kgfs.domain.knowledge import FoundConcept
from kgfs.domain.languages import ENGLISH
from kgfs.errors import BadInputError, CorruptError, MissingError
from kgfs.ingest.reading.choice import is_concept
from kgfs.ingest.reading.embeddings import Embeddings
from kgfs.models.extractor import junk
from kgfs.settings import STRATEGIES
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.terms import HEADINGS
from kgfs.stores.graph.vocabulary import EVERYTHING, Concept, Scope
from kgfs.stores.readings import Candidate, Reading, load_decisions, load_reading, text_of
from kgfs.stores.stores import Stores

POPULAR_SHARE = 0.7
"""Share of popular concepts in a hybrid offer; the rest is a random sample."""

NOTHING_KEPT: Mapping[str, bool] = MappingProxyType({})

LONGEST = 5
"""The most words of a piece of a heading that may be a term."""
SHORTEST = 3
"""The fewest letters of a lone word of a title that may be a term."""

_NUMBERING = re.compile(r"^(?:[0-9]+|[A-Za-z]|[ivxIVX]{1,4})(?:\.[0-9]+)*[.)]\s+")
_WORD = re.compile(r"[^\W_](?:[\w.+#'’\-‐‑]*[\w+#])?")

_SHORTENED = re.compile(r"\w+['’](?:t|re|ve|ll|d|m)|(?:it|that|there|here|what|who|let|he|she)['’]s", re.IGNORECASE)
"""A word that is short for two, one of which is a verb."""

Suppressed = Callable[[Sequence[str]], Collection[str]]
"""Given concept ids, return those that a person has forgotten for good."""


class Titled(Protocol):
    """What of a Reading can be looked up."""

    @property
    def concepts(self) -> tuple[FoundConcept, ...]: ...

    @property
    def sections(self) -> tuple[tuple[int, tuple[str, ...]], ...]: ...

    @property
    def title(self) -> str: ...

    @property
    def language(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Forms:
    """How a document writes one candidate."""

    norm: str
    """The normalised label."""
    keys: frozenset[str]
    heading: bool = False
    """Whether it is a whole heading."""


def forms_of(ontology: str, reading: Titled, suppressed: Suppressed) -> dict[str, Forms]:
    """Return the forms of each candidate by the key of its label. What is suppressed under any of them is left out."""
    found: dict[str, Forms] = {}
    norms: dict[str, set[str]] = {}
    for concept in reading.concepts:
        forms = [form for form in (concept.label, *concept.forms) if normalise_label(form)]
        key = form_key(concept.label)
        found[key] = Forms(concept.norm, frozenset(map(form_key, forms)))
        norms[key] = {normalise_label(form) for form in forms}
    taken = {form for one in found.values() for form in one.keys}
    for words, whole in _named_in_headings(reading):
        key = form_key(words)
        if key in found:
            found[key] = replace(found[key], heading=found[key].heading or whole)
        elif key not in taken:
            found[key] = Forms(normalise_label(words), frozenset([key]), whole)
            norms[key] = {found[key].norm}
    ids = {norm: concept_id_of(ontology, norm) for some in norms.values() for norm in some}
    barred = suppressed(sorted({*ids.values()})) if ids else ()
    return {key: one for key, one in found.items() if not any(ids[norm] in barred for norm in norms[key])}


def headings_of(reading: Titled) -> frozenset[str]:
    """Return the keys of the whole headings of a document."""
    return frozenset(form_key(words) for words, whole in _named_in_headings(reading) if whole)


def placed(forms: Mapping[str, Forms], places: Mapping[str, Iterable[Span]]) -> tuple[Candidate, ...]:
    """Return the candidates that stand in the Text, in order of their first places."""
    found: list[Candidate] = []
    for one in forms.values():
        spans = sorted({span for key in one.keys for span in places.get(key, ())})
        if spans:
            found.append(Candidate(*spans[0], len(spans), one.heading))
    return tuple(sorted(found, key=lambda one: (one.start, one.end)))


def _named_in_headings(reading: Titled) -> Iterator[tuple[str, bool]]:
    """Yield the words of headings and title that could be looked up, with whether they are a whole heading.

    Of a heading that is one run of words it is all of it. Noun phrases in other headings are candidates of the grammar. Of
    a title it is each run, and each word, that ends as a candidate of the document does: what is no noun ends none.
    """
    language = reading.language or ENGLISH
    for title in dict.fromkeys(path[-1] for _, path in reading.sections if path):
        heading = _NUMBERING.sub("", title).strip()
        pieces = list(_pieces(heading, language))
        short = len(pieces) == 1 and len(heading.split()) <= LONGEST
        if short and form_key(pieces[0]) == form_key(heading) and not _is_junk(heading, language):
            yield heading, True
    ends = {form_key(form).rpartition(" ")[2] for concept in reading.concepts for form in concept.forms}
    for piece in _pieces(reading.title, language):
        words = piece.split()
        if len(words) <= LONGEST and not _is_junk(piece, language) and form_key(words[-1]) in ends:
            yield piece, False
        for word in words:
            if sum(map(str.isalpha, word)) >= SHORTEST and not _is_junk(word, language) and form_key(word) in ends:
                yield word, False


def _is_junk(words: str, language: str) -> bool:
    """Return whether words name nothing. Only those of English are measured by its function words and hollow nouns."""
    reason = junk.reason(words)
    if language == ENGLISH:
        return bool(reason)
    return reason not in ("", "stop words", "hollow") or words.casefold() in HOLLOW.get(language, ())


def _pieces(text: str, language: str) -> Iterator[str]:
    """Yield the runs of words without a stop word or a sign between them; words such as *de* may stand in a run."""
    stop_words = junk.STOP_WORDS
    if language != ENGLISH:
        stop_words = WORDS.get(language, frozenset()) - JOINING.get(language, frozenset())
    run: list[tuple[int, int]] = []
    for found in _WORD.finditer(text):
        apart = bool(run) and text[run[-1][1] : found.start()].strip() != ""
        stops = found[0].casefold() in stop_words or not any(map(str.isalpha, found[0]))
        stops |= bool(_SHORTENED.fullmatch(found[0]))
        if run and (apart or stops):
            yield text[run[0][0] : run[-1][1]]
            run = []
        if not stops:
            run.append(found.span())
    if run:
        yield text[run[0][0] : run[-1][1]]


def selected(
    graph: Graph,
    ontology: str,
    reading: Reading,
    embeddings: Embeddings | None,
    leaving: Collection[str],
    kept: Mapping[str, bool],
) -> tuple[Reading, Embeddings | None]:
    """Return the Reading, and its vectors, with those of its candidates that are concepts. The others are terms.

    The documents ``leaving`` with this publication do not count. ``kept`` are decisions about candidates, by normalised
    label, that hold whatever the counts are. Documents that were read by earlier rules count for their concepts alone.
    """
    gone = {*leaving, reading.doc_id}
    asked = {found.norm: found for found in reading.concepts if found.odds is not None}
    keys = {norm: form_key(found.label) for norm, found in asked.items()}
    counted = graph.terms.counted(ontology, {*keys.values()}, gone)
    ids = {norm: concept_id_of(ontology, norm) for norm in asked}
    known = graph.documents_counted({*ids.values()}, gone)
    left = sum(row is not None and row.status != "text" for row in map(graph.document, gone))
    others = graph.counts(ontology).get("documents", 0) - graph.texts(ontology) - left
    headings, linked = headings_of(reading), _linked_title(graph, ontology, reading)
    chosen: list[int] = []
    for index, found in enumerate(reading.concepts):
        key = keys.get(found.norm, "")
        documents, headed = counted.get(key, (0, 0))
        having = max(documents, known.get(ids.get(found.norm, ""), 0))
        structure = key in headings and headed + 1 >= HEADINGS
        passes = not structure and is_concept(found, having, others)
        if kept.get(found.norm, passes) or (found.odds is not None and form_key(found.label) == linked):
            chosen.append(index)
    concepts = tuple(reading.concepts[index] for index in chosen)
    if embeddings is not None:
        embeddings = replace(embeddings, concepts=embeddings.concepts[chosen])
    return replace(reading, concepts=concepts), embeddings


def _linked_title(graph: Graph, ontology: str, reading: Reading) -> str:
    """Return the key of the title if other documents link to it, so that it is a concept here too; else ''."""
    key = form_key(reading.title)
    ids = graph.joined.with_keys(ontology, [key]).get(key, []) if key else []
    return key if any("LINKED_FROM" in graph.related_types(concept_id) for concept_id in ids) else ""


def kept_from(stores: Stores, reading: Reading, text: str, superseded: Sequence[str]) -> dict[str, bool]:
    """Return what was decided about candidates in the predecessors of a document, by normalised label.

    A decision is kept where each sentence that was evidence stands in the new Text, and each sentence that is evidence
    now stood in the former one. A predecessor whose objects are lost keeps none.
    """
    kept: dict[str, bool] = {}
    for doc_id in superseded:
        document, row = stores.catalog.names.document(doc_id), stores.graph.document(doc_id)
        if document is None or row is None or not document.decisions:
            continue
        try:
            former = load_reading(stores.garage.objects, doc_id, row.reading)
            decisions = load_decisions(stores.garage.objects, document.decisions)
            former_text = text_of(stores.garage.objects, document, former)
        except (MissingError, CorruptError):
            continue
        concepts = {matched.norm for matched in decisions.concepts if matched.passed}
        before = {form_key(found.label): found for found in former.concepts}
        for found in reading.concepts:
            same = before.get(form_key(found.label))
            if found.odds is None or same is None or found.norm in kept:
                continue
            stood = all(former_text[quote.start : quote.end] in text for quote in same.quotes)
            if stood and all(text[quote.start : quote.end] in former_text for quote in found.quotes):
                kept[found.norm] = same.norm in concepts
    return kept


def offer(
    graph: Graph, ontology: str, strategy: str, limit: int, content_hash: str, scope: Scope = EVERYTHING
) -> list[Concept]:
    """Return at most ``limit`` different concepts in ``scope`` for a document with that content.

    The result is the same in all homes that have read the same documents. ``popularity`` takes the concepts with most
    relationships and evidence, ``random`` a sample seeded by the content, ``hybrid`` the popular ones and a random
    sample. Raise BadInputError for an unknown strategy.
    """
    seed = int(hashlib.sha256(content_hash.encode()).hexdigest()[:12], 16)
    if strategy == "popularity":
        return graph.popular(ontology, limit, scope)
    if strategy == "random":
        return graph.sample(ontology, limit, seed, scope)
    if strategy == "hybrid":
        head = graph.popular(ontology, int(limit * POPULAR_SHARE), scope)
        shown = {concept.concept_id for concept in head}
        tail = [c for c in graph.sample(ontology, limit, seed, scope) if c.concept_id not in shown]
        return [*head, *tail[: limit - len(head)]]
    raise BadInputError(f"Unknown strategy '{strategy}'; known are {', '.join(STRATEGIES)}.")
