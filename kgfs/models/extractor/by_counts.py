"""What a passage in another language than English shows, by counts: no grammar, only its function words, stems and signs.

In German a noun has a capital; elsewhere a noun is what stands behind articles. A phrase goes on until a function word, a sign or
an article; words such as *de* may stand inside. Of an unknown language names, headings and what the writer marked are candidates,
and words that are repeated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from kgfs.domain.function_words import ARTICLES, DETERMINERS, HOLLOW, JOINING, WORDS
from kgfs.domain.inflection import READ, stem
from kgfs.domain.languages import UNKNOWN
from kgfs.domain.sentences import sentence_starts
from kgfs.models.contract import Extraction, Passage, RawConcept, RawQuote, Signs
from kgfs.models.extractor import junk
from kgfs.models.extractor.prose import Prose, prose_of
from kgfs.models.extractor.quotes import TELLING
from kgfs.models.extractor.speakers import SPEAKER

LONGEST = 3
"""The most words of a phrase, not counting those that join them."""
LONGEST_MARKED = 5
"""The most words of a heading or of emphasis that names something."""
REPEATED = 3
"""Sentences in which a plain word of an unknown language stands to be a candidate."""
LINKS = 0.6
"""The share of links and other markup in a sentence from which it is an entry of a list of links."""
HYPHENS = 2
"""The most hyphens of a word. What has more is an anchor or a file's name."""
SHORTEST = 3
"""The fewest letters of a plain word that is a candidate; of an unknown language two more."""

_TOKEN = re.compile(r"[^\W_](?:[\w]|[-‐.+#](?=\w))*[+#]*")
_ABBREVIATION = re.compile(
    r"(?:\b\w|\b(?:bzw|ggf|evtl|inkl|exkl|usw|sog|vgl|Nr|Abb|Kap|Bsp|max|min|ex|env|av|chap|fig|éd|núm|pág|cap|Sr|Sra|Dr|Dra|ej|pag|ecc|es|bijv|nr|blz))\.$"
)
_JOINED = re.compile(r"[ \u00a0]|[’']")
_CODE = re.compile(r"\w[_.]\w|[a-z0-9][A-Z]|\(\)|^--?\w|\w/\w")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9-]*[A-Z0-9]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_INFLECTED = re.compile(r"\w{3,}(?:e|er|es|en|em)$")
"""How an adjective of German ends before a noun."""
_COPULA = {
    "de": (("ist", "sind"), ("ein", "eine")),
    "fr": (("est", "sont"), ("un", "une")),
    "es": (("es", "son"), ("un", "una")),
    "it": (("è",), ("un", "uno", "una")),
    "pt": (("é", "são"), ("um", "uma")),
    "nl": (("is",), ("een",)),
}
"""The words of "X is a …"."""
_POINTING = frozenset(
    """er sie es dies diese dieser dieses dabei dadurch dafür damit danach daher deshalb dazu hier dort so auch aber doch und oder wenn
    il elle ils elles cela ceci ça c ce celui-ci celle-ci cette cet ces ici mais et ou si
    él ella ellos ellas esto eso este esta estos estas ese esa aquí así pero y o si
    esso essa questo questa questi queste qui ma e o se ele ela eles elas isso isto esse este mas
    hij zij het dit dat deze die daar hier maar en of als""".split()  # noqa: SIM905 - reads better as a paragraph
)
"""First words of a sentence that leans on the one before."""
_Phrase = tuple[int, int, bool, str]
"""First token, the token after the last, whether it is a whole phrase, and how it is marked."""


@dataclass(frozen=True, slots=True)
class _Token:
    start: int
    end: int
    word: str
    lower: str
    gap: bool
    """Whether more than a space or an apostrophe stands before it."""
    mark: str = ""


@dataclass(slots=True)
class _Sentence:
    block: Prose
    start: int
    end: int
    tokens: list[_Token] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    whole: bool = False
    """Whether it is a whole phrase there."""
    begins: bool = False
    """Whether the sentence begins with it."""
    late: float = 1.0
    """Its place in the sentence, 0 to 1."""


@dataclass(slots=True)
class _Candidate:
    spellings: Counter[str] = field(default_factory=Counter)
    places: dict[int, _Place] = field(default_factory=dict)
    """By sentence."""
    signs: Signs = field(default_factory=Signs)
    mentions: int = 0


def extraction(passage: Passage) -> Extraction:
    """Return the candidates of a passage in the language that it names, with signs and quotes."""
    language = passage.language if passage.language in READ else UNKNOWN
    blocks = [block for block in prose_of(passage.text, passage.speakers) if block.kind != "row"]
    sentences = [one for block in blocks for one in _sentences(block)]
    nouns = _nouns(sentences, language)
    found: dict[str, _Candidate] = {}
    for index, sentence in enumerate(sentences):
        for first, last, whole, mark in _phrases(sentence, language, nouns):
            _note(found, sentences, index, first, last, whole, mark, language)
    if language == UNKNOWN:
        _repeated(found, sentences, language)
    concepts = []
    for key in found:
        concept = _concept(passage.text, found[key], sentences, language)
        if concept is not None:
            concepts += [concept, *_other_forms(concept, found[key], language)]
    leads = [block.lead for block in blocks if block.lead]
    leads += [name for name in passage.speakers for _ in range(SPEAKER)]
    return Extraction(tuple(concepts), (), tuple(leads))


def key_of(label: str, language: str) -> str:
    """Return what the forms of one name share in a language: the stems of its words, without those that join them."""
    words = [token["word"].casefold() for token in _WORDS.finditer(label)]
    joining = JOINING.get(language, frozenset())
    return " ".join(stem(word, language) for word in words if word not in joining)


_WORDS = re.compile(r"(?P<word>[^\W_](?:\w|[.+#](?=\w))*[+#]*)")


# ------------------------------------------------------------------------------------------------ sentences


def _sentences(block: Prose) -> Iterator[_Sentence]:
    text = block.text
    borders = [0]
    if block.kind not in ("heading", "term", "tag"):
        borders += [
            at for at in sentence_starts(text, 0, len(text)) if not _ABBREVIATION.search(text[:at].rstrip()[-8:])
        ]
    borders.append(len(text))
    for start, end in pairwise(borders):
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start < end:
            sentence = _Sentence(block, start, end)
            sentence.tokens = list(_tokens(block, start, end))
            yield sentence


def _tokens(block: Prose, start: int, end: int) -> Iterator[_Token]:
    before = start
    marks = [*block.marks, *((first, last, "code") for first, last in block.literal)]
    for found in _TOKEN.finditer(block.text, start, end):
        gap = before > start and not _JOINED.fullmatch(block.text, before, found.start())
        first, last = found.span()
        if block.ends[first] - block.starts[first] != 1:  # it stands for what cannot be read aloud
            before = start
            continue
        mark = next((what for begin, stop, what in marks if begin <= first and last <= stop), "")
        before = last
        yield _Token(first, last, found[0], found[0].casefold(), gap, mark)


# ------------------------------------------------------------------------------------------------ candidates


def _nouns(sentences: Sequence[_Sentence], language: str) -> frozenset[str]:
    """Return the stems of words that are nouns here: with a capital inside a sentence in German, behind articles elsewhere."""
    seen: Counter[str] = Counter()
    behind: Counter[str] = Counter()
    determiners = DETERMINERS.get(language, frozenset())
    for sentence in sentences:
        for place, token in enumerate(sentence.tokens):
            key = stem(token.lower, language)
            seen[key] += 1
            if language == "de":
                behind[key] += place > 0 and token.word[0].isupper()
            elif place and not token.gap:
                behind[key] += sentence.tokens[place - 1].lower in determiners
    return frozenset(key for key, count in behind.items() if count and count * 2 >= seen[key])


def _phrases(sentence: _Sentence, language: str, nouns: frozenset[str]) -> Iterator[_Phrase]:
    """Yield the phrases of a sentence: tokens ``first:last``, whether the phrase is whole, and how it is marked."""
    tokens = sentence.tokens
    named = sentence.block.kind in ("heading", "term", "tag")
    if named and tokens:
        first = _skipped(tokens, language)
        inside = tokens[first:]
        plain = all(
            one.lower not in WORDS.get(language, ()) or one.lower in JOINING.get(language, ()) for one in inside
        )
        if 0 < len(inside) <= LONGEST_MARKED and plain and not any(one.gap for one in inside[1:]):
            yield first, len(tokens), True, "tag" if sentence.block.kind == "tag" else "heading"
    yield from _marked(sentence, language, nouns)
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.mark == "code" or _CODE.search(token.word) or (_ACRONYM.fullmatch(token.word) and len(token.word) > 1):
            end = _names(tokens, place)
            yield place, end, True, "code" if token.mark == "code" else ""
            place = end
        elif language == "de":
            place = yield from _german(tokens, place, nouns)
        elif language == UNKNOWN:
            place = yield from _capitals(tokens, place)
        else:
            place = yield from _romance(tokens, place, language, nouns)


def _skipped(tokens: Sequence[_Token], language: str) -> int:
    """Return the place of the first word that is no article."""
    determiners = DETERMINERS.get(language, frozenset())
    return next((place for place, one in enumerate(tokens) if one.lower not in determiners), len(tokens))


def _marked(sentence: _Sentence, language: str, nouns: frozenset[str]) -> Iterator[_Phrase]:
    """Yield what the writer marked; a lone emphasised word only if it is a noun or a name."""
    for begin, stop, what in sentence.block.marks:
        if what == "anchor":
            continue  # without grammar the words of a link are often no name
        inside = [place for place, one in enumerate(sentence.tokens) if begin <= one.start and one.end <= stop]
        if not 0 < len(inside) <= LONGEST_MARKED or any(sentence.tokens[place].gap for place in inside[1:]):
            continue
        one = sentence.tokens[inside[0]]
        emphatic = what == "strong" and len(inside) == 1 and not one.word[0].isupper()
        if not emphatic or stem(one.lower, language) in nouns:
            yield inside[0], inside[-1] + 1, True, what


def _names(tokens: Sequence[_Token], place: int) -> int:
    """Return the end of a run of names in code or capitals."""
    end = place + 1
    while end < len(tokens) and not tokens[end].gap and tokens[end].mark == tokens[place].mark == "code":
        end += 1
    return end


def _german(tokens: Sequence[_Token], place: int, nouns: frozenset[str]) -> Generator[_Phrase, None, int]:
    """Yield the noun at ``place`` with the nouns behind it, and with its adjective. Return the next place."""
    if not _is_german_noun(tokens, place, nouns):
        return place + 1
    end = place + 1
    while end < len(tokens) and end - place < LONGEST and not tokens[end].gap and _is_german_noun(tokens, end, nouns):
        end += 1
    yield place, end, True, ""
    if place > 1 and not tokens[place].gap:
        before = tokens[place - 1]
        adjective = before.word[0].islower() and before.lower not in WORDS["de"] and _INFLECTED.fullmatch(before.lower)
        if adjective and not before.gap and not before.mark and tokens[place - 2].lower in DETERMINERS["de"]:
            yield place - 1, end, True, ""
    return end


def _is_german_noun(tokens: Sequence[_Token], place: int, nouns: frozenset[str]) -> bool:
    token = tokens[place]
    if not token.word[0].isupper() or token.lower in WORDS["de"] or token.mark == "code":
        return False
    return place > 0 or stem(token.lower, "de") in nouns


def _romance(
    tokens: Sequence[_Token], place: int, language: str, nouns: frozenset[str]
) -> Generator[_Phrase, None, int]:
    """Yield the phrases that begin at ``place``. Return the next place."""
    token, words, joining = tokens[place], WORDS[language], JOINING.get(language, frozenset())
    if token.lower in words or not token.word[0].isalpha():
        return place + 1
    article = place > 0 and not token.gap and tokens[place - 1].lower in DETERMINERS[language]
    name = token.word[0].isupper() and place > 0 and not article
    behind = place > 0 and not token.gap and tokens[place - 1].lower in words
    if not name and not (stem(token.lower, language) in nouns and (behind or place == 0 or token.gap)):
        return place + 1
    ends = [place + 1]
    at, count = place + 1, 1
    while at < len(tokens) and count < LONGEST and not tokens[at].gap:
        step = at
        if tokens[at].lower in joining and at + 1 < len(tokens) and not tokens[at + 1].gap:
            step = at + 1
        if tokens[step].lower in words or tokens[step].mark == "code":
            break
        if name and not (tokens[step].word[0].isupper() or tokens[step].word[0].isdigit()):
            break  # behind a name stands its verb, as in "React sait que"
        at, count = step + 1, count + 1
        ends.append(at)
    for end in ends:
        following = tokens[end] if end < len(tokens) else None
        further = end + 1 < len(tokens) and not tokens[end + 1].gap
        joined = following is not None and following.lower in joining and further and tokens[end + 1].lower not in words
        ended = following is None or following.gap or (following.lower in words and not joined)
        # an article behind it: the last word is a verb, as in "le serveur envoie une requête"
        cut = following is not None and not following.gap and following.lower in ARTICLES[language]
        before_verb = further and following is not None and tokens[end + 1].lower in ARTICLES[language]
        several = end - place > 1
        yield place, end, (ended and not (several and cut)) or (not ended and before_verb and not joined), ""
    return place + 1


def _capitals(tokens: Sequence[_Token], place: int) -> Generator[_Phrase, None, int]:
    """Yield the run of capitalised words at ``place``, which is not the first word. Return the next place."""
    if place == 0 or not tokens[place].word[0].isupper():
        return place + 1
    end = place + 1
    while end < len(tokens) and end - place < LONGEST and not tokens[end].gap and tokens[end].word[0].isupper():
        end += 1
    yield place, end, True, ""
    return end


def _repeated(found: dict[str, _Candidate], sentences: Sequence[_Sentence], language: str) -> None:
    """Add the words that stand in several sentences, but for the commonest of the passage."""
    places: dict[str, list[tuple[int, int]]] = {}
    for index, sentence in enumerate(sentences):
        for place, token in enumerate(sentence.tokens):
            if len(token.word) >= SHORTEST + 2 and not _UNSPACED.search(token.word):
                places.setdefault(token.lower, []).append((index, place))
    often = [some for some in places.values() if len({index for index, _ in some}) >= REPEATED]
    for some in often:
        for index, place in some:
            _note(found, sentences, index, place, place + 1, False, "", language)


def _note(
    found: dict[str, _Candidate],
    sentences: Sequence[_Sentence],
    index: int,
    first: int,
    last: int,
    whole: bool,
    mark: str,
    language: str,
) -> None:
    sentence = sentences[index]
    tokens, text = sentence.tokens[first:last], sentence.block.text
    spelling = text[tokens[0].start : tokens[-1].end]
    words = [one.lower for one in tokens]
    if not _is_name(spelling, words, mark, language) or not (key := key_of(spelling, language)):
        return
    in_prose = sentence.block.kind in ("paragraph", "item")
    candidate = found.setdefault(key, _Candidate())
    shown = spelling if mark == "code" or not _lowered(tokens, first, language) else spelling[0].lower() + spelling[1:]
    candidate.spellings[shown] += 1 if in_prose else 0.3  # type: ignore[assignment]
    candidate.mentions += 1
    if in_prose:
        known = candidate.places.get(index, _Place())
        begins = known.begins or _begins(sentence, first, language)
        late = min(known.late, first / len(sentence.tokens))
        candidate.places[index] = _Place(known.whole or whole, begins, late)
    else:
        candidate.places.setdefault(index, _Place())
    signs = candidate.signs
    candidate.signs = replace(
        signs,
        heading=signs.heading or mark == "heading",
        link=signs.link or mark == "link",
        tag=signs.tag or mark == "tag",
        strong=signs.strong or mark == "strong",
        code=signs.code or mark == "code",
    )


def _lowered(tokens: Sequence[_Token], first: int, language: str) -> bool:
    """Return whether the capital of a spelling is explained by its place: it begins a sentence or heading."""
    word = tokens[0].word
    if len(tokens) > 1 and tokens[1].word[0].isupper():
        return False
    return language not in ("de", UNKNOWN) and first == 0 and word[:1].isupper() and word[1:].islower()


def _is_name(spelling: str, words: Sequence[str], mark: str, language: str) -> bool:
    if junk.reason(spelling) not in ("", "stop words", "hollow", *(["code"] if mark == "code" else [])):
        return False
    function, hollow = WORDS.get(language, frozenset()), _hollow(language)
    if words[0] in function or words[-1] in function:
        return mark == "code" and len(words) == 1 and len(words[0]) > SHORTEST
    if len(spelling) < SHORTEST and not spelling.isupper():
        return False
    if any(word.count("-") > HYPHENS for word in words):
        return False
    if len(words) == 1 and mark != "code":
        bare = words[0]
        if stem(bare, language) in hollow or bare.isdigit():
            return False
    return not (mark != "code" and all(stem(word, language) in hollow or word[0].isdigit() for word in words))


@cache
def _hollow(language: str) -> frozenset[str]:
    return frozenset(stem(word, language) for word in HOLLOW.get(language, ()))


def _begins(sentence: _Sentence, first: int, language: str) -> bool:
    """Return whether a sentence begins with the phrase, but for an article or preposition."""
    function = WORDS.get(language, frozenset())
    return first <= 2 and all(one.lower in function for one in sentence.tokens[:first])


# ------------------------------------------------------------------------------------------------ evidence


def _concept(text: str, candidate: _Candidate, sentences: Sequence[_Sentence], language: str) -> RawConcept | None:
    whole = sum(one.whole for one in candidate.places.values())
    if not whole and not candidate.signs.structure and language != UNKNOWN:
        return None
    scores: dict[int, tuple[float, str]] = {}
    for index, place in candidate.places.items():
        if sentences[index].block.kind in ("paragraph", "item"):
            scores[index] = _worth(sentences[index], candidate, place, language)
    chosen = [index for index, (score, _) in scores.items() if score >= TELLING]
    if not chosen:
        chosen = [min(candidate.places, key=lambda index: (-scores.get(index, (-1.0, ""))[0], index))]
    best = max((score for score, _ in scores.values()), default=0.0)
    signs = replace(
        candidate.signs,
        whole=whole,
        subject=sum(one.begins for one in candidate.places.values()),
        says=round(best, 2),
        language=language,
    )
    label = max(sorted(candidate.spellings), key=lambda spelling: candidate.spellings[spelling])
    quotes = tuple(_quote(text, sentences[index], *scores.get(index, (0.0, ""))) for index in sorted(chosen))
    return RawConcept(label, "term", 0.0, candidate.mentions, quotes, signs)


def _other_forms(concept: RawConcept, candidate: _Candidate, language: str) -> Iterator[RawConcept]:
    """Yield the other forms that the passage has, which add nothing but themselves."""
    for spelling in sorted(candidate.spellings):
        if spelling != concept.label:
            yield replace(concept, label=spelling, frequency=1, signs=Signs(language=language))


def _quote(text: str, sentence: _Sentence, score: float, definition: str) -> RawQuote:
    start, end = sentence.block.span(sentence.start, sentence.end)
    for opened, closed in sentence.block.markup:  # marks that open before the first word, and close behind the last
        start = opened if opened <= start < closed and not re.search(r"\w", text[opened:start]) else start
        end = closed if opened < end <= closed and not re.search(r"\w", text[end:closed]) else end
    return RawQuote(text[start:end], start, end, bool(definition), definition, score)


def _worth(sentence: _Sentence, candidate: _Candidate, place: _Place, language: str) -> tuple[float, str]:
    """Return how much a sentence is worth as evidence, and the words in it that define the candidate, or ''."""
    tokens, text = sentence.tokens, sentence.block.text[sentence.start : sentence.end]
    count, begins = len(tokens), place.begins
    score = 0.4 + 0.15 * begins - 0.12 * place.late
    score += 0.1 if 8 <= count <= 35 else -0.25 if count < 6 or count > 60 else 0.0
    function = WORDS.get(language)
    if function is not None:
        share = sum(one.lower in function for one in tokens) / max(count, 1)
        score += 0.05 if share >= 0.25 else -0.2 if share < 0.12 else 0.0
    if text[-1:] == "?":
        score -= 0.4
    elif text[-1:] not in ".!)\"'”’»":
        score -= 0.25
    if text[:1].islower():
        score -= 0.2
    start, end = sentence.block.span(sentence.start, sentence.end)
    if sum(stop - begin for begin, stop in sentence.block.markup if start <= begin and stop <= end) > LINKS * (
        end - start
    ):
        score -= 0.25
    if tokens and tokens[0].lower in _POINTING and not begins:
        score -= 0.25
    definition = _definition(sentence, candidate, language) if begins else ""
    return round(min(0.95, max(0.05, score + 0.2 * bool(definition))), 3), definition


def _definition(sentence: _Sentence, candidate: _Candidate, language: str) -> str:
    """Return what follows "X is" where that is an article, a noun and more of a sentence; else ''."""
    copulas, articles = _COPULA.get(language, ((), ()))
    tokens = sentence.tokens
    place = next((at for at, one in enumerate(tokens[:7]) if one.lower in copulas), 0)
    if not place or place + 4 > len(tokens) or tokens[place + 1].lower not in articles or tokens[place + 1].gap:
        return ""
    subject = sentence.block.text[tokens[_skipped(tokens, language)].start : tokens[place - 1].end]
    if subject not in candidate.spellings and subject[:1].lower() + subject[1:] not in candidate.spellings:
        return ""
    return sentence.block.text[tokens[place + 1].start : sentence.end].rstrip(" .!")
