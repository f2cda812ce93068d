"""How good the concepts are that the pipeline finds: ``python -m bench.quality --keyphrases DIR --documents DIR``.

Labelled sets: folders of ``N.txt`` with ``N.key``, one key phrase a line. A found concept is right when it equals a key
phrase after lower-casing and Snowball stemming; precision, recall and F1 at k are averaged over documents. Folders of
documents: whether the words of a document's title are among its ten first concepts, how many concepts it has,
and how many of them are junk by the rules of ``kgfs.models.extractor.junk``.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np
import snowballstemmer

from kgfs.compute.local import LocalCompute
from kgfs.domain.knowledge import FoundConcept, FoundRelationship
from kgfs.domain.text import Text
from kgfs.formats.table import parse
from kgfs.ingest.reading.chunk import chunk
from kgfs.ingest.reading.gate import judge_all
from kgfs.ingest.reading.rank import Vectors, rank
from kgfs.ingest.reading.validate import validate
from kgfs.models.contract import Passage
from kgfs.models.extractor import junk
from kgfs.settings import Models, Pipeline
from kgfs.stores.batched import batched

AT = (5, 10, 15)
TOP = 10
_stemmer = snowballstemmer.stemmer("english")


@dataclass(frozen=True, slots=True)
class Found:
    text: Text
    concepts: tuple[FoundConcept, ...]
    relationships: tuple[FoundRelationship, ...]


@dataclass(frozen=True, slots=True)
class Share:
    k: int
    precision: float
    recall: float
    f1: float


class Pipe:
    """The stages from bytes to concepts, as the worker runs them, without stores."""

    def __init__(self, models: Models, settings: Pipeline) -> None:
        self.compute = LocalCompute(models)
        self.settings = settings
        self.seconds: Counter[str] = Counter()

    def read(self, path: Path) -> Found:
        compute, settings = self.compute, self.settings
        with _Timed(self.seconds, "parse, chunk, gate"):
            text = parse(path.name, path.read_bytes())
            chunks = chunk(text, compute.tokens, settings.chunk_tokens, settings.overlap_tokens)
            verdicts = judge_all(text, chunks, verbs=compute.verbs)
            passed = [piece for piece, verdict in zip(chunks, verdicts, strict=True) if verdict.passed]
            passages = [Passage(text.title, piece.section_path, text.text[piece.start : piece.end]) for piece in passed]
        with _Timed(self.seconds, "extract"):
            raw = compute.extract(passages, ())
        with _Timed(self.seconds, "validate, rank"):
            valid = [
                validate(compute.parse(output), text.text, piece) for output, piece in zip(raw, passed, strict=True)
            ]
            windows = [rows for batch in batched(passages, 64) for rows in compute.embed([one.text for one in batch])]

            def meaning(labels: Sequence[str]) -> tuple[Vectors, Vectors]:
                return np.stack([rows[0] for rows in compute.embed(labels)]), np.concatenate(windows)

            concepts, relationships = rank(text.title, passed, valid, settings.concepts_per_document, meaning)
        return Found(text, concepts, relationships)


class _Timed:
    def __init__(self, seconds: Counter[str], stage: str) -> None:
        self._seconds, self._stage = seconds, stage

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._seconds[self._stage] += time.perf_counter() - self._start  # type: ignore[assignment]


def stemmed(phrase: str) -> str:
    return " ".join(_stemmer.stemWords(re.sub(r"\s+", " ", phrase.lower()).strip().split()))


# -------------------------------------------------------------------------------------- labelled sets


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
        found.append([stemmed(concept.label) for concept in pipe.read(path).concepts])
        wanted.append(phrases)
    return {
        "set": folder.name,
        "documents": len(wanted),
        "concepts_per_document": round(sum(map(len, found)) / max(len(found), 1), 1),
        "at": [asdict(share(found, wanted, k)) for k in AT],
    }


# ------------------------------------------------------------------------------------------ documents


def title_words(title: str) -> set[str]:
    """Stemmed content words of a title: no stop words, no numbers, no single letters."""
    words = re.findall(r"[^\W_]+", title.lower())
    return {stemmed(word) for word in words if len(word) > 1 and not word.isdigit() and word not in junk.STOP_WORDS}


def covered(title: str, concepts: Sequence[FoundConcept]) -> float | None:
    """The share of a title's content words that stand in the first ten concepts; None for a title without any."""
    wanted = title_words(title)
    said = {word for concept in concepts[:TOP] for form in concept.forms for word in title_words(form)}
    return len(wanted & said) / len(wanted) if wanted else None


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
                "subject": said.subject,
                "type": said.type,
                "object": said.object,
                "confidence": said.confidence,
                "quote": found.text.text[said.quote.start : said.quote.end],
            }
            for said in found.relationships
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
        "titles_half": _percent(sum(part >= 0.5 for part in shares), len(shares)),
        "titles_all": _percent(sum(part == 1 for part in shares), len(shares)),
        "title_words": _percent(sum(shares), len(shares)),
        "titles_missed": missed,
        "concepts_per_document": round(concepts / max(len(counts), 1), 1),
        "junk": _percent(sum(rubbish.values()), concepts),
        "junk_by_rule": dict(rubbish),
        "junk_examples": examples[:20],
        "quotes": quotes,
        "relationships": len(related),
        "relationships_by_type": dict(Counter(str(said["type"]) for said in related).most_common()),
        "relationships_sample": related[:samples],
    }


def _percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 2) if whole else 0.0


# --------------------------------------------------------------------------------------------- output


def table(result: dict[str, object]) -> str:
    lines: list[str] = []
    if "at" in result:
        lines.append(
            f"{result['set']}: {result['documents']} documents, {result['concepts_per_document']} concepts each"
        )
        lines.append(f"{'':10}{'precision':>10}{'recall':>10}{'F1':>10}")
        at: list[dict[str, float]] = result["at"]  # type: ignore[assignment]
        lines.extend(
            f"{'@' + str(row['k']):10}{row['precision']:10.1f}{row['recall']:10.1f}{row['f1']:10.1f}" for row in at
        )
        return "\n".join(lines)
    for name, value in result.items():
        if name == "relationships_sample":
            continue
        if isinstance(value, list):
            lines.append(f"{name:24} {len(value)}")
            lines.extend(f"    {item}" for item in value[:12])
        else:
            lines.append(f"{name:24} {value}")
    return "\n".join(lines)


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option(
    "--keyphrases",
    "sets",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A folder of .txt and .key files, or of such folders. May be given several times.",
)
@click.option(
    "--documents",
    "--peps",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A folder of documents with titles. May be given several times.",
)
@click.option("--extractor", default="auto", show_default=True)
@click.option("--embedder", default="auto", show_default=True)
@click.option("--samples", default=50, show_default=True, help="Relationships to list in the JSON file.")
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--json", "out", type=click.Path(dir_okay=False, path_type=Path), default=Path("bench-results/quality.json")
)
def main(
    sets: tuple[Path, ...], folders: tuple[Path, ...], extractor: str, embedder: str, samples: int, seed: int, out: Path
) -> None:
    pipe = Pipe(Models(embedder=embedder, extractor=extractor), Pipeline())
    results: list[dict[str, object]] = []
    for root in sets:
        inner = [folder for folder in (root, *sorted(root.iterdir())) if folder.is_dir() and any(folder.glob("*.key"))]
        for folder in inner:
            results.append(measure_keyphrases(pipe, folder))
            click.echo(table(results[-1]) + "\n")
    for folder in folders:
        results.append(measure_documents(pipe, folder, samples, seed))
        click.echo(table(results[-1]) + "\n")
    body = {"extractor": pipe.compute.extractor, "model": pipe.compute.extractor_model, "results": results}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(body, indent=1, ensure_ascii=False), "utf-8")
    click.echo(f"Written to {out}.")


if __name__ == "__main__":
    main()
