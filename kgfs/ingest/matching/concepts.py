"""Merge and split concepts: a person's decision overrides what matching decided.

The result is worked out as new Decisions of the documents concerned (``concept_plans``), which are stored in the
garage. Then it is recorded as one fact and carried out in one commit to the graph. If the process is killed between
these steps, the next worker carries the fact out. Later matching follows the decision by its marks. The caller holds
the worker lock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgfs.domain.documents import Document
from kgfs.errors import MissingError
from kgfs.failpoints import border
from kgfs.ingest.matching.publication import content_of
from kgfs.ingest.reading import embeddings
from kgfs.stores.catalog.facts import ConceptsMerged, ConceptSplit, PlacesAdded
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.graph.vocabulary import DocumentContent, Joining, Mark
from kgfs.stores.readings import Decisions, Reading, key_of_decisions, load_decisions, load_reading, text_of
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Row, unindex

Word = ConceptsMerged | ConceptSplit | PlacesAdded
FACTS_BACK = 10_000
"""Number of the newest facts that are searched for one that was not carried out. The catalog keeps at least so many."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A change of what documents say of concepts that is worked out and not yet recorded."""

    word: Word
    decisions: tuple[Decisions, ...]
    name: str
    """The directory name of the concept that the mentions go to."""
    labels: tuple[str, ...]
    """The labels of the mentions that move."""
    documents: int
    evidence: int
    """The number of quotes that move."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What Decisions rest on, where the caller has loaded it already."""

    reading: Reading
    decisions: Decisions
    """The whole ones, also where what is stored of them is what differs from others."""
    text: str


NOTHING: Mapping[str, Loaded] = {}


def decide(stores: Stores, plan: Plan, loaded: Mapping[str, Loaded] = NOTHING) -> None:
    """Store the plan and carry it out. The plan must fit the present graph.

    The Decisions and the fact are durable before the graph changes. ``loaded`` is by key of the Decisions, for those that need not be loaded again.
    """
    for decisions in plan.decisions:
        stores.garage.objects.put(decisions.key, decisions.encode())
    border("word-kept")
    stores.catalog.record(plan.word)
    border("word-recorded")
    carry_out_word(stores, plan.word, loaded)
    border("word-carried-out")


def carry_out_word(stores: Stores, word: Word, loaded: Mapping[str, Loaded] = NOTHING) -> None:
    """Carry out a merge, a split or additions in graph and vectors. Idempotent."""
    say_in_graph(stores, word, loaded)
    _index(stores, word)


def _index(stores: Stores, word: Word) -> None:
    if stores.vectors is None or isinstance(word, PlacesAdded):
        return
    former = word.others if isinstance(word, ConceptsMerged) else ()
    unindex(stores, (), former)
    stores.vectors.upsert(founded_rows(stores, word, stores.vectors.model))


def say_in_graph(stores: Stores, word: Word, loaded: Mapping[str, Loaded] = NOTHING) -> int:
    """Carry out a merge, a split or additions in the graph, without documents that the graph does not show (any more).

    Return the new epoch. Idempotent by the commit id.
    """
    if isinstance(word, PlacesAdded):
        contents = spoken(stores, word.decisions, word.at, word.concepts, loaded)
        return stores.graph.reassign(word.commit_id, contents, word.at, looked=(word.concepts, word.after))
    marks, unmarked = ([_mark(word.ontology, written) for written in some] for some in (word.marks, word.unmarked))
    contents = spoken(stores, word.decisions, word.at)
    joined, parted = _joining(word)
    became = [(other, word.into) for other in word.others] if isinstance(word, ConceptsMerged) else []
    return stores.graph.reassign(
        word.commit_id, contents, word.at, marks, unmarked, joined=joined, parted=parted, became=became
    )


def _joining(word: ConceptsMerged | ConceptSplit) -> tuple[list[Joining], list[str]]:
    """Return the joining that a fact makes, and the concept that it parts."""
    if not word.joining:
        return [], []
    if isinstance(word, ConceptSplit):
        return [], [word.target]
    short, long, own = word.joining.split()
    return [Joining(word.others[0], word.into, word.ontology, short, long, own)], []


def spoken(
    stores: Stores,
    keys: Sequence[str],
    at: int,
    looked_for: Sequence[str] = (),
    loaded: Mapping[str, Loaded] = NOTHING,
) -> list[DocumentContent]:
    """Return the content of the Decisions under these keys, without those of documents that are not shown (any more).

    Of the concepts that a document only names, those with an id in ``looked_for`` are in it.
    """
    found: list[DocumentContent] = []
    looked = frozenset(looked_for)
    for key in keys:
        document = stores.catalog.names.document(key.split("/")[1])
        row = stores.graph.document(document.doc_id) if document else None
        if document is None or row is None:
            continue
        known = loaded.get(key)
        decisions = known.decisions if known else load_decisions(stores.garage.objects, key)
        if row.reading != decisions.reading:
            continue
        reading = known.reading if known else load_reading(stores.garage.objects, document.doc_id, decisions.reading)
        text = known.text if known else _text(stores, document, reading, key)
        as_shown = replace(document, deposit=row.deposit)
        said = content_of(stores.graph, as_shown, reading, decisions, text=text, at=at, looked_for=looked)
        found.append(said)
    return found


def _text(stores: Stores, document: Document, reading: Reading, key: str) -> str:
    """Return the Text, or as many spaces where the original is gone for good and other Decisions are shown.

    A rebuild publishes the same spaces.
    """
    try:
        return text_of(stores.garage.objects, document, reading)
    except MissingError:
        if document.commit_id and document.decisions == key:
            raise
        return " " * reading.text_length


def founded_rows(stores: Stores, word: Word, model: str) -> list[Row]:
    """Return the vector row of the concept that a split founded; nothing for a merge."""
    if not isinstance(word, ConceptSplit):
        return []
    for key in word.decisions:
        if key_of_decisions(stores.garage.objects, key) is None:  # the document was purged since
            continue
        decisions = load_decisions(stores.garage.objects, key)
        founders = [m for m in decisions.concepts if m.concept_id == word.target and m.how == "new"]
        if not founders:
            continue
        reading = load_reading(stores.garage.objects, decisions.doc_id, decisions.reading)
        found = embeddings.load(stores.garage.objects, reading, model)
        if found is None:
            return []
        founding = replace(decisions, concepts=tuple(founders))
        return embeddings.concept_rows(word.ontology, reading, founding, found)
    return []


def catch_up(stores: Stores) -> None:
    """Carry out the merge, split or additions that a killed process recorded but did not complete in graph and vectors.

    Only the last one can be incomplete.
    """
    word = last_word(stores.catalog)
    if word is None:
        return
    published = stores.graph.published(word.commit_id)
    if published is None:
        carry_out_word(stores, word)
    elif published == stores.graph.epoch():
        _index(stores, word)


def last_word(catalog: Catalog) -> Word | None:
    """Return the newest merge, split or addition, the only one that may not be carried out yet; None if there is none."""
    facts = catalog.facts(max(catalog.seq() - FACTS_BACK, 0), FACTS_BACK) or []
    return next((fact for _, fact in reversed(facts) if isinstance(fact, Word)), None)


def _mark(ontology: str, written: str) -> Mark:
    mark, _, concept_id = written[1:].partition("=")
    return Mark(mark, ontology, concept_id, written[0] == "+")
