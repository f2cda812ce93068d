"""How well searches rank, by kgfs's own search: ``python -m bench.retrieval --eval DIR [--keep FOLDER]``.

DIR holds labelled sets: ``contextual/`` (files of code, questions with their golden chunks) and ``cranfield/`` (abstracts,
questions, judgements). Three homes are made for each model, by the product's stages without an extractor: ``own`` (the
files, cut into Sources by kgfs), ``published`` (the files, whose given spans are handed to the stage chunk) and ``prose``
(the abstracts). Each question is asked as a user asks it (plain passages, ungrouped; abstracts by document), with the
embedding model and by words alone. ``--keep`` leaves the homes, and finds them there the next time.

Prints the mean share of a question's golden chunks among the first 5, 10 and 20 passages (of ``own``: at least half of the
golden chunk is covered by them), and nDCG of the first ten abstracts (gain 5 − grade for grades 1–4, else 0; the ideal
order is over all that is judged). The baselines rank the same Sources: BM25 of plain words, the cosine of the best window,
and the sum of both as z-scores over all Sources.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.labelled import cranfield, discounted, judgements
from kgfs.app.home import open_deposits, open_home
from kgfs.compute.answering import answering
from kgfs.compute.contract import LocalEngine
from kgfs.compute.deadline import Deadline
from kgfs.compute.heartbeat import WithHeartbeat
from kgfs.compute.local import LocalCompute
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.config import Config, load
from kgfs.domain.documents import Document
from kgfs.domain.text import Chunk
from kgfs.ingest.pipeline import Reader, _Report
from kgfs.ingest.reading import embeddings, stages
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.reading.draft import Draft
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.knowledge.by_document import documents
from kgfs.knowledge.search import passages, search
from kgfs.settings import Models
from kgfs.stores.stores import Stores

MODELS = {"fp32": "minilm", "int8": "minilm-int8"}
AT, FIRST = (5, 10, 20), 10
"""Passages among which golden chunks are looked for; documents that nDCG is of."""
SHARES = {"own": 0.5, "published": 1.0}
"""Parts of a golden chunk that passages must cover."""
PATIENCE = 60.0
Span = tuple[str, int, int]
"""A file's name, and the start and end of characters in it."""


@dataclass(frozen=True)
class Question:
    words: str
    golden: tuple[Span, ...]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--models", nargs="*", default=[*MODELS], choices=[*MODELS])
    parser.add_argument("--sets", nargs="*", default=["own", "published", "prose"])
    parser.add_argument("--ending", default="txt", help="the extension that the files of code are given")
    parser.add_argument("--no-baselines", action="store_true")
    asked = parser.parse_args()
    files, spans, questions = code(asked.eval / "contextual")
    abstracts = {
        f"{number:04}": text for number, text in enumerate(cranfield(asked.eval / "cranfield/cran.all.1400"), 1)
    }
    with ExitStack() as stack:
        judged = judgements(asked.eval / "cranfield")
        folder = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for model in asked.models:
            compute = LocalCompute(Models(embedder=MODELS[model]))
            sets: dict[str, tuple[str, Mapping[str, str], Mapping[str, Sequence[tuple[int, int]]] | None]] = {
                "own": (f"own-{asked.ending}", files, None),
                "published": (f"published-{asked.ending}", files, spans),
                "prose": ("prose", abstracts, None),
            }
            for name in asked.sets:
                place, texts, given = sets[name]

                def measure(ask: Callable[[str], list[Span]], name: str = name) -> str:
                    return graded(ask, judged) if name == "prose" else passed(ask, questions, SHARES[name])

                ending = "txt" if name == "prose" else asked.ending
                with home(folder / f"{model}-{place}", texts, compute, given, ending) as (config, stores):
                    tell(f"{model}, {name}", config, stores, compute, asked, measure)


def tell(
    name: str,
    config: Config,
    stores: Stores,
    compute: LocalCompute,
    asked: argparse.Namespace,
    measure: Callable[[Callable[[str], list[Span]]], str],
) -> None:
    prose = name.endswith("prose")

    def ask(words: str) -> list[Span]:
        found = search(stores, config.run, words, "", Deadline(PATIENCE))
        if prose:
            page, _ = documents(stores, found, 1, FIRST)
            return [(stem(one.path), 0, 0) for one in page.documents]
        shown, _ = passages(stores, found, max(AT))
        return [(stem(hit.path), hit.char_start, hit.char_end) for hit in shown.hits]

    print(f"{name}, words alone: {measure(ask)}", flush=True)
    with QuestionServer(config.run, answering(Materials(compute.embed, stores.vectors))):
        print(f"{name}, hybrid: {measure(ask)}", flush=True)
    if not asked.no_baselines:
        for baseline, ranked in baselines(stores, compute, prose).items():
            print(f"{name}, {baseline}: {measure(ranked)}", flush=True)


def stem(path: str) -> str:
    return Path(path).stem


# ------------------------------------------------------------------------------------------------------ labelled sets


def code(folder: Path) -> tuple[dict[str, str], dict[str, list[tuple[int, int]]], list[Question]]:
    """Return the files, the spans of their published chunks, and the questions."""
    files: dict[str, str] = {}
    spans: dict[str, list[tuple[int, int]]] = {}
    places: dict[tuple[str, int], Span] = {}
    for document in json.loads((folder / "chunks.json").read_text()):
        uuid, at = document["original_uuid"], 0
        name = uuid[:24]
        files[name], spans[name] = document["content"], []
        for chunk in document["chunks"]:
            end = at + len(chunk["content"])
            places[uuid, chunk["original_index"]] = (name, at, end)
            spans[name].append((at, end))
            at = end
    questions = [
        Question(asked["query"], tuple(places[uuid, index] for uuid, index in asked["golden_chunk_uuids"]))
        for asked in map(json.loads, (folder / "queries.tune.jsonl").read_text().splitlines())
    ]
    return files, spans, questions


def passed(ask: Callable[[str], list[Span]], questions: Sequence[Question], share: float) -> str:
    """Return the mean share of golden chunks that the first 5, 10 and 20 passages cover by ``share`` or more."""
    sums = [0.0] * len(AT)
    for question in questions:
        found = ask(question.words)
        for at, first in enumerate(AT):
            hits = sum(covered(golden, found[:first]) >= share - 1e-9 for golden in question.golden)
            sums[at] += hits / len(question.golden)
    return "/".join(f"{100 * one / len(questions):.1f}" for one in sums)


def covered(golden: Span, found: Iterable[Span]) -> float:
    """Return the share of a span that these spans cover; they do not overlap."""
    name, start, end = golden
    inside = sum(max(0, min(end, stop) - max(start, begin)) for other, begin, stop in found if other == name)
    return inside / max(1, end - start)


def graded(ask: Callable[[str], list[Span]], judged: Sequence[tuple[str, Mapping[int, int]]]) -> str:
    """Return the mean nDCG of the first ten documents."""
    values = []
    for words, gains in judged:
        order = list(dict.fromkeys(int(name) - 1 for name, _, _ in ask(words)))[:FIRST]
        ideal = discounted(sorted(gains.values(), reverse=True)[:FIRST])
        values.append(discounted(gains.get(index, 0) for index in order) / ideal if ideal else 0.0)
    return f"nDCG@10 {sum(values) / len(values):.4f}"


# -------------------------------------------------------------------------------------------------------------- homes


@contextmanager
def home(
    folder: Path,
    files: Mapping[str, str],
    compute: LocalCompute,
    spans: Mapping[str, Sequence[tuple[int, int]]] | None = None,
    ending: str = "txt",
) -> Iterator[tuple[Config, Stores]]:
    """Open a home with these files; make it if there is none."""
    config = load(folder)
    config = replace(config, pipeline=replace(config.pipeline, settle=0.0))
    done = folder / "bench.done"
    with open_home(config, vectors_of=compute.embedding_model) as stores:
        if not done.exists():
            make(config, stores, files, compute, spans, ending)
            done.touch()
        yield config, stores


def make(
    config: Config,
    stores: Stores,
    files: Mapping[str, str],
    compute: LocalCompute,
    spans: Mapping[str, Sequence[tuple[int, int]]] | None,
    ending: str,
) -> None:
    """Deposit the files, and publish what the reading stages but the extractor's find in them."""
    with tempfile.TemporaryDirectory() as scratch, open_deposits(config, stores) as (deposits, _):
        for name, text in files.items():
            path = Path(scratch) / f"{name}.{ending}"
            path.write_bytes(text.encode())
            deposits.ingest_file(path, "Bench", None, lambda size: None)
        deposits.settler.settle_now()
    pipeline = Pipeline(config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects))
    while job := stores.catalog.jobs.claim("bench", 3600.0):
        document = stores.catalog.names.document(job.doc_id)
        assert document is not None
        name = document.source_id.rpartition("/")[2]
        draft = draft_of(config, stores, compute, document, name)
        stages.parse(draft)
        if spans is None:
            stages.chunk(draft)
        else:
            draft.chunks = [*given(draft.parsed.text, spans[stem(name)])]
        stages.gate(draft)
        draft.windows = embeddings.compute_windows(compute, draft.parsed.text, draft.chunks, draft.verdicts, {})
        stages.embed(draft)
        reading = Reader(draft.objects, compute, config.pipeline, draft.clock)._reading(draft)
        stores.garage.objects.put(reading.key, reading.encode())
        pipeline.publish(document, reading, lambda: None, job)


def draft_of(config: Config, stores: Stores, compute: LocalCompute, document: Document, name: str) -> Draft:
    report = _Report(lambda stage, share: None)
    return Draft(
        document=document,
        filename=name,
        earlier=(),
        objects=stores.garage.objects,
        compute=WithHeartbeat(compute, report.again),
        settings=config.pipeline,
        clock=StageClock(),
        report=report,
    )


def given(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[Chunk]:
    line, offset = 1, 0
    for index, (start, end) in enumerate(spans):
        piece = text[start:end]
        size, behind = len(piece.encode()), line + piece.count("\n")
        last = behind - piece.endswith("\n")
        yield Chunk(index, start, end, line, last, offset, offset + size, (), len(piece) // 4, start)
        line, offset = behind, offset + size


# ---------------------------------------------------------------------------------------------------------- baselines


def baselines(stores: Stores, compute: LocalCompute, prose: bool) -> dict[str, Callable[[str], list[Span]]]:
    """Return what ranks the Sources of the home without kgfs's search."""
    rows = [
        (document, source)
        for ontology in stores.catalog.names.ontologies()
        for document in stores.graph.documents(ontology.id, limit=1 << 20)
        for source in stores.graph.sources(document.doc_id, limit=1 << 20)
    ]
    bags = [Counter(re.findall(r"\w+", source.full_text.casefold())) for _, source in rows]
    lengths = np.array([sum(bag.values()) for bag in bags], float)
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for at, bag in enumerate(bags):
        for word, count in bag.items():
            postings[word].append((at, count))
    norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    where = {(document.doc_id, source.chunk_index): at for at, (document, source) in enumerate(rows)}

    def bm25(words: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        scores = np.zeros(len(rows))
        for word in re.findall(r"\w+", words.casefold()):
            found = postings.get(word, [])
            idf = math.log(1 + (len(rows) - len(found) + 0.5) / (len(found) + 0.5))
            for at, count in found:
                scores[at] += idf * count * 2.2 / (count + norms[at])
        return scores

    def cosines(words: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        from kgfs.stores.vectors.contract import Filter

        scores = np.full(len(rows), -1.0)
        assert stores.vectors is not None
        for hit in stores.vectors.query(compute.embed([words])[0][0], Filter(kind="source"), 1 << 20):
            scores[where[hit.doc_id, hit.chunk_index]] = hit.score
        least = scores[scores > -1].min()
        return np.maximum(scores, least)

    def ordered(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[Span]:
        order = np.argsort(-scores, kind="stable")[: 400 if prose else max(AT)]
        found = [rows[int(at)] for at in order]
        return [(stem(document.source_uri), source.char_start, source.char_end) for document, source in found]

    def standard(scores: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return (scores - scores.mean()) / (scores.std() or 1.0)

    return {
        "BM25": lambda words: ordered(bm25(words)),
        "MiniLM": lambda words: ordered(cosines(words)),
        "z-score sum": lambda words: ordered(standard(bm25(words)) + standard(cosines(words))),
    }


if __name__ == "__main__":
    main()
