"""Measure parsing and chunking of a folder of text files: speed with and without the tokeniser's own time, sizes,
and how far boundaries move after an edit.

    python -m bench.chunking FOLDER [--pattern '*.rst'] [--edits 4]
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgfs.domain.text import Chunk, Text
from kgfs.errors import UnreadableTextError
from kgfs.formats.table import parse
from kgfs.ingest.reading.chunk import chunk
from kgfs.models import tokens as models


class TimedTokens:
    """The counter kgfs uses, with the seconds it took."""

    def __init__(self) -> None:
        self._tokens = models.load()
        self.name = self._tokens.name
        self.seconds = 0.0

    def count(self, text: str) -> int:
        return self.counts([text])[0]

    def counts(self, texts: Sequence[str]) -> list[int]:
        begun = time.perf_counter()
        found = self._tokens.counts(texts)
        self.seconds += time.perf_counter() - begun
        return found


def read(folder: Path, pattern: str) -> tuple[list[Text], int, float]:
    contents = [(path.name, path.read_bytes()) for path in sorted(folder.rglob(pattern)) if path.is_file()]
    texts: list[Text] = []
    begun = time.perf_counter()
    for name, content in contents:
        try:
            texts.append(parse(name, content))
        except UnreadableTextError as error:
            print(error)
    return texts, sum(len(content) for _, content in contents), time.perf_counter() - begun


def moved(name: str, text: Text, tokens: TimedTokens, edits: int, chance: random.Random) -> Counter[tuple[int, int]]:
    """(chunks before the edit that changed, chunks after it that changed) of edits of one paragraph."""
    found: Counter[tuple[int, int]] = Counter()
    before = chunk(text, tokens)
    paragraphs = [block for block in text.blocks if block.kind == "paragraph"]
    for block in chance.sample(paragraphs, min(edits, len(paragraphs))):
        words = " ".join(f"word{chance.randrange(1000)}" for _ in range(chance.choice((4, 40, 120)))) + "."
        new, end = chance.choice(((words, block.end), (words + "\n\n", block.start), ("", block.end)))
        content = text.text[: block.start] + new + text.text[end:]
        after = chunk(parse(name, content.encode(text.encoding)), tokens)
        found[changed(before, after, block.start, end, block.start + len(new))] += 1
    return found


def changed(before: list[Chunk], after: list[Chunk], start: int, end: int, new_end: int) -> tuple[int, int]:
    """How many boundaries of the new text, before and behind the edit, stand up to the last that differs."""
    old = {one.start for one in before}
    new = {one.start for one in after}
    early = {at for at in old if at < start} ^ {at for at in new if at < start}
    late = {at - end + new_end for at in old if at >= end} ^ {at for at in new if at >= new_end}
    return (
        sum(1 for at in new if early and min(early) <= at < start),
        sum(1 for at in new if late and new_end <= at <= max(late)),
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--pattern", default="*.rst")
    arguments.add_argument("--edits", type=int, default=4)
    given = arguments.parse_args()
    texts, size, seconds = read(given.folder, given.pattern)
    print(f"parse: {len(texts)} files, {size / 1e6:.2f} MB, {size / 1e6 / seconds:.1f} MB/s")
    tokens = TimedTokens()
    begun = time.perf_counter()
    chunks = [one for text in texts for one in chunk(text, tokens)]
    total = time.perf_counter() - begun
    own = total - tokens.seconds
    print(f"chunk: {size / 1e6 / own:.1f} MB/s by itself, {size / 1e6 / total:.1f} MB/s with {tokens.name}")
    print(f"parse and chunk without the tokeniser: {size / 1e6 / (own + seconds):.1f} MB/s")
    tokens_of = np.array([one.tokens for one in chunks])
    shown = ", ".join(f"p{p} {np.percentile(tokens_of, p):.0f}" for p in (0, 1, 5, 25, 50, 75, 95, 99, 100))
    print(f"{len(chunks)} chunks, mean {tokens_of.mean():.0f} tokens, {shown}")
    exact = np.array(tokens.counts([t.text[c.start : c.end] for t in texts for c in chunk(t, tokens)]))
    print(f"sum over units / exact tokens: {tokens_of.sum() / exact.sum():.4f}, largest exact {exact.max()}")
    chance = random.Random(1)
    ways: Counter[tuple[int, int]] = Counter()
    names = sorted(path.name for path in given.folder.rglob(given.pattern) if path.is_file())
    for name, text in zip(names, texts, strict=False):
        ways += moved(name, text, tokens, given.edits, chance)
    print(f"{sum(ways.values())} edits; (boundaries before, behind) that moved: {dict(sorted(ways.items()))}")


if __name__ == "__main__":
    main()
