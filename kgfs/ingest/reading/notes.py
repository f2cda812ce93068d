"""Read notes: what their writers linked, tagged and named.

A note is a Markdown or plain text with a wikilink. The title of a note that links, the targets of its links and its tags
are concepts, whatever the grammar makes of them. A link is a relationship LINKS_TO from the concept of the title to that
of the target, with the sentence around the link as its evidence. In ``[[target|words]]``, and in ``aliases`` of the
front matter, the other words are aliases.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgfs.domain.forms import form_key
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship, Quote
from kgfs.domain.sentences import sentence_starts
from kgfs.domain.text import Block, Chunk, Text
from kgfs.formats.titles import stem_of
from kgfs.ingest.reading.joining import between
from kgfs.models.extractor import background, junk
from kgfs.models.extractor.prose import ANCHOR

MEDIA_TYPES = ("text/markdown", "text/plain")
SURE = 5.0
"""Log odds of what a writer linked or tagged: a concept in however many documents it is."""
SAYS = 0.3
"""The score of a sentence as evidence for what it only links, or of a note's first line for its title."""
_LONGEST = 80
"""The most characters of a name."""
_LONGEST_QUOTE = 400
"""The most characters from a note's heading to the end of its first sentence that are quoted together."""
_COMMON = 6000
"""The background rank below which a single word is no alias."""
_FEWEST_WORDS = 5
"""Words of a sentence that is better evidence for a note's title than the first line."""

_LINK = re.compile(
    r"(?<!!)\[\[(?P<target>[^\]\[|#\n]*[^\W_][^\]\[|#\n]*)(?:#[^\]\[|\n]*)?(?:(?<! )\|(?P<alias>[^\]\[\n]+))?\]\]"
)
_TAG = re.compile(r"(?<![\w#&/{\]\[(`])#(?P<tag>[^\W\d_][\w-]*(?:/[\w-]+)*)(?![\w/#])")
_FIELD = r"^{}[ \t]*:[ \t]*(?P<inline>\[[^\]\n]*\]|[^\n]*)(?P<rows>(?:\n[ \t]*-[ \t]+[^\n]+)*)"
_TAGS = re.compile(_FIELD.format("(?:tags?|keywords)"), re.MULTILINE | re.IGNORECASE)
_ALIASES = re.compile(_FIELD.format("alias(?:es)?"), re.MULTILINE | re.IGNORECASE)
_TITLE = re.compile(_FIELD.format("title"), re.MULTILINE | re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_](?:[^\n,\[\]\"'#]*[\w+)])?")
_CHANGE = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])")
_DIGIT = re.compile(r"\d")
_SHORTEST_ID = 12
_CODE = re.compile(r"`[^`\n]*`")
_ARTICLE = re.compile(r"^(?:the|an?|this|that|these|those|its|their|our|my|your)\s+", re.IGNORECASE)
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Named:
    """A name in a note, with the quote that is evidence for it."""

    label: str
    quote: Quote
    alias: str = ""


def with_links(
    text: Text,
    filename: str,
    chunks: Sequence[Chunk],
    concepts: Sequence[FoundConcept],
    relationships: Sequence[FoundRelationship],
) -> tuple[tuple[FoundConcept, ...], tuple[FoundRelationship, ...]]:
    """Return the concepts and relationships of a document with those of its links and tags. Pure.

    ``chunks`` are those that may be quoted. A document that is no note is returned as it is, but for its tags.
    """
    if text.media_type not in MEDIA_TYPES:
        return tuple(concepts), tuple(relationships)
    links = _unambiguous(list(_links(text, chunks)))
    found: dict[str, FoundConcept] = {}
    for concept in concepts:  # of two with one key, as "a-b" and "a b" may have, the other stays as it is
        key = form_key(concept.label)
        found[key if key not in found else concept.norm] = concept
    chosen = all(concept.odds is None for concept in concepts) and bool(concepts)

    def name(named: _Named) -> FoundConcept:
        key = form_key(named.label)
        known = found.get(key)
        if known is None:
            odds = None if chosen else SURE
            label = named.label
            known = FoundConcept(label, normalise_label(label), (label,), "term", 0.5, "", (named.quote,), odds)
        elif known.odds is not None:
            quotes = {(quote.start, quote.end): quote for quote in known.quotes}
            within = any(q.start <= named.quote.start and named.quote.end <= q.end for q in known.quotes)
            # A mention that says nothing, such as a heading alone. An item of a list keeps its introduction.
            if max(quote.score for quote in known.quotes) < SAYS and not within:
                quotes[named.quote.start, named.quote.end] = named.quote
            ordered = tuple(quotes[span] for span in sorted(quotes))
            known = replace(known, odds=max(known.odds, SURE), quotes=ordered)
        forms = tuple(form for form in (named.label, named.alias) if form and form not in known.forms)
        found[key] = known = replace(known, forms=(*known.forms, *forms))
        return known

    inline = list(_tags(text, chunks))
    for tag in (*(_field_tags(text, chunks) if links or inline else ()), *inline):
        name(tag)
    titled = _title(text, filename, chunks) if links else None
    for link in links:
        name(link)
    if titled is None:
        return tuple(found.values()), tuple(relationships)
    own = name(titled)
    same = {form_key(link.alias): form_key(link.label) for link in links if link.alias}
    for word, _, _ in _field_words(text, _ALIASES):
        if alias := _alias(word):
            own = name(replace(titled, alias=alias))
            same[form_key(alias)] = form_key(titled.label)
    linked = {(one.subject, one.object, one.quote.start) for one in relationships if one.type == "LINKS_TO"}
    more: list[FoundRelationship] = []
    for link in links:
        target = name(link)
        place = (own.norm, target.norm, link.quote.start)
        if target.norm != own.norm and place not in linked:
            linked.add(place)
            more.append(FoundRelationship(own.norm, "LINKS_TO", target.norm, link.quote, 1.0))
    return _merged(found, (*relationships, *more), same)


def _merged(
    found: dict[str, FoundConcept], relationships: Sequence[FoundRelationship], same: Mapping[str, str]
) -> tuple[tuple[FoundConcept, ...], tuple[FoundRelationship, ...]]:
    """Return concepts and relationships with aliases as their targets. ``same`` has the key of each target by alias."""
    norms = {concept.norm: concept.norm for concept in found.values()}
    for alias, target in same.items():
        if alias not in found or target not in found or alias == target:
            continue
        left, kept = found.pop(alias), found[target]
        quotes = {(quote.start, quote.end): quote for quote in (*left.quotes, *kept.quotes)}
        found[target] = replace(
            kept,
            forms=tuple(dict.fromkeys((*kept.forms, *left.forms))),
            definition=kept.definition or left.definition,
            quotes=tuple(quotes[span] for span in sorted(quotes)),
        )
        norms[left.norm] = kept.norm
    return tuple(found.values()), tuple(between(relationships, norms))


def _unambiguous(links: Sequence[_Named]) -> list[_Named]:
    """Return the links without aliases that are shown for two targets, or are a target themselves."""
    meant: dict[str, set[str]] = {}
    for link in links:
        meant.setdefault(form_key(link.alias), set()).add(form_key(link.label))
    targets = {form_key(link.label) for link in links}
    bad = {alias for alias, some in meant.items() if len(some) > 1 or alias in targets}
    return [replace(link, alias="") if form_key(link.alias) in bad else link for link in links]


def _links(text: Text, chunks: Sequence[Chunk]) -> Iterator[_Named]:
    anchors = {anchor.start() for anchor in ANCHOR.finditer(text.text)}
    blocks = list(_prose(text))
    for place, (block, start, end) in enumerate(blocks):
        below = blocks[place + 1] if block.kind == "heading" and place + 1 < len(blocks) else None
        code = [found.span() for found in _CODE.finditer(text.text, start, end)]
        for link in _LINK.finditer(text.text, start, end):
            if link.start() in anchors or any(first < link.start() < last for first, last in code):
                continue
            label = _label(link["target"])
            quote = _quote(text.text, block, link.start(), link.end(), chunks)
            if quote and below is not None and below[0].kind in ("paragraph", "quote", "list"):
                quote = _with(quote, _quote(text.text, below[0], below[1], below[1] + 1, chunks))
            if label and quote:
                yield _Named(label, quote, _shown(link["alias"] or ""))


def _with(heading: Quote, said: Quote | None) -> Quote:
    """Return a heading with the sentence below it, if both lie near in one chunk."""
    near = said is not None and said.chunk == heading.chunk and said.end - heading.start <= _LONGEST_QUOTE
    return replace(heading, end=said.end) if said is not None and near else heading


def _field_tags(text: Text, chunks: Sequence[Chunk]) -> Iterator[_Named]:
    """Yield the tags of the front matter. They are concepts in notes: elsewhere they are keywords of a publisher."""
    for word, start, end in _field_words(text, _TAGS):
        chunk = _chunk_at(chunks, start, end)
        if not junk.reason(word) and chunk is not None:
            yield _Named(word, Quote(start, end, chunk))


def _tags(text: Text, chunks: Sequence[Chunk]) -> Iterator[_Named]:
    """Yield the tags in the text of a Markdown document."""
    if text.media_type != "text/markdown":
        return
    for block, start, end in _prose(text):
        code = [found.span() for found in _CODE.finditer(text.text, start, end)]
        for tag in _TAG.finditer(text.text, start, end):
            quote = _quote(text.text, block, tag.start(), tag.end(), chunks)
            inside = any(first < tag.start() < last for first, last in code)
            if quote and not inside and not junk.reason(tag["tag"]):
                yield _Named(tag["tag"], quote)


def _title(text: Text, filename: str, chunks: Sequence[Chunk]) -> _Named | None:
    """Return the name of a note: its title field, its heading of the first level, else that of its file."""
    first = next((block for block in text.blocks if block.kind == "heading"), None)
    headed = first is not None and first.level == 1 and first.title == text.title
    titled = headed or any(True for _ in _field_words(text, _TITLE))
    label = text.title if titled and len(text.title) <= _LONGEST and "[[" not in text.title else ""
    stem = _label(stem_of(filename))
    label = label if label and not junk.reason(label) else stem
    if not label or junk.reason(label) == "empty" or _is_id(label):
        return None
    quotes = (
        (block.kind, _quote(text.text, block, start, min(start + 1, end), chunks))
        for block, start, end in _prose(text, headings=True)
        if block.kind != "heading" or text.title == block.title
    )
    known = [(kind, quote) for kind, quote in quotes if quote is not None]
    if not known:
        return None
    telling = [quote for kind, quote in known if kind in ("paragraph", "quote") and _is_long(text.text, quote)]
    words = {word for word in form_key(label).split() if word not in junk.STOP_WORDS}
    telling.sort(key=lambda quote: words.isdisjoint(form_key(text.text[quote.start : quote.end]).split()))
    kind, quote = known[0]
    if kind != "heading":
        quote = telling[0] if telling else quote
    else:  # the heading names the note of which the sentence speaks
        near = (one for one in telling if one.chunk == quote.chunk and one.end - quote.start <= _LONGEST_QUOTE)
        said = next(near, None)
        quote = replace(quote, end=said.end) if said else telling[0] if telling else quote
    return _Named(label, quote, stem if form_key(stem) != form_key(label) and not _is_id(stem) else "")


def _is_id(name: str) -> bool:
    """Return whether a name is an id that a program gave: one long word whose letters and digits, or cases, keep changing."""
    changes = len(_CHANGE.findall(name))
    return len(name) >= _SHORTEST_ID and " " not in name and changes * 5 >= len(name) and bool(_DIGIT.search(name))


def _is_long(content: str, quote: Quote) -> bool:
    return len(content[quote.start : quote.end].split()) >= _FEWEST_WORDS


def _prose(text: Text, *, headings: bool = False) -> Iterator[tuple[Block, int, int]]:
    kinds = (
        ("paragraph", "list", "quote", "heading") if headings else ("paragraph", "list", "quote", "table", "heading")
    )
    for block in text.blocks:
        if block.kind in kinds and block.end > block.start:
            yield block, block.start, block.end


def _quote(content: str, block: Block, start: int, end: int, chunks: Sequence[Chunk]) -> Quote | None:
    """Return the sentence, list item or line around ``start:end``; None where no chunk that may be quoted has it."""
    first, last = block.start, block.end
    if block.kind in ("list", "table", "heading"):
        rows = (
            [found.end() for found in _ITEM.finditer(content, block.start, block.end)] if block.kind == "list" else []
        )
        begun = [at for at in rows if at <= start]
        first = begun[-1] if begun else content.rfind("\n", block.start, start) + 1 or block.start
        following = next((found.start() for found in _ITEM.finditer(content, end, block.end)), block.end)
        last = following if block.kind == "list" else (content.find("\n", end, block.end) + 1 or block.end)
    starts = [first, *sentence_starts(content, first, last)]
    place = bisect_right(starts, start) - 1
    first, last = max(first, starts[place]), next((at for at in starts[place + 1 :] if at >= end), last)
    while first < last and content[first].isspace():
        first += 1
    while last > first and content[last - 1].isspace():
        last -= 1
    chunk = _chunk_at(chunks, first, last)
    return Quote(first, last, chunk, score=SAYS) if chunk is not None and first < last else None


def _chunk_at(chunks: Sequence[Chunk], start: int, end: int) -> int | None:
    behind = bisect_right(chunks, start, key=lambda chunk: chunk.start)
    found = chunks[behind - 1] if behind else None
    return found.index if found is not None and start < found.end and end <= found.end else None


def _field_words(text: Text, field: re.Pattern[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a field of the front matter, with their spans."""
    first = text.blocks[0] if text.blocks else None
    if first is None or first.kind != "meta":
        return
    for found in field.finditer(text.text, first.start, first.end):
        for group in ("inline", "rows"):
            for word in _WORD.finditer(text.text, *found.span(group)):
                yield word[0], *word.span()


def _label(target: str) -> str:
    """Return what a link's target is called: without folders and the extension of Markdown."""
    name = " ".join(target.rpartition("/")[2].removesuffix(".md").split()).strip("= ")
    return name if name and len(name) <= _LONGEST and junk.reason(name) in ("", "hollow", "code") else ""


def _shown(words: str) -> str:
    """Return the alias that the words of a link are; '' for a common word, which elsewhere means another thing:
    [[Probability measure|distribution]]."""
    plain = _alias(words)
    return "" if " " not in plain and background.rank(plain) < _COMMON else plain


def _alias(words: str) -> str:
    plain = _ARTICLE.sub("", " ".join(words.strip(" *_`").split()), count=1)
    return plain if plain and not junk.reason(plain) and len(plain) <= _LONGEST else ""
