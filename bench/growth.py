"""How the time to match and commit a document grows with the library: ``python -m bench.growth FOLDER [--documents 100000]``.

Documents are made up with what a reader finds in them: each founds a concept or two, has six candidates of earlier documents,
the commoner the earlier they came (a few stand in a third of all), and a heading. Matching, places and the commit are
the product's own, on a graph in FOLDER. Printed are processor milliseconds of a document of match, places and commit, the
median and the mean of the last 200 documents, at 1,000, 10,000 … documents. With ``--profile`` the functions that the last 200 spent most in.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import json
import pstats
import random
import statistics
import time
from contextlib import closing, nullcontext
from pathlib import Path

from bench.generated import composed, found_concept, reading
from kgfs.domain.documents import INGEST_VERSION, Document, State
from kgfs.domain.knowledge import FoundRelationship
from kgfs.ingest.matching.match import match
from kgfs.ingest.matching.naming import with_places
from kgfs.ingest.matching.publication import carry_out
from kgfs.settings import Pipeline
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.readings import Reading

ONTOLOGY = "growing"
EARLIER = 6
"""Candidates of a document that earlier ones had."""
SAMPLE = 200
SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "wa", "xe", "zi")
SENTENCES = (
    "The {one} is a part of the {other} that holds water.",
    "Every {one} was made by hand.",
    "One {one} stands there.",
)


def label(number: int) -> str:
    """A name of two words for each number."""
    words = []
    for part in (number, number * 7919 + 13):
        word = ""
        for _ in range(4):
            part, which = divmod(part, len(SYLLABLES))
            word += SYLLABLES[which]
        words.append(word)
    return " ".join(words)


def document_of(number: int) -> tuple[Document, Reading, str]:
    """Return a made-up document with its Reading and Text."""
    chance = random.Random(number)
    own = [2 * number, 2 * number + 1][: chance.randint(1, 2)]
    drawn = {int(2 * number * chance.random() ** 4) for _ in range(EARLIER)} if number else set()
    labels = [label(one) for one in dict.fromkeys([*own, *sorted(drawn)])]
    title = f"Notes {number}"
    subjects = [[(one, labels[index - 1])] for index, one in enumerate(labels)]
    text, chunks, quoted = composed(subjects, SENTENCES, title, f"# {title}\n\n")
    found = [found_concept(one, (one, f"{one}s"), quotes, 1.5 + 2 * chance.random()) for one, quotes in quoted]
    pairs = [
        FoundRelationship(one.norm, "RELATED_TO", other.norm, one.quotes[0], 1.0)
        for one, other in itertools.pairwise(found)
    ]
    doc_id = f"{chance.getrandbits(64):016x}"
    document = Document(
        doc_id=doc_id,
        ontology=ONTOLOGY,
        source_id=f"{ONTOLOGY}/notes/{number:06}.md",
        sha256=f"{number:064x}",
        size=len(text),
        key=f"sources/growing/{number:032x}.md",
        state=State.WORKING,
        deposit=number + 1,
        ingest_version=INGEST_VERSION,
    )
    made = reading(
        document, text, chunks, found, pairs, title=title, media_type="text/markdown", sections=((0, (title,)),)
    )
    return document, made, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--at", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    stops = sorted({*(at for at in options.at if at <= options.documents), options.documents})
    with closing(Graph(options.folder / "graph.sqlite")) as graph:
        begun = time.perf_counter()
        done = graph.counts(ONTOLOGY).get("documents", 0)
        for stop in (stop for stop in stops if stop > done):
            while done < stop - SAMPLE:
                publish(graph, done)
                done += 1
            profile = cProfile.Profile() if options.profile else None
            with profile or nullcontext():
                took = [publish(graph, number) for number in range(done, stop)]
            done = stop
            told(graph, took, begun)
            if profile is not None:
                pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


def publish(graph: Graph, number: int) -> tuple[float, float, float]:
    """Return the processor milliseconds of match, places and commit of one document."""
    document, made, text = document_of(number)
    times = [time.process_time()]
    decisions = match(graph, None, ONTOLOGY, made, None, Pipeline())
    times.append(time.process_time())
    decisions = with_places(graph, ONTOLOGY, made, decisions, text)
    times.append(time.process_time())
    carry_out(graph, document, made, decisions, text=text, content_version=1, supersedes=(), at=number + 1)
    times.append(time.process_time())
    match_, places, commit = (1000 * (after - before) for before, after in itertools.pairwise(times))
    return match_, places, commit


def told(graph: Graph, took: list[tuple[float, float, float]], begun: float) -> None:
    counts = graph.counts(ONTOLOGY)
    columns = dict(zip(("match", "places", "commit"), zip(*took, strict=True), strict=True))
    columns["all"] = tuple(map(sum, took))
    print(
        json.dumps(
            {
                "documents": counts["documents"],
                "concepts": counts["concepts"],
                "quotes": counts["instances"],
                **{
                    f"{name}_ms": [round(statistics.median(values), 2), round(statistics.fmean(values), 2)]
                    for name, values in columns.items()
                },
                "seconds": round(time.perf_counter() - begun, 1),
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()
