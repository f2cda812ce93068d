"""What an extractor is given: the passage of each Source, in its language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kgfs.domain.languages import ENGLISH, SCANNED, UNKNOWN, language_of
from kgfs.domain.text import Block, Chunk, Text
from kgfs.ingest.reading.as_prose import prose_told
from kgfs.ingest.reading.gate import without
from kgfs.models.contract import Passage
from kgfs.models.extractor.speakers import named_in, speakers_told

_READ = frozenset(("paragraph", "list", "quote", "heading", "comment"))
"""The kinds of blocks that tell the language of a document."""


def passages_of(
    title: str, words: str, chunks: Iterable[Chunk], language: str, furniture: Sequence[Block] = ()
) -> Iterator[Passage]:
    """Yield the passages of Sources. ``words`` is the Text as it is read (:mod:`~kgfs.ingest.reading.as_prose`).

    A Source that is clearly in another language than its document is read in that.
    """
    speakers = speakers_told(words)
    for chunk in chunks:
        text = without(words, furniture, chunk.start, chunk.end)
        context = without(words, furniture, chunk.context_start, chunk.start)
        own = language_of(text, language or ENGLISH)
        if own == UNKNOWN and language:
            own = language  # names and code alone tell no language
        yield Passage(title, chunk.section_path, text, context, own, named_in(text, speakers))


def _beginning(text: Text) -> str:
    """Return the first SCANNED characters of the blocks that tell the language, or a few more."""
    pieces: list[str] = []
    length = 0
    for one in text.blocks:
        if one.kind in _READ:
            pieces.append(text.text[one.start : one.end])
            length += len(pieces[-1]) + 1
            if length > SCANNED:
                break
    return " ".join(pieces)


def language_told(text: Text) -> str:
    """Return the language of a document; '' if it has no prose that tells one."""
    if any(block.kind == "comment" for block in text.blocks):
        prose = prose_told(text.media_type, text.text)
    else:
        prose = _beginning(text)
    return language_of(prose) if prose.strip() else ""
