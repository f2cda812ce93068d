"""What the quantised model costs in quality and saves in time: ``python -m bench.vectors --eval DIR``.

DIR holds labelled sets: ``contextual/`` (chunks of code, questions with their golden chunks) and ``cranfield/`` (abstracts,
questions, judgements). Each question ranks all texts by the greatest cosine of their windows, nothing else, with each of
the two models. Prints the mean share of a question's golden chunks among the first 5, 10 and 20; nDCG of the first ten
abstracts (gain 5 − grade for grades 1–4, else 0; the ideal order is over all that is judged); the cosine of the two models'
vectors of one text; and the processor seconds of each, embedding the same batches in turn.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgfs.models.embedder import MiniLM

AT = (5, 10, 20)
FIRST = 10
BATCH = 32
Ranked = Callable[[str], list[int]]
Matrix = npt.NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True)
    folder: Path = parser.parse_args().eval
    models = {"fp32": MiniLM(), "int8": MiniLM(quantised=True)}
    documents = json.loads((folder / "contextual/chunks.json").read_text())
    places = [
        (document["original_uuid"], chunk["original_index"]) for document in documents for chunk in document["chunks"]
    ]
    chunks = [chunk["content"] for document in documents for chunk in document["chunks"]]
    questions = [json.loads(line) for line in (folder / "contextual/queries.tune.jsonl").read_text().splitlines()]
    golden = [
        (question["query"], {places.index((uuid, index)) for uuid, index in question["golden_chunk_uuids"]})
        for question in questions
    ]
    abstracts = cranfield(folder / "cranfield/cran.all.1400")
    judged = judgements(folder / "cranfield")
    code = embedded(models, chunks)
    prose = embedded(models, abstracts)
    for name, model in models.items():
        shares = passed(golden, by_cosine(model, code[name]))
        found = "/".join(f"{share:.1%}" for share in shares)
        print(
            f"{name}: code, golden chunks in the first 5/10/20 {found}; prose, nDCG@10 {ndcg(judged, by_cosine(model, prose[name])):.3f}"
        )


def embedded(models: dict[str, MiniLM], texts: Sequence[str]) -> dict[str, list[Matrix]]:
    """Return the vectors of each model; print what they took and how near the two are."""
    vectors: dict[str, list[Matrix]] = {name: [] for name in models}
    seconds = dict.fromkeys(models, 0.0)
    for start in range(0, len(texts), BATCH):
        for name, model in models.items():
            began = time.process_time()
            vectors[name] += model.embed(texts[start : start + BATCH])
            seconds[name] += time.process_time() - began
    first, second = vectors.values()
    near = np.concatenate([(one * other).sum(axis=1) for one, other in zip(first, second, strict=True)])
    times = ", ".join(f"{name} {took:.1f} s" for name, took in seconds.items())
    print(
        f"{len(texts)} texts, {sum(map(len, first))} windows: {times} of {os.cpu_count()} cores; cosine {near.mean():.4f}, least {near.min():.4f}"
    )
    return vectors


def by_cosine(model: MiniLM, vectors: Sequence[Matrix]) -> Ranked:
    """Return a function that orders all texts for a question, best first, ties by their order."""
    rows = np.concatenate(vectors)
    starts = np.cumsum([0, *map(len, vectors[:-1])])

    def ranked(question: str) -> list[int]:
        scores = np.maximum.reduceat((rows @ model.embed([question])[0].T).max(axis=1), starts)
        return [int(index) for index in np.argsort(-scores, kind="stable")]

    return ranked


def passed(golden: Sequence[tuple[str, set[int]]], ranked: Ranked) -> list[float]:
    """Return the mean share of golden texts among the first 5, 10 and 20."""
    orders = [(ranked(question), wanted) for question, wanted in golden]
    return [sum(len(wanted & set(order[:top])) / len(wanted) for order, wanted in orders) / len(orders) for top in AT]


def ndcg(judged: Sequence[tuple[str, dict[int, int]]], ranked: Ranked) -> float:
    """Return the mean nDCG of the first ten, with linear gain."""
    values = []
    for question, gains in judged:
        order = ranked(question)[:FIRST]
        ideal = discounted(sorted(gains.values(), reverse=True)[:FIRST])
        values.append(discounted(gains.get(index, 0) for index in order) / ideal if ideal else 0.0)
    return sum(values) / len(values)


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


if __name__ == "__main__":
    main()
