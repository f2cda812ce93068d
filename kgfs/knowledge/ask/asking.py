"""The way of a question to its answer, extractive: sentences of the Sources, exactly as they stand there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kgfs.compute.deadline import Deadline
from kgfs.compute.likeness import likeness
from kgfs.compute.nearest import LONGEST_WORDS
from kgfs.domain.identity import normalise_label
from kgfs.domain.places import page_in
from kgfs.domain.word_forms import forms_in, forms_of, words_in
from kgfs.errors import BadInputError, GivenUpError, KgfsError
from kgfs.failpoints import slowly
from kgfs.knowledge import timing
from kgfs.knowledge.ask.answer import Answer, Looked, Place, Quote, State, Statement
from kgfs.knowledge.ask.choosing import chosen
from kgfs.knowledge.ask.composing import SHOWN, Material, Written, write
from kgfs.knowledge.ask.defined import BY_EVIDENCE, evidence_of, leads
from kgfs.knowledge.ask.gathering import Gathered, Position, gather
from kgfs.knowledge.ask.question import Question, named_in, share_of, weighed
from kgfs.knowledge.ask.scoring import Judged, Scored, Weights, led, score, standardised
from kgfs.knowledge.ask.sentences import points_back
from kgfs.knowledge.ask.stated import closest
from kgfs.knowledge.ask.subject import subjects_of
from kgfs.knowledge.claims_found import found_claims
from kgfs.knowledge.intent import Intent, domains_in, read_intent, say_intent
from kgfs.knowledge.search import Found, search
from kgfs.models.extractor.background import is_written_small, rank
from kgfs.render.search import telling_words
from kgfs.settings import Llm
from kgfs.stores.graph.vocabulary import SourceRow
from kgfs.stores.stores import Stores

COMPARED = 120
"""The number of sentences that the worker's models compare with the question: the best by their words and by the search."""
CLAIMS = 3
"""The number of claims that a language model is shown, each with the Source of its strongest evidence."""
BESIDE = 3
"""The number of Sources among those that a language model is shown that claims stand on, or that other words than the question's
find."""
STATES = 4
"""The least number of words of a statement by which alone the sentence that it rests on is found: "19" stands in many."""
LOOKED = 8
"""The number of Sources that ``context.md`` shows, besides those that are cited."""


def ask(
    stores: Stores,
    run: Path,
    question: str,
    ontology: str,
    patience: Deadline,
    *,
    by_worker: bool = False,
    llm: Llm | None = None,
) -> Answer:
    """Return the answer of the Sources to a question, in one ontology (its id) or in all (''). Blocks.

    Filters and phrases narrow what is looked at, as in a search; ``by_worker`` is as for it. Where ``llm`` names a language
    model, that writes the answer; where it does not in time, sentences of the Sources are the answer, as without one. Raises the errors of
    :func:`kgfs.knowledge.search.search`, and BadInputError for a question without words.
    """
    slowly("asking", patience.wait)
    weighing = weigh(stores, run, question, ontology, patience, by_worker=by_worker)
    few, scored, found = weighing.candidates, weighing.scored, weighing.found
    answers = scored.answerable > 0
    numbers = chosen(few.candidates, scored) if answers else []
    if weighing.only_text:  # only meanings can tell that a sentence answers without any of the words
        numbers = [at for at in numbers if share_of(weighing.question, few.candidates[at].block)] or numbers[:1]
    quotes = _apart([_quote(few, at, scored.scores[at]) for at in numbers])
    quoted = Answer(
        question=question,
        ontology=found.ontology,
        state=State.DONE if answers else State.NOT_FOUND,
        quotes=tuple(quotes),
        looked=tuple(_looked(stores, found, quotes)),
        epoch=found.epoch,
        asked_at=time.time_ns(),
        only_text=weighing.only_text,
        surety=round(scored.answerable, 4),
        missing=() if answers else _missing(weighing.question, few, scored.order),
        intent=read_intent(stores, found.ontology, found.query.words, neighbours=False).as_data(),
    )
    if llm is None or not llm.base_url or not _may_say(weighing):
        return quoted
    return _written(_Way(stores, run, patience, by_worker), weighing, quoted, llm)


def _may_say(weighing: Weighing) -> bool:
    """Return whether any candidate has a word of the question, so that a language model is worth asking."""
    return any(share_of(weighing.question, one.block | one.forms) > 0 for one in weighing.candidates.candidates)


@dataclass(frozen=True, slots=True)
class _Way:
    """By what a question is answered, and how long that may take."""

    stores: Stores
    run: Path
    patience: Deadline
    by_worker: bool


def _written(way: _Way, weighing: Weighing, quoted: Answer, llm: Llm) -> Answer:
    """Return the answer that the language model writes; ``quoted`` with the reason where it does not."""
    best = [weighing.candidates.positions[at].source for at in weighing.scored.order[: 4 * SHOWN]]
    stores = way.stores
    intent = _intent(way, weighing, llm)
    places = dict.fromkeys((one.doc_id, one.chunk_index) for one in best)
    places |= dict.fromkeys(place for place, _ in weighing.found.order[:SHOWN])
    claims = _claims(way, weighing, intent)
    beside = dict.fromkeys((*claims, *_by_expansions(way, weighing, intent), *places))
    first = [*places][: SHOWN - BESIDE]
    places = dict.fromkeys((*first, *[one for one in beside if one not in first][:BESIDE]))
    rows = stores.graph.sources_at([*places])
    sources = [rows[place] for place in places if place in rows]
    said = {rows[place].chunk_id: texts for place, texts in claims.items() if place in rows}
    material = Material(weighing.question, sources, said, llm.is_trusted, is_written_small)
    written = write(stores, way.run, material, way.patience)
    if written.trouble:
        return replace(quoted, trouble=written.trouble, intent=intent.as_data())
    scores = dict(weighing.found.order)
    statements, quotes = _resting(written, weighing.question.text)
    return replace(
        quoted,
        state=State.DONE if statements else State.NOT_FOUND,
        statements=statements,
        quotes=quotes,
        looked=tuple(
            Looked(_whole(row), row.full_text, scores.get((row.doc_id, row.chunk_index), 0.0)) for row in written.shown
        ),
        asked_at=time.time_ns(),
        missing=() if statements else _missing(weighing.question, weighing.candidates, weighing.scored.order),
        reason=written.reason,
        model=written.model,
        invalid=written.invalid,
        intent=intent.as_data(),
    )


def _intent(way: _Way, weighing: Weighing, llm: Llm) -> Intent:
    """Return what the question is after: as rules say, or as the model says where it is to be asked for that."""
    found = weighing.found
    ruled = read_intent(way.stores, found.ontology, found.query.words)
    if not llm.intent:
        return ruled
    return say_intent(way.run, found.query.words, ruled, [*domains_in(way.stores, found.ontology)], way.patience)


def _claims(way: _Way, weighing: Weighing, intent: Intent) -> dict[tuple[str, int], list[str]]:
    """Return the best claims by the Source of their strongest evidence."""
    found, limited = weighing.found, _for_models(way.patience)
    best = found_claims(
        way.stores,
        way.run,
        found.ontology,
        found.query.words,
        intent.domain,
        found.doc_ids,
        limited,
        meaning=not weighing.only_text,
    )
    said: dict[tuple[str, int], list[str]] = {}
    for one in best[:CLAIMS]:
        said.setdefault((one.evidence.doc_id, one.evidence.chunk_index), []).append(one.claim.shown.claim)
    return said


def _by_expansions(way: _Way, weighing: Weighing, intent: Intent) -> list[tuple[str, int]]:
    """Return the best Sources of a search for what the question is looked for by besides its words."""
    words = " ".join(words_in(" ".join(intent.expansions)))[:LONGEST_WORDS]
    if not words:
        return []
    more = search(
        way.stores,
        way.run,
        words,
        weighing.found.ontology,
        way.patience,
        within=weighing.found.doc_ids,
        by_worker=way.by_worker,
        model_wait=_for_models(way.patience).left,
    )
    return [place for place, _ in more.order[:SHOWN]]


def _resting(written: Written, question: str) -> tuple[tuple[Statement, ...], tuple[Quote, ...]]:
    """Return the statements of an answer, and the sentences of their Sources that they rest on."""
    rows = {row.chunk_id: row for row in written.shown}
    quotes: dict[tuple[str, int], Quote] = {}
    statements: list[Statement] = []
    for one in written.sentences:
        numbers = []
        for row in (rows[chunk_id] for chunk_id in one.chunk_ids):
            words = one.text if len(one.text.split()) >= STATES else f"{question} {one.text}"
            start, end = closest(row.full_text, words)
            place = (row.chunk_id, start)
            if place not in quotes:
                text = row.full_text[start:end]
                quotes[place] = Quote(_place_in(row, row.char_start + start, text, row.section_path), text, 0.0)
            numbers.append(list(quotes).index(place))
        statements.append(Statement(one.text, one.chunk_ids, tuple(numbers), one.line))
    return tuple(statements), tuple(quotes.values())


@dataclass(frozen=True, slots=True)
class Weighing:
    """What was found for a question, scored."""

    question: Question
    found: Found
    candidates: Gathered
    scored: Scored
    """By number of candidate."""
    only_text: str
    """Why meanings were not compared; '' where they were."""


def weigh(
    stores: Stores, run: Path, question: str, ontology: str, patience: Deadline, *, by_worker: bool = False
) -> Weighing:
    """Return the sentences that may answer, scored. Errors are as for :func:`ask`."""
    found = search(
        stores, run, question, ontology, patience, by_worker=by_worker, model_wait=_for_models(patience).left
    )
    if not found.query.words:
        raise BadInputError("A question has words; filters alone find documents with kgfs search.")
    subjects = subjects_of(found.query.words)
    searched = [found.ontology] if found.ontology else [one.id for one in stores.catalog.names.ontologies()]
    known = [
        one
        for one in evidence_of(stores.graph, subjects, searched)
        if found.doc_ids is None or one.instance.doc_id in found.doc_ids
    ]
    gathered = gather(stores, found, [(one.instance.doc_id, one.instance.chunk_index) for one in known])
    patience.check()
    read = _read(stores, found.query.words, found.ontology)
    how, defining = leads(gathered, subjects, known)
    near = sorted({*_nearest(read, gathered), *defining})
    judged, why = _judged(run, read, gathered, near, patience) if not found.only_text else ({}, found.only_text)
    patience.check()
    few = Gathered(
        [gathered.candidates[at] for at in near],
        [gathered.positions[at] for at in near],
        gathered.sections,
        gathered.documents,
        gathered.heads,
    )
    scored = score(read, few.candidates, few.around, [judged.get(at, Judged()) for at in near], Weights())
    if how > BY_EVIDENCE or scored.answerable <= 0:
        scored = led(scored, {place for place, at in enumerate(near) if at in defining})
    return Weighing(read, found, few, scored, why)


def _read(stores: Stores, words: str, ontology: str) -> Question:
    forms = {forms_of(word)[0] for word in telling_words(words)}
    held = stores.graph.sources_with(sorted(forms))
    return weighed(words, {}, rank, held, stores.graph.counts()["sources"], _aliases(stores, words, ontology))


def _aliases(stores: Stores, words: str, ontology: str) -> dict[str, list[frozenset[str]]]:
    """Return, by each form of a name of a concept that the question has, the forms of the concept's other names."""
    found: dict[str, list[frozenset[str]]] = {}
    norms = {normalise_label(name): name for name in named_in(words)}
    searched = [ontology] if ontology else [one.id for one in stores.catalog.names.ontologies()]
    for each in searched:
        ids = stores.graph.match(each, list(norms))
        concepts = stores.graph.concepts_by_id(set(ids.values()))
        for norm, concept_id in ids.items():
            concept = concepts.get(concept_id)
            if concept is not None:
                named = [frozenset(forms_in(name)) for name in (concept.label, *concept.aliases)]
                for form in forms_in(norms[norm]):
                    found.setdefault(form, []).extend(other for other in named if other and form not in other)
    return found


def _nearest(question: Question, gathered: Gathered) -> list[int]:
    """Return the sentences that are worth comparing: the best by their words and by the score of their Source."""
    candidates = gathered.candidates
    if len(candidates) <= COMPARED:
        return list(range(len(candidates)))
    own = score(question, candidates, gathered.around, [Judged()] * len(candidates), Weights()).scores
    found = standardised([position.found for position in gathered.positions])
    both = [(-(mine + theirs), at) for at, (mine, theirs) in enumerate(zip(own, found, strict=True))]
    return sorted(at for _, at in sorted(both)[:COMPARED])


def _judged(
    run: Path, question: Question, gathered: Gathered, near: Sequence[int], patience: Deadline
) -> tuple[dict[int, Judged], str]:
    """Return what the worker's models say of the sentences, by number, and '' or the reason why they say nothing."""
    positions = [gathered.positions[at] for at in near]
    texts = [text for position in positions for text in (position.near, position.in_place)]
    try:
        judgement = likeness(
            run, question.text, texts, [gathered.candidates[at].text for at in near], _for_models(patience)
        )
    except GivenUpError:
        raise
    except KgfsError as error:  # words alone answer, too, and the answer tells the reader why
        patience.check()
        return {}, str(error)
    return {
        at: Judged(judgement.cosines[2 * place], judgement.cosines[2 * place + 1], judgement.verbs[place])
        for place, at in enumerate(near)
    }, ""


def _for_models(patience: Deadline) -> Deadline:
    """Return how long the worker is waited for, so that words alone can still answer if it is silent."""
    return patience.within(min(timing.ASK_MODEL, patience.left * (1 - timing.ASK_BY_WORDS)))


def _missing(question: Question, few: Gathered, order: Sequence[int]) -> tuple[str, ...]:
    """Return the words of the question that none of the best sections has, the heaviest first."""
    near = {form for at in order[:5] for form in few.sections[few.candidates[at].section].counts}
    missing = [word for word in question.words if not word.stands_in(near)]
    return tuple(word.text for word in sorted(missing, key=lambda word: -word.weight))


def _quote(gathered: Gathered, at: int, value: float) -> Quote:
    """Return the sentence as a quote: with the one before it, where it points back to that, and the list or code that it
    introduces."""
    position, text = gathered.positions[at], gathered.candidates[at].text
    source, before = position.source, position.before
    start, end = position.start, position.end
    if before is not None and before >= source.char_start and points_back(text):
        start = before
    if position.introduced <= source.char_end:
        end = position.introduced
    if (start, end) != (position.start, position.end) and end <= source.char_end:
        text = source.full_text[start - source.char_start : end - source.char_start]
        position = replace(position, start=start, end=end)
    return Quote(_place(position, text), text, round(value, 4))


def _apart(quotes: Sequence[Quote]) -> list[Quote]:
    """Return the quotes without those that are a part of another one."""
    places = [one.place for one in quotes]
    return [
        quote
        for at, quote in enumerate(quotes)
        if not any(other != at and _holds(place, quote.place, other < at) for other, place in enumerate(places))
    ]


def _holds(whole: Place, part: Place, equal: bool) -> bool:
    """Return whether a place holds another one of its document; the same place only if ``equal``."""
    inside = whole.doc_id == part.doc_id and whole.char_start <= part.char_start and part.char_end <= whole.char_end
    same = (whole.char_start, whole.char_end) == (part.char_start, part.char_end)
    return inside and (equal or not same)


def _place(position: Position, text: str) -> Place:
    return _place_in(position.source, position.start, text, position.section_path)


def _place_in(source: SourceRow, start: int, text: str, section_path: tuple[str, ...]) -> Place:
    """Return the place of a text that begins at ``start`` in a Source."""
    end = start + len(text)
    before = source.full_text[: start - source.char_start]
    first, last = source.locator(start), source.locator(end - 1)
    line = source.line_start + before.count("\n")
    return Place(
        doc_id=source.doc_id,
        chunk_id=source.chunk_id,
        chunk_index=source.chunk_index,
        char_start=start,
        char_end=end,
        line_start=line,
        line_end=line + text.count("\n"),
        page=page_in(first),
        section_path=section_path,
        first=first,
        last=last,
    )


def _looked(stores: Stores, found: Found, quotes: Sequence[Quote]) -> list[Looked]:
    """Return the cited Sources, and the best ones of the search."""
    cited = dict.fromkeys((quote.place.doc_id, quote.place.chunk_index) for quote in quotes)
    scores = dict(found.order[: 4 * LOOKED])
    wanted = [*cited, *(place for place in scores if place not in cited)]
    rows = stores.graph.sources_at(wanted)
    shown = [rows[place] for place in wanted if place in rows]
    return [Looked(_whole(row), row.full_text, scores.get((row.doc_id, row.chunk_index), 0.0)) for row in shown][
        : len(cited) + LOOKED
    ]


def _whole(row: SourceRow) -> Place:
    return Place(
        doc_id=row.doc_id,
        chunk_id=row.chunk_id,
        chunk_index=row.chunk_index,
        char_start=row.char_start,
        char_end=row.char_end,
        line_start=row.line_start,
        line_end=row.line_end,
        page=row.page_number,
        section_path=row.section_path,
        first=row.locator(row.char_start),
        last=row.locator(row.char_end - 1),
    )
