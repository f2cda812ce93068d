"""Folders of documents with titles: the words of a title among the first concepts, junk by rules, relationships."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.quality.keyphrases import stemmed
from bench.quality.pipe import Pipe
from kgfs.domain.knowledge import FoundConcept
from kgfs.models.extractor import junk

TOP = 10


def title_words(title: str) -> set[str]:
    """Stemmed content words of a title: no stop words, no numbers, no single letters."""
    words = re.findall(r"[^\W_]+", title.lower())
    return {stemmed(word) for word in words if len(word) > 1 and not word.isdigit() and word not in junk.STOP_WORDS}


def covered(title: str, concepts: Sequence[FoundConcept]) -> float | None:
    """The share of a title's content words that stand in the first ten concepts; None for a title without any."""
    wanted = title_words(title)
    reported = {word for concept in concepts[:TOP] for form in concept.forms for word in title_words(form)}
    return len(wanted & reported) / len(wanted) if wanted else None


def measure_documents(pipe: Pipe, folder: Path, samples: int, seed: int) -> dict[str, object]:
    start, before = time.perf_counter(), Counter(pipe.seconds)
    shares: list[float] = []
    missed: list[str] = []
    counts: list[int] = []
    rubbish: Counter[str] = Counter()
    examples: list[str] = []
    related: list[dict[str, object]] = []
    quotes = size = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        found = pipe.read(path)
        size += path.stat().st_size
        counts.append(len(found.concepts))
        part = covered(found.text.title, found.concepts)
        if part is not None:
            shares.append(part)
            if part < 0.5:
                missed.append(f"{path.name}: {found.text.title} — {', '.join(c.label for c in found.concepts[:TOP])}")
        for concept in found.concepts:
            if why := junk.reason(concept.label):
                rubbish[why] += 1
                examples.append(concept.label)
            quotes += len(concept.quotes)
        related.extend(
            {
                "file": path.name,
                "subject": reported.subject,
                "type": reported.type,
                "object": reported.object,
                "confidence": reported.confidence,
                "quote": found.text.text[reported.quote.start : reported.quote.end],
            }
            for reported in found.relationships
        )
    concepts = sum(counts)
    random.Random(seed).shuffle(related)
    return {
        "folder": folder.name,
        "documents": len(counts),
        "bytes": size,
        "seconds": round(time.perf_counter() - start, 1),
        "stages": {stage: round(pipe.seconds[stage] - before[stage], 1) for stage in pipe.seconds},
        "titles": len(shares),
        "titles_half": percent(sum(part >= 0.5 for part in shares), len(shares)),
        "titles_all": percent(sum(part == 1 for part in shares), len(shares)),
        "title_words": percent(sum(shares), len(shares)),
        "titles_missed": missed,
        "concepts_per_document": round(concepts / max(len(counts), 1), 1),
        "junk": percent(sum(rubbish.values()), concepts),
        "junk_by_rule": dict(rubbish),
        "junk_examples": examples[:20],
        "quotes": quotes,
        "relationships": len(related),
        "relationships_by_type": dict(Counter(str(reported["type"]) for reported in related).most_common()),
        "relationships_sample": related[:samples],
    }


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 2) if whole else 0.0
