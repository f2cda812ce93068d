"""Sources of one document merged: no character twice, none invented, gaps named."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kgfs.render.merged import SHOWN, Piece, coverage, full_content, omitted, weighted
from kgfs.render.results import DocumentResult, ResultChunk, shown
from kgfs.render.source import Marks

GAP = re.compile(r"\n\[\.\.\. chunks? (\d+)(?:-(\d+))? omitted \.\.\.\]\n")

TEXTS = st.lists(st.text(alphabet="ab zen.\n\r\tñ😀", min_size=1, max_size=80), min_size=1, max_size=12)


@st.composite
def some_of(draw: st.DrawFn) -> tuple[list[str], list[Piece]]:
    texts = draw(TEXTS)
    chosen = sorted(draw(st.sets(st.integers(0, len(texts) - 1), min_size=1)))
    matched = draw(st.sets(st.sampled_from(chosen), min_size=1))
    score = st.floats(-3, 9)
    return texts, [Piece(n, texts[n], draw(score) if n in matched else 0.0, n in matched) for n in chosen]


@given(some_of())
def test_full_content_is_exact_slices_parted_by_what_is_missing(case: tuple[list[str], list[Piece]]) -> None:
    texts, pieces = case
    text, starts = "".join(texts), [0]
    for one in texts:
        starts.append(starts[-1] + len(one))
    rest, at = full_content(pieces), pieces[0].index
    for piece in pieces:
        if piece.index > at:
            gap = GAP.match(rest)
            assert gap is not None
            assert (int(gap[1]), int(gap[2] or gap[1])) == (at + 1, piece.index)
            rest = rest[gap.end() :]
        assert rest.startswith(text[starts[piece.index] : starts[piece.index + 1]])
        rest, at = rest[len(piece.text) :], piece.index + 1
    assert rest == ""


@given(st.sets(st.integers(0, 30), min_size=1))
def test_coverage_names_each_source_once(indices: set[int]) -> None:
    told = coverage(sorted(indices), 31)
    runs = re.fullmatch(r"chunks? ([\d,-]+) of 31", told)
    assert runs is not None
    bounds = [[int(n) for n in run.split("-")] for run in runs[1].split(",")]
    assert [n - 1 for first, *last in bounds for n in range(first, [first, *last][-1] + 1)] == sorted(indices)


def test_gaps_and_coverage_count_from_one() -> None:
    assert omitted(3, 3) == "[... chunk 4 omitted ...]" and omitted(3, 6) == "[... chunks 4-7 omitted ...]"
    assert coverage([0, 1, 2, 6, 7, 8], 12) == "chunks 1-3,7-9 of 12" and coverage([1], 2) == "chunk 2 of 2"


def of(*pieces: Piece) -> DocumentResult:
    chunks = tuple(ResultChunk(piece, "c", 0, 1, 1, 1, None, (), "d") for piece in pieces)
    return DocumentResult(
        rank=1,
        file="f",
        doc_id="d",
        title="t",
        type="text/plain",
        ontology="O",
        folder="",
        path="documents/p",
        note="",
        content_hash="h",
        content_length=9,
        ingested_at=0,
        date=None,
        count=99,
        chunks=chunks,
        concepts=(),
        also=(),
    )  # type: ignore[arg-type]


def test_the_best_is_shown_whole_the_lowest_shrinks_and_context_is_a_sentence() -> None:
    best, low = Piece(4, "Zen is this. " * 200, 2.0, True), Piece(9, "Low zen words. " * 300, 0.1, True)
    before = Piece(3, "One sentence. Another one.", 0.0, False)
    text = shown(of(before, best, low), "zen", Marks("==", "=="))
    assert len(text) <= SHOWN
    assert text.startswith("==Zen== is this. ")
    assert text.count("Zen== is this.") == 200
    assert "[... chunks 6-9 omitted ...]" in text and text.endswith(" […]")
    assert shown(of(before, best), "zen", Marks("==", "==")).startswith("One sentence. […]\n==Zen== is this. ")


@given(some_of(), st.integers(0, 400))
def test_what_is_shown_fits_and_starts_as_the_source_does(case: tuple[list[str], list[Piece]], room: int) -> None:
    parts = weighted(case[1], room)
    assert sum(len(part.text) for part in parts) <= room
    for part in parts:
        assert part.piece.text.startswith(part.text)


@given(some_of())
def test_marks_take_their_room(case: tuple[list[str], list[Piece]]) -> None:
    grown = [Piece(piece.index, piece.text * 40, piece.score, piece.matched) for piece in case[1]]
    assert len(shown(of(*grown), "zen ab", Marks("==", "=="))) <= SHOWN
