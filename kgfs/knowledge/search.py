"""The search for Sources that answer a question: by words, and by meaning where a worker with a model is available."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgfs.compute.alike import alike
from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import LONGEST_WORDS, nearest
from kgfs.compute.questions import Asking, ask
from kgfs.domain.names import MAX_NAME_BYTES, decode_name, safe_stem
from kgfs.domain.places import page_in
from kgfs.errors import BadInputError, GivenUpError, KgfsError
from kgfs.failpoints import slowly
from kgfs.knowledge import timing
from kgfs.knowledge.by_worker import ranked_by_worker
from kgfs.knowledge.claims_found import ScoredClaim
from kgfs.knowledge.document_location import standing_of
from kgfs.knowledge.entries import Entries
from kgfs.knowledge.filters import allowed, newest_first, ontology_asked
from kgfs.knowledge.intent import Intent
from kgfs.knowledge.query import Query, parse
from kgfs.knowledge.ranking import BY_MEANING, BY_WORDS, ChunkRef, Match, Ranked, ranked
from kgfs.knowledge.words_asked import has_word, occurring, rare, strange
from kgfs.render.search import ResultPage, Shown, densest, forms_asked, near_from, telling, words_of
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentRow, SourceRow
from kgfs.stores.stores import Stores

if TYPE_CHECKING:  # numpy, which is loaded where something is searched
    from kgfs.stores.words.scoring import WordView

LIMIT = 20
"""The number of Sources that a page of passages shows."""
CANDIDATES = 200
"""The number of candidates by words, and by meaning."""
CLOSE = 0.3
"""The cosine from which a Source is found where none of the words occurs in what is searched. Unrelated English texts have
about 0 to 0.15 with the offline model."""
CONCEPTS = 8
"""The number of concepts named for one Source."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A Source that is shown, with what it matches."""

    source: SourceRow
    document: DocumentRow
    score: float
    match: Match
    concepts: tuple[str, ...]
    """Directory names, without ``.concept``, of concepts for which the Source is evidence."""


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a search, before pages are made of it."""

    words: str
    """The question as it was asked."""
    query: Query
    ontology: str
    """The id of the searched ontology; '' for all."""
    doc_ids: frozenset[str] | None
    """The documents that the question's filters allow; None where it has none."""
    order: tuple[tuple[ChunkRef, float], ...]
    """The Sources found and their scores, best first."""
    matches: Mapping[ChunkRef, Match]
    all_words: bool
    """Whether every Source with one of the words is in ``order``; else there are more, which score lower by words."""
    epoch: int
    """The epoch of the graph when the search began."""
    only_text: str
    """Why meaning was not used; '' where it was."""
    by_table: bool = False
    """Whether the index of words was not made yet, and the graph's own full text ranked."""
    strange: frozenset[str] = frozenset()
    """Words of the question that occur nowhere in the home; none where the index of words was not made yet."""
    rare: str = ""
    """The word of the question that the fewest of the searched documents have, if these are few; '' for none."""
    having: frozenset[str] = frozenset()
    """The documents that have it."""
    outer: tuple[str, ...] = ()
    """The questions in which this one is nested: what is found is of their documents."""
    follows_names: bool = False
    """Whether a change of names and times of files may change what is found."""
    intent: Intent | None = None
    """What the question is after; None where that was not looked for."""
    claims: tuple[ScoredClaim, ...] = ()
    """The claims found, best first."""


def search(
    stores: Stores,
    run: Path,
    words: str,
    ontology: str,
    patience: Deadline,
    *,
    within: Collection[str] | None = None,
    min_score: float | None = None,
    by_worker: bool = False,
    model_wait: float | None = None,
) -> Found:
    """Return the Sources that answer the question, best first. Blocks, at most until the deadline ``patience`` passes.

    ``words`` may have phrases in quotes, ``-without``, and filters (:mod:`.query`). Function words count only where
    there are no others. A question of filters alone finds the newest documents that pass. ``within`` are the documents to
    look in; None for all. Sources that have none of the words are found from a cosine of ``min_score``; where it is None,
    from CLOSE where no word occurs in what is searched, nor one that is spelled nearly so, else from any. Gated Sources are
    found by their words alone. With ``by_worker`` the worker ranks, with the same outcome: so does a process that searches once, which would
    load numpy and the index for longer than it searches. Where no worker does, this process ranks. ``model_wait`` are the
    seconds to wait for each answer of a worker; None for SEARCH_MODEL. Raises BadInputError for
    more than LONGEST_WORDS characters, for what is no filter, and for a ``min_score`` that is no cosine; and the errors of
    ``patience``.
    """
    if len(words) > LONGEST_WORDS:
        raise BadInputError(f"A search has at most {LONGEST_WORDS:,} characters.")
    if min_score is not None and not -1 <= min_score <= 1:
        raise BadInputError("min_score is a cosine: -1 to 1.")
    slowly("searching", patience.wait)
    query = parse(words)
    ontology = ontology_asked(stores, query, ontology)
    graph = stores.graph
    epoch = graph.epoch()
    doc_ids = allowed(stores, query, ontology) if query.filtered else None
    if within is not None:
        doc_ids = frozenset(within) if doc_ids is None else doc_ids & frozenset(within)
    patience.check()
    if not query.words:
        first = tuple(((doc_id, 0), 0.0) for doc_id in newest_first(stores, doc_ids or frozenset()))
        return Found(words, query, ontology, doc_ids, first, {}, True, epoch, "", follows_names=True)
    asking: Asking = partial(ask, run)
    found: Ranked | None = None
    model_wait = timing.SEARCH_MODEL if model_wait is None else model_wait
    if by_worker:
        limited = patience.within(model_wait)
        found, asking = ranked_by_worker(asking, words, ontology, doc_ids, min_score, limited)
        patience.check()
    found = found or rank(graph, asking, query, ontology, doc_ids, min_score, model_wait, patience)
    return Found(
        words=words,
        query=query,
        ontology=ontology,
        doc_ids=doc_ids,
        order=found.order,
        matches=found.matches,
        all_words=found.all_words,
        epoch=epoch,
        only_text=found.only_text,
        by_table=found.by_table,
        strange=found.strange,
        rare=found.rare,
        having=found.having,
        follows_names=query.filtered,
    )


def rank(
    graph: Graph,
    asking: Asking,
    query: Query,
    ontology: str,
    doc_ids: Collection[str] | None,
    min_score: float | None,
    model_wait: float,
    patience: Deadline,
) -> Ranked:
    """Return the Sources that answer a question with words, ranked in this process. ``asking`` asks a worker for what only its
    models say. Arguments and errors are as for :func:`search`."""
    view = graph.word_view()
    only = with_phrases(graph, query, ontology) if query.phrases else None
    texts = dict(by_words(graph, view, query, ontology, CANDIDATES, doc_ids, only))
    patience.check()
    occurs = bool(texts) or (view is not None and occurring(view, query.words, ontology))
    cosines, why = _cosines(asking, query.words, ontology, sorted(texts), not occurs, doc_ids, model_wait, patience)
    hidden = graph.hidden({doc_id for doc_id, _ in cosines})
    wanted = [
        place
        for place in sorted({*texts, *cosines})
        if place[0] not in hidden and (doc_ids is None or place[0] in doc_ids) and (only is None or place in only)
    ]
    least = min_score if min_score is not None else (-1.0 if occurs else CLOSE)
    matches = {
        place: match
        for place, match in _matches(view, query, wanted, texts, cosines).items()
        if match.text > 0 or cosines.get(place, -2.0) >= least
    }
    patience.check()
    order = tuple(_ranked(graph, asking, view, matches, bool(cosines), model_wait, patience))
    unknown = strange(view, query.words) if view is not None else frozenset()
    few = rare(graph, query.words, ontology, doc_ids, {doc_id for (doc_id, _), _ in order})
    return Ranked(order, matches, len(texts) < CANDIDATES, why, view is None, unknown, *few)


def best_by_words(graph: Graph, found: Found, limit: int) -> list[ChunkRef]:
    """Return the ``limit`` best Sources by words alone of a search that was made, as of now."""
    only = with_phrases(graph, found.query, found.ontology) if found.query.phrases else None
    view = None if found.by_table else graph.word_view()
    return [place for place, _ in by_words(graph, view, found.query, found.ontology, limit, found.doc_ids, only)]


def by_words(
    graph: Graph,
    view: WordView | None,
    query: Query,
    ontology: str,
    limit: int,
    doc_ids: Collection[str] | None,
    only: Collection[ChunkRef] | None = None,
) -> list[tuple[ChunkRef, float]]:
    """Return the ``limit`` best Sources by words alone, and their scores: by the index or, where it is not made yet, by the
    graph's full text. ``only`` are the Sources that have the question's phrases; None where it has none.
    """
    if view is not None:
        return view.best(forms_asked(query.words), limit, ontology, doc_ids, only)
    texts = graph.find_text(telling(query.words), ontology, limit, phrases=query.phrases, doc_ids=doc_ids)
    return [((row.doc_id, row.chunk_index), score) for row, score in texts]


def with_phrases(graph: Graph, query: Query, ontology: str) -> set[ChunkRef]:
    found: set[ChunkRef] | None = None
    for phrase in query.phrases:
        those = graph.sources_with_phrase(phrase, ontology)
        found = those if found is None else found & those
    return found or set()


def _matches(
    view: WordView | None,
    query: Query,
    places: Sequence[ChunkRef],
    texts: Mapping[ChunkRef, float],
    cosines: Mapping[ChunkRef, float],
) -> dict[ChunkRef, Match]:
    if view is None:
        return {place: Match(texts.get(place, 0.0), cosines.get(place)) for place in places}
    scores = view.scores(forms_asked(query.words), places)
    return {
        place: Match(found.bag, cosines.get(place), found.header, found.beside, found.is_code)
        for place in places
        if (found := scores.get(place)) is not None  # else the index knows it is gone
    }


def _ranked(
    graph: Graph,
    asking: Asking,
    view: WordView | None,
    matches: Mapping[ChunkRef, Match],
    by_meaning: bool,
    model_wait: float,
    patience: Deadline,
) -> list[tuple[ChunkRef, float]]:
    if view is None:
        return ranked(matches)
    if not by_meaning:
        from kgfs.knowledge.likeness import by_words as like_by_words

        return ranked(matches, partial(like_by_words, graph, view), BY_WORDS)

    def like_by_meaning(places: Sequence[ChunkRef]) -> Any:
        try:
            return alike(asking, places, patience.within(model_wait))
        except GivenUpError:
            raise
        except KgfsError:  # the worker ended meanwhile: the scores stand as they are
            patience.check()
            return ()

    return ranked(matches, like_by_meaning, BY_MEANING)


def _cosines(
    asking: Asking,
    words: str,
    ontology: str,
    also: Sequence[ChunkRef],
    only_known: bool,
    doc_ids: Collection[str] | None,
    model_wait: float,
    patience: Deadline,
) -> tuple[dict[ChunkRef, float], str]:
    try:
        limited = patience.within(model_wait)
        return nearest(asking, words, ontology, CANDIDATES, also, limited, doc_ids=doc_ids, only_known=only_known), ""
    except GivenUpError:
        raise
    except KgfsError as error:  # the full text works without it, and the results tell the reader why
        patience.check()
        return {}, str(error)


def _hits(graph: Graph, found: Found, limit: int) -> Iterator[Hit]:
    documents: dict[str, DocumentRow | None] = {}
    waiting, count = found.order, 0
    while waiting and count < limit:
        some, waiting = waiting[:limit], waiting[limit:]
        places = [place for place, _ in some]
        sources, concepts = graph.sources_at(places), graph.concepts_at(places)
        for place, score in some:
            if count == limit:
                return
            doc_id = place[0]
            if doc_id not in documents:
                documents[doc_id] = graph.document(doc_id)
            document, source = documents[doc_id], sources.get(place)
            if document is None or source is None:
                continue  # the document left the graph, or was read again, between the two queries
            named = tuple(concept.name for concept in concepts.get(place, [])[:CONCEPTS])
            count += 1
            yield Hit(source, document, score, found.matches.get(place, Match(0.0, None)), named)


@dataclass(frozen=True, slots=True)
class Scope:
    """The ontologies of a search, as its results show them."""

    ontology: str
    """The id of the only one; '' where all are searched."""
    names: Mapping[str, str]
    """Id → name of each."""
    changed: int
    """When they last changed (nanoseconds)."""

    @property
    def only(self) -> str:
        """Return the name of the only ontology; '' where all are searched."""
        return self.names.get(self.ontology, "")

    def folder(self, ontology: str) -> str:
        """Return the path from the searched folder to that of an ontology, by its id: '', or ``<Ontology>/``."""
        return "" if self.ontology else f"{self.names.get(ontology, '')}/"


def scope_of(stores: Stores, found: Found) -> Scope:
    names = stores.catalog.names
    one = names.ontology(found.ontology) if found.ontology else None
    those = [one] if one else names.ontologies()
    changed = max((max(each.made_at, stores.graph.changed_at(each.id)) for each in those), default=0)
    return Scope(found.ontology, {each.id: each.name for each in those}, changed)


def passages(stores: Stores, found: Found, limit: int = LIMIT) -> tuple[ResultPage, int]:
    """Return the best Sources, whatever documents they are of, and the time when they last changed (nanoseconds).

    Paths are the present ones.
    """
    names = stores.catalog.names
    scope = scope_of(stores, found)
    changed = scope.changed
    shown: list[Shown] = []
    entries = Entries(stores.graph, found.query.words)
    asked = words_of(found.query.words)
    for rank, hit in enumerate(_hits(stores.graph, found, limit), 1):
        standing = standing_of(names, hit.document.doc_id)
        changed = max(changed, standing.changed_at)
        place = hit.source.locator(hit.source.char_start + densest(hit.source.full_text, asked))
        shown.append(
            Shown(
                rank=rank,
                file=file_name(rank, standing.origin.path),
                ontology=scope.names.get(hit.document.ontology, ""),
                folder=scope.folder(hit.document.ontology),
                path=standing.origin.path,
                note=standing.origin.note,
                title=hit.document.source_title,
                score=hit.score,
                text_score=float(f"{hit.match.text:.6g}"),  # fixed decimals would round scores near 0 to 0
                cosine=hit.match.cosine,
                doc_id=hit.document.doc_id,
                content_hash=hit.document.content_hash,
                chunk_id=hit.source.chunk_id,
                text=hit.source.full_text,
                char_start=hit.source.char_start,
                char_end=hit.source.char_end,
                line_start=hit.source.line_start,
                line_end=hit.source.line_end,
                page=page_in(place),
                locator=place,
                entry=entries.of(hit.document.document_type, hit.source),
                section_path=hit.source.section_path,
                concepts=hit.concepts,
            )
        )
    hits = tuple(shown)
    having = [has_word(found.rare, *hit.section_path, hit.text) for hit in hits] if found.rare else []
    near = near_from(found.rare, having, 0, len(hits))
    page = ResultPage(
        found.words, scope.only, hits, found.only_text, found.query.words, found.by_table, found.outer, near
    )
    return page, changed


def file_name(rank: int, path: str, ending: str = ".txt") -> str:
    """Return ``01~zen.txt``: a listing shows the best first."""
    is_part = path.startswith("archive/") and "/attachments/" not in path
    last = path.split("/")[1] if is_part else path.rpartition("/")[2]
    stem = decode_name(last.rpartition(".")[0] or last).decode("utf-8", "replace")
    return f"{rank:02d}~{safe_stem(stem, MAX_NAME_BYTES - 20)}{ending}"
