from __future__ import annotations

import pytest

from kgfs.domain.knowledge import RELATIONSHIP_TYPES
from kgfs.models.contract import Passage
from kgfs.models.extractor import vocabulary
from kgfs.models.extractor.grammar import GrammarExtractor

pytestmark = pytest.mark.models


def _stated(extractor: GrammarExtractor, text: str) -> set[tuple[str, str, str]]:
    (raw,) = extractor.extract([Passage("", (), text)], ())
    extraction = extractor.parse(raw)
    labels = {concept.label for concept in extraction.concepts}
    for said in extraction.relationships:
        assert {said.subject, said.object} <= labels
        assert said.quote.text == text[said.quote.start : said.quote.end]
        assert 0 < said.confidence <= 1
    return {(said.subject.lower(), said.type, said.object.lower()) for said in extraction.relationships}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("A coroutine is a kind of generator.", ("coroutine", "IS_A", "generator")),
        ("Mercury is a planet.", ("mercury", "IS_A", "planet")),
        ("The engine uses liquid hydrogen.", ("engine", "USES", "liquid hydrogen")),
        ("Liquid hydrogen is used by the engine.", ("engine", "USES", "liquid hydrogen")),
        ("The parser depends on the tokenizer.", ("parser", "REQUIRES", "tokenizer")),
        ("The compiler requires a linker.", ("compiler", "REQUIRES", "linker")),
        ("The old module was replaced by the importlib package.", ("importlib package", "REPLACES", "old module")),
        ("The importlib package replaces the imp module.", ("importlib package", "REPLACES", "imp module")),
        ("Smoking causes lung cancer.", ("smoking", "CAUSES", "lung cancer")),
        ("Erosion leads to soil loss.", ("erosion", "CAUSES", "soil loss")),
        ("The vaccine prevents measles.", ("vaccine", "PREVENTS", "measles")),
        ("The kernel contains a scheduler.", ("scheduler", "PART_OF", "kernel")),
        ("The scheduler is part of the kernel.", ("scheduler", "PART_OF", "kernel")),
        ("Water consists of hydrogen and oxygen.", ("oxygen", "PART_OF", "water")),
        ("The subclass inherits from the base class.", ("subclass", "EXTENDS", "base class")),
        ("The grammar defines the decorator syntax.", ("grammar", "DEFINES", "decorator syntax")),
        ("The factory creates proxy objects.", ("factory", "CREATES", "proxy objects")),
        ("The browser supports web sockets.", ("browser", "SUPPORTS", "web sockets")),
        ("Rodents such as mice eat grain.", ("mice", "IS_A", "rodents")),
        ("Mice, rats and other rodents eat grain.", ("rats", "IS_A", "rodents")),
        ("Bats differ from birds.", ("bats", "CONTRASTS_WITH", "birds")),
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
    ],
)
def test_what_is_asked_denied_supposed_or_pointed_at_is_not_stated(
    grammar_extractor: GrammarExtractor, sentence: str
) -> None:
    assert _stated(grammar_extractor, sentence) == set()


def test_the_vocabulary_only_has_known_types() -> None:
    meanings = [
        *vocabulary.VERBS.values(),
        *vocabulary.PREPOSITIONS.values(),
        *vocabulary.PASSIVES.values(),
        *vocabulary.ADJECTIVES.values(),
    ]
    assert {meaning.type for meaning in meanings} <= set(RELATIONSHIP_TYPES)
    assert all(0 < meaning.confidence <= 1 for meaning in meanings)
