from __future__ import annotations

import pytest

from kgfs.domain.knowledge import BOUND, RELATIONSHIP_TYPES, TOGETHER
from kgfs.models.contract import Passage
from kgfs.models.extractor import typed
from kgfs.models.extractor.grammar import GrammarExtractor

pytestmark = pytest.mark.models


def _stated(extractor: GrammarExtractor, text: str, *, has_type: bool = True) -> set[tuple[str, str, str]]:
    (raw,) = extractor.extract([Passage("", (), text)], ())
    extraction = extractor.parse(raw)
    labels = {concept.label for concept in extraction.concepts}
    for reported in extraction.relationships:
        assert {reported.subject, reported.object} <= labels
        assert reported.quote.text == text[reported.quote.start : reported.quote.end]
        assert 0 < reported.confidence <= 1
    return {
        (reported.subject.lower(), reported.type, reported.object.lower())
        for reported in extraction.relationships
        if (reported.type != "RELATED_TO") == has_type
    }


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A coroutine is a kind of generator.", ("coroutine", "IS_A", "generator")),
        ("Mercury is a planet.", ("mercury", "IS_A", "planet")),
        ("Rodents such as mice eat grain.", ("mice", "IS_A", "rodents")),
        ("Mice, rats and other rodents eat grain.", ("rats", "IS_A", "rodents")),
        ("Rodents include mice.", ("mice", "IS_A", "rodents")),
        ("He plays a board game called Carcassonne.", ("carcassonne", "IS_A", "board game")),
        (
            "The scheduler runs in Kubernetes, a container orchestrator.",
            ("kubernetes", "IS_A", "container orchestrator"),
        ),
        ("The search engine uses liquid hydrogen.", ("search engine", "USES", "liquid hydrogen")),
        ("Liquid hydrogen is used by the search engine.", ("search engine", "USES", "liquid hydrogen")),
        ("The importlib package replaces the imp module.", ("importlib package", "REPLACES", "imp module")),
        ("Smoking causes lung cancer.", ("smoking", "CAUSES", "lung cancer")),
        ("Blossom end rot is caused by calcium deficiency.", ("calcium deficiency", "CAUSES", "blossom end rot")),
        ("Erosion leads to soil loss.", ("erosion", "CAUSES", "soil loss")),
        ("The task scheduler is part of the Linux kernel.", ("task scheduler", "PART_OF", "linux kernel")),
        ("Emacs supports syntax highlighting.", ("emacs", "SUPPORTS", "syntax highlighting")),
    ],
)
def test_what_a_sentence_states(
    grammar_extractor: GrammarExtractor, sentence: str, expected: tuple[str, str, str]
) -> None:
    assert expected in _stated(grammar_extractor, sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Is Pluto a planet?",
        "Pluto is not a planet.",
        "The parser does not use the tokenizer.",
        "If the parser uses the tokenizer, nothing changes.",
        "This uses that.",
        "It is a planet.",
        "If the flag is set, the parser uses the tokenizer.",
        "A parser that is slow uses the tokenizer.",
        "The parser might use the tokenizer.",
        "The parser no longer uses the tokenizer.",
        "When the parser uses the tokenizer, nothing changes.",
        "They suggest that the parser uses the tokenizer.",
        "Parsers and tokenizers.",
        "About half of the web browsers use liquid hydrogen.",
        "Most Java parsers are slow tokenizers.",
        "The search engine used liquid hydrogen.",
        "You use liquid hydrogen.",
        "Coroutines, a new kind of generator, are distinct from a generator.",
        "A comparison of a coroutine and a generator is a problem.",
    ],
)
def test_what_is_asked_denied_supposed_or_pointed_at_is_not_stated(
    grammar_extractor: GrammarExtractor, sentence: str
) -> None:
    assert _stated(grammar_extractor, sentence) == set()


def test_types_are_known() -> None:
    types = {type_ for type_, _ in (*typed.VERBS.values(), *typed.PREPOSITIONS.values())}
    assert types <= set(RELATIONSHIP_TYPES)


def _related(extractor: GrammarExtractor, text: str) -> dict[tuple[str, str], float]:
    (raw,) = extractor.extract([Passage("", (), text)], ())
    return {
        (reported.subject.lower(), reported.object.lower()): reported.confidence
        for reported in extractor.parse(raw).relationships
        if reported.type == "RELATED_TO"
    }


def test_subject_and_object_of_one_verb_are_bound(grammar_extractor: GrammarExtractor) -> None:
    reported = _related(grammar_extractor, "The tax parser depends on the word tokenizer.")
    assert reported == {("tax parser", "word tokenizer"): BOUND}


def test_a_participle_binds(grammar_extractor: GrammarExtractor) -> None:
    reported = _related(grammar_extractor, "The museum shows a tax parser written by Grace Hopper.")
    assert reported["grace hopper", "tax parser"] == BOUND


def test_items_of_a_list_are_only_said_together(grammar_extractor: GrammarExtractor) -> None:
    reported = _related(grammar_extractor, "We looked at the tax parser and at the word tokenizer.")
    assert reported == {("tax parser", "word tokenizer"): TOGETHER}


def test_a_typed_relationship_is_not_related_too(grammar_extractor: GrammarExtractor) -> None:
    assert _related(grammar_extractor, "Emacs supports syntax highlighting.") == {}
