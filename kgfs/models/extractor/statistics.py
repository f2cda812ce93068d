"""The extractor for machines without models: phrases between stop words, ranked by counts."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgfs.domain.identity import normalise_label
from kgfs.domain.languages import ENGLISH
from kgfs.models.contract import Extraction, Passage, RawConcept, RawQuote
from kgfs.models.extractor import by_counts, junk, output
from kgfs.models.extractor.prose import Prose, prose_of

CONCEPTS = 20
QUOTES = 3
MAX_WORDS = 4

_WORD = re.compile(r"[^\W_]+(?:[-'’_+#.][^\W_]+)*[+#]*")
_SENTENCE = re.compile(r"(?:[^.!?]|[.!?](?!\s+[\"'“(]?[A-Z0-9]|\s*$))+[.!?]*")
_DEFINES = re.compile(r"\s*,?\s+(?:is|are|means|denotes|refers to|stands for)\s+(?=(?:an?|one|the)\s|\w)(?P<words>.+)")


@dataclass(slots=True)
class _Phrase:
    spellings: Counter[str] = field(default_factory=Counter)
    sentences: dict[tuple[int, int], str] = field(default_factory=dict)
    """(start, end) in the passage → the words that define the phrase there, or ''."""
    first: int = 0
    whole: int = 0


class StatisticsExtractor:
    """An Extractor of concepts; it finds no relationships. It is deterministic; any number of threads may call."""

    name = "statistics"
    version = "1"
    model = "statistics"
    billed = False
    takes_known = False

    def __init__(self) -> None:
        self.prompt_hash = hashlib.sha256(f"{self.name}/{self.version} {CONCEPTS} {MAX_WORDS}".encode()).hexdigest()[
            :16
        ]

    def extract(self, passages: Sequence[Passage], known: Sequence[str] = ()) -> list[str]:
        """Return the raw output of each passage, as the contract says."""
        return [
            output.encode(_extraction(passage) if passage.language == ENGLISH else by_counts.extraction(passage))
            for passage in passages
        ]

    def parse(self, raw: str) -> Extraction:
        return output.decode(raw)


def _extraction(passage: Passage) -> Extraction:
    phrases: dict[str, _Phrase] = {}
    order = 0
    for block in prose_of(passage.text):
        if block.kind == "row":
            continue
        for start, end in _sentences(block):
            order += 1
            _note_sentence(phrases, block, start, end, order)
    words = Counter(word for key, phrase in phrases.items() for word in key.split() for _ in phrase.sentences)
    weighed = {key: _weight(key, phrase, words, order) for key, phrase in phrases.items()}
    best = sorted(phrases, key=lambda key: (-weighed[key], key))[:CONCEPTS]
    heading = normalise_label(" ".join((passage.title, *passage.section_path)))
    return Extraction(
        tuple(_concept(passage.text, phrases[key], min(1.0, weighed[key] + 0.2 * (key in heading))) for key in best), ()
    )


def _sentences(block: Prose) -> Iterator[tuple[int, int]]:
    for found in _SENTENCE.finditer(block.text):
        start, end = found.span()
        while start < end and block.text[start].isspace():
            start += 1
        if start < end:
            yield start, end


def _note_sentence(phrases: dict[str, _Phrase], block: Prose, start: int, end: int, order: int) -> None:
    for run in _runs(block.text, start, end):
        for first in range(len(run)):
            for last in range(first + 1, min(len(run), first + MAX_WORDS) + 1):
                begin, stop = run[first][0], run[last - 1][1]
                spelling = block.text[begin:stop]
                if junk.reason(spelling):
                    continue
                phrase = phrases.setdefault(junk.fold(normalise_label(spelling)), _Phrase())
                phrase.first = phrase.first or order
                phrase.whole += len(run) == last - first
                phrase.spellings[spelling] += 1
                defining = _DEFINES.match(block.text, stop, end) if begin - start < 4 else None
                span = block.span(start, end)
                phrase.sentences[span] = phrase.sentences.get(span) or (
                    defining["words"].rstrip(" .") if defining else ""
                )


def _runs(text: str, start: int, end: int) -> Iterator[list[tuple[int, int]]]:
    """Yield runs of words without a stop word or punctuation between them."""
    run: list[tuple[int, int]] = []
    for found in _WORD.finditer(text, start, end):
        apart = bool(run) and text[run[-1][1] : found.start()] != " "
        stops = found[0].lower() in junk.STOP_WORDS
        if run and (apart or stops):
            yield run
            run = []
        if not stops:
            run.append(found.span())
    if run:
        yield run


def _weight(key: str, phrase: _Phrase, words: Counter[str], sentences: int) -> float:
    """Return a weight below 1.

    A phrase weighs more if it occurs often as a whole run, has words that are frequent in other phrases, occurs
    early, and is neither short nor long.
    """
    parts = key.split()
    often = math.log1p(phrase.whole + 0.3 * (sum(phrase.spellings.values()) - phrase.whole))
    together = sum(math.log1p(words[part]) for part in parts) / len(parts)
    early = 1 / (1 + phrase.first / max(sentences, 1))
    size = {1: 0.6, 2: 1.0, 3: 0.9}.get(len(parts), 0.6)
    score = size * early * (often + 0.3 * together)
    return round(score / (1 + score), 4)


def _concept(text: str, phrase: _Phrase, relevance: float) -> RawConcept:
    label = max(sorted(phrase.spellings), key=lambda spelling: phrase.spellings[spelling])
    ordered = sorted(phrase.sentences, key=lambda span: (not phrase.sentences[span], span))[:QUOTES]
    quotes = tuple(
        RawQuote(text[start:end], start, end, bool(phrase.sentences[start, end]), phrase.sentences[start, end])
        for start, end in ordered
    )
    return RawConcept(label, "term", relevance, sum(phrase.spellings.values()), quotes)
