"""How long a search takes in a generated home: ``python -m bench.searching HOME --eval DIR [--sources 100000] [--mount MOUNTPOINT]``.

HOME is made by ``bench.generated_home`` if it is not there, and kept; where that takes longer than ``--seconds`` the same
command goes on with it. Then 500 (``--questions``) different questions of 2 to 10 words, none asked before, are asked by the product's functions
with the model beside, in one process. Prints p50, p95 and p99 in milliseconds, and what the time goes into. With ``--mount``
the same is done through a mount of HOME, whose worker must run: from opendir of ``search/<words>`` to the last byte of
``results.json``. ``--profile FILE`` writes what cProfile sees of the questions.
"""

from __future__ import annotations

import argparse
import cProfile
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.generated_home import Generator
from bench.labelled import cranfield
from kgfs.app.home import open_home
from kgfs.compute.answering import answering
from kgfs.compute.deadline import Deadline
from kgfs.compute.local import LocalCompute
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.config import Config, load
from kgfs.knowledge.by_document import documents
from kgfs.knowledge.search import search
from kgfs.render.results import results_json, texts_shown
from kgfs.render.source import Marks
from kgfs.settings import Models
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter

QUESTIONS = 500
FEW = 50
"""Questions asked before, which are not counted."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--sources", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--mount", type=Path)
    parser.add_argument("--profile", type=Path)
    asked = parser.parse_args()
    config = load(asked.home)
    abstracts = cranfield(asked.eval / "cranfield/cran.all.1400")
    questions = drawn(abstracts, asked.questions + FEW)
    if asked.mount:
        through_mount(asked.mount, questions)
        return
    compute = LocalCompute(Models(embedder="minilm-int8"))
    if not Generator(config, compute, abstracts).make(asked.sources, asked.seconds):
        print("It is not complete yet: run it again.")
        return
    with open_home(config, vectors_of=compute.embedding_model) as stores:
        counts = stores.graph.counts()
        print(f"{asked.sources:,} Sources of {counts['documents']:,} documents; {', '.join(sizes(config))}")
        assert stores.vectors is not None
        stores.vectors.query(compute.embed(["warm"])[0][0], Filter(kind="source"))  # reads all rows once
        with QuestionServer(config.run, answering(Materials(compute.embed, stores.vectors))):
            by_the_api(config, stores, questions, asked.profile)


def by_the_api(config: Config, stores: Stores, questions: Sequence[str], profile: Path | None) -> None:
    parts: dict[str, float] = {}
    ways: Counter[str] = Counter()

    def ask(words: str) -> None:
        at = [time.perf_counter()]
        found = search(stores, config.run, words, "", Deadline(60.0))
        at.append(time.perf_counter())
        page, _ = documents(stores, found)
        at.append(time.perf_counter())
        results_json(page, texts_shown(page, Marks()))
        at.append(time.perf_counter())
        ways[found.only_text or "words and meaning"] += 1
        for name, seconds in zip(("search", "documents", "results.json"), np.diff(at), strict=True):
            parts[name] = parts.get(name, 0.0) + float(seconds)

    seen = cProfile.Profile()
    if profile:
        seen.enable()
    tell("by the api", ask, questions)
    seen.disable()
    if profile:
        seen.dump_stats(profile)
    print({name: f"{1000 * seconds / len(questions):.1f} ms" for name, seconds in parts.items()}, dict(ways))


def tell(name: str, ask: Callable[[str], None], questions: Sequence[str]) -> None:
    took, busy = [], []
    for number, words in enumerate(questions):
        began, processor = time.perf_counter(), time.process_time()
        ask(words)
        if number >= FEW:
            took.append(1000 * (time.perf_counter() - began))
            busy.append(1000 * (time.process_time() - processor))
    shares, of_cpu = (
        " ".join(f"p{share} {np.percentile(each, share):.1f}" for share in (50, 95, 99)) for each in (took, busy)
    )
    print(f"{name}: {shares} ms; CPU of this process {of_cpu} ms; {len(took)} questions", flush=True)


def through_mount(mount: Path, questions: Sequence[str]) -> None:
    def ask(words: str) -> None:
        folder = mount / "search" / words
        list(folder.iterdir())
        (folder / "results.json").read_bytes()

    tell("through the mount", ask, questions)


def drawn(abstracts: Sequence[str], count: int) -> list[str]:
    """Return different questions of 2 to 10 words, drawn from sentences of the abstracts and of all words."""
    chance = random.Random(time.time_ns())  # so that none was asked before
    found: dict[str, None] = {}
    while len(found) < count:
        words = re.findall(r"[a-z]+", chance.choice(abstracts).lower())
        if len(words) > 20:
            found[" ".join(chance.sample(words, chance.randint(2, 10)))] = None
    return list(found)


def sizes(config: Config) -> Iterator[str]:
    """Yield the MiB of each part of a home that a search reads."""
    home = config.graph_db.parent
    for name in ("catalog.sqlite", "graph.sqlite", "vectors.sqlite*", "words"):
        files = [path for found in home.glob(name) for path in (found.iterdir() if found.is_dir() else [found])]
        yield f"{name} {sum(path.stat().st_size for path in files) >> 20} MiB"


if __name__ == "__main__":
    main()
