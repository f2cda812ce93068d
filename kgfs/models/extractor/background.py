"""How common a word is in English, as the vocabulary of the embedding model orders it.

WordPiece vocabularies list whole words by falling frequency in the text that they were made from, so a word's place is
its rank. A word that the vocabulary has only in pieces is rarer than all that it has.
"""

from __future__ import annotations

import json
from binascii import a2b_base64
from collections.abc import Mapping
from functools import cache

from kgfs.errors import ModelMissingError
from kgfs.models import carriers

RARE = 60_000
"""The rank of a word that is in the vocabulary only in pieces."""
UNKNOWN = 15_000
"""The rank of every word where the vocabulary is not installed."""


def rank(word: str) -> int:
    """Return the rank of a word, 1 for the most frequent. Capitals do not matter."""
    places = _places()
    return places.get(word.lower(), RARE) if places else UNKNOWN


def is_known(word: str) -> bool:
    """Return whether the vocabulary has a word whole. Every word where the vocabulary is not installed."""
    places = _places()
    return not places or word.lower() in places


def is_written_small(word: str) -> bool:
    """Return whether a word is an ordinary one: not much rarer in small letters than with a capital, as names are, or
    with an ending of English.

    The vocabulary of tokens has both ways of writing, by falling frequency. Without it every known word is ordinary.
    """
    low, small = word.lower(), _small_words()
    return low in small or low.endswith(("ing", "ed", "ly")) or (not small and is_known(low))


@cache
def _small_words() -> frozenset[str]:
    try:
        lines = carriers.path_of(carriers.CL100K).read_bytes().split(b"\n")
    except ModelMissingError:
        return frozenset()
    pieces = (a2b_base64(line.partition(b" ")[0]) for line in lines if line)
    ranks = {piece[1:].decode(): rank for rank, piece in enumerate(pieces) if piece[:1] == b" " and piece[1:].isalpha()}
    last = len(lines)
    return frozenset(
        word for word, rank in ranks.items() if word.islower() and rank < 1.5 * ranks.get(word.capitalize(), last)
    )


@cache
def _places() -> Mapping[str, int]:
    try:
        path = carriers.path_of(carriers.MINILM_TOKENIZER)
    except ModelMissingError:
        return {}
    vocabulary = json.loads(path.read_text("utf-8"))["model"]["vocab"]
    first = vocabulary["the"]
    return {word: place - first + 1 for word, place in vocabulary.items() if place >= first}
