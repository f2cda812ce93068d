"""What both offline extractors promise."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.errors import BadInputError
from kgfs.models.contract import Extraction, Extractor, Passage, RawConcept, RawQuote, RawRelationship
from kgfs.models.extractor import junk, output, table
from kgfs.models.extractor.grammar import GrammarExtractor
from kgfs.models.extractor.statistics import StatisticsExtractor
from kgfs.models.grammar import English

TEXT = (
    "Iterators\r\n=========\r\n\r\nAn *iterator* is an object that yields values one at a time.  A ``generator`` is a kind of\r\n"
    "iterator; the interpreter creates it when a generator function is called [1]_.\r\n\r\n"
    "    >>> next(iterator)\r\n\r\nThe term 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 café means cafe\u0301 culture. Generators use less memory than lists.\r\n"
)
WORDS = st.sampled_from(
    [
        "generator",
        "The lazy iterator",
        "is a",
        "uses",
        "café",
        "cafe\u0301",
        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
        "👩‍👧",
        "``code``",
        ":pep:`8`",
        ".",
        ". ",
        "\r\n",
        "\n\n",
        " ",
        "\t",
        "\x0c",
        "\r",
        "- ",
        "| a |",
        "\ud800",
        "*",
        "`",
        "字典",
        "42",
        "(GIL)",
        "Global Interpreter Lock",
        "means",
        ", a tool,",
    ]
)
PASSAGES = st.lists(WORDS, max_size=40).map(" ".join)


@pytest.fixture(params=["statistics", pytest.param("grammar", marks=pytest.mark.models)])
def extractor(request: pytest.FixtureRequest) -> Extractor:
    if request.param == "statistics":
        return StatisticsExtractor()
    found: Extractor = request.getfixturevalue("grammar_extractor")
    return found


def _check(extractor: Extractor, text: str) -> Extraction:
    (raw,) = extractor.extract([Passage("", (), text)], ())
    extraction = extractor.parse(raw)
    labels = [concept.label for concept in extraction.concepts]
    assert len(labels) == len(set(labels))
    for concept in extraction.concepts:
        assert concept.quotes
        assert 0 <= concept.relevance <= 1
        assert concept.frequency >= 1
        assert junk.reason(concept.label) == ""
    quotes = [quote for concept in extraction.concepts for quote in concept.quotes]
    for quote in (*quotes, *(reported.quote for reported in extraction.relationships)):
        assert text[quote.start : quote.end] == quote.text
        assert quote.text.strip()
    return extraction


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(PASSAGES)
def test_every_quote_is_exact(extractor: Extractor, text: str) -> None:
    _check(extractor, text)


def test_concepts_are_found_and_code_is_not(extractor: Extractor) -> None:
    extraction = _check(extractor, TEXT)
    labels = {concept.label.lower() for concept in extraction.concepts}
    assert {"iterator", "generator"} <= labels
    assert not any("next" in quote.text for concept in extraction.concepts for quote in concept.quotes)


def test_the_same_passage_gives_the_same_output_in_any_company(extractor: Extractor) -> None:
    passage = Passage("Iterators", ("Iterators",), TEXT)
    other = Passage("", (), "Something else entirely. Ships sail the sea.")
    alone = extractor.extract([passage], ())
    assert extractor.extract([other, passage, other, passage], ["generator"])[1::2] == alone * 2


def test_nothing_comes_of_nothing(extractor: Extractor) -> None:
    assert extractor.extract([], ()) == []
    assert _check(extractor, "") == Extraction((), ())
    assert _check(extractor, "    x = 1\n    y = 2\n") == Extraction((), ())


def test_names_and_hashes_tell_extractors_apart(english: English) -> None:
    plain, none = StatisticsExtractor(), GrammarExtractor(english)
    assert len({plain.prompt_hash, none.prompt_hash}) == 2
    assert "en_core_web_sm" in none.model
    assert table.make("auto", None, None).name == "statistics"
    assert table.make("auto", english, None).name == "grammar"


@pytest.mark.models
def test_the_grammar_ranks_alone_without_an_embedder(english: English) -> None:
    extraction = _check(GrammarExtractor(english), TEXT)
    assert extraction.concepts


@pytest.mark.models
@pytest.mark.parametrize(
    ("text", "label", "definition"),
    [
        ("A decorator is a function that wraps another one.", "decorator", "a function that wraps another one"),
        ("Latency means the time that passes before an answer.", "", ""),
        ("The term quorum refers to the least number of voters.", "", ""),
        (
            "Serialization refers to the conversion of objects to bytes.",
            "serialization",
            "the conversion of objects to bytes",
        ),
        ("Monads, a tool of category theory, were adopted.", "monads", "a tool of category theory"),
        (
            "- **Resolvers**: Functions that fetch data for a query.",
            "resolvers",
            "Functions that fetch data for a query",
        ),
        (
            "- **Fast retransmit**: It is a change to the protocol that saves time.",
            "fast retransmit",
            "a change to the protocol that saves time",
        ),
        (
            "[[Macie]] is a data privacy and security service that finds secrets.",
            "macie",
            "a data privacy and security service that finds secrets",
        ),
        (
            "A function has parameters, which are special variables that are part of its signature.",
            "parameters",
            "special variables that are part of its signature",
        ),
        (
            "Magic methods are special methods that define how objects behave.",
            "magic methods",
            "special methods that define how objects behave",
        ),
        (
            "# Inodes\n\nThe inode is a data structure that stores metadata.",
            "inode",
            "a data structure that stores metadata",
        ),
        (
            "Serialization means converting an object into a stream of bytes.",
            "serialization",
            "converting an object into a stream of bytes",
        ),
        ("- **Resolvers**: Optimize functions that fetch data.", "", ""),
        ("- **Heaps**: Trees of values.", "heaps", "Trees of values"),
        (
            "- **PPID** — Parent process ID (the PID of the process that started it).",
            "ppid",
            "Parent process ID (the PID of the process that started it)",
        ),
        ("- **Storage**: allows for reading of numbers.", "", ""),
        ("Disk volumes are part of free tiers.", "", ""),
        ("Files have inodes. The inode is a data structure that stores metadata.", "", ""),
        ("The quagga is an extinct zebra.", "quagga", "an extinct zebra"),
        ("Stomata are pores in the surface of a leaf.", "stomata", "pores in the surface of a leaf"),
        ("A decorator is a common problem.", "", ""),
        ("Strings, which are cheap, are everywhere.", "", ""),
        ("Monotonicity is defined as the absence of reversal.", "", ""),
        ("A decorator is a function.", "", ""),
        ("A decorator is the function that we want.", "", ""),
        ("A decorator was a function that wraps another one.", "", ""),
        ("This is a decorator.", "", ""),
        ("A decorator is not a function.", "", ""),
        ("The global interpreter lock (GIL) guards the interpreter.", "", ""),
    ],
)
def test_definitions_are_recognised(
    grammar_extractor: GrammarExtractor, text: str, label: str, definition: str
) -> None:
    extraction = _check(grammar_extractor, text)
    defined = {
        concept.label.lower(): quote.definition
        for concept in extraction.concepts
        for quote in concept.quotes
        if quote.defines
    }
    if label:
        assert defined.get(label) == definition
    else:
        assert defined == {}


def test_the_statistics_see_plain_definitions() -> None:
    extraction = _check(StatisticsExtractor(), "A decorator is a function that wraps another one.")
    (concept,) = [concept for concept in extraction.concepts if concept.label == "decorator"]
    assert concept.quotes[0].defines
    assert concept.quotes[0].definition == "a function that wraps another one"


def test_output_is_read_back_as_it_was() -> None:
    quote = RawQuote("Qué\ud800", 3, 7, True, "words", 0.5)
    extraction = Extraction(
        (RawConcept("label", "term", 0.25, 2, (quote,)),), (RawRelationship("a", "IS_A", "b", quote, 0.5),)
    )
    assert output.decode(output.encode(extraction)) == extraction


@pytest.mark.parametrize(
    "raw", ["", "no json", "[]", "{}", '{"concepts":[{}],"relationships":[]}', '{"concepts":1,"relationships":2}']
)
def test_what_is_no_output_is_refused(raw: str) -> None:
    with pytest.raises(BadInputError):
        output.decode(raw)


def test_code_names_keep_their_underscores_and_quotes_their_marks(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "The ``__aexit__`` method is called when the block ends. ``__aexit__`` returns a true value to suppress the error.\n\n"
        "# The event loop {#loop}\n\nThe event loop runs callbacks."
    )
    [raw] = grammar_extractor.extract([Passage("", (), text)])
    found = {concept.label: concept for concept in grammar_extractor.parse(raw).concepts}
    assert "__aexit__" in found and "aexit" not in found
    quotes = {quote.text for quote in found["__aexit__"].quotes}
    assert "``__aexit__`` returns a true value to suppress the error." in quotes
    assert not any("#loop" in label or "{" in label for label in found)


def test_evidence_says_something_and_is_no_plain_mention(grammar_extractor: GrammarExtractor) -> None:
    """A sentence of which the concept is the subject is evidence; one that names it in passing, or leans on another, is not."""
    text = (
        "Nobody had expected that a greenhouse would be needed near the station. These issues also touch the greenhouse. "
        "A greenhouse keeps tomato plants warm through cold nights in spring."
    )
    [raw] = grammar_extractor.extract([Passage("", (), text)])
    [found] = [one for one in grammar_extractor.parse(raw).concepts if one.label == "greenhouse"]
    assert [quote.text for quote in found.quotes] == [
        "A greenhouse keeps tomato plants warm through cold nights in spring."
    ]


def test_a_sentence_goes_on_behind_an_abbreviation_at_the_end_of_a_line(grammar_extractor: GrammarExtractor) -> None:
    text = (
        "A coroutine delegates to another generator by the expression that was added in PEP\n380 for such generators."
    )
    [raw] = grammar_extractor.extract([Passage("", (), text)])
    assert {quote.text for one in grammar_extractor.parse(raw).concepts for quote in one.quotes} == {text}


def test_a_marked_term_before_a_colon_is_explained_by_its_item(grammar_extractor: GrammarExtractor) -> None:
    text = "The design has two goals:\n\n- **Locality**: each module can be understood without others.\n- Ada: we should go home.\n"
    [raw] = grammar_extractor.extract([Passage("", (), text)])
    found = grammar_extractor.parse(raw)
    [locality] = [one for one in found.concepts if one.label.lower() == "locality"]
    assert [quote.text for quote in locality.quotes] == ["**Locality**: each module can be understood without others."]
    assert found.leads == ("Ada",)


def test_parts_of_longer_names_stand_nowhere_whole(grammar_extractor: GrammarExtractor) -> None:
    """A head before "of", the end of a name behind it, and a name behind an ordinal are parts."""
    text = (
        "Every project has a code of conduct. A code of conduct protects newcomers. "
        "We used Inversion of Control in both frameworks. Callers rely on Inversion of Control everywhere. "
        "The second line supervisor signs the form. The first line supervisor reads the form."
    )
    [raw] = grammar_extractor.extract([Passage("", (), text)])
    signs = {one.label: one.signs for one in grammar_extractor.parse(raw).concepts if one.signs is not None}
    assert "code" not in signs and "Inversion" not in signs and "Control" not in signs
    assert signs["Inversion of Control"].whole == 2 and signs["line supervisor"].pointed == 2


def test_a_sentence_that_leans_on_the_one_before_is_quoted_with_it(grammar_extractor: GrammarExtractor) -> None:
    text = "Cold nights kill young tomato plants. Therefore a greenhouse keeps tomato plants warm through the spring."
    [raw] = grammar_extractor.extract([Passage("", (), text)])
    [found] = [one for one in grammar_extractor.parse(raw).concepts if one.label == "greenhouse"]
    assert [quote.text for quote in found.quotes] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "[[Prior Probability|Priors]] are simple to compute from the data.",
        ":mod:`!lzma` is the most recent module of this kind.",
    ],
)
def test_a_link_is_quoted_whole(grammar_extractor: GrammarExtractor, text: str) -> None:
    [raw] = grammar_extractor.extract([Passage("", (), text)])
    assert {quote.text for one in grammar_extractor.parse(raw).concepts for quote in one.quotes} == {text}
