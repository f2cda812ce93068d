"""The names that program source defines, as concepts: the first sentence of its documentation is a name's evidence.

What is documented and has a name that is understood alone is a concept; else it is a term at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kgfs.domain.forms import form_key
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, Quote
from kgfs.domain.sentences import sentence_starts
from kgfs.domain.text import Chunk, Text, chunk_at
from kgfs.formats.outline import Comment, Defined, Kind
from kgfs.formats.source import outline
from kgfs.ingest.reading.as_prose import prose
from kgfs.models.extractor import junk

SURE, LIKELY, POSSIBLE = 2.5, 1.6, 0.0
"""Log odds of a documented class or module, of a documented function of two words or more, and of a term."""
SAYS, NAMES = 0.6, 0.1
"""The score of a sentence of documentation as evidence, and of a definition's own line."""
_FEWEST_WORDS = 3
"""Words of a sentence of documentation that says something."""
_FEWEST_WITHOUT_STOP = 5
_SEVERAL = re.compile(r"[A-Za-z\d]_[A-Za-z]|[a-z\d][A-Z]|[A-Z][A-Z][a-z]")
_TEST = re.compile(r"test_|Test[A-Z]|_")
_PLAIN = frozenset("main init setup run test get set close open new start stop index app config utils".split())  # noqa: SIM905
"""Names that each program has."""
_ARTICLE = re.compile(r"(?:An?|The) ")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")


def with_definitions(text: Text, chunks: Sequence[Chunk], concepts: Sequence[FoundConcept]) -> tuple[FoundConcept, ...]:
    """Return the concepts of a document with those that its source defines. Pure.

    ``chunks`` are those that may be quoted. A document that is no program source is returned as it is.
    """
    found = outline(text.media_type, text.text)
    if found is None:
        return tuple(concepts)
    groups: dict[str, list[FoundConcept]] = {}
    for concept in concepts:  # of two with one key, as "a-b" and "a b" may have, the other stays as it is
        key = form_key(concept.label)
        groups[key if key not in groups else concept.norm] = [concept]
    chosen = bool(concepts) and all(concept.odds is None for concept in concepts)
    module = [] if found.doc is None else [Defined(text.title, Kind.MODULE, 0, 0, 1, found.doc)]
    for one in (*module, *found.defined):
        defined = _concept(text.text, one, chunks)
        if defined is not None and junk.reason(one.name) in ("", "code", "hollow" * (one.kind is Kind.CLASS)):
            groups.setdefault(form_key(one.name), []).append(replace(defined, odds=None if chosen else defined.odds))
    return tuple(_one(group) for group in groups.values())


def _concept(source: str, one: Defined, chunks: Sequence[Chunk]) -> FoundConcept | None:
    odds = _odds(one)
    quotes = list(_quotes(source, one, chunks)) if odds is not None else []
    if not quotes:
        return None
    quote = quotes[0]
    said = " ".join(_words(source, one.doc, quote).split()) if one.doc and quote.score == SAYS else ""
    defines = one.kind is Kind.CLASS and bool(_ARTICLE.match(said))
    score = 0.5 if quote.score == SAYS else 0.3
    if quote.score != SAYS:
        odds = min(odds or 0.0, POSSIBLE)
    return FoundConcept(
        label=one.name,
        norm=normalise_label(one.name),
        forms=(one.name,),
        kind=one.kind.value,
        score=score,
        definition=said.rstrip(".") if defines else "",
        quotes=(replace(quote, defines=defines),),
        odds=odds,
    )


def _odds(one: Defined) -> float | None:
    """Return the log odds that a definition is worth looking up; None for what is not looked at."""
    if _TEST.match(one.name) or one.name.casefold() in _PLAIN or len(one.name) < 3:
        return None
    several = bool(_SEVERAL.search(one.name))
    if one.doc is None:
        return POSSIBLE if one.kind is Kind.CLASS else None
    if one.kind in (Kind.CLASS, Kind.MODULE):
        return SURE
    if one.member and not (one.kind is Kind.CONSTANT and one.name.isupper()):
        return POSSIBLE if several else None
    return LIKELY if several else POSSIBLE


def _quotes(source: str, one: Defined, chunks: Sequence[Chunk]) -> Iterator[Quote]:
    """Yield the first sentence of the documentation, if it says something, and the line of the definition."""
    if one.doc is not None:
        words = prose(source, one.doc)
        start = len(words) - len(words.lstrip())
        ended = _PARAGRAPH_END.search(words, start)
        end = ended.start() if ended else len(words)
        end = next(iter(sentence_starts(words, start, end)), end)
        end = start + len(words[start:end].rstrip())
        chunk = chunk_at(chunks, one.doc.start + start, one.doc.start + end)
        least = _FEWEST_WORDS if words[start:end].endswith((".", "!")) else _FEWEST_WITHOUT_STOP
        if chunk is not None and len(words[start:end].split()) >= least:
            yield Quote(one.doc.start + start, one.doc.start + end, chunk, score=SAYS)
    chunk = chunk_at(chunks, one.start, one.end)
    if chunk is not None and one.end > one.start:
        yield Quote(one.start, one.end, chunk, score=NAMES)


def _words(source: str, doc: Comment, quote: Quote) -> str:
    return prose(source, doc)[quote.start - doc.start : quote.end - doc.start]


def _one(group: Sequence[FoundConcept]) -> FoundConcept:
    """Return the concept that the prose has under a name, if it is the first, and all definitions of that name."""
    first, named = group[0], group[-1]
    if len(group) == 1:
        return first
    quotes = {(quote.start, quote.end): quote for concept in group for quote in concept.quotes}
    odds = [concept.odds for concept in group if concept.odds is not None]
    kinds = [concept.kind for concept in group]
    return replace(
        first,
        label=named.label if named.norm == first.norm else first.label,
        forms=tuple(dict.fromkeys(form for concept in (named, *group) for form in concept.forms)),
        kind=Kind.CLASS.value if Kind.CLASS in kinds else named.kind,
        definition=next((concept.definition for concept in group if concept.definition), ""),
        quotes=tuple(quotes[span] for span in sorted(quotes)),
        odds=max(odds) if odds else None,
    )
