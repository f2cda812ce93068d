"""How many of the nearest Qdrant's graph finds: ``python -m bench.recall [--vectors 20000] [--questions 300]``.

Qdrant's own engine (``qdrant_edge``) holds vectors of the offline embedding model in one collection as kgfs makes it: cosine,
the server's default graph (written out below), payload indexes, and quantised copies in a second pass. Texts are paragraphs
of docstrings of this Python's library and packages; questions are others of them, which were not kept. Each is asked as
:class:`kgfs.stores.vectors.qdrant.QdrantVectors` asks it for ten items, exactly and by the graph, without a filter and with
filters that more and fewer rows pass. Prints the share of the ten that are the same: mean, and the worst twentieth.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import qdrant_edge as edge

from kgfs.models.embedder import MiniLM
from kgfs.stores.vectors.qdrant import BATCH, INDEXED, point_id

TOP = 10
ASKED = max(4 * TOP, 32)
"""Points that the store asks for, to have ten items."""
SHARES = {"all": 1.0, "wide": 0.3, "middle": 0.1, "narrow": 0.01}
"""Parts of the rows that pass a filter by ``ontology``; each row belongs to some of them by chance."""
GRAPH = edge.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=10_000)
OPTIMIZERS = edge.EdgeOptimizersConfig(indexing_threshold=10_000, default_segment_number=1)
"""Defaults of the server, but for one segment, which is the harder case: each segment is searched for as many."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=20_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--made-up", action="store_true", help="vectors in bunches by chance, which takes no model")
    arguments = parser.parse_args()
    vectors = (made_up if arguments.made_up else embedded)(arguments.vectors + arguments.questions)
    kept, asked = vectors[: arguments.vectors], vectors[arguments.vectors :]
    for quantised in (False, True):
        with tempfile.TemporaryDirectory() as scratch:
            shard = filled(Path(scratch), kept, quantised)
            for name, share in SHARES.items():
                show(shard, asked, name, share, quantised)
            shard.close()


def texts() -> Iterator[str]:
    """Paragraphs of docstrings, each once."""
    seen = set()
    for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for path in sorted(Path(folder).rglob("*.py")):
            try:
                tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError, RecursionError):
                continue  # made to fail: a test's
            documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            for node in (node for node in ast.walk(tree) if isinstance(node, documented)):
                for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                    text = " ".join(paragraph.split())[:400]
                    if len(text) > 60 and text not in seen:
                        seen.add(text)
                        yield text


def embedded(count: int) -> npt.NDArray[np.float32]:
    found = [text for text, _ in zip(texts(), range(3 * count), strict=False)]
    random.Random(1).shuffle(found)
    embedder = MiniLM(0)
    assert len(found) >= count, f"only {len(found)} texts are on this machine"
    vectors: list[npt.NDArray[np.float32]] = []
    for start in range(0, count, 64):
        vectors.extend(windows[0] for windows in embedder.embed(found[start : min(count, start + 64)]))
    return np.stack(vectors)


def made_up(count: int) -> npt.NDArray[np.float32]:
    """As texts of some hundred subjects might be: the cosine of two of one subject is about 0.5, of others about 0.1."""
    chance = np.random.default_rng(3)
    common = chance.normal(size=384)
    subjects = chance.normal(size=(200, 384))
    own = chance.normal(size=(count, 384))
    vectors = 0.33 * common + 0.63 * subjects[chance.integers(200, size=count)] + 0.7 * own
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def filled(folder: Path, vectors: npt.NDArray[np.float32], quantised: bool) -> edge.EdgeShard:
    """All in one segment, with its graph."""
    scalar = edge.ScalarQuantizationConfig(type=edge.ScalarType.Int8, always_ram=True)
    config = edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=vectors.shape[1], distance=edge.Distance.Cosine),
        hnsw_config=GRAPH,
        quantization_config=scalar if quantised else None,
        optimizers=OPTIMIZERS,
    )
    shard = edge.EdgeShard.create(str(folder), config)
    for column in INDEXED:
        shard.update(edge.UpdateOperation.create_field_index(column, edge.PayloadSchemaType.Keyword))
    chance = random.Random(2)
    for start in range(0, len(vectors), BATCH):
        points = []
        for number, vector in enumerate(vectors[start : start + BATCH], start):
            ontology = [name for name, share in SHARES.items() if chance.random() < share]
            payload = {"kind": "source", "item": str(number), "ontology": ontology}
            points.append(edge.Point(point_id("source", str(number), 0), vector.tolist(), payload))
        shard.update(edge.UpdateOperation.upsert_points(points))
    shard.optimize()
    found = shard.info()
    assert found.indexed_vectors_count == len(vectors), f"{found.indexed_vectors_count} of {len(vectors)} in the graph"
    return shard


def show(shard: edge.EdgeShard, asked: npt.NDArray[np.float32], name: str, share: float, quantised: bool) -> None:
    match = edge.FieldCondition(key="ontology", match=edge.MatchValue(name))
    where = edge.Filter(must=[match]) if share < 1 else None
    found = sorted(shared(nearest(shard, each, where, True), nearest(shard, each, where, False)) for each in asked)
    line = {
        "passing": share,
        "quantised": quantised,
        "recall": round(float(np.mean(found)), 4),
        "worst twentieth": round(float(np.mean(found[: max(1, len(found) // 20)])), 3),
    }
    print(json.dumps(line), flush=True)


def nearest(shard: edge.EdgeShard, vector: npt.NDArray[np.float32], where: edge.Filter | None, exact: bool) -> set[str]:
    answer = shard.query(
        edge.QueryRequest(
            limit=ASKED,
            query=edge.Query.Nearest(vector.tolist()),
            filter=where,
            params=edge.SearchParams(exact=exact),
        )
    )
    return {str(point.id) for point in answer[:TOP]}


def shared(exact: set[str], found: set[str]) -> float:
    return len(exact & found) / len(exact)


if __name__ == "__main__":
    main()
