"""Relationships that the headings and lists of a document state, with the terms of SKOS.

What a heading names is narrower than what the heading above it names, and so is the lead of an item in the list below a
heading. A heading is related to what the first sentence below it names. ``docs/knowledge.md`` has the rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgfs.domain.forms import Known, form_key, known_among, places_of
from kgfs.domain.knowledge import BOUND, FoundConcept, FoundRelationship, Quote
from kgfs.domain.sentences import sentence_starts
from kgfs.domain.text import Block, Chunk, Text, chunk_at
from kgfs.ingest.reading.choice import may_be_concept
from kgfs.models.extractor.headings import bare

_LONGEST = 400
"""The most characters from a heading to the end of the first sentence below it."""
_EVERYWHERE = 3
"""A name that stands in one of so many sections, of at least so many, is what the whole document is about."""
_FEWEST_WORDS = 4
"""The fewest words of a first sentence."""
_ITEM = re.compile(
    r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?P<mark>\*\*|__)?(?P<lead>[^\n*_:]{2,60}?)(?(mark):?(?P=mark)|(?=[ \t]*:|[ \t]+[-–—][ \t]|[ \t]*$))",
    re.MULTILINE,
)
_BRACKETS = re.compile(r"\([^()\n]*\)|\[[^\[\]\n]*\]")


@dataclass(frozen=True, slots=True)
class _Section:
    heading: Block
    norm: str
    """What the heading names; '' where that is no concept."""
    blocks: tuple[Block, ...]
    """The blocks between the heading and the next one."""


def with_headings(
    text: Text, chunks: Sequence[Chunk], concepts: Sequence[FoundConcept], relationships: Sequence[FoundRelationship]
) -> tuple[FoundRelationship, ...]:
    """Return the relationships of a document with those of its headings. Pure. ``chunks`` are those that may be quoted."""
    norms = {form_key(form): one.norm for one in concepts if may_be_concept(one) for form in one.forms}
    sections = list(_sections(text, norms)) if norms else []
    known = known_among(norms)
    first = [*_first(text, sections, known)]
    everywhere = _everywhere(text, sections, known) if first else set()
    found = [*_narrower(text, sections), *_leads(text, sections, norms), *first]
    more: dict[frozenset[str], FoundRelationship] = {}
    for subject, type_, object_, start, end in found:
        ends = frozenset((subject, object_))
        chunk = chunk_at(chunks, start, end)
        says_little = type_ == "RELATED_TO" and (ends & everywhere or _is_part(subject, object_))
        if chunk is None or len(ends) < 2 or ends in more or says_little:
            continue
        if type_ == "RELATED_TO":
            subject, object_ = min(ends), max(ends)
        more[ends] = FoundRelationship(subject, type_, object_, Quote(start, end, chunk), BOUND)
    return (*relationships, *more.values())


_Stated = tuple[str, str, str, int, int]
"""Subject, type, object, and the span of the quote."""


def _sections(text: Text, norms: Mapping[str, str]) -> Iterator[_Section]:
    headings = [at for at, block in enumerate(text.blocks) if block.kind == "heading"]
    for at, following in pairwise((*headings, len(text.blocks))):
        heading = text.blocks[at]
        yield _Section(heading, norms.get(form_key(bare(heading.title)), ""), text.blocks[at + 1 : following])


def _narrower(text: Text, sections: Sequence[_Section]) -> Iterator[_Stated]:
    """Yield each heading below the one that directly contains it."""
    above: list[_Section] = []
    for section in sections:
        while above and above[-1].heading.level >= section.heading.level:
            above.pop()
        if above and above[-1].norm and section.norm:
            start, end = _trimmed(text, section.heading.start, section.heading.end)
            yield section.norm, "BROADER", above[-1].norm, start, end
        above.append(section)


def _leads(text: Text, sections: Sequence[_Section], norms: Mapping[str, str]) -> Iterator[_Stated]:
    """Yield the leads of the items of the lists below a heading."""
    for section in sections:
        lists = (block for block in section.blocks if block.kind == "list") if section.norm else ()
        for block in lists:
            items = [*_ITEM.finditer(text.text, block.start, block.end)]
            for item in items:
                norm = norms.get(form_key(bare(item["lead"])), "")
                end = text.text.find("\n", item.end(), block.end)
                if norm:
                    yield norm, "BROADER", section.norm, *_trimmed(text, item.start(), end if end >= 0 else block.end)


def _first(text: Text, sections: Sequence[_Section], known: Known) -> Iterator[_Stated]:
    """Yield what the first sentence below a heading names, outside brackets."""
    for section in sections:
        block = section.blocks[0] if section.norm and section.blocks else None
        if block is None or block.kind != "paragraph":
            continue
        cuts = sentence_starts(text.text, block.start, block.end)
        start, end = _trimmed(text, block.start, next(iter(cuts), block.end))
        sentence = text.text[start:end]
        near = end - section.heading.start <= _LONGEST
        if not near or sentence.endswith(("?", ":")) or len(sentence.split()) < _FEWEST_WORDS:
            continue
        brackets = [
            found.span() for found in _BRACKETS.finditer(sentence) if sentence[found.end() : found.end() + 1] != "("
        ]
        for norm, places in places_of(sentence, [(0, len(sentence))], known).items():
            if any(not any(first <= at < last for first, last in brackets) for at, _ in places):
                yield section.norm, "RELATED_TO", norm, *_trimmed(text, section.heading.start, end)


def _everywhere(text: Text, sections: Sequence[_Section], known: Known) -> set[str]:
    """Return the names that stand in a third of the sections."""
    if len(sections) < _EVERYWHERE:
        return set()
    counts = Counter[str]()
    for section in sections:
        spans = [(block.start, block.end) for block in (section.heading, *section.blocks) if block.kind != "code"]
        counts.update(places_of(text.text, spans, known).keys())
    return {norm for norm, count in counts.items() if count * _EVERYWHERE >= len(sections) and count > 1}


def _is_part(one: str, other: str) -> bool:
    """Return whether one of two names has all words of the other."""
    words, more = set(one.split()), set(other.split())
    return words <= more or more <= words


def _trimmed(text: Text, start: int, end: int) -> tuple[int, int]:
    piece = text.text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
