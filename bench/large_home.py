"""What else a large home costs: ``python -m bench.large_home HOME --eval DIR [--new 20] [--purge]``.

HOME was made by ``bench.generated_home`` (``bench.searching`` makes it). Prints the time and the memory until the first
question is answered; how many of the exact 10 and 200 nearest the vectors' codes find; the times of match_chunks, exact under
filters; what it takes until a new text is found, and questions that are each asked after one was published (``--new``); with
``--purge`` the seconds that it takes to erase one document, and the first question after it. All in one process, by the
product's functions, with the model beside.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench.generated_home import SOURCES, Generator
from bench.labelled import cranfield
from bench.searching import drawn
from kgfs.app.forgetting import forget
from kgfs.app.home import open_home
from kgfs.compute.answering import answering
from kgfs.compute.contract import LocalEngine
from kgfs.compute.deadline import Deadline
from kgfs.compute.local import LocalCompute
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.config import Config, load
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.knowledge.by_document import documents
from kgfs.knowledge.match import MatchFilters, match_chunks
from kgfs.knowledge.search import search
from kgfs.settings import Models
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter

ASKED = 60
"""Questions of which the nearest are compared; a third of them is asked of match_chunks under each filter."""
FILTERS = {
    "no filter": MatchFilters(),
    "ontology": MatchFilters(ontology="Bench"),
    "type": MatchFilters(type="md"),
    "path": MatchFilters(path="0001"),
    "after a date": MatchFilters(after="2024"),
    "path, type and date": MatchFilters(path="00", type="md", after="2022", before="2025"),
    "ingest_version": MatchFilters(ingest_version=1),
}

PURGING = ("purge", "redact", "erase", "scrub", "_merge_words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=ASKED)
    parser.add_argument("--new", type=int, default=20)
    parser.add_argument("--purge", action="store_true")
    asked = parser.parse_args()
    config = load(asked.home)
    abstracts = cranfield(asked.eval / "cranfield/cran.all.1400")
    questions = drawn(abstracts, asked.questions)
    compute = LocalCompute(Models(embedder="minilm-int8"))
    compute.embed(["warm"])
    print(f"before a home is open: {memory()}")
    with open_home(config, vectors_of=compute.embedding_model) as stores:
        materials = Materials(compute.embed, stores.vectors)
        assert stores.vectors is not None
        with taken("vectors are looked at first"):
            stores.vectors.query(compute.embed(["warm"])[0][0], Filter(kind="source"), 200)
        with QuestionServer(config.run, answering(materials)):
            with taken("the first question"):
                ask(config, stores, questions[0])
            print(f"when it is answered: {memory()}")
            nearest(compute, stores, questions)
            for name, filters in FILTERS.items():
                tell(
                    f"match_chunks, {name}",
                    partial(matched, config, stores, filters),
                    questions[: asked.questions // 3],
                )
            print(f"when all is asked: {memory()}")
            new_texts(config, stores, compute, abstracts, questions[: asked.new])
        with taken("the index of words brought up to date, and checked whole"):
            stores.graph.index_words()
            print(stores.graph._word_index().fault() or "no fault", end="; ")
    if asked.purge:
        purged(config, compute, questions[0])


def ask(config: Config, stores: Stores, words: str) -> list[str]:
    found = search(stores, config.run, words, "", Deadline(120.0))
    page, _ = documents(stores, found)
    return [one.doc_id for one in page.documents]


def matched(config: Config, stores: Stores, filters: MatchFilters, words: str) -> None:
    match_chunks(stores, config.run, words, 0.0, 10, filters, Deadline(120.0))


def nearest(compute: LocalCompute, stores: Stores, questions: Sequence[str]) -> None:
    assert stores.vectors is not None
    some, exact, times = [], [], []
    for words in questions:
        vector = compute.embed([words])[0][0]
        began = time.process_time()
        some.append(stores.vectors.query(vector, Filter(kind="source"), 200))
        between = time.process_time()
        exact.append(stores.vectors.query(vector, Filter(kind="source"), 200, exact=True))
        times.append((between - began, time.process_time() - between))
    for first in (10, 200):
        pairs = [[{hit.item for hit in hits[:first]} for hits in both] for both in zip(some, exact, strict=True)]
        shares = [len(one & other) / first for one, other in pairs]
        print(f"recall@{first} of the vectors' codes: {np.mean(shares):.4f}")
    by_codes, all_compared = 1000 * np.median(np.array(times), axis=0)
    print(f"vectors, p50 of CPU: by codes {by_codes:.1f} ms, all compared {all_compared:.1f} ms", flush=True)


def new_texts(
    config: Config, stores: Stores, compute: LocalCompute, abstracts: Sequence[str], questions: Sequence[str]
) -> None:
    """Publish texts. After each of them ask for a word of it, and then another question."""
    generator = Generator(config, compute, abstracts)
    engine = LocalEngine(compute, stores.garage.objects)
    pipeline = Pipeline(config, stores, compute, StageClock(), engine)
    times: list[list[tuple[float, float]]] = []
    for words in questions:
        mark = f"mark{time.time_ns()}"
        texts = [mark + " " + text for text in generator.texts(time.time_ns())]
        vectors = generator.vectors(np.random.default_rng(), SOURCES)
        at = [_now()]
        doc_id = generator.publish(stores, pipeline, f"{mark}.txt", texts, vectors)
        at.append(_now())
        if doc_id not in ask(config, stores, mark):
            raise SystemExit("A new text is not found.")
        at.append(_now())
        ask(config, stores, words)
        at.append(_now())
        times.append([(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(at)])
    named = ("deposited and published", "found by the next question", "another question behind it")
    print(f"{len(questions)} new texts of {SOURCES} Sources")
    for name, (wall, busy) in zip(named, 1000 * np.median(np.array(times), axis=0), strict=True):
        print(f"  {name}: p50 {wall:.0f} ms, {busy:.0f} ms of CPU", flush=True)


def purged(config: Config, compute: LocalCompute, words: str) -> None:
    """Erase the first document, whose Sources and vectors stand before all others."""
    with taken("purge of one document"):
        seen = cProfile.Profile()
        seen.enable()
        forget(config, ["Bench/documents/000000.txt"], "orphans", purge=True, agree=lambda proposal: True)
        seen.disable()
    for (file, _, function), (*_, whole, _) in sorted(pstats.Stats(seen).stats.items()):  # type: ignore[attr-defined]
        if function in PURGING and "/stores/" in file:
            print(f"  {Path(file).parent.name}/{Path(file).stem}.{function}: {whole:.1f} s")
    with open_home(config, vectors_of=compute.embedding_model) as stores:
        assert stores.vectors is not None
        with taken("vectors are looked at first after it"):
            stores.vectors.query(compute.embed(["warm"])[0][0], Filter(kind="source"), 200)
        with taken("the first question by words after it"):
            ask(config, stores, words)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def tell(name: str, ask_: Callable[[str], object], questions: Sequence[str]) -> None:
    took = []
    for words in questions:
        began = time.perf_counter(), time.process_time()
        ask_(words)
        took.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    wall, busy = 1000 * np.array(took[1:]).T
    shares = " ".join(f"p{share} {np.percentile(wall, share):.0f}" for share in (50, 95))
    print(f"{name}: {shares} ms, CPU p50 {np.median(busy):.0f} ms", flush=True)


@contextmanager
def taken(name: str) -> Iterator[None]:
    began = time.perf_counter(), time.process_time()
    yield
    wall, busy = time.perf_counter() - began[0], time.process_time() - began[1]
    print(f"{name}: {wall:.2f} s, {busy:.2f} s of CPU", flush=True)


def memory() -> str:
    """Return the memory of this process: its own, and that of mapped files, in MiB."""
    status = Path("/proc/self/status").read_text()
    own, files = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) >> 10 for name in ("RssAnon", "RssFile"))
    return f"{own} MiB of its own, {files} MiB of files"


if __name__ == "__main__":
    main()
