"""Labelled sets: Cranfield's abstracts with its questions and judgements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path


def discounted(gains: Iterable[int]) -> float:
    return sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))


def cranfield(path: Path) -> list[str]:
    """Return title and abstract of each document, in order."""
    texts = []
    for record in re.split(r"^\.I \d+\n", path.read_text(), flags=re.MULTILINE)[1:]:
        fields = dict(re.findall(r"^\.([TABW])\n(.*?)(?=^\.[TABW]\n|\Z)", record, flags=re.MULTILINE | re.DOTALL))
        body = fields.get("W", "").strip()
        title = fields.get("T", "").strip()
        texts.append(body if body.startswith(title) else f"{title}\n{body}")
    return texts


def judgements(folder: Path) -> list[tuple[str, dict[int, int]]]:
    """Return each question with the gains of the judged documents, numbered from 0."""
    gains: dict[str, dict[int, int]] = {}
    for line in (folder / "qrels.tune.tsv").read_text().splitlines():
        question, document, grade = line.split()
        gains.setdefault(question, {})[int(document) - 1] = 5 - int(grade) if 1 <= int(grade) <= 4 else 0
    rows = (line.split("\t", 1) for line in (folder / "queries.tune.tsv").read_text().splitlines())
    return [(words, gains[number]) for number, words in rows if number in gains]
