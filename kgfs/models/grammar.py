"""English grammar by spaCy's small pipeline: tagged words, sentences and dependencies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from kgfs.errors import ModelMissingError
from kgfs.models import carriers

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokenizer import Tokenizer
    from spacy.tokens import Doc, Token

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
PIECE = 20_000
"""Characters in one piece that is parsed. The memory needed grows with the piece, not with the text."""
BATCH = 16

_FINITE = frozenset({"VBD", "VBP", "VBZ", "MD"})
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"})
_COMPLEMENTS = frozenset({"dobj", "attr", "acomp", "ccomp", "xcomp", "oprd", "dative"})
_CLAUSES = frozenset({"ROOT", "ccomp", "advcl", "conj", "parataxis"})
_AUXILIARY = "is|are|was|were|has|had|can|cannot|could|may|might|must|shall|should|will|would|does|did"
_PLAIN_STATEMENT = re.compile(
    rf"(?<=[\w,)\"'`*’.]\s)(?:(?:{_AUXILIARY})(?=\s+[\w(\"'`*])"
    r"|(?:is|are|was|were|has|had|could|should|would|does|do|did|ca|wo)n[’']t\b"
    r"|(?:[Ii]t|[Ww]e|[Tt]hey|I|you|who|that|which|s?he|there) (?:\w+ly )?"
    r"(?:\w+(?:[^sui\W]s|ed)|have|need|want|know|say|see|use|do|get|think|make)\b)"
    r"|(?:^|\s)(?:It|We|They|This|That|There|I|You|He|She|These|Those)(?:[’'](?:s|re|ve|ll|m|d)"
    rf"| (?:\w+ )?(?:{_AUXILIARY}|\w+[^sui\W]s|\w+ed|have|do|need|want))\b"
)
"""What is a finite verb with its subject wherever it stands. Nine blocks of prose in ten have one, and need no parsing."""
_END = re.compile(r"[.!?…:;][\"'”’)\]*_\W]*\Z")


class English:
    """A parser of English texts. Any number of threads may call; calls are serialized."""

    def __init__(self) -> None:
        """Load the pipeline, which takes about two seconds the first time in a process.

        Raises ModelMissingError where the pipeline's files or spaCy are missing.
        """
        self._pipeline = _shared()
        self._turn = Lock()
        self.model = f"en_core_web_sm-3.8@{carriers.ENGLISH.sha256[:12]}"

    def read(self, texts: Sequence[str]) -> list[list[tuple[int, Doc]]]:
        """Return the parsed pieces of each text, each with the offset of its first character.

        A text of at most PIECE characters is one piece. A longer text is cut at paragraphs, else at lines, else at
        spaces, else at PIECE characters.
        """
        cuts = [pieces_of(text) for text in texts]
        pieces = [
            _LONE_SURROGATE.sub("\ufffd", text[start:end])
            for text, spans in zip(texts, cuts, strict=True)
            for start, end in spans
        ]
        with self._turn:
            parsed = iter(list(self._pipeline.pipe(pieces, batch_size=BATCH)))
        return [[(start, next(parsed)) for start, _ in spans] for spans in cuts]

    def has_verb(self, text: str) -> bool:
        """Return whether the first PIECE characters have a statement: a finite verb with its subject, or an imperative.

        In a text that does not end like a sentence, a verb in the present needs an object or a complement, too: many plural
        nouns of headlines look like one.
        """
        if _PLAIN_STATEMENT.search(text, 0, PIECE):
            return True
        with self._turn, self._pipeline.select_pipes(enable=["tok2vec", "tagger", "parser", "attribute_ruler"]):
            parsed = self._pipeline(_LONE_SURROGATE.sub("\ufffd", text[:PIECE]))
        ends = bool(_END.search(text))
        return any(_states(word, ends) for word in parsed)


def _states(word: Token, ends: bool) -> bool:
    if word.tag_ in _FINITE:
        head = word.head if word.dep_ in ("aux", "auxpass") else word
        if not any(child.dep_ in _SUBJECTS for child in head.children):
            return word.tag_ == "VBP" and _commands(word)
        if ends or word.tag_ not in ("VBZ", "VBP") or head is not word:
            return True
        return any(child.dep_ in _COMPLEMENTS for child in word.children)
    return word.tag_ == "VB" and _commands(word)


def _commands(word: Token) -> bool:
    """Return whether a base form stands as the root, or in a clause, without "to"."""
    return word.dep_ in _CLAUSES and not any(child.tag_ == "TO" for child in word.children)


def pieces_of(text: str, size: int = PIECE) -> list[tuple[int, int]]:
    """Return spans of at most ``size`` characters that cover the text."""
    spans: list[tuple[int, int]] = []
    start = 0
    while len(text) - start > size:
        end = start + size
        for border in ("\n\n", "\n", " "):
            found = text.rfind(border, start + size // 2, end)
            if found >= 0:
                end = found + len(border)
                break
        spans.append((start, end))
        start = end
    spans.append((start, len(text)))
    return spans


@cache
def _shared() -> Language:
    return read_pipeline()


def read_pipeline() -> Language:
    folder = carriers.path_of(carriers.ENGLISH)
    try:
        import spacy
    except ImportError as error:
        raise ModelMissingError(f"{error.name} is not installed. Get it with: pip install 'kgfs[models]'") from error
    pipeline = spacy.load(folder, exclude=["senter", "ner"])
    # `__aexit__` is one word. spaCy would cut its underscores off.
    rules = pipeline.Defaults
    prefixes = spacy.util.compile_prefix_regex([rule for rule in rules.prefixes or () if rule != "_"])
    suffixes = spacy.util.compile_suffix_regex([rule for rule in rules.suffixes or () if rule != "_"])
    tokenizer: Tokenizer = pipeline.tokenizer
    tokenizer.prefix_search, tokenizer.suffix_search = prefixes.search, suffixes.search
    return pipeline
