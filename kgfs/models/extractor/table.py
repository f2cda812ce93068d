"""The table of extractors that ``models.extractor`` may name.

Loading this module loads no model and no extractor: each row imports its own when it makes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgfs.errors import BadInputError

if TYPE_CHECKING:
    from kgfs.models.contract import Extractor
    from kgfs.models.extractor.llm import LlmExtractor
    from kgfs.models.grammar import English

AUTO = "auto"
"""The name that stands for the first extractor of the table whose models are installed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One extractor."""

    name: str
    needs_grammar: bool
    """Whether the extractor needs the grammar of English. The grammar is not loaded where no extractor needs it."""
    make: Callable[[English | None, LlmExtractor | None], Extractor]
    """Makes the extractor, given the grammar and the prompts of the language model (never None where they are needed)."""
    needs_llm: bool = False
    """Whether a language model is asked. Such an extractor is used only where it is named."""


def _grammar(grammar: English | None, llm: LlmExtractor | None) -> Extractor:
    from kgfs.models.extractor.grammar import GrammarExtractor

    assert grammar is not None
    return GrammarExtractor(grammar)


def _statistics(grammar: English | None, llm: LlmExtractor | None) -> Extractor:
    from kgfs.models.extractor.statistics import StatisticsExtractor

    return StatisticsExtractor()


def _llm(grammar: English | None, llm: LlmExtractor | None) -> Extractor:
    assert llm is not None
    return llm


def _mixed(grammar: English | None, llm: LlmExtractor | None) -> Extractor:
    from kgfs.models.extractor.llm import MixedExtractor

    assert llm is not None
    mentions = _grammar(grammar, None)
    return MixedExtractor(llm, mentions.version, mentions.model)


EXTRACTORS: tuple[Row, ...] = (
    Row("grammar", True, _grammar),
    Row("statistics", False, _statistics),
    Row("llm", False, _llm, needs_llm=True),
    Row("llm+grammar", True, _mixed, needs_llm=True),
)
"""Every extractor, the best first."""


def names() -> tuple[str, ...]:
    """Return all values that ``models.extractor`` may have."""
    return (AUTO, *(row.name for row in EXTRACTORS))


def check(name: str, setting: str = "models.extractor") -> None:
    """Raise BadInputError for a name that no row has."""
    if name not in names():
        raise BadInputError(f"{setting} is '{name}'; known are {', '.join(names())}.")


def may_need_grammar(name: str) -> bool:
    """Return whether the grammar is to be loaded for this value of ``models.extractor``."""
    return any(row.needs_grammar for row in EXTRACTORS if name in (AUTO, row.name))


def needs_llm(name: str) -> bool:
    """Return whether this value of ``models.extractor`` asks a language model."""
    return any(row.needs_llm for row in EXTRACTORS if row.name == name)


def parts(name: str) -> tuple[str, ...]:
    """Return the extractors that answer for this one: its halves for ``llm+grammar``, else itself."""
    return tuple(name.split("+"))


def make(name: str, grammar: English | None, llm: LlmExtractor | None) -> Extractor:
    """Return the extractor of that name or, for ``auto``, the first whose models are installed.

    Raises BadInputError for an unknown name.
    """
    check(name)
    for row in EXTRACTORS:
        if name in (AUTO, row.name) and (grammar is not None or not row.needs_grammar):
            return row.make(grammar, llm)
    raise AssertionError(f"{name} was chosen, though the grammar that it needs is missing")
