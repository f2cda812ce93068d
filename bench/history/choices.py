"""Which documents the history happens to, and what is written into them: drawn by a seed, the same each time."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

_PARAGRAPH = re.compile(r"(?:^[ \t]*[A-Za-z].*\n){2,}", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]{4,12}")
SENTENCE_WORDS = 14


@dataclass(frozen=True, slots=True)
class Choices:
    """Names of files. Nothing is renamed that was deleted; edited ones may be deleted or renamed later."""

    edited: tuple[str, ...]
    deleted: tuple[str, ...]
    renamed: tuple[str, ...]
    purged: tuple[str, ...]
    """Of those that still have a path: some edited, some renamed, some neither."""
    purged_from_trash: tuple[str, ...]


def choose(files: Sequence[str], edit: int, delete: int, rename: int, purge: int, seed: int) -> Choices:
    """SystemExit where there are too few files."""
    if delete + rename + purge > len(files) or edit > len(files):
        raise SystemExit(f"{len(files)} documents are too few for this history; see --help.")
    chance = random.Random(seed)
    edited = chance.sample(sorted(files), edit)
    deleted = chance.sample(sorted(files), delete)
    renamed = chance.sample(sorted(set(files) - set(deleted)), rename)
    rest = sorted(set(files) - set(deleted) - set(renamed))
    from_trash = deleted[: purge // 5]
    wanted = purge - len(from_trash)
    left_edited = sorted(set(edited) & set(rest))
    purged = (left_edited[: wanted // 3] + renamed[-(wanted // 3) :] if wanted // 3 else [])[:wanted]
    purged += chance.sample(sorted(set(rest) - set(purged)), wanted - len(purged))
    return Choices(tuple(edited), tuple(deleted), tuple(renamed), tuple(purged), tuple(from_trash))


@dataclass(frozen=True, slots=True)
class Edit:
    """One line of one paragraph is replaced."""

    line: int
    """From 1."""
    sentence: str

    def apply(self, text: str) -> str:
        lines = text.split("\n")
        lines[self.line - 1] = self.sentence
        return "\n".join(lines)


def edit_of(name: str, text: str, seed: int) -> Edit:
    """A line of a paragraph becomes a sentence of words that the document has elsewhere."""
    chance = random.Random(f"{seed} {name}")
    paragraphs = list(_PARAGRAPH.finditer(text))
    start = chance.choice(paragraphs).start() if paragraphs else 0
    words = sorted(set(_WORD.findall(text))) or ["nothing"]
    reported = " ".join(chance.choice(words).lower() for _ in range(SENTENCE_WORDS))
    return Edit(text.count("\n", 0, start) + 1, f"{reported.capitalize()}.")
