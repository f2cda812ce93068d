"""How a question is read, texts are cut into sentences, and what answers is chosen or refused: pure, by hand."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgfs.domain.word_forms import forms_in
from kgfs.knowledge.ask.answer import Answer, Place, Quote, State, as_data, from_data
from kgfs.knowledge.ask.choosing import chosen
from kgfs.knowledge.ask.question import Question, kind_asked, weighed
from kgfs.knowledge.ask.scoring import Bag, Candidate, Judged, Scored, Surroundings, Weights, fits, led, score
from kgfs.knowledge.ask.sentences import LONGEST, blocks_of, end_of_introduced, points_back, says_nothing, sentences_of
from kgfs.knowledge.ask.subject import Subject, is_titled, says_what, subjects_of
from kgfs.render.answer import ValidatedCitation
from kgfs.render.answer_files import AnswerPage, ShownQuote, answer_json, answer_md, context_md, response_of
from kgfs.render.search import telling_words

TEXT = """\
---
title: Notes on tea
---
# Tea

Tea is a drink. Monks drink it at dawn, e.g. in winter.
It keeps them awake!

- Green tea is not fermented.
  It is pale.
- Black tea is.

```
tea = brew(leaves)
```

| kind | minutes |
| --- | --- |
| green tea | two minutes |
"""

RANKS = {"the": 1, "tea": 3000, "drink": 2500, "monks": 9000, "mongolia": 14000}


def rank(word: str) -> int:
    return RANKS.get(word.lower(), 60_000)


def read(words: str, held: dict[str, int] | None = None, sources: int = 1) -> Question:
    return weighed(words, {}, rank, held or {}, sources)


def sentences(text: str) -> list[str]:
    return [text[one.start : one.end] for one in sentences_of(text, blocks_of(text, begins=True))]


def test_a_text_is_cut_into_sentences_items_and_rows() -> None:
    assert sentences(TEXT) == [
        "title: Notes on tea",
        "Tea is a drink.",
        "Monks drink it at dawn, e.g. in winter.",
        "It keeps them awake!",
        "Green tea is not fermented.",
        "It is pale.",
        "Black tea is.",
        "| green tea | two minutes |",
    ]
    assert [block.kind for block in blocks_of(TEXT, begins=True)] == [
        *("meta", "heading", "paragraph", "item", "item", "code", "row", "row"),
    ]


MARKED = """\
> [!NOTE]
> Tea is being moved. See the
> other garden.
>
> Cups are next.

<p align="center">
  <img alt="tea" src="tea.png">
</p>
[![badge](a.svg)](https://a.example)
[Where is tea?](https://b.example)
Tea is kept dry. It lasts for years.

Brew it so::

    pot = warm(Pot())
    Tea in the pot is hot now

A cup of tea is served by the host
The guest bows and takes the cup with both hands

Tea needs:

- warm water
- two minutes
"""


def test_marks_links_and_code_are_no_sentences_and_lines_end_on_purpose() -> None:
    assert [one for one in sentences(MARKED) if not says_nothing(one)] == [
        "Tea is being moved.",
        "See the\n> other garden.",
        "Cups are next.",
        "Tea is kept dry.",
        "It lasts for years.",
        "Brew it so::",
        "A cup of tea is served by the host",
        "The guest bows and takes the cup with both hands",
    ]


def test_a_line_that_was_broken_before_a_link_or_an_abbreviation_ends_no_sentence() -> None:
    text = (
        "The council appointed the\n`Foundation <https://example.org/some/long/address>`__ to count (ie. Tea only) by\n"
        "Monday, as it was asked to do by those who drink."
    )
    assert sentences(text) == [text]


def test_what_a_sentence_introduces_and_points_back_to() -> None:
    text = "Tea needs warm water:\n\n- hot, not boiling\n- soft\n\nMore."
    blocks = blocks_of(text)
    first, *_, last = sentences_of(text + " It is so.", blocks_of(text + " It is so."))
    assert text[: end_of_introduced(text, blocks, first)].endswith("- soft")
    assert points_back("It is so.") and points_back("Therefore tea.") and not points_back("Italy is so.")
    assert end_of_introduced(text + " It is so.", blocks_of(text + " It is so."), last) == last.end


@given(st.text(alphabet="ab .!?\n#-*|`=\t1<>A:[]"), st.booleans())
def test_sentences_are_slices_in_order_within_their_blocks(text: str, begins: bool) -> None:
    blocks = blocks_of(text, begins=begins)
    found = sentences_of(text, blocks)
    assert all(one.end <= other.start for one, other in pairwise(blocks))
    assert all(one.end <= other.start for one, other in pairwise(found))
    for one in found:
        assert blocks[one.block].start <= one.start < one.end <= blocks[one.block].end
        assert not text[one.start].isspace() and not text[one.end - 1].isspace() and one.end - one.start <= LONGEST


def test_a_long_sentence_is_cut_at_spaces_and_nothing_is_lost() -> None:
    text = "word " * 1000
    found = sentences_of(text, blocks_of(text))
    assert "".join(text[one.start : one.end] for one in found).replace(" ", "") == "word" * 1000


def test_function_words_are_not_looked_for_and_what_is_asked_is_told() -> None:
    assert telling_words("What is the Zen of Python?") == ["Zen", "Python"]
    assert telling_words("who are we") == ["who", "are", "we"]
    asked = ("When was it?", "How many are there?", "Who did it?", "Why?", "What is it?")
    assert [kind_asked(one) for one in asked] == ["date", "number", "name", "reason", ""]
    assert fits("date", "on 5 May") and fits("number", "two of 7") and not fits("number", "some of them")
    assert fits("reason", "because of rain") and fits("name", "by Tim Peters") and not fits("", "anything")


def test_rare_words_weigh_more_and_names_most() -> None:
    weights = {word.text: word.weight for word in read("Do monks drink tea in Mongolia?").words}
    assert weights["Mongolia"] > weights["monks"] > weights["drink"]
    held = read("tea Mongolia", {"tea": 90_000, "mongolia": 90_000}, 100_000)
    assert all(word.rarity < 0.2 for word in held.words), "in a large home its own texts decide"


CHEAP = {"tea is a drink": 0, "monks drink tea at dawn because it keeps them awake": 1, "rice grows in water": 2}


def scored(
    question: Question, texts: list[str], judged: list[Judged] | None = None, *, of_one_section: bool = False
) -> Scored:
    candidates = [
        Candidate(0, 0 if of_one_section else at, "paragraph", text, *[frozenset(forms_in(text))] * 3)
        for at, text in enumerate(texts)
    ]
    whole = " ".join(texts)
    sections = [whole] if of_one_section else texts
    around = Surroundings([Bag.of(forms_in(text)) for text in sections], [Bag.of(forms_in(whole))], [frozenset()])
    return score(question, candidates, around, judged or [Judged()] * len(texts), Weights())


def test_the_sentence_with_the_words_is_first_and_a_missing_name_is_refused() -> None:
    found = scored(read("Why do monks drink tea?"), list(CHEAP))
    assert found.order[0] == 1 and found.answerable > 0
    assert scored(read("What is the capital of Mongolia?"), list(CHEAP)).answerable < 0
    assert scored(read("tea"), []).order == () and scored(read("why is it so"), list(CHEAP)).answerable < 0


@pytest.mark.parametrize("sources", [1, 100_000])
def test_a_small_and_a_large_home_refuse_alike(sources: int) -> None:
    held = {form: max(1, sources // 1000) for text in CHEAP for form in forms_in(text)}
    assert scored(read("Why do monks drink tea?", held, sources), list(CHEAP)).answerable > 0
    assert scored(read("What is the capital of Mongolia?", held, sources), list(CHEAP)).answerable < 0


def test_meaning_decides_where_words_do_not() -> None:
    near = [Judged(0.1, 0.1, True), Judged(0.1, 0.1, True), Judged(0.9, 0.9, True)]
    assert scored(read("paddy fields"), list(CHEAP), near).order[0] == 2


NOTE = [
    "The observatory has a dome of copper.",
    "The dome of the observatory turns on forty wheels of steel.",
    "Its mirror was ground by two brothers in the town below.",
    "The dome of the observatory is washed in June.",
]


@pytest.mark.parametrize("by_meaning", [True, False])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When is the dome of the observatory washed?", 3),
        ("How many wheels does the dome of the observatory turn on?", 1),
        ("Who ground the mirror of the observatory?", 2),
    ],
)
def test_the_sentence_with_the_words_comes_before_its_neighbours(question: str, answer: int, by_meaning: bool) -> None:
    near = [Judged(0.5 + 0.1 * (at != answer), 0.6 + 0.1 * (at != answer), True) for at in range(len(NOTE))]
    assert scored(read(question), NOTE, near if by_meaning else None, of_one_section=True).order[0] == answer


def test_words_that_frame_a_question_count_less_than_its_subject() -> None:
    sections = ["How long it is does not say how long it was before.", "Severance is paid for three months."]
    assert scored(read("how long does severance"), sections).order[0] == 1
    found = scored(read("How long does severance last?"), ["A long hash lasts longer than a short one."])
    assert found.answerable < 0


def test_sentences_are_grouped_by_document_the_best_first() -> None:
    def candidate(document: int, text: str) -> Candidate:
        return Candidate(document, document, "paragraph", text, *[frozenset(forms_in(text))] * 2, frozenset())

    candidates = [
        candidate(0, "one"),
        candidate(0, "two"),
        candidate(1, "three"),
        candidate(1, "two"),
        candidate(1, "x"),
    ]
    values = (-0.5, -0.2, -0.4, -0.3, -9.0)
    order = tuple(sorted(range(5), key=lambda at: -values[at]))
    assert chosen(candidates, Scored(order, values, 1.0)) == [1, 0, 2]


# ----------------------------------------------------------------------------------------------- definitions


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("What is a koan?", ["koan"]),
        ("what are Koans", ["koan"]),
        ("What's the GIL?", ["gil"]),
        ("What is a lock file used for?", ["lock file"]),
        ("What does TUF stand for?", ["tuf"]),
        ("What is a future in asyncio?", ["future in asyncio", "future"]),
        ("When was PEP 492 accepted?", []),
        ("What is it?", []),
        ("What is the best way to learn how a koan is read?", []),
    ],
)
def test_what_is_to_be_defined(question: str, subjects: list[str]) -> None:
    assert [one.norm for one in subjects_of(question)] == subjects


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("A **koan** is a riddle.", "koan", True),
        ("Koans are riddles.", "koan", False),
        ("Koans, also called gong'an, are the riddles of Zen.", "koan", True),
        ("Koan: a riddle of Zen", "koan", True),
        ("Network Address Translation (NAT) is a way to share one address.", "NAT", True),
        ("Gson is currently in maintenance mode.", "Gson", False),
        ("The koan is old.", "koan", False),
        ("A tea bowl is a bowl.", "bowl", False),
        ("`lock_file` refers to the file of versions.", "lock file", True),
    ],
)
def test_a_sentence_says_what_something_is_by_how_it_begins(text: str, name: str, expected: bool) -> None:
    assert says_what(text, Subject(name, frozenset())) == expected


def test_a_title_names_its_subject_or_ends_with_its_short_form() -> None:
    assert is_titled(["SSH (Secure Shell)"], Subject("SSH", frozenset()))
    assert is_titled(["Secure Shell (SSH)"], Subject("SSH", frozenset()))
    assert not is_titled(["Using SSH"], Subject("SSH", frozenset()))


def test_what_says_it_leads_and_is_an_answer() -> None:
    found = scored(read("What is the capital of Mongolia?"), list(CHEAP))
    ahead = led(found, {2})
    assert ahead.order == (2, *(at for at in found.order if at != 2)) and ahead.answerable > 0 > found.answerable
    assert led(found, set()) == found


# --------------------------------------------------------------------------------------------------------- files

CITATION = ValidatedCitation(
    1, "0123456789ab", "Tea *and* [C:abc]", "documents/tea.md", None, (2, 3), "Zen/a/x y", None, True
)
SHOWN = ShownQuote(
    *(1, "0123456789ab", "d" * 16, "Zen", "documents/tea.md", "Tea *and* [C:abc]"),
    *("Tea is\n a drink [C:666666666666].", 4, 40, 2, 3, None, (), -0.1),
)
PAGE = AnswerPage(
    question="What is [C:1]?",
    ontology="Zen",
    state="done",
    response="Tea is [C:0123456789ab]",
    quotes=(SHOWN,),
    citations=(CITATION,),
    invalid_citations=(),
    missing_archives=(),
    needs_retry=False,
    looked=(),
    epoch=3,
    asked_at=10**18,
    only_text="",
    surety=1.0,
    missing=(),
    reason="",
    saved=False,
)


def test_the_files_of_an_answer() -> None:
    md = answer_md(PAGE, "../../../").decode()
    assert "[C:" not in md and "- Tea is a drink [C :666666666666]. [1]\n" in md and "**Tea \\*and\\* [C :abc]**" in md
    assert "\n**Sources:**\n[1] " in md and "| lines 2-3 | [View](../../../Zen/a/x%20y)\n" in md
    data = json.loads(answer_json(PAGE))
    assert data["state"] == "done" and data["citations"][0]["lines"] == [2, 3] and not data["had_invalid_citations"]
    assert data["quotes"][0]["text"] == SHOWN.text
    assert b"from epoch 3" in answer_md(replace(PAGE, saved=True), "") and b"epoch" not in answer_md(PAGE, "")


@pytest.mark.parametrize(
    ("state", "reported"),
    [("pending", "being worked out"), ("not_found", "Not found in sources"), ("failed", "no disk")],
)
def test_the_states_of_an_answer(state: str, reported: str) -> None:
    page = replace(PAGE, state=state, quotes=(), citations=(), response="", reason="no disk", missing=("Ulan [C:1]",))
    md = answer_md(page, "").decode()
    assert reported in md and "[C:" not in md
    assert json.loads(answer_json(page))["state"] == state and context_md(page)


@pytest.mark.parametrize("state", ["done", "not_found"])
def test_an_answer_by_words_alone_says_so_first(state: str) -> None:
    page = answer_md(replace(PAGE, state=state, only_text="No worker listens to questions."), "").decode()
    assert page.splitlines()[2] == "By words only: No worker listens to questions."


def test_a_response_has_a_paragraph_for_each_document() -> None:
    assert (
        response_of([("a", "1", "x"), ("a", "2", "y\nz"), ("b", "3", "[C:9]")]) == "x [C:1]\ny z [C:2]\n\n[C :9] [C:3]"
    )


def test_an_answer_is_kept_as_plain_data() -> None:
    place = Place("d" * 16, "0123456789ab", 0, 4, 40, 2, 3, None, ("a", "b"))
    answer = Answer("q", "", State.DONE, (Quote(place, "t", 0.5),), (), 3, 4, "", 1.0, ("w",))
    assert from_data(json.loads(json.dumps(as_data(answer)))) == answer


@pytest.mark.parametrize(
    "text",
    (
        "[thanks to " + "[a](b), " * 23 + "and others] who helped.",
        "[" + "![a]" * 23 + " a picture.",
        "This is one of many sentences. " * 3000,
        "-" * 5000 + " x.",
        "* " * 3000 + "x.",
        "A table:\n" + " " * 1000 + "x\n",
    ),
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    """As a regular expression would that tries what it can in all ways: nothing ends it, and no other thread runs."""
    before = time.process_time()
    for one in sentences(text):
        says_nothing(one)
        says_what(one, Subject("koan", frozenset()))
    says_what(text, Subject("koan", frozenset()))
    assert time.process_time() - before < 1


def test_no_question_takes_long() -> None:
    before = time.process_time()
    assert [one.norm for one in subjects_of("what  is\ta " + " " * 9000 + "koan ?")] == ["koan"]
    for question in ("what is x" + " " * 9000 + "y z", "what is " + "in " * 3000, "what is x" + "?" * 9000 + "a"):
        subjects_of(question)
    assert time.process_time() - before < 1
