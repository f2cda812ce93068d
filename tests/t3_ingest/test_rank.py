from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.compute.contract import Compute
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, Quote
from kgfs.domain.text import Chunk
from kgfs.ingest.reading import embeddings
from kgfs.ingest.reading import rank as ranking
from kgfs.ingest.reading.choice import may_be_concept
from kgfs.ingest.reading.embeddings import mean_of
from kgfs.ingest.reading.gathered import Gathered
from kgfs.ingest.reading.rank import rank
from kgfs.ingest.reading.validate import ValidConcept, ValidExtraction, ValidRelationship
from kgfs.models.contract import Signs
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.files import FileObjects
from tests.fakes.garage import MemoryObjects

LONG = 400
NO_MODEL = cast("Compute", None)
"""A model that is never asked."""


def _chunks(count: int, tokens: int = LONG, section: tuple[str, ...] = ()) -> list[Chunk]:
    return [
        Chunk(n, n * 1000, (n + 1) * 1000, n + 1, n + 1, n * 1000, (n + 1) * 1000, section, tokens, n * 1000)
        for n in range(count)
    ]


def _quote(chunk: int, at: int = 0, score: float = 0.3, defines: bool = False) -> Quote:
    return Quote(chunk * 1000 + at, chunk * 1000 + at + 50, chunk, defines, score)


def _concept(
    label: str,
    chunk: int,
    relevance: float = 0.5,
    frequency: int = 1,
    quotes: Sequence[Quote] = (),
    definition: str = "",
) -> ValidConcept:
    return ValidConcept(label, "term", relevance, frequency, tuple(quotes) or (_quote(chunk),), definition)


def _found(*concepts: ValidConcept, relationships: Sequence[ValidRelationship] = ()) -> ValidExtraction:
    return ValidExtraction(concepts, tuple(relationships), {})


def _order(title: str, extractions: Sequence[ValidExtraction], limit: int = 40) -> list[str]:
    concepts, _ = rank(title, _chunks(len(extractions)), extractions, limit)
    return [concept.norm for concept in concepts]


def test_nothing_comes_of_nothing() -> None:
    assert rank("", [], [], 10) == ((), ())
    assert rank("Title", _chunks(1), [_found()], 10) == ((), ())


def test_what_a_source_is_about_comes_before_what_it_says_often() -> None:
    assert _order(
        "", [_found(_concept("yield", 0, 0.2, frequency=90), _concept("generator", 0, 0.6, frequency=1))]
    ) == ["generator", "yield"]


def test_what_is_spread_over_the_document_comes_before_what_is_said_in_one_place() -> None:
    extractions = [
        _found(_concept("ubiquity", n, 0.5), *([_concept("singleton", 0, 0.5)] if n == 0 else [])) for n in range(6)
    ]
    assert _order("", extractions) == ["ubiquity", "singleton"]


def test_words_of_the_title_come_first() -> None:
    found = _found(_concept("alpha", 0), _concept("decorator", 0), _concept("omega", 0))
    assert _order("On Decorators", [found, found])[0] == "decorator"


def test_what_is_defined_comes_before_what_is_mentioned() -> None:
    defined = _concept("omega", 0, quotes=[_quote(0, defines=True)], definition="the last letter")
    assert _order("", [_found(_concept("alpha", 0), defined)]) == ["omega", "alpha"]


def test_spellings_and_plurals_are_one_concept_under_its_commonest_spelling() -> None:
    extractions = [
        _found(_concept("Generators", 0, frequency=2)),
        _found(_concept("generator", 1, frequency=5)),
        _found(_concept("GENERATOR", 2)),
    ]
    concepts, _ = rank("", _chunks(3), extractions, 10)
    assert [(concept.label, concept.norm, concept.forms) for concept in concepts] == [
        ("generator", "generator", ("generator", "Generators", "GENERATOR"))
    ]
    assert [quote.chunk for quote in concepts[0].quotes] == [0, 1, 2]


def test_pieces_of_a_phrase_that_never_stand_alone_come_last() -> None:
    found = _found(
        _concept("pythoneer Tim", 0, 0.9),
        _concept("long time pythoneer Tim Peters", 0, 0.6),
        _concept("Tim", 0, 0.3, frequency=2),
        _concept("zen", 0, 0.1),
    )
    assert _order("", [found]) == ["long time pythoneer tim peters", "tim", "zen", "pythoneer tim"]


def test_junk_is_dropped() -> None:
    assert _order(
        "",
        [
            _found(
                _concept("42", 0, 0.9), _concept("the", 0, 0.9), _concept("way", 0, 0.9), _concept("iterator", 0, 0.1)
            )
        ],
    ) == ["iterator"]


def test_a_short_document_keeps_fewer_and_a_long_one_at_most_the_limit() -> None:
    many = _found(*(_concept(f"concept number{n}", 0, 0.5 - n / 1000) for n in range(100)))
    short, _ = rank("", _chunks(1, tokens=150), [many], 40)
    long, _ = rank("", _chunks(1, tokens=5000), [many], 40)
    few, _ = rank("", _chunks(1, tokens=5000), [many], 7)
    assert (len(short), len(long), len(few)) == (ranking.FEWEST, 40, 7)


def test_quotes_are_bounded_defining_first_and_in_order_of_the_text() -> None:
    quotes = [_quote(0, at, score=at / 1000, defines=at == 0) for at in range(0, 900, 60)]
    concepts, _ = rank("", _chunks(1), [_found(_concept("iterator", 0, quotes=quotes, definition="words"))], 10)
    kept = concepts[0].quotes
    assert len(kept) == ranking.QUOTES
    assert kept[0].defines
    assert list(kept) == sorted(kept, key=lambda quote: quote.start)
    assert {quote.start for quote in kept[1:]} == {quote.start for quote in quotes[-7:]}


def test_a_sentence_that_is_repeated_is_quoted_once_where_it_stands_first() -> None:
    text = "A koan is a riddle. Mu is one. A koan is\n a riddle. Wu is none."
    spans = [(0, 19), (20, 30), (31, 51), (52, 63)]
    quotes = tuple(Quote(start, end, 0, start == 31, start / 100) for start, end in spans)
    concept = FoundConcept("koan", "koan", ("koan",), "term", 0.5, "a riddle", quotes)
    (once,) = ranking.said_once(text, [concept])
    assert once.quotes == (Quote(0, 19, 0, True, 0.31), quotes[1], quotes[3])


def test_the_best_definition_is_kept() -> None:
    poor = _concept("iterator", 0, quotes=[_quote(0, score=0.5, defines=True)], definition="poor")
    good = _concept("iterator", 1, quotes=[_quote(1, score=0.9, defines=True)], definition="good")
    concepts, _ = rank("", _chunks(2), [_found(poor), _found(good)], 10)
    assert concepts[0].definition == "good"


def test_relationships_stand_between_kept_concepts_only_and_once_a_sentence() -> None:
    reported = ValidRelationship("generators", "IS_A", "iterator", _quote(0), 0.8)
    weaker = ValidRelationship("generator", "IS_A", "iterator", _quote(0), 0.6)
    elsewhere = ValidRelationship("generator", "IS_A", "iterator", _quote(1), 0.6)
    stray = ValidRelationship("generator", "USES", "unknown thing", _quote(0), 0.8)
    doubtful = ValidRelationship("iterator", "USES", "generator", _quote(0), 0.2)
    itself = ValidRelationship("generator", "IS_A", "generators", _quote(0), 0.8)
    extractions = [
        _found(
            _concept("generators", 0, frequency=1),
            _concept("iterator", 0),
            relationships=[weaker, reported, stray, doubtful, itself],
        ),
        _found(_concept("generator", 1, frequency=3), relationships=[elsewhere]),
    ]
    _, relationships = rank("", _chunks(2), extractions, 10)
    assert [(r.subject, r.type, r.object, r.quote.chunk, r.confidence) for r in relationships] == [
        ("generator", "IS_A", "iterator", 0, 0.8),
        ("generator", "IS_A", "iterator", 1, 0.6),
    ]


LABELS = st.sampled_from(
    ["generator", "generators", "Iterator", "yield", "class body", "Class bodies", "42", "GIL", "é", "été"]
)
CONCEPTS = st.builds(
    lambda label, relevance, frequency, at: _concept(label, 0, relevance, frequency, [_quote(0, at)]),
    LABELS,
    st.floats(0, 1),
    st.integers(1, 50),
    st.integers(0, 900),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(CONCEPTS, max_size=8), max_size=5), st.text(max_size=20), st.integers(1, 6))
def test_ranks_are_sound_and_do_not_depend_on_the_order_of_equals(
    found: list[list[ValidConcept]], title: str, limit: int
) -> None:
    chunks = _chunks(len(found))
    concepts, _ = rank(title, chunks, [_found(*some) for some in found], limit)
    again, _ = rank(title, chunks, [_found(*reversed(some)) for some in found], limit)
    assert [(c.norm, c.score) for c in concepts] == [(c.norm, c.score) for c in again]
    assert len(concepts) <= limit
    norms = [concept.norm for concept in concepts]
    assert len(norms) == len(set(norms))
    scores = [concept.score for concept in concepts]
    assert scores == sorted(scores, reverse=True)
    for concept in concepts:
        assert 0 <= concept.score <= 1
        assert concept.norm == normalise_label(concept.label)
        assert concept.label in concept.forms
        assert concept.quotes


def test_a_long_document_relates_only_what_may_be_concepts(monkeypatch: pytest.MonkeyPatch) -> None:
    signs = Signs(whole=4, subject=2, says=4.0, rank=40_000)
    names = ["yield", "generator", "coroutine"]
    concepts = [replace(_concept(name, 0, quotes=[_quote(0, 100 * n)]), signs=signs) for n, name in enumerate(names)]
    pairs = [("yield", "RELATED_TO", "generator"), ("yield", "RELATED_TO", "coroutine"), ("yield", "IS_A", "coroutine")]
    stated = [ValidRelationship(one, type_, other, _quote(0), 1.0) for one, type_, other in pairs]
    gathered = Gathered([_found(*concepts, relationships=stated)])

    def could_be(found: Sequence[FoundConcept]) -> set[str]:
        assert {one.norm for one in found} == set(names)
        return {"yield", "generator"}

    def related() -> list[tuple[str, str, str]]:
        _, found = ranking.rank_gathered("", _chunks(1), gathered, 40, could_be=could_be)
        return [(one.subject, one.type, one.object) for one in found]

    assert sorted(related()) == sorted(pairs)
    monkeypatch.setattr(ranking, "MANY", 2)
    assert sorted(related()) == sorted([pairs[0], pairs[2]]), "what a sentence asserts stays"


def test_a_files_name_is_at_most_a_term_and_statuses_are_status() -> None:
    signs = Signs(whole=9, subject=9, says=4.0, rank=40_000, code=True)
    names = ["travel-policy.md", "pyproject.toml", "project status", "project statuses"]
    concepts = [
        replace(_concept(name, 0, quotes=[_quote(0, 100 * n, score=0.9)]), signs=signs) for n, name in enumerate(names)
    ]
    found, _ = ranking.rank("", _chunks(1), [_found(*concepts)], 40)
    assert {one.label: may_be_concept(one) for one in found} == {
        "travel-policy.md": False,
        "pyproject.toml": True,
        "project status": True,
    }


def test_of_two_quotes_of_one_span_the_one_that_says_more_is_kept() -> None:
    first, better = _quote(0, 10, 0.2), _quote(0, 10, 0.9, defines=True)
    other = _quote(0, 200, 0.5)
    gathered = Gathered(
        [_found(_concept("yield", 0, quotes=[first, other])), _found(_concept("Yields", 0, quotes=[better]))]
    )
    [group] = gathered.groups.values()
    assert gathered.quotes_of(group) == [better, other]
    assert (group.best, group.forms, group.label) == (0.9, {"yield": 1, "Yields": 1}, "Yields")


@given(st.lists(st.lists(st.lists(st.floats(-1, 1, width=32), min_size=5, max_size=5), min_size=1), min_size=1))
def test_the_mean_of_windows_is_that_of_their_matrix(rows: list[list[list[float]]]) -> None:
    windows = [(n, np.array(some, np.float32)) for n, some in enumerate(rows)]
    assert np.array_equal(mean_of(windows)[0], np.concatenate([some for _, some in windows]).mean(axis=0))


def test_vectors_are_stored_as_numpy_does(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    found = [FoundConcept(label, label, (label,), "term", 0.5, "", (_quote(0),)) for label in ("zen", "koan")]
    for windows, concepts in (([(0, rows[:2]), (3, rows[2:3])], found), ([], found), ([(1, rows[:1])], []), ([], [])):
        known = {one.label: rows[n + 3] for n, one in enumerate(concepts)}
        encoded = embeddings.assemble(NO_MODEL, windows, concepts, known).encode()
        for large in (embeddings.LARGE, 1):
            monkeypatch.setattr(embeddings, "LARGE", large)
            objects = MemoryObjects()
            key = embeddings.put(objects, NO_MODEL, "d", windows, concepts, dict(known))
            assert objects.get(key) == encoded and key == embeddings.key_of("d", encoded)


@pytest.mark.claim("GONE-6")
def test_no_file_has_the_vectors_of_a_long_text_by_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill would leave it outside of the home, where no purge looks."""
    monkeypatch.setattr(embeddings, "LARGE", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)

    class Watched(FileObjects):
        def put(self, *args: Any, **kwargs: Any) -> Sums:
            assert list((tmp_path / "temporary").iterdir()) == []
            return super().put(*args, **kwargs)

    objects = Watched(tmp_path / "objects")
    key = embeddings.put(objects, NO_MODEL, "d", [(0, rows)], [], {})
    assert objects.get(key) == embeddings.assemble(NO_MODEL, [(0, rows)], [], {}).encode()
