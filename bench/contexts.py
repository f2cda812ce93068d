"""What a language model's description of each document brings to search: ``python -m bench.contexts DIR --corpus DIR``.

``DIR`` is as for ``bench.asking``. The documents are read twice by the model that ``KGFS_LLM_BASE_URL`` names (for the annotated documents:
``python tests/data/llm/replay.py``), without descriptions and with them. Printed is where the first passage stands that holds an
annotated quote of a question: among all passages by meaning alone, and as ``kgfs search`` orders them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

from bench.asking import Questions, fill, questions_of, working
from kgfs.app import api
from kgfs.config import Config, load
from kgfs.settings import Models

MOST = 100


def ranks(config: Config, questions: Questions) -> Iterator[tuple[int, int]]:
    """Yield (rank by meaning, rank of a search) of the first right passage of each question; MOST for none."""
    for question, quotes in questions.answerable.items():
        wanted = [" ".join(quote.split()) for _, quote in quotes]
        near = [one.content for one in api.match_chunks(config, question, -1.0, MOST)]
        found = [hit.text for hit in api.search_passages(config, question, limit=MOST).hits]
        yield _first(near, wanted), _first(found, wanted)


def _first(texts: Sequence[str], wanted: Sequence[str]) -> int:
    held = (at for at, text in enumerate(texts, 1) if any(quote in " ".join(text.split()) for quote in wanted))
    return next(held, MOST)


def told(found: Sequence[int]) -> dict[str, float]:
    """Return the shares of questions with a right passage first and among the first five, and the mean reciprocal rank."""
    return {
        "first": round(mean(rank == 1 for rank in found), 3),
        "of first five": round(mean(rank <= 5 for rank in found), 3),
        "mean reciprocal rank": round(mean(1 / rank for rank in found), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", type=Path, help="where documents are that the folder does not have")
    options = parser.parse_args()
    pages = [json.loads(path.read_text("utf-8")) for path in sorted((options.folder / "annotations").glob("*.json"))]
    places = [options.folder / "documents", *([options.corpus] if options.corpus else [])]
    files = [
        next(place / page["document"] for place in places if (place / page["document"]).exists()) for page in pages
    ]
    for contexts in ("off", "on"):
        with tempfile.TemporaryDirectory() as scratch:
            home = Path(scratch) / "home"
            home.mkdir(mode=0o700)
            url = load(home).llm.base_url
            text = f'[llm]\nbase_url = "{url}"\ncontexts = "{contexts}"\n\n[models]\nextractor = "llm"\n'
            (home / "config.toml").write_text(text)
            config = replace(load(home), models=Models(extractor="llm"))
            fill(config, files)
            with working(config):
                found = list(ranks(config, questions_of(pages, [])))
            by_meaning, by_search = told([one for one, _ in found]), told([other for _, other in found])
            print(json.dumps({"contexts": contexts, "by meaning": by_meaning, "search": by_search}))


if __name__ == "__main__":
    main()
