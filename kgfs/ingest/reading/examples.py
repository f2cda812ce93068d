"""Names that a document only makes up for its examples: they are terms, and no concepts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgfs.domain.knowledge import FoundConcept
from kgfs.domain.text import Text
from kgfs.ingest.reading.choice import MOST_OF_A_TERM

_DECLARED = re.compile(
    r"\b(?:class|const|def|enum|fn|func|function|interface|let(?:[ \t]+mut)?|struct|trait|type|val|var)[ \t]+(?P<name>[^\W\d]\w+)"
    r"|^[ \t]*(?P<bound>[^\W\d]\w+)[ \t]*(?::[^=\n]*)?=(?!=)",
    re.MULTILINE,
)


def without_examples(text: Text, concepts: Sequence[FoundConcept]) -> tuple[FoundConcept, ...]:
    """Return the concepts of a document with those that its listings declare as terms, unless a heading or the title names
    them, a sentence defines them, or two say something of them. Pure."""
    declared = {*_declared(text)} if concepts else set()
    if not declared:
        return tuple(concepts)
    named = " ".join((text.title, *(block.title for block in text.blocks if block.kind == "heading")))
    words = {*re.findall(r"\w+", named)}
    return tuple(
        replace(one, odds=min(one.odds, MOST_OF_A_TERM))
        if one.odds is not None and one.label in declared - words and not one.definition and len(one.quotes) == 1
        else one
        for one in concepts
    )


def _declared(text: Text) -> Iterator[str]:
    for block in text.blocks:
        if block.kind == "code":
            for found in _DECLARED.finditer(text.text, block.start, block.end):
                yield found["name"] or found["bound"]
