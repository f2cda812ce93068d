"""How well searches find known passages of prose: ``python -m bench.passages QUESTIONS DIR [--keep HOME]``.

QUESTIONS has lines of a question, the name of a file in DIR, and words of a passage that answers, parted by tabs;
``bench/passages_of_peps.tsv`` asks about PEPs. All files of DIR are read into a home, without an extractor, and each
question is asked as a user asks it (plain passages), with the embedding model and by words alone. Prints the share of
questions of which a Source with a passage's first character is among the first 1, 5, 10 and 20. The baselines are
those of ``bench.retrieval``. White space of a passage may differ from the text's.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.retrieval import MODELS, PATIENCE, Span, baselines, home
from kgfs.compute.answering import answering
from kgfs.compute.deadline import Deadline
from kgfs.compute.local import LocalCompute
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.knowledge.search import passages, search
from kgfs.settings import Models

AT = (1, 5, 10, 20)


@dataclass(frozen=True)
class Question:
    words: str
    places: tuple[tuple[str, int], ...]
    """The file's name without its ending, and the position of the first character, of each passage that answers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--models", nargs="*", default=["fp32"], choices=[*MODELS])
    parser.add_argument("--no-baselines", action="store_true")
    parser.add_argument("--misses", action="store_true", help="list the questions that are not in the first five")
    asked = parser.parse_args()
    texts = {path.stem: path.read_text("utf-8") for path in sorted(asked.folder.iterdir())}
    ending = next(path.suffix.removeprefix(".") for path in sorted(asked.folder.iterdir()))
    questions = questions_of(asked.questions, texts)
    with ExitStack() as stack:
        folder = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for model in asked.models:
            compute = LocalCompute(Models(embedder=MODELS[model]))
            with home(folder / f"{model}-passages", texts, compute, ending=ending) as (config, stores):

                def ask(words: str) -> list[Span]:
                    found = search(stores, config.run, words, "", Deadline(PATIENCE))
                    page, _ = passages(stores, found, max(AT))
                    return [(Path(hit.path).stem, hit.char_start, hit.char_end) for hit in page.hits]

                print(f"{model}, words alone: {found_among(ask, questions)}", flush=True)
                with QuestionServer(config.run, answering(Materials(compute.embed, stores.vectors))):
                    print(f"{model}, hybrid: {found_among(ask, questions)}", flush=True)
                    for question in questions if asked.misses else ():
                        if (rank := rank_of(ask, question)) >= 5:
                            print(f"  {rank + 1 if rank < max(AT) else '-'} {question.words}")
                if not asked.no_baselines:
                    for baseline, ranked in baselines(stores, compute, prose=False).items():
                        print(f"{model}, {baseline}: {found_among(ranked, questions)}", flush=True)


def questions_of(path: Path, texts: Mapping[str, str]) -> list[Question]:
    """Return the questions of a file. Ends the program where a passage does not stand in its text."""
    found: dict[str, list[tuple[str, int]]] = {}
    for line in path.read_text("utf-8").splitlines():
        words, file, passage = line.split("\t")
        stem = Path(file).stem
        place = re.search(r"\s+".join(map(re.escape, passage.split())), texts[stem])
        if place is None:
            raise SystemExit(f"{file} has no passage {passage!r}")
        found.setdefault(words, []).append((stem, place.start()))
    return [Question(words, tuple(places)) for words, places in found.items()]


def rank_of(ask: Callable[[str], Sequence[Span]], question: Question) -> int:
    """Return the number, from 0, of the first Source that has the passage; that of all Sources where none has."""
    spans = ask(question.words)
    hits = (
        at
        for at, (file, start, end) in enumerate(spans)
        if any(name == file and start <= place < end for name, place in question.places)
    )
    return next(hits, max(AT))


def found_among(ask: Callable[[str], Sequence[Span]], questions: Sequence[Question]) -> str:
    ranks = [rank_of(ask, question) for question in questions]
    return "/".join(f"{100 * sum(rank < first for rank in ranks) / len(ranks):.1f}" for first in AT)


if __name__ == "__main__":
    main()
