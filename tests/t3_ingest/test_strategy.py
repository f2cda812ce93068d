"""What the strategies pick, and that it matters what they pick."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from kgfs.app.home import open_home
from kgfs.config import Config
from kgfs.domain.identity import norm_hash
from kgfs.errors import BadInputError
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.matching.candidates import offer
from kgfs.ingest.matching.match import match
from kgfs.ingest.matching.publication import carry_out
from kgfs.ingest.reading.embeddings import concept_rows
from kgfs.knowledge.compare import compare
from kgfs.models.contract import Passage
from kgfs.settings import Pipeline as Settings
from kgfs.stores.graph.scoped import SKIP
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import Scope
from kgfs.stores.readings import load_reading
from kgfs.stores.vectors.contract import Filter
from tests.fakes.vectors import MemoryVectors
from tests.support.graph_building import ONTOLOGY, Doc, Told, publish
from tests.support.knowledge_of import knowledge_in
from tests.support.readings import document_of, embeddings_of, reading_of
from tests.support.working import TEXTS, Counting, Embedding, deposit, documents, regenerate, work

A, B = "a" * 16, "b" * 16


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    publish(made, Doc(A, [Told(f"concept {n:02}", 1 + n % 25) for n in range(50)], deposit=1))
    yield made
    made.close()


def labels(graph: Graph, strategy: str, limit: int = 10, doc_id: str = A, scope: Scope | None = None) -> list[str]:
    offered = offer(graph, ONTOLOGY, strategy, limit, doc_id, scope or Scope())
    return [concept.label for concept in offered]


def test_popularity_picks_by_evidence_and_relationships(graph: Graph) -> None:
    publish(
        graph, Doc(B, [Told("concept 00", 24), Told("concept 01", 21)], [("concept 01", "USES", "concept 00", 0.5)])
    )
    # 00 has 1 + 24 pieces of evidence and a relationship, 24 and 49 have 25 pieces each, 01 has 2 + 21 and it.
    assert labels(graph, "popularity", 3) == ["concept 00", *sorted(["concept 24", "concept 49"], key=_by_hash(graph))]
    assert "concept 01" in labels(graph, "popularity", 6)


def _by_hash(graph: Graph):  # type: ignore[no-untyped-def]
    hashes = {concept.label: norm_hash(concept.norm) for concept in graph.concepts(ONTOLOGY)}
    return hashes.__getitem__


def test_random_is_seeded_by_the_document(graph: Graph) -> None:
    one = labels(graph, "random")
    assert one == labels(graph, "random")
    assert len(set(one)) == 10
    assert set(one) != set(labels(graph, "random", doc_id=B))
    assert len({label for n in range(40) for label in labels(graph, "random", doc_id=f"{n:016x}")}) == 50


def test_hybrid_picks_seven_popular_ones_of_ten_and_a_random_tail(graph: Graph) -> None:
    one, other, popular = labels(graph, "hybrid"), labels(graph, "hybrid", doc_id=B), labels(graph, "popularity", 7)
    assert one[:7] == other[:7] == popular
    assert len(set(one)) == len(set(other)) == 10
    assert set(one[7:]) != set(other[7:])
    assert len(labels(graph, "hybrid", 500)) == 50


def test_only_what_is_in_scope_is_offered(graph: Graph) -> None:
    publish(graph, Doc(B, [Told("concept 07"), Told("late")], deposit=9))
    for strategy in ("random", "popularity", "hybrid"):
        assert sorted(labels(graph, strategy, scope=Scope(since=2))) == ["concept 07", "late"]
        assert labels(graph, strategy, scope=Scope(since=2, but=B)) == []


def test_an_unknown_strategy_is_refused(graph: Graph) -> None:
    with pytest.raises(BadInputError, match="Unknown strategy 'best'; known are random, popularity, hybrid"):
        labels(graph, "best")


@pytest.mark.parametrize(("strategy", "how"), [("popularity", "new"), ("random", "embedding"), ("hybrid", "embedding")])
def test_likeness_joins_only_what_the_strategy_of_the_reading_offers(strategy: str, how: str) -> None:
    graph, vectors = Graph(None), MemoryVectors("test")
    text = "Type hints help. Duck typing helps. Duck typing is old. More on it here."
    document = document_of(text)
    told = {"Type hints": ["Type hints help."], "Duck typing": ["Duck typing helps.", "Duck typing is old."]}
    first = reading_of(document, text, told)
    decisions = match(graph, None, ONTOLOGY, first, None, Settings())
    carry_out(graph, document, first, decisions, text=text, content_version=1, supersedes=(), at=1)
    found = embeddings_of(first, {"Type hints": (1.0, 0.0, 0.0), "Duck typing": (0.0, 1.0, 0.0)})
    vectors.upsert(concept_rows(ONTOLOGY, first, decisions, found))
    other = document_of(text + " ", "b.txt", 2)
    later = reading_of(other, text + " ", {"type hinting": ["More on it here."]}, strategy=strategy)
    settings = Settings(known_concepts=1 if strategy == "popularity" else 2, strategy="popularity")
    ours = embeddings_of(later, {"type hinting": (1.0, 0.1, 0.0)})
    decided = match(graph, vectors, ONTOLOGY, later, ours, settings)
    assert [concept.how for concept in decided.concepts] == [how]
    graph.close()


# ------------------------------------------------------------------------------------ with vectors, end to end


@dataclass
class Shown(Counting):
    """Looks at what it is shown."""

    takes_known = True
    shown: list[Sequence[str]] = field(default_factory=list)

    def extract(self, passages: Sequence[Passage], known: Sequence[str]) -> list[str]:
        self.shown.append(known)
        return super().extract(passages, known)

    @property
    def extractor(self) -> str:
        return "looking/1"


def test_an_extractor_that_looks_is_shown_what_the_strategy_offers(home: Path, tmp_path: Path) -> None:
    config = Config(home=home, pipeline=Settings(known_concepts=3))
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, **TEXTS)
        work(config, stores, Counting())
        [ontology] = stores.catalog.names.ontologies()
        deposit(config, stores, tmp_path, z="Zen is a school of Buddhism. A koan is a riddle of Zen practice.")
        compute = Shown()
        work(config, stores, compute)
        [offered] = compute.shown
        assert len(offered) == 3
        assert set(offered) <= {concept.label for concept in stores.graph.concepts(ontology.id)}
        [document] = [d for d in documents(stores) if d.source_id.endswith("/z.txt")]
        assert load_reading(stores.garage.objects, document.doc_id, document.reading).known == tuple(offered)
        [pack] = [key for key, _ in stores.garage.objects.keys(f"records/{document.doc_id}/")]
        assert json.loads(stores.garage.objects.get(pack))["known"] == list(offered)


def test_strategies_give_other_graphs_nothing_is_embedded_twice_and_rebuilding_gives_the_same(
    home: Path, tmp_path: Path
) -> None:
    config = Config(home=home, pipeline=Settings(known_concepts=3, match_threshold=0.85))
    with open_home(config, vectors_of="letters/1") as stores:
        assert stores.vectors is not None
        deposit(
            config, stores, tmp_path, **TEXTS, d="Tracing collection of garbage. Cycle references count for tracers."
        )
        work(config, stores, Embedding())
        [ontology] = stores.catalog.names.ontologies()
        graphs = {}
        for strategy in ("hybrid", "popularity", "random", "hybrid"):
            regenerate(stores, strategy=strategy)
            compute = Embedding()
            work(config, stores, compute)
            assert compute.embedded == []
            concepts = knowledge_in(stores)["Test"]["concepts"]
            found = {name: sorted(e[2:5] for e in concept["evidence"]) for name, concept in concepts.items()}
            assert graphs.setdefault(strategy, found) == found, (
                "the same strategy, whatever stood there, the same graph"
            )
        assert len({repr(found) for found in graphs.values()}) > 1
        compared = compare(stores, ontology)
        assert compared.whole.rejoined
        assert compared.before == ["statistics/1, random"]
        assert compared.now == ["statistics/1, hybrid"]
        before = knowledge_in(stores), _rows(stores.vectors)
        rebuild(stores)
        assert (knowledge_in(stores), _rows(stores.vectors)) == before
        assert len(documents(stores)) == 4


WORDS = [
    "tide",
    "gate",
    "mill",
    "quay",
    "lamp",
    "bell",
    "fog",
    "wind",
    "mast",
    "rope",
    "anchor",
    "pilot",
    "berth",
    "buoy",
    "wave",
    "sand",
    "stone",
    "lens",
    "clock",
    "keeper",
]


@pytest.mark.parametrize("strategy", ["popularity", "random", "hybrid"])
def test_two_homes_find_the_same_concepts_in_the_same_files(tmp_path: Path, strategy: str) -> None:
    """With more concepts than a document is compared with, of which many are alike by their letters."""
    known = []
    for home in ("one", "other"):
        settings = Settings(known_concepts=5, match_threshold=0.8, strategy=strategy)
        config = Config(home=tmp_path / home, pipeline=settings)
        with open_home(config, vectors_of="letters/1") as stores:
            texts = {
                f"d{n:02}": " ".join(
                    f"The {a} {b} is a {b} {WORDS[n]}. A {b} {WORDS[n]} needs the {a} {b}." for a, b in pairs
                )
                for n, pairs in enumerate(pairwise(WORDS[n:]) for n in range(len(WORDS) - 3))
            }
            deposit(config, stores, tmp_path, **texts)
            work(config, stores, Embedding())
            [ontology] = stores.catalog.names.ontologies()
            concepts = stores.graph.concepts(ontology.id)
            assert len(concepts) > 2 * settings.known_concepts + SKIP
            known.append({concept.label: concept.aliases for concept in concepts})
    assert any(known[0].values()), "some were joined"
    assert known[0] == known[1]


def _rows(vectors: object) -> list[tuple[object, ...]]:
    rows = vectors.fetch(Filter())  # type: ignore[attr-defined]
    return [(row.kind, row.item, row.window, row.vector.tobytes()) for row in rows]
