"""The order of what was found, and how it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.knowledge.ranking import MEANING, PROSE_PRIOR, WORDS, ChunkRef, Match, ranked, smoothed
from kgfs.knowledge.search import file_name
from kgfs.render.search import (
    EXCERPT,
    ResultPage,
    Shown,
    excerpt,
    forms_asked,
    marked,
    near_from,
    passage,
    results_json,
    results_md,
    telling,
    words_of,
)
from kgfs.render.source import Marks

MARKS = Marks()
PLACES = st.tuples(st.sampled_from("abc"), st.integers(0, 3))
MATCHES = st.dictionaries(
    PLACES,
    st.builds(Match, st.floats(0, 30), st.none() | st.floats(-1, 1)),
    max_size=10,
)


def test_both_ways_count_alike() -> None:
    by_words, by_meaning, by_both, by_none = ("a", 0), ("b", 0), ("c", 0), ("d", 0)
    found = ranked({by_words: Match(9, 0.1), by_meaning: Match(0, 0.9), by_both: Match(9, 0.9), by_none: Match(0, 0.1)})
    assert [place for place, _ in found] == [by_both, by_meaning, by_words, by_none]
    scores = dict(found)
    assert scores[by_meaning] == -scores[by_words] == pytest.approx((MEANING - WORDS) * (1 + PROSE_PRIOR))
    assert scores[by_both] == -scores[by_none] == pytest.approx((MEANING + WORDS) * (1 + PROSE_PRIOR))


@pytest.mark.parametrize("others", [1, 2])
def test_of_few_documents_the_only_one_with_the_rare_word_is_first(others: int) -> None:
    matches = {("other", at): Match(0.4, 0.35 + at / 100) for at in range(others)}
    found = ranked(matches | {("rare", 0): Match(2.0, 0.2)}, lambda places: [[0.5] * len(places)] * len(places))
    assert found[0][0] == ("rare", 0)
    assert ranked({("near", 0): Match(1.0, 0.6), ("far", 0): Match(1.2, 0.1)})[0][0] == ("near", 0)


def test_header_and_neighbours_count() -> None:
    places = [("a", 0), ("b", 0), ("c", 0)]
    found = ranked(dict(zip(places, (Match(5, None, 3.0), Match(5, None, 0.0, 3.0), Match(5, None)), strict=True)))
    assert [place for place, _ in found] == places


def test_prose_lends_its_scores_to_what_is_like_it() -> None:
    best, like, other, last = ("a", 0), ("b", 0), ("c", 0), ("d", 0)
    matches = {best: Match(9, None), like: Match(1, None), other: Match(2, None), last: Match(0, None)}
    cosines = [[1.0, 0.9, 0.0, 0.0], [0.9, 1.0, -0.5, 0.0], [0.0, -0.5, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    assert [place for place, _ in ranked(matches)] == [best, other, like, last]
    found = ranked(matches, lambda places: _of(matches, places, cosines))
    assert [place for place, _ in found] == [best, like, other, last]
    code = {place: Match(match.text, None, is_code=True) for place, match in matches.items()}
    assert ranked(code, lambda places: _of(matches, places, cosines)) == ranked(code)


def _of(matches: dict[ChunkRef, Match], places: Sequence[ChunkRef], cosines: list[list[float]]) -> list[list[float]]:
    at = [sorted(matches).index(place) for place in places]
    return [[cosines[row][column] for column in at] for row in at]


def test_smoothing_takes_the_mean_of_the_nearest() -> None:
    assert smoothed([1.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], 0.4) == pytest.approx([0.6, 0.4])
    assert smoothed([1.0, 0.0], [[1.0, -0.5], [-0.5, 1.0]], 0.4) == pytest.approx([0.6, 0.0])


def test_a_document_that_says_it_twice_comes_first() -> None:
    found = ranked(
        {("a", 0): Match(5, None), ("b", 0): Match(5, None), ("b", 7): Match(5, None), ("a", 3): Match(0, None)}
    )
    assert [place for place, _ in found] == [("b", 0), ("b", 7), ("a", 0), ("a", 3)]


def test_what_has_no_vector_counts_as_the_least_close() -> None:
    scores = dict(ranked({("a", 0): Match(1, None), ("b", 0): Match(1, 0.2), ("c", 0): Match(1, 0.8)}))
    assert scores["a", 0] == scores["b", 0] < scores["c", 0]


@given(MATCHES, st.randoms())
@settings(max_examples=200, deadline=None)
def test_the_order_is_whole_and_does_not_depend_on_who_came_first(
    matches: dict[tuple[str, int], Match], random: object
) -> None:
    found = ranked(matches)
    assert sorted(place for place, _ in found) == sorted(matches)
    keys = list(matches)
    random.shuffle(keys)  # type: ignore[attr-defined]
    assert ranked({key: matches[key] for key in keys}) == found
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_words_are_marked_as_the_full_text_compares_them() -> None:
    wanted = words_of("What is the CAFÉ?")
    assert wanted == {"cafe"}
    assert marked("Cafe, café, cafés: what?", wanted, MARKS) == "==Cafe==, ==café==, ==cafés==: what?"
    assert words_of("is it") == {"is", "it"} and words_of("?!") == frozenset()
    assert words_of("What-is run_target ?") == {"run_target", "run", "target"}


@pytest.mark.parametrize("word", ["Café", "Cafe\u0301", "Ca\u00adfe", "Ca\u200bfe\u0301"])
def test_marks_stand_around_whole_words(word: str) -> None:
    for asked in ("café", "cafe\u0301", "ca\u00adfé"):
        assert marked(f"A {word}, here", words_of(asked), MARKS) == f"A =={word}==, here"


def test_function_words_do_not_count_where_there_are_others() -> None:
    assert telling("What is the purpose of `SIGNALS` ?") == "purpose `SIGNALS`"
    assert telling("to be or not to be") == "not" and telling("who are you") == "who are you" and telling("") == ""
    assert telling("?! …") == "?! …"
    assert telling("How long does severance last?") == "severance last?" and telling("how long") == "how long"
    for question, forms in {
        "how long does severance": {"sever"},  # the stem of "does" is no function word
        "Why did they ask for this because of that?": {"ask", "becaus"},
        "long severance": {"long", "sever"},
    }.items():
        assert words_of(question) == set(forms_asked(question)) == forms, question


def test_an_excerpt_shows_the_words_that_it_was_chosen_for() -> None:
    text = f"{'x ' * 100}koan {'y ' * 36}tea {'z ' * 200}koan tea {'z ' * 100}"
    assert excerpt(text, frozenset({"koan", "tea"}), 100).count("koan tea") == 1


def test_an_excerpt_has_no_rules_of_headings_and_tables() -> None:
    text = "Zen\n===\n\nA koan.\n\n+-----+\n| one |\n+-----+\n\n...\n--x\n"
    assert excerpt(text, frozenset({"zen"})) == "Zen A koan. | one | ... --x"


@given(st.text(st.sampled_from("ab zen.\n\t é"), max_size=1500), st.integers(10, 400))
@settings(max_examples=200, deadline=None)
def test_an_excerpt_is_a_piece_of_the_text(text: str, length: int) -> None:
    shown = excerpt(text, frozenset({"zen"}), length)
    assert "\n" not in shown
    piece = shown.removeprefix("… ").removesuffix(" …")
    assert piece in " ".join(text.split())


def test_an_excerpt_shows_where_the_words_are() -> None:
    text = "nothing here " * 100 + "Zen needs no koan. " + "and nothing there " * 100
    shown = excerpt(text, frozenset({"zen", "koan"}))
    assert "Zen needs no koan." in shown and shown.startswith("… ") and shown.endswith(" …")
    assert len(shown) < EXCERPT + 40


def shown(rank: int, text: str, **more: object) -> Shown:
    fields: dict[str, object] = {
        "rank": rank,
        "file": f"{rank:02d}~zen.txt",
        "ontology": "Zen",
        "folder": "",
        "note": "",
        "title": "On Zen",
        "path": "documents/a %25 (b).txt",
        "score": 1.5,
        "text_score": 2.0,
        "cosine": 0.5,
        "doc_id": "d",
        "page": None,
        "content_hash": "h",
        "chunk_id": "c",
        "text": text,
        "char_start": 10,
        "char_end": 10 + len(text),
        "line_start": 9,
        "line_end": 10,
        "section_path": ("One", "Two"),
        "concepts": ("zen",),
        **more,
    }
    return Shown(**fields)  # type: ignore[arg-type]


def test_a_passage_is_shown_as_source_txt_is() -> None:
    text = "No word of it.\nZen is\r\nsudden.\n"
    page = ResultPage("zen", "Zen", (shown(1, text, note="stale: …"),), "", "zen")
    assert passage(page, page.hits[0], MARKS).decode() == (
        "file: documents/a %25 (b).txt\nnote: stale: …\nlines: 9-10\ncharacters: 10:41\nsection: One > Two\n"
        "document: d\nscore: 1.500 (full text 2.000, meaning 0.500)\n\n"
        "   9 | No word of it.\n> 10 | ==Zen== is\r\n  11 | sudden.\n"
    )


def test_results_are_read_by_people_and_by_programs() -> None:
    hits = (shown(1, "Zen is old."), shown(2, "No word.\ud800", cosine=None, folder="My Zen/"))
    page = ResultPage("zen [x]\n\ny", "", hits, "No worker listens to questions. Start one: kgfs worker", "zen [x]")
    read = json.loads(results_json(page))
    assert (
        [hit["rank"] for hit in read["hits"]] == [1, 2] and read["by"] == ["full text"] and read["words"] == page.words
    )
    assert read["hits"][0]["text"] == "Zen is old." and read["hits"][1]["cosine"] is None
    lines = results_md(page, MARKS).decode("utf-8", "surrogatepass").splitlines()
    assert lines[0] == "# zen [x] y"
    assert lines[2] == (
        "2 passages in all ontologies, by full text only (No worker listens to questions. Start one: kgfs worker)."
    )
    assert "> ==Zen== is old." in lines
    links = re.findall(r"\]\(([^)]*)\)", "\n".join(lines))
    assert "../../../documents/a%20%25%20%28b%29.txt" in links
    assert "../../../My%20Zen/concepts/zen.concept/concept.md" in links and "02~zen.txt" in links
    nothing = results_md(ResultPage("zen", "Zen", (), ""), MARKS).decode()
    assert nothing == "# zen\n\nNothing found in Zen, by full text and meaning.\n"


@pytest.mark.parametrize(
    ("having", "first", "count", "rank"),
    (
        *(([1, 0, 0], 0, 3, 2), ([0, 1, 0], 0, 3, 3), ([1, 1], 0, 2, None), ([0, 0], 0, 2, None), ([], 0, 0, None)),
        *(([1, 0, 0, 0], 2, 2, 3), ([1, 0, 1, 0], 0, 2, None), ([1], 1, 1, 2)),
    ),
)
def test_what_is_only_near_begins_behind_the_last_that_has_the_word(
    having: list[bool], first: int, count: int, rank: int | None
) -> None:
    found = near_from("rare", having, first, count)
    assert (found.rank if found else None) == rank
    assert near_from("", having, first, count) is None


def test_files_of_passages_are_safe_names_in_order() -> None:
    assert file_name(1, "documents/sub/On Zen (2).txt") == "01~on-zen-2.txt"
    assert file_name(12, "versions/a.txt@/3.txt") == "12~3.txt"
    assert file_name(3, "archive/0123456789abcdef/original") == "03~0123456789abcdef.txt"
    assert len(file_name(99, "documents/" + "é" * 120).encode()) <= 255
