"""Found concepts against labelled key phrases.

A labelled set is a folder of ``N.txt`` with ``N.key``, one key phrase a line. A candidate is right when it equals a key
phrase after lower-casing and Snowball stemming. It is the ranking of all candidates that is judged, before selection;
precision, recall and F1 at k are averaged over documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import snowballstemmer

from bench.quality.pipe import Pipe

AT = (5, 10, 15)
_stemmer = snowballstemmer.stemmer("english")


@dataclass(frozen=True, slots=True)
class Share:
    k: int
    precision: float
    recall: float
    f1: float


def stemmed(phrase: str) -> str:
    return " ".join(_stemmer.stemWords(re.sub(r"\s+", " ", phrase.lower()).strip().split()))


def labelled(folder: Path) -> Iterator[tuple[Path, set[str]]]:
    for key in sorted(folder.glob("*.key")):
        phrases = {stemmed(line) for line in key.read_text("utf-8", "replace").splitlines()} - {""}
        text = key.with_suffix(".txt")
        if phrases and text.exists():
            yield text, phrases


def share(found: Sequence[Sequence[str]], wanted: Sequence[set[str]], k: int) -> Share:
    """Macro averages of the first ``k`` of each document; a document with fewer is judged by those it has."""
    sums = [0.0, 0.0, 0.0]
    for phrases, right in zip(found, wanted, strict=True):
        top = list(dict.fromkeys(phrases))[:k]
        hits = sum(phrase in right for phrase in top)
        precision = hits / len(top) if top else 0.0
        recall = hits / len(right)
        sums[0] += precision
        sums[1] += recall
        sums[2] += 2 * precision * recall / (precision + recall) if hits else 0.0
    count = max(len(wanted), 1)
    return Share(k, *(round(100 * total / count, 2) for total in sums))


def measure_keyphrases(pipe: Pipe, folder: Path) -> dict[str, object]:
    found, wanted = [], []
    for path, phrases in labelled(folder):
        found.append([stemmed(label) for label in pipe.read(path).ranking])
        wanted.append(phrases)
    return {
        "set": folder.name,
        "documents": len(wanted),
        "candidates_per_document": round(sum(map(len, found)) / max(len(found), 1), 1),
        "at": [asdict(share(found, wanted, k)) for k in AT],
    }
