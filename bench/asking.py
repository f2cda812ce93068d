"""How well questions are answered without a language model: ``python -m bench.asking DIR [--corpus DIR]``.

``DIR`` has ``annotations/`` (a document each, with questions, answers and the quotes that they rest on) and ``documents/``; documents that
are not there are taken from ``--corpus``. They are read into a home, a worker answers for its models, and each question is asked. A
first citation is right where it stands in the section of one of the question's quotes. Questions without an answer are the annotated ones
and those of ``bench/unanswerable.txt``, about what no document says. Printed are the share of first citations that are right, the share of refused questions
at the setting of kgfs, and both at other thresholds. ``--among`` puts every file of ``--corpus`` into the home, too; ``--alone`` asks each
document's questions, and all others as unanswerable ones, in a home of it alone; ``--words`` has no model compare.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgfs.app.home import open_deposits, open_home
from kgfs.compute.deadline import Deadline
from kgfs.compute.likeness import likeness
from kgfs.config import Config, load
from kgfs.errors import KgfsError
from kgfs.knowledge.ask.asking import weigh
from kgfs.stores.readings import load_reading
from kgfs.stores.stores import Stores

SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
ONTOLOGY = "Corpus"


@dataclass(frozen=True)
class Asked:
    question: str
    answerable: bool
    right: bool
    surety: float
    seconds: float


@dataclass(frozen=True)
class Questions:
    answerable: dict[str, list[tuple[str, str]]]
    """Question → (document, quote) of its answers; documents that share a question share its answers."""
    unanswerable: list[str]


def questions_of(annotations: Sequence[dict[str, Any]], others: Sequence[str]) -> Questions:
    answerable: dict[str, list[tuple[str, str]]] = {}
    unanswerable = list(others)
    for page in annotations:
        for one in page["questions"]:
            quotes = [(page["document"], quote) for sentence in one["answer"] for quote in sentence["quotes"]]
            if quotes:
                answerable.setdefault(one["question"], []).extend(quotes)
            else:
                unanswerable.append(one["question"])
    return Questions(answerable, [one for one in dict.fromkeys(unanswerable) if one not in answerable])


@contextmanager
def working(config: Config) -> Iterator[None]:
    """A worker that has read everything."""
    worker = subprocess.Popen([sys.executable, "-m", "kgfs", "worker", "--home", str(config.home)])
    try:
        subprocess.run([sys.executable, "-m", "kgfs", "wait", "--home", str(config.home)], check=True)
        while not _compares(config):
            time.sleep(0.5)
        yield
    finally:
        worker.terminate()
        worker.wait(60)


def _compares(config: Config) -> bool:
    """Whether the worker's models are loaded."""
    try:
        likeness(config.run, "a", ["a"], [], Deadline(5))
    except KgfsError:
        return False
    return True


def fill(config: Config, files: Sequence[Path]) -> None:
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        for path in files:
            deposits.ingest_file(path, ONTOLOGY, None, lambda size: None)


class Sections:
    """Where sections of documents begin, as their Readings say."""

    def __init__(self, stores: Stores) -> None:
        self._known: dict[str, tuple[str, list[int]]] = {}
        for ontology in stores.catalog.names.ontologies():
            for row in stores.graph.documents(ontology.id, limit=1_000_000):
                reading = load_reading(stores.garage.objects, row.doc_id, row.reading)
                text = "".join(source.full_text for source in stores.graph.sources(row.doc_id, limit=1_000_000))
                self._known[row.original_filename] = text, [start for start, _ in reading.sections]

    def of(self, document: str, position: int) -> tuple[str, int]:
        starts = self._known[document][1] if document in self._known else []
        return document, max((start for start in starts if start <= position), default=-1)

    def of_quote(self, document: str, quote: str) -> tuple[str, int]:
        found = re.search(r"\s+".join(map(re.escape, quote.split())), self._known[document][0])
        if found is None:
            raise SystemExit(f"{document} has no quote {quote!r}")
        return self.of(document, found.start())


def ask_all(config: Config, questions: Questions, documents: set[str]) -> list[Asked]:
    asked: list[Asked] = []
    with open_home(config) as stores:
        sections = Sections(stores)
        for question in (*questions.answerable, *questions.unanswerable):
            quotes = [one for one in questions.answerable.get(question, ()) if one[0] in documents]
            gold = {sections.of_quote(*one) for one in quotes}
            started = time.perf_counter()
            weighing = weigh(stores, config.run, question, "", Deadline(120))
            seconds = time.perf_counter() - started
            first = weighing.candidates.positions[weighing.scored.order[0]] if weighing.scored.order else None
            right = first is not None and sections.of(first.document.original_filename, first.start) in gold
            asked.append(Asked(question, bool(gold), right, weighing.scored.answerable, seconds))
    return asked


def told(asked: Sequence[Asked]) -> dict[str, Any]:
    yes = [one for one in asked if one.answerable]
    no = [one for one in asked if not one.answerable]
    ordered = sorted(one.surety for one in no)
    seconds = sorted(one.seconds for one in asked)

    def at(threshold: float) -> dict[str, float]:
        answered = [one for one in yes if one.surety > threshold]
        right = sum(one.right for one in answered)
        return {
            "threshold": round(threshold, 2),
            "unanswerable refused": round(sum(one.surety <= threshold for one in no) / max(1, len(no)), 3),
            "first right, of all answerable": round(right / max(1, len(yes)), 3),
            "first right, of those answered": round(right / max(1, len(answered)), 3),
        }

    return {
        "answerable": len(yes),
        "unanswerable": len(no),
        "first citation right": round(sum(one.right for one in yes) / max(1, len(yes)), 3),
        "as set": at(0.0),
        "curve": [at(ordered[min(len(ordered) - 1, round(share * len(ordered)) - 1)]) for share in SHARES],
        "seconds p50, most": [round(seconds[len(seconds) // 2], 2), round(seconds[-1], 2)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", type=Path, help="where documents are that the folder does not have")
    parser.add_argument("--among", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--keep", type=Path, help="use this home and leave it")
    parser.add_argument("--all", action="store_true", help="print every question")
    options = parser.parse_args()
    annotations = [
        json.loads(path.read_text("utf-8")) for path in sorted((options.folder / "annotations").glob("*.json"))
    ]
    others = (Path(__file__).parent / "unanswerable.txt").read_text("utf-8").splitlines()
    questions = questions_of(annotations, others)
    places = [options.folder / "documents", *([options.corpus] if options.corpus else [])]
    files = {
        page["document"]: next(place / page["document"] for place in places if (place / page["document"]).exists())
        for page in annotations
    }
    with tempfile.TemporaryDirectory() as scratch:
        if options.alone:
            asked = [
                one for name in files for one in _alone(Path(scratch), name, files[name], questions, options.words)
            ]
        else:
            every = sorted({*files.values(), *(options.corpus.iterdir() if options.among else ())})
            asked = _asked(options.keep or Path(scratch) / "home", every, questions, set(files), options.words)
    if options.all:
        for one in sorted(asked, key=lambda one: (one.answerable, -one.surety)):
            print(f"{one.surety:6.2f} {'right' if one.right else 'wrong' if one.answerable else '-':5} {one.question}")
    print(json.dumps(told(asked), indent=2))


def _alone(scratch: Path, name: str, file: Path, questions: Questions, words: bool) -> list[Asked]:
    own = {text: quotes for text, quotes in questions.answerable.items() if any(one[0] == name for one in quotes)}
    home = scratch / name
    try:
        return _asked(home, [file], Questions(own, questions.unanswerable), {name}, words)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _asked(home: Path, files: Sequence[Path], questions: Questions, documents: set[str], words: bool) -> list[Asked]:
    config = load(home)
    if not config.graph_db.exists():
        fill(config, files)
    with working(config):
        if not words:
            return ask_all(config, questions, documents)
    return ask_all(config, questions, documents)


if __name__ == "__main__":
    main()
