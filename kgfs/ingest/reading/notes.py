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
from kgfs.domain.text import Block, Chunk, Text, chunk_at
from kgfs.formats.titles import stem_of
from kgfs.ingest.reading.choice import names_file
from kgfs.ingest.reading.joining import between
from kgfs.models.extractor import background, junk
from kgfs.models.extractor.prose import ANCHOR
from kgfs.models.extractor.quotes import TELLING

MEDIA_TYPES = ("text/markdown", "text/plain")
SURE = 12.0
"""Log odds of what a writer linked or tagged: a concept in however many documents it is."""
OWN, LISTS, SAYS, BARE = 0.93, 0.6, 0.3, 0.1
"""The scores of evidence: a note's own sentence for its title, its own list for its title, a sentence for what it only
links, and a link alone on its line."""
TERM = 0.0
"""Log odds of the title of a document without links: a term."""
_LONGEST = 80
"""The most characters of a name."""
_LONGEST_QUOTE = 400
"""The most characters from a note's heading to the end of its first sentence that are quoted together."""
_LONGEST_LIST = 300
"""The most characters from the words that introduce a list to the end of an item."""
_COMMON = 6000
"""The background rank below which a single word is no alias, and in front matter a keyword."""
_FEWEST_WORDS, _FEWEST = 5, 2
"""Words of a sentence that is better evidence for a note's title than the first line, and those beside its links."""
_TOGETHER = 3
"""Words beside its links from which a line says something of what it links."""

_LINK = re.compile(
    r"(?<!!)\[\[(?P<target>[^\]\[|#\n]*[^\W_][^\]\[|#\n]*)(?:#[^\]\[|\n]*)?(?:(?<! )\|(?P<alias>[^\]\[\n]+))?\]\]"
)
_TAG = re.compile(r"(?<![\w#&/{\]\[(`\"'“])#(?P<tag>[^\W\d_][\w-]*(?:/[\w-]+)*)(?![\w/#])")
_FIELD_OF_LINKS = re.compile(r"[ \t#*_-]*[^\W\d_][\w ]{0,30}[*_]*:[*_]*(?:[\s,;|]|!?\[\[[^\]\n]*\]\])*")
"""A line of nothing but links behind the name of a field."""
_FIELD = r"^{}[ \t]*:[ \t]*(?P<inline>\[[^\]\n]*\]|[^\n]*)(?P<rows>(?:\n[ \t]*-[ \t]+[^\n]+)*)"
_TAGS = re.compile(_FIELD.format("(?:tags?|keywords)"), re.MULTILINE | re.IGNORECASE)
_ALIASES = re.compile(_FIELD.format("alias(?:es)?"), re.MULTILINE | re.IGNORECASE)
_TITLE = re.compile(_FIELD.format("title"), re.MULTILINE | re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W\d_](?:[^\n,\[\]\"'#]*[\w+)])?")
_CHANGE = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|(?<=[a-z])(?=[A-Z])")
_DIGIT = re.compile(r"\d")
_SHORTEST_ID = 12
_SLUG = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+){2,}")
_CODE = re.compile(r"`[^`\n]*`")
_ARTICLE = re.compile(r"^(?:the|an?|this|that|these|those|its|their|our|my|your)\s+", re.IGNORECASE)
_SHOWN = re.compile(
    r"!?\[\[[^\]\n]*\]\]|!?\[[^\]\n]*\]\([^)\n]*\)|\[![^\]\n]*\][-+]?[^\n]*|`[^`\n]*`|\$[^$\n]*\$|https?:\S+"
)
"""Links, pictures, titles of callouts, code and formulas, which are no words of a sentence."""
_SPOKEN = re.compile(r"[^\W\d_]{2,}")
_FILE = re.compile(r"\.(?:pdf|png|jpe?g|gif|svg|webp|mp[34]|mov|wav|canvas|csv|xlsx?|docx?|pptx?|zip)$", re.IGNORECASE)
_ITEM = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE)


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
            known = replace(known, odds=max(known.odds, SURE), quotes=_with_quote(known.quotes, named.quote))
        forms = tuple(form for form in (named.label, named.alias) if form and form not in known.forms)
        found[key] = known = replace(known, forms=(*known.forms, *forms))
        return known

    inline = list(_tags(text, chunks, alone=not links))
    for tag in (*(_field_tags(text, chunks) if links or inline else ()), *inline):
        name(tag)
    titled = _title(text, filename, chunks)
    for link in links:
        name(link)
    if titled is None or not links:
        if titled is not None and not chosen:  # it is a term, and a concept where other notes link to it
            key = form_key(titled.label)
            known = found.get(key) or _term(titled)
            found[key] = replace(known, quotes=_with_quote(known.quotes, titled.quote))
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


def _term(titled: _Named) -> FoundConcept:
    label = titled.label
    return FoundConcept(label, normalise_label(label), (label,), "term", 0.5, "", (titled.quote,), TERM)


def _with_quote(known: Sequence[Quote], new: Quote) -> tuple[Quote, ...]:
    """Return the quotes of a concept with one more, if it is worth more than all of them.

    An item of a list keeps its introduction, and a sentence that says something is not quoted again with its heading.
    """
    best = max(quote.score for quote in known)
    around = any(quote.start <= new.start and new.end <= quote.end for quote in known)
    inside = [quote for quote in known if new.start <= quote.start and quote.end <= new.end]
    if around or new.score <= best or any(quote.defines or quote.score >= TELLING for quote in inside):
        return tuple(known)
    return tuple(sorted((*(one for one in known if one not in inside), new), key=lambda one: (one.start, one.end)))


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
            label = "" if _FILE.search(link["target"].strip()) else _label(link["target"])
            quote = _quote(text.text, block, link.start(), link.end(), chunks)
            if quote and _spoken(text.text, quote) < _TOGETHER:
                quote = _introduced(text.text, blocks, place, quote, chunks)
            if quote and below is not None and below[0].kind in ("paragraph", "quote", "list"):
                quote = _with(quote, _quote(text.text, below[0], below[1], below[1] + 1, chunks))
            if label and quote:
                yield _Named(label, quote, _shown(link["alias"] or ""))


def _introduced(
    content: str, blocks: Sequence[tuple[Block, int, int]], place: int, bare: Quote, chunks: Sequence[Chunk]
) -> Quote:
    """Return an item that is a link alone with the words that introduce its list, if they are near."""
    block, start, _ = blocks[place]
    if block.kind not in ("list", "quote"):
        return _below_heading(content, blocks, place, bare, chunks)
    at = bare.start
    while (at := content.rfind("\n", start, at)) >= start:
        line = content.rfind("\n", start, at) + 1 or start
        if _ITEM.match(content, line) is None and _SPOKEN.search(content, line, at):
            start = line
            break
    before = blocks[place - 1] if place and block.kind == "list" and start == block.start else None
    if before is not None and before[0].kind == "paragraph" and content[: before[2]].rstrip().endswith(":"):
        start = before[1]
    introduced = content[start : bare.start].lstrip(" >")
    chunk = chunk_at(chunks, start, bare.end)
    if chunk is None or bare.end - start > _LONGEST_LIST or _ITEM.match(introduced):
        return _below_heading(content, blocks, place, bare, chunks)
    return replace(bare, start=start + content[start : bare.start].index(introduced), chunk=chunk)


def _below_heading(
    content: str, blocks: Sequence[tuple[Block, int, int]], place: int, bare: Quote, chunks: Sequence[Chunk]
) -> Quote:
    """Return a link alone on its line with the heading right above it, if that says something and is near."""
    above = blocks[place - 1] if place else None
    if above is None or above[0].kind != "heading" or not _SPOKEN.search(_SHOWN.sub(" ", content[above[1] : above[2]])):
        return replace(bare, score=BARE)
    chunk = chunk_at(chunks, above[1], bare.end)
    if chunk is None or bare.end - above[1] > _LONGEST_LIST:
        return replace(bare, score=BARE)
    return replace(bare, start=above[1], chunk=chunk, score=BARE)


def _with(heading: Quote, said: Quote | None) -> Quote:
    """Return a heading with the sentence below it, if both lie near in one chunk."""
    near = said is not None and said.chunk == heading.chunk and said.end - heading.start <= _LONGEST_QUOTE
    return replace(heading, end=said.end) if said is not None and near else heading


def _field_tags(text: Text, chunks: Sequence[Chunk]) -> Iterator[_Named]:
    """Yield the tags of the front matter. They are concepts in notes: elsewhere they are keywords of a publisher."""
    for word, start, end in _field_words(text, _TAGS):
        chunk = chunk_at(chunks, start, end)
        common = " " not in word and background.rank(word) < _COMMON
        if not junk.reason(word) and chunk is not None and not common:
            yield _Named(word, Quote(start, end, chunk))


def _tags(text: Text, chunks: Sequence[Chunk], *, alone: bool) -> Iterator[_Named]:
    """Yield the tags in the text of a Markdown document; with ``alone`` only those on lines without other words, as
    elsewhere ``#name`` may be a channel."""
    if text.media_type != "text/markdown":
        return
    for block, start, end in _prose(text):
        code = [found.span() for found in _CODE.finditer(text.text, start, end)]
        for tag in _TAG.finditer(text.text, start, end):
            if _is_state(text.text, tag):
                continue
            quote = _quote(text.text, block, tag.start(), tag.end(), chunks)
            inside = any(first < tag.start() < last for first, last in code)
            if quote and not inside and not junk.reason(tag["tag"]) and not (alone and _in_words(text.text, tag)):
                yield _Named(tag["tag"], quote)


def _is_state(content: str, tag: re.Match[str]) -> bool:
    """Return whether a tag states something of a note or line, and is no subject of it: one before a colon, or before a
    field of links, behind it or on the next line ("#seed", "upstream: [[Networks]]")."""
    if content.startswith(":", tag.end()):
        return True
    first, last = content.rfind("\n", 0, tag.start()) + 1, content.find("\n", tag.end())
    last = last if last >= 0 else len(content)
    if _TAG.sub(" ", content[first : tag.start()]).strip(" \t>"):
        return False
    behind = _TAG.sub(" ", content[tag.end() : last]).strip()
    if not behind:
        following = content.find("\n", last + 1)
        behind = content[last + 1 : following if following >= 0 else len(content)]
    return _FIELD_OF_LINKS.fullmatch(behind) is not None


def _in_words(content: str, tag: re.Match[str]) -> bool:
    """Return whether words beside tags stand on the line of a tag."""
    first, last = content.rfind("\n", 0, tag.start()) + 1, content.find("\n", tag.end())
    line = content[first : last if last >= 0 else len(content)]
    return _SPOKEN.search(_TAG.sub(" ", line).replace("tags", "").replace("Tags", "")) is not None


def _title(text: Text, filename: str, chunks: Sequence[Chunk]) -> _Named | None:
    """Return the name of a note: its title field, its heading of the first level, else that of its file."""
    first = next((block for block in text.blocks if block.kind == "heading"), None)
    headed = first is not None and first.level == 1 and first.title == text.title
    titled = headed or any(True for _ in _field_words(text, _TITLE))
    linked = (
        first is not None and headed and "[[" in text.text[first.start : first.end]
    )  # it is the name of another note
    named = titled and len(text.title) <= _LONGEST and not linked and not names_file(text.title)
    label = text.title if named else ""
    stem = _label(stem_of(filename))
    label = label if label and not junk.reason(label) else stem
    if not label or junk.reason(label) == "empty" or _is_id(label):
        return None
    quotes = (
        (block.kind, _quote(text.text, block, start, min(start + 1, end), chunks))
        for block, start, end in _prose(text, tables=False)
        if block.kind != "heading" or text.title == block.title
    )
    known = [(kind, quote) for kind, quote in quotes if quote is not None]
    if not known:
        return None
    return _Named(
        label, _own(text, label, known), stem if form_key(stem) != form_key(label) and not _is_id(stem) else ""
    )


def _own(text: Text, label: str, known: Sequence[tuple[str, Quote]]) -> Quote:
    """Return what a note says of its title: its first sentence, or one that names the title, with the heading if it is
    near; else the list below the heading; else the first line. ``known`` are the first sentences of its blocks."""
    words = {word for word in form_key(label).split() if word not in junk.STOP_WORDS}
    telling = [
        quote
        for kind, quote in known
        if kind in ("paragraph", "quote")
        and _spoken(text.text, quote) >= _FEWEST
        and len(text.text[quote.start : quote.end].split()) >= _FEWEST_WORDS
        and text.text[quote.end - 1] not in ":?"
    ]
    naming = [one for one in telling if not words.isdisjoint(form_key(text.text[one.start : one.end]).split())]
    (kind, first), below = known[0], known[1] if len(known) > 1 else None
    if kind != "heading":
        best = (naming or telling or [first])[0]
        said = OWN if best in naming else LISTS if best == first and telling else SAYS
        return replace(best, score=said if _spoken(text.text, best) >= _FEWEST else BARE)
    near = [one for one in telling[:1] if one.chunk == first.chunk and one.end - first.start <= _LONGEST_QUOTE]
    if near:  # the heading names the note of which the sentence speaks
        return replace(first, end=near[0].end, score=OWN)
    if naming:
        return replace(naming[0], score=OWN)
    if below is not None and below[0] == "list" and below[1].chunk == first.chunk:
        block = next(block for block, start, _ in _prose(text) if start <= below[1].start < block.end)
        rows = [row.start() for row in _ITEM.finditer(text.text, block.start, block.end)][1:]
        ends = [at for at in (*rows, block.end) if at - first.start <= _LONGEST_QUOTE]
        chunk_end = len(text.text[: ends[-1]].rstrip()) if ends else below[1].end
        return replace(first, end=chunk_end, score=LISTS)
    return replace(telling[0], score=SAYS) if telling else first


def _spoken(content: str, quote: Quote) -> int:
    """Return the number of words of a quote beside links, pictures, code and formulas."""
    return len(_SPOKEN.findall(_SHOWN.sub(" ", content[quote.start : quote.end])))


def _is_id(name: str) -> bool:
    """Return whether a name is an id that a program gave: one long word whose letters and digits, or cases, keep changing."""
    changes = len(_CHANGE.findall(name))
    return len(name) >= _SHORTEST_ID and " " not in name and changes * 5 >= len(name) and bool(_DIGIT.search(name))


def _prose(text: Text, *, tables: bool = True) -> Iterator[tuple[Block, int, int]]:
    kinds = ("paragraph", "list", "quote", "heading", *(("table",) if tables else ()))
    for block in text.blocks:
        if block.kind in kinds and block.end > block.start:
            yield block, block.start, block.end


def _quote(content: str, block: Block, start: int, end: int, chunks: Sequence[Chunk]) -> Quote | None:
    """Return the sentence, list item or line around ``start:end``; None where no chunk that may be quoted has it."""
    first, last = block.start, block.end
    rows = list(_ITEM.finditer(content, block.start, block.end)) if block.kind in ("list", "quote") else []
    if rows or block.kind in ("list", "table", "heading"):
        begun = [row.end() for row in rows if row.end() <= start]
        first = begun[-1] if begun else content.rfind("\n", block.start, start) + 1 or block.start
        following = next((row.start() for row in rows if row.start() >= end), block.end)
        last = following if rows else (content.find("\n", end, block.end) + 1 or block.end)
    whole = [link.span() for link in _SHOWN.finditer(content, first, last)]
    cuts = (at for at in sentence_starts(content, first, last) if not any(one < at < other for one, other in whole))
    starts = [first, *cuts]
    place = bisect_right(starts, start) - 1
    first, last = max(first, starts[place]), next((at for at in starts[place + 1 :] if at >= end), last)
    while first < last and content[first].isspace():
        first += 1
    while (
        (tag := _TAG.match(content, first)) and (behind := _SPACE.match(content, tag.end())) and behind.end() <= start
    ):
        first = behind.end()  # tags before the line state something of it
    while last > first and content[last - 1].isspace():
        last -= 1
    chunk = chunk_at(chunks, first, last)
    return Quote(first, last, chunk, score=SAYS) if chunk is not None and first < last else None


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
    """Return what a link's target is called: without folders and the extension of Markdown. The name of a file that a program
    made of words has spaces again: "vue-composition-api"."""
    name = " ".join(target.rpartition("/")[2].removesuffix(".md").split()).strip("= ")
    name = name.replace("-", " ") if _SLUG.fullmatch(name) else name
    return name if name and len(name) <= _LONGEST and junk.reason(name) in ("", "hollow", "code") else ""


def _shown(words: str) -> str:
    """Return the alias that the words of a link are; '' for a common word, which elsewhere means another thing:
    [[Probability measure|distribution]]."""
    plain = _alias(words)
    return "" if " " not in plain and background.rank(plain) < _COMMON else plain


def _alias(words: str) -> str:
    plain = _ARTICLE.sub("", " ".join(words.strip(" *_`").split()), count=1)
    return plain if plain and not junk.reason(plain) and len(plain) <= _LONGEST else ""
