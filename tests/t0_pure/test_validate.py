"""Whatever an extractor claims: what is kept is exactly in the Text, what is not is counted."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.domain.text import Chunk
from kgfs.ingest.reading import validate as validation
from kgfs.ingest.reading.anchor import ALIKE, Source
from kgfs.ingest.reading.validate import ValidExtraction, validate
from kgfs.models.contract import Extraction, RawConcept, RawQuote, RawRelationship

BEFORE = "Zen is a school that stands before the Source and must never be quoted.\n\n"
PASSAGE = (
    "Zen is a school of Buddhism. A koan is a question that\r\nhas no answer by logic alone; it is used in practice.\n\n"
    "The master said: “Don’t think—look!” Nai\u0308ve people ask again. Zen uses the koan as a tool.\n"
)
TEXT = BEFORE + PASSAGE + "Behind the Source zen goes on."


def chunk_of(start: int, end: int) -> Chunk:
    return Chunk(7, start, end, 1, 1, 0, 0, (), 0, start)


CHUNK = chunk_of(len(BEFORE), len(BEFORE) + len(PASSAGE))


def concept(*quotes: RawQuote, label: str = "Zen") -> RawConcept:
    return RawConcept(label, "term", 0.5, 1, quotes)


def run(*concepts: RawConcept, relationships: tuple[RawRelationship, ...] = (), text: str = TEXT) -> ValidExtraction:
    return validate(Extraction(concepts, relationships), text, CHUNK)


def found(quote: RawQuote) -> str | None:
    valid = run(concept(quote))
    return TEXT[valid.concepts[0].quotes[0].start : valid.concepts[0].quotes[0].end] if valid.concepts else None


def test_a_right_claim_is_believed_to_the_character() -> None:
    at = PASSAGE.index("koan", 100)
    valid = run(concept(RawQuote("koan", at, at + 4)))
    assert [(quote.start - CHUNK.start, quote.chunk) for quote in valid.concepts[0].quotes] == [(at, 7)]
    assert valid.dropped == {}


def test_a_wrong_claim_gives_the_nearest_place() -> None:
    second = PASSAGE.index("koan", 100)
    near = run(concept(RawQuote("koan", second - 9, second - 5))).concepts[0].quotes[0]
    far = run(concept(RawQuote("koan", 3, 7))).concepts[0].quotes[0]
    unknown = run(concept(RawQuote("koan"))).concepts[0].quotes[0]
    assert near.start - CHUNK.start == second
    assert far.start == unknown.start == CHUNK.start + PASSAGE.index("koan")


@pytest.mark.parametrize(
    ("claimed", "reported"),
    [
        ("a question that has no answer", "a question that\r\nhas no answer"),
        ("  A KOAN is a Question ", "A koan is a question"),
        ('"Don\'t think-look!"', "Don’t think—look!"),
        ("naïve people", "Nai\u0308ve people"),
        ("nai", None),
        ("Naïve people ask\nagain.", "Nai\u0308ve people ask again."),
        ("by logic alone; it is\u00a0used", "by logic alone; it is used"),
    ],
)
def test_differences_that_do_not_matter(claimed: str, reported: str | None) -> None:
    assert found(RawQuote(claimed)) == reported


@pytest.mark.parametrize(
    ("claimed", "reported"),
    [
        ("Zen is one school of Buddhism", "Zen is a school of Buddhism."),
        ("A koan is a question with no answer by logic alone; it is used in practice", PASSAGE[29:109]),
        ("The moon is made of green cheese and of nothing else", None),
        ("koans answer", None),
        ("", None),
        ("  \n ", None),
        ("Behind the Source zen goes on.", None),
        (BEFORE, None),
        ("ool", None),
    ],
)
def test_paraphrases_are_anchored_at_what_is_said_or_dropped(claimed: str, reported: str | None) -> None:
    assert found(RawQuote(claimed, 0, len(claimed))) == reported


@pytest.mark.parametrize(
    "link",
    [
        "[The handbook. Second edition](https://zen.example/a_(b))",
        '[**The** handbook [old]. Second edition](b.md "A title")',
        "![The handbook. Second edition](b.png)",
        "[[The handbook. Second edition|handbook]]",
    ],
)
def test_a_link_that_a_quote_begins_or_ends_in_is_quoted_whole(link: str) -> None:
    text = f"Read this. See {link} for more. Then [act](x)."
    source = Source(text, 0, len(text))

    def quoted(first: str, last: str) -> str:
        start, end = text.index(first), text.index(last) + len(last)
        span = source.find(RawQuote(text[start:end], start, end))
        assert span is not None
        return text[slice(*span)]

    assert quoted("Second", "more.") == f"{link} for more."
    assert quoted("See", "handbook") == f"See {link}"
    assert quoted("Second", "edition") == link
    assert quoted("Read", "this.") == "Read this." and quoted("See", "more.") == f"See {link} for more."


def test_the_paraphrase_threshold_is_the_stated_one() -> None:
    words = [f"w{n}" for n in range(20)]
    text = " ".join(words) + "."
    changed = int(20 * (1 - ALIKE))
    alike = [*(f"x{n}" for n in range(changed)), *words[changed:]]
    other = [*(f"x{n}" for n in range(changed + 1)), *words[changed + 1 :]]
    assert Source(text, 0, len(text)).find(RawQuote(" ".join(alike))) == (0, len(text))
    assert Source(text, 0, len(text)).find(RawQuote(" ".join(other))) is None


def test_what_is_refused_is_counted() -> None:
    there = RawQuote("Zen is a school of Buddhism.")
    valid = run(
        concept(there, RawQuote("never said anywhere in it"), there),
        concept(there, label="“…”"),
        concept(there, label=" ** "),
        concept(RawQuote("nowhere"), label="Ghost"),
        concept(RawQuote("A koan is a question"), label="The Koan"),
        relationships=(
            RawRelationship("zen", "USES", "the koan", RawQuote("Zen uses the koan as a tool."), 3.0),
            RawRelationship("Zen", "LOVES", "the koan", there, 1.0),
            RawRelationship("Zen", "USES", "Ghost", there, 1.0),
            RawRelationship("Zen", "USES", "ZEN", there, 1.0),
            RawRelationship("Zen", "USES", "The Koan", RawQuote("not said at all by anyone"), 1.0),
        ),
    )
    assert [one.label for one in valid.concepts] == ["Zen", "The Koan"]
    assert [(one.subject, one.type, one.object, one.confidence) for one in valid.relationships] == [
        ("zen", "USES", "the koan", 1.0)
    ]
    assert valid.dropped == {
        validation.NOT_FOUND: 2,
        validation.SAME_QUOTE: 1,
        validation.EMPTY_LABEL: 2,
        validation.NO_QUOTE: 1,
        validation.UNKNOWN_TYPE: 1,
        validation.UNKNOWN_END: 1,
        validation.SAME_ENDS: 1,
        validation.UNPROVED: 1,
    }


def test_the_best_definition_counts_and_must_be_said() -> None:
    weak = RawQuote("Zen uses the koan as a tool.", defines=True, definition="a tool", score=0.2)
    best = RawQuote("A koan is a question", defines=True, definition="a question", score=0.9)
    invented = RawQuote("Zen is a school of Buddhism.", defines=True, definition="a kind of sword", score=1.0)
    valid = run(concept(weak, best, invented, label="koan"))
    assert valid.concepts[0].definition == "a question"
    assert valid.dropped == {validation.STRANGE_DEFINITION: 1}
    assert [quote.defines for quote in valid.concepts[0].quotes] == [True, True, True]
    assert [quote.start for quote in valid.concepts[0].quotes] == sorted(q.start for q in valid.concepts[0].quotes)


def test_numbers_stay_within_their_range() -> None:
    quote = RawQuote("Zen")
    for given_, kept in ((float("nan"), 0.0), (-1.0, 0.0), (7.0, 1.0), (0.25, 0.25)):
        valid = run(RawConcept("Zen", "", given_, -3, (quote,)))
        assert (valid.concepts[0].relevance, valid.concepts[0].frequency, valid.concepts[0].kind) == (kept, 1, "term")


CHARACTERS = st.one_of(
    st.characters(), st.sampled_from(" \t\r\n\f.,“”’—-\"'aAbBßﬁİéz漢\u0301\u200d\u00ad\ud800👍𝔘 ..  ")
)
WORDS = st.text(CHARACTERS, max_size=80)


@settings(max_examples=400, deadline=None)
@given(WORDS, WORDS, WORDS, st.data())
def test_every_kept_quote_is_exactly_in_its_chunk(before: str, reported: str, behind: str, data: st.DataObject) -> None:
    text = before + reported + behind
    chunk = chunk_of(len(before), len(before) + len(reported))
    a = data.draw(st.integers(-3, len(reported) + 3))
    b = data.draw(st.integers(-3, len(reported) + 3))
    piece = data.draw(
        st.sampled_from(
            (reported[max(0, a) : b], reported[a:].upper(), " ".join(reported.split()), before, "a b c d e")
        )
    )
    quote = RawQuote(piece, a, b)
    valid = validate(Extraction((concept(quote),), (RawRelationship("Zen", "USES", "Zen", quote, 1.0),)), text, chunk)
    for one in valid.concepts:
        for kept in one.quotes:
            words = text[kept.start : kept.end]
            assert words and words == words.strip()
            assert chunk.start <= kept.start < kept.end <= chunk.end
    assert valid.concepts or valid.dropped


@settings(max_examples=300, deadline=None)
@given(st.text(CHARACTERS, min_size=1, max_size=80), st.data())
def test_a_quote_with_right_offsets_is_never_lost(reported: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(reported) - 1))
    end = data.draw(st.integers(start + 1, len(reported)))
    valid = validate(
        Extraction((concept(RawQuote(reported[start:end], start, end)),), ()), reported, chunk_of(0, len(reported))
    )
    kept = [reported[quote.start : quote.end] for one in valid.concepts for quote in one.quotes]
    assert kept == ([reported[start:end].strip()] if reported[start:end].strip() else [])


def test_time_is_bounded() -> None:
    text = ("word " * 30 + ". ") * 5_000 + "a" * 200_000
    quotes = tuple(
        RawQuote(words) for words in ("word " * 5_000, "word other " * 90, "a" * 50_000 + "b", "x y z " * 60)
    )
    begun = time.process_time()
    validate(Extraction((concept(*quotes),), ()), text, chunk_of(0, len(text)))
    assert time.process_time() - begun < 5
    sentences = "".join(f"One two three four five six {n} seven eight. " for n in range(390))
    begun = time.process_time()
    validate(
        Extraction((concept(*(RawQuote(f"one two four five seven {n} nine") for n in range(50))),), ()),
        sentences,
        chunk_of(0, len(sentences)),
    )
    assert time.process_time() - begun < 5
