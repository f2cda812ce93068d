"""Token counts as cl100k_base gives them, without ever downloading the vocabulary."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from kgfs.errors import ModelMissingError
from kgfs.models import carriers, contract

if TYPE_CHECKING:
    import tiktoken

_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
    r"|\s*[\r\n]|\s+(?!\S)|\s"
)
"""The pattern by which cl100k_base splits a text before it looks up the pieces in its vocabulary."""


class Cl100k:
    """The exact counter. Any number of threads may call."""

    name = "cl100k_base"

    def __init__(self, vocabulary: tiktoken.Encoding | None = None) -> None:
        """Load the vocabulary. Raise ModelMissingError where it is missing."""
        self._encoding = vocabulary or shared_vocabulary()

    def count(self, text: str) -> int:
        return self.counts([text])[0]

    def counts(self, texts: Sequence[str]) -> list[int]:
        readable = [text.encode("utf-8", "replace").decode() for text in texts]
        return [len(tokens) for tokens in self._encoding.encode_ordinary_batch(readable, num_threads=1)]


class Estimate:
    """An estimate of the token count, for use where the vocabulary is missing.

    It is within a tenth for English, with or without code and markup, and far too low for scripts without spaces.
    """

    name = "estimate"

    _piece = re.compile(r"[^\W\d_]+|\d{1,3}|_|[^\w\s]+|\n+")
    _letters_a_token = 9

    def count(self, text: str) -> int:
        return sum(1 + (len(piece) - 1) // self._letters_a_token for piece in self._piece.findall(text))

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [self.count(text) for text in texts]


def load() -> contract.Tokens:
    """Return the cl100k_base counter, or the estimate where the vocabulary is missing. ``name`` tells which it is."""
    try:
        return Cl100k()
    except ModelMissingError:
        return Estimate()


def read_vocabulary() -> tiktoken.Encoding:
    import tiktoken

    # The encoding is built here from the file, because tiktoken's own loader falls back to the network.
    words = carriers.path_of(carriers.CL100K).read_bytes().split()
    ranks = dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))
    return tiktoken.Encoding("cl100k_base", pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


@cache
def shared_vocabulary() -> tiktoken.Encoding:
    """Return the vocabulary, which is read once a process in about a tenth of a second."""
    return read_vocabulary()
