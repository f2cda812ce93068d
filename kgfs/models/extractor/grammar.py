"""The offline extractor: English grammar proposes concepts and relationships, embeddings rank the concepts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from kgfs.domain.identity import normalise_label
from kgfs.models.contract import Embedder, Extraction, Passage, RawConcept, RawQuote, RawRelationship
from kgfs.models.extractor import junk, output, salience, typed
from kgfs.models.extractor.definitions import defining
from kgfs.models.extractor.page import Candidate, Page, page_of
from kgfs.models.extractor.prose import prose_of
from kgfs.models.extractor.quotes import Definitions, quotes_of
from kgfs.models.extractor.related import said_by
from kgfs.models.grammar import English

Vectors = npt.NDArray[np.float32]

CONCEPTS = 30
"""The largest number of ranked concepts of one passage. Ends of relationships and defined concepts are added to them.
"""
TOGETHER = 64
"""The number of passages that are parsed at the same time. It bounds memory."""


class GrammarExtractor:
    """An Extractor. It is deterministic; any number of threads may call."""

    name = "grammar"
    version = "2"
    billed = False
    takes_known = False

    def __init__(self, english: English, embedder: Embedder | None) -> None:
        """Take the grammar and the embedder. Without an embedder the grammar alone ranks."""
        self._english = english
        self._embedder = embedder
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="embed-passages")
        self.model = f"{english.model}+{embedder.model}" if embedder else english.model
        rules = repr((salience.WEIGHTS, CONCEPTS, typed.VERBS, typed.PREPOSITIONS))
        self.prompt_hash = hashlib.sha256(f"{self.name}/{self.version} {rules}".encode()).hexdigest()[:16]

    def extract(self, passages: Sequence[Passage], known: Sequence[str] = ()) -> list[str]:
        """Return the raw output of each passage, as the contract says.

        ``known`` is ignored: the same words give the same concepts, and matching joins them later.
        """
        raw: list[str] = []
        for at in range(0, len(passages), TOGETHER):
            raw.extend(self._extract(passages[at : at + TOGETHER]))
        return raw

    def parse(self, raw: str) -> Extraction:
        return output.decode(raw)

    def _extract(self, passages: Sequence[Passage]) -> list[str]:
        windows = self._begin_embedding(passages)
        prose = [prose_of(passage.text) for passage in passages]
        parsed = iter(self._english.read([block.text for blocks in prose for block in blocks]))
        pages = [
            page_of([(block, next(parsed)) for block in blocks], passage.text)
            for blocks, passage in zip(prose, passages, strict=True)
        ]
        ranked = self._rank(pages, windows)
        return [
            output.encode(_extraction(passage.text, page, saliences))
            for passage, page, saliences in zip(passages, pages, ranked, strict=True)
        ]

    def _begin_embedding(self, passages: Sequence[Passage]) -> Future[list[Vectors]] | None:
        """Start to embed the passages while the grammar parses, which leaves a processor idle."""
        if self._embedder is None:
            return None
        return self._beside.submit(self._embedder.embed, [passage.text for passage in passages])

    def _rank(self, pages: Sequence[Page], passages: Future[list[Vectors]] | None) -> list[dict[str, float]]:
        """Return, for each page, the salience of its best candidates by key."""
        chosen: list[list[Candidate]] = []
        shown: list[salience.Matrix] = []
        scores: list[salience.Matrix] = []
        for page in pages:
            candidates = list(page.candidates.values())
            seen = salience.seen(page, candidates)
            score = salience.by_grammar(seen)
            best = sorted(np.argsort(-score, kind="stable")[:CONCEPTS].tolist())
            chosen.append([candidates[index] for index in best])
            shown.append(seen[best])
            scores.append(score[best])
        if self._embedder is not None and passages is not None:
            windows = passages.result()
            labels = sorted({candidate.label for candidates in chosen for candidate in candidates})
            vectors = {label: rows[0] for label, rows in zip(labels, self._embedder.embed(labels), strict=True)}
            for index, candidates in enumerate(chosen):
                if candidates:
                    rows = np.stack([vectors[candidate.label] for candidate in candidates])
                    scores[index] = salience.by_meaning(shown[index], rows, windows[index])
        return [
            {candidate.key: round(float(score), 4) for candidate, score in zip(candidates, found, strict=True)}
            for candidates, found in zip(chosen, scores, strict=True)
        ]


def _extraction(text: str, page: Page, saliences: dict[str, float]) -> Extraction:
    definitions = _definitions(page)
    relationships = _relationships(text, page)
    lowest = min(saliences.values(), default=0.0)
    wanted = dict(saliences)
    ends = (end for found in relationships if found[1] != "RELATED_TO" for end in (found[0], found[2]))
    for key in (*definitions, *ends):
        wanted.setdefault(key, lowest)
    concepts = []
    for key, relevance in sorted(wanted.items(), key=lambda item: (-item[1], item[0])):
        candidate = page.candidates[key]
        quotes = quotes_of(text, page, candidate, definitions.get(key, {}))
        concepts.append(
            RawConcept(candidate.label, candidate.kind or "term", relevance, len(candidate.mentions), quotes)
        )
    return Extraction(
        tuple(concepts),
        tuple(
            RawRelationship(page.candidates[subject].label, kind, page.candidates[object_].label, quote, confidence)
            for subject, kind, object_, quote, confidence in relationships
            if {subject, object_} <= wanted.keys()
        ),
    )


def _definitions(page: Page) -> dict[str, Definitions]:
    """Return, for each key, sentence index → the words that define it."""
    found: dict[str, Definitions] = {}
    for index, sentence in enumerate(page.sentences):
        if sentence.kind == "term":
            _define_term(page, index, found)
        elif sentence.kind != "heading":
            for definition in defining(sentence.words, listed=sentence.kind == "item"):
                key = page.concept_at(index, definition.defined)
                if key:
                    words = sentence.words.doc[definition.first : definition.last].text.strip()
                    found.setdefault(key, {}).setdefault(index, words)
    return found


def _define_term(page: Page, index: int, found: dict[str, Definitions]) -> None:
    """Add the definition of a term: the sentence that follows it, indented below it."""
    if index + 1 < len(page.sentences) and page.sentences[index + 1].kind == "paragraph":
        key = junk.fold(normalise_label(page.sentences[index].words.text))
        if key in page.candidates:
            found.setdefault(key, {})[index + 1] = page.sentences[index + 1].words.text.strip().rstrip(".")


def _relationships(text: str, page: Page) -> list[tuple[str, str, str, RawQuote, float]]:
    found: list[tuple[str, str, str, RawQuote, float]] = []
    for index, sentence in enumerate(page.sentences):
        if sentence.kind in ("heading", "term"):
            continue
        for said in said_by(sentence.words, page.places(index)):
            quote = RawQuote(text[sentence.start : sentence.end], sentence.start, sentence.end)
            found.append((said.subject, said.type, said.object, quote, said.confidence))
    return found
