"""What the two indexes of a search cost at a size for which no home is made: ``python -m bench.search_parts --eval DIR [--rows 1000000]``.

Words: segments of 250,000 rows of 120 words, drawn from the words of Cranfield's abstracts with their frequencies; 500
questions of 2 to 10 words ask for the 200 best, and for the scores of 400 Sources. Vectors: those of abstracts with noise; asked
for the 200 nearest by their codes, with the share of the exact 10 and 200 that is found, and by comparing all. Needs about 4 GB
of memory for a million rows. Prints p50, p95 and p99 in milliseconds, in one thread where ``OPENBLAS_NUM_THREADS=1``.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.searching import QUESTIONS, drawn
from bench.vectors import cranfield
from kgfs.compute.local import LocalCompute
from kgfs.domain.word_forms import forms_of
from kgfs.knowledge.words_asked import forms_asked
from kgfs.settings import Models
from kgfs.stores.vectors.contract import Filter
from kgfs.stores.vectors.scan import ATTRIBUTES, Picture, Vocabulary
from kgfs.stores.words.scoring import WordView
from kgfs.stores.words.segment import Segment, hash_of

SEGMENT, OF_A_DOCUMENT, WORDS = 250_000, 20, 120
NOISE = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eval", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    abstracts = cranfield(asked.eval / "cranfield/cran.all.1400")
    questions = drawn(abstracts, QUESTIONS)
    of_words(abstracts, questions, asked.rows)
    of_vectors(abstracts, questions, asked.rows)


def tell(name: str, ask: Callable[[str], Any], questions: Sequence[str]) -> list[Any]:
    took, found = [], []
    for words in questions:
        began = time.perf_counter()
        found.append(ask(words))
        took.append(1000 * (time.perf_counter() - began))
    print(f"{name}: " + " ".join(f"p{share} {np.percentile(took, share):.1f}" for share in (50, 95, 99)), flush=True)
    return found


def of_words(abstracts: Sequence[str], questions: Sequence[str], rows: int) -> None:
    counts = Counter(
        form for text in abstracts for word in re.findall(r"[A-Za-z]+", text) for form in forms_of(word)[:1]
    )
    parts = [_segment(counts, first, min(SEGMENT, rows - first)) for first in range(0, rows, SEGMENT)]
    view = WordView(parts, [np.ones(part.documents, np.bool_) for part in parts])
    size = sum(array.nbytes for part in parts for array in part.arrays().values())
    print(f"{rows:,} rows, {size >> 20} MiB")
    view.best(["flow"], 1)
    found = tell("words: the 200 best", lambda words: view.best(forms_asked(words), 200), questions)
    refs = dict(zip(questions, [[ref for ref, _ in some] for some in found], strict=True))
    others = dict(zip(questions, [*refs.values()][1:] + [*refs.values()][:1], strict=True))
    tell(
        "words: scores of 400", lambda words: view.scores(forms_asked(words), [*refs[words], *others[words]]), questions
    )


def _segment(counts: Counter[str], first: int, rows: int) -> Segment:
    chance = np.random.default_rng(first)
    forms = sorted(counts, key=hash_of)
    shares = np.cumsum(np.array([counts[form] for form in forms], float))
    drawn_ = np.searchsorted(shares, chance.random((rows, WORDS)) * shares[-1]).astype(np.int64)
    key = drawn_ * rows + np.arange(rows)[:, None]
    del drawn_
    key, count = np.unique(key.ravel(), return_counts=True)
    documents = rows // OF_A_DOCUMENT
    ids = np.array([f"{first + n:016x}".encode() for n in range(documents)], np.bytes_)
    encoded = [form.encode() for form in forms]
    return Segment(
        {
            "doc_ids": ids,
            "by_id": np.arange(documents, dtype=np.int32),
            "marks": np.zeros(documents, np.uint64),
            "doc_ontology": np.zeros(documents, np.int32),
            "doc_code": np.zeros(documents, np.bool_),
            "doc_first": np.arange(0, rows + 1, OF_A_DOCUMENT, dtype=np.int32),
            "row_doc": np.repeat(np.arange(documents, dtype=np.int32), OF_A_DOCUMENT),
            "row_chunk": np.tile(np.arange(OF_A_DOCUMENT, dtype=np.int32), documents),
            "row_body": np.full(rows, WORDS, np.int32),
            "row_head": np.zeros(rows, np.int32),
            "words": np.frombuffer(b"".join(encoded), np.uint8),
            "word_at": np.cumsum([0, *map(len, encoded)]).astype(np.int64),
            "hashes": np.array([hash_of(form) for form in forms], np.uint64),
            "post_at": np.searchsorted(key, np.arange(len(forms) + 1) * rows).astype(np.int64),
            "post_row": (key % rows).astype(np.int32),
            "post_body": np.minimum(count, 255).astype(np.uint8),
            "post_head": np.zeros(len(key), np.uint8),
        },
        ["Bench"],
    )


def of_vectors(abstracts: Sequence[str], questions: Sequence[str], rows: int) -> None:
    compute = LocalCompute(Models(embedder="minilm-int8"))
    some = np.stack([each[0] for each in compute.embed(list(abstracts[:300]))])
    matrix = np.empty((rows, some.shape[1]), np.float32)
    for first in range(0, rows, 50_000):
        chance = np.random.default_rng(first)
        part = some[chance.integers(0, len(some), min(50_000, rows - first))]
        part = part + chance.standard_normal(part.shape, np.float32) * NOISE
        matrix[first : first + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    zero, each = np.zeros(rows, np.int32), np.arange(rows, dtype=np.int32)
    vocabulary = Vocabulary()
    for n in range(rows):
        vocabulary.code(str(n))
    columns = dict.fromkeys(ATTRIBUTES, zero) | {"item": each, "window": zero, "chunk_index": zero}
    picture = Picture(matrix, columns, np.ones(rows, np.bool_), vocabulary)
    vectors = {words: compute.embed([words])[0][0] for words in questions}
    picture.best(next(iter(vectors.values())), Filter(), 200, -1.0, exact=False)
    found = tell(
        "vectors: by codes", lambda words: picture.best(vectors[words], Filter(), 200, -1.0, exact=False), questions
    )
    few = questions[:100]
    exact = tell("vectors: all compared", lambda words: picture.best(vectors[words], Filter(), 200, -1.0), few)
    for first in (10, 200):
        same = [
            len({hit.item for hit in one[:first]} & {hit.item for hit in other[:first]}) / first
            for one, other in zip(found, exact, strict=False)
        ]
        print(f"recall@{first}: {np.mean(same):.3f}")


if __name__ == "__main__":
    main()
