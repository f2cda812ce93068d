"""What a vector store promises, for each implementation; and what only the one in a file can show."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kgfs.errors import BadInputError, StoreError, TimedOutError
from kgfs.settings import Vectors as Settings
from kgfs.stores.vectors import scan
from kgfs.stores.vectors.contract import Filter, Row, Vector, Vectors
from kgfs.stores.vectors.sqlite import SqliteVectors
from tests.fakes.vectors import MemoryVectors
from tests.support.peers.losing import Losing

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

MODEL = "small/1"
SERVERS = ("qdrant-wire", "qdrant")


@pytest.fixture(params=["sqlite", "memory", *SERVERS])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Vectors]:
    store: Vectors
    if request.param == "sqlite":
        store = SqliteVectors(tmp_path / "v.sqlite", MODEL)
    elif request.param == "memory":
        store = MemoryVectors(MODEL)
    else:
        store = on_server(part_of(request.param, request))
    yield store
    store.clear()
    store.close()


def part_of(server: str, request: pytest.FixtureRequest) -> Settings:
    """A part of its own of one of :data:`SERVERS`, which others use too."""
    url = request.getfixturevalue("qdrant_url" if server == "qdrant" else "qdrant_wire_url")
    return Settings(store="qdrant", url=url, prefix=f"test-{secrets.token_hex(6)}")


def on_server(place: Settings, model: str = MODEL) -> Vectors:
    from kgfs.stores.vectors.qdrant import QdrantVectors

    return QdrantVectors(place, os.environ.get("QDRANT_API_KEY", ""), model)


@pytest.fixture(params=SERVERS)
def place(request: pytest.FixtureRequest) -> Settings:
    return part_of(request.param, request)


@pytest.fixture
def people(place: Settings) -> Iterator[QdrantClient]:
    """A client of those who ask the server by other means. When it goes, nothing is left of the test's part."""
    from qdrant_client import QdrantClient

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a key that is sent in the clear
        client = QdrantClient(url=place.url, api_key=os.environ.get("QDRANT_API_KEY"), check_compatibility=False)
    with closing(client):
        yield client
        for each in client.get_collections().collections:
            if each.name.startswith(place.prefix):
                client.delete_collection(each.name)


def vector(*numbers: float) -> Vector:
    return np.array(numbers, np.float32)


def row(item: str, *numbers: float, window: int = 0, kind: str = "source", **more: str | int) -> Row:
    return Row(kind, item, window, vector(*numbers), **more)  # type: ignore[arg-type]


def of(doc_id: str) -> Filter:
    return Filter(doc_ids=frozenset({doc_id}))


def found(store: Vectors, *numbers: float, where: Filter | None = None, **options: float) -> list[str]:
    return [hit.item for hit in store.query(vector(*numbers), where or Filter(), **options)]  # type: ignore[arg-type]


def test_the_nearest_comes_first_with_its_cosine(vectors: Vectors) -> None:
    vectors.upsert([row("east", 2, 0), row("north", 0, 5), row("north-east", 1, 1)])
    hits = vectors.query(vector(3, 0), Filter())
    assert [hit.item for hit in hits] == ["east", "north-east", "north"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)


def test_vectors_are_kept_with_length_one(vectors: Vectors) -> None:
    vectors.upsert([row("a", 3, 4)])
    assert vectors.fetch(Filter())[0].vector == pytest.approx([0.6, 0.8])


def test_a_row_comes_back_as_it_was_given(vectors: Vectors) -> None:
    given_row = row(
        "a", 1, 0, window=3, ontology="o", doc_id="d", chunk_index=7, source_variant="normalized", role="r",
        domain="m", authority="high",
    )  # fmt: skip
    vectors.upsert([given_row])
    (back,) = vectors.fetch(Filter())
    for name in ("kind", "item", "window", "ontology", "doc_id", "chunk_index", "source_variant", "role", "domain"):
        assert getattr(back, name) == getattr(given_row, name)
    assert back.authority == "high"
    (hit,) = vectors.query(vector(1, 0), Filter())
    assert (hit.kind, hit.item, hit.window, hit.doc_id, hit.chunk_index) == ("source", "a", 3, "d", 7)


def test_upsert_replaces_by_key(vectors: Vectors) -> None:
    vectors.upsert([row("a", 1, 0, role="old"), row("b", 1, 1)])
    assert found(vectors, 1, 0) == ["a", "b"]
    vectors.upsert([row("a", 0, 1, role="new")])
    assert found(vectors, 1, 0) == ["b", "a"]
    assert [r.role for r in vectors.fetch(Filter(items=frozenset({"a"})))] == ["new"]
    assert vectors.count() == 2


def test_an_item_appears_once_by_its_best_window(vectors: Vectors) -> None:
    vectors.upsert([row("long", 0, 1, window=0), row("long", 1, 0, window=1), row("short", 1, 1)])
    hits = vectors.query(vector(1, 0), Filter())
    assert [(hit.item, hit.window) for hit in hits] == [("long", 1), ("short", 0)]


def test_many_windows_of_one_item_do_not_crowd_out_others(vectors: Vectors) -> None:
    vectors.upsert([row("long", 1, 0.001 * w, window=w) for w in range(200)] + [row("other", 0, 1)])
    assert found(vectors, 1, 0, limit=2) == ["long", "other"]


def test_ties_go_by_item(vectors: Vectors) -> None:
    vectors.upsert([row(item, 1, 0) for item in "dbca"])
    assert found(vectors, 1, 0, limit=3) == ["a", "b", "c"]


def test_threshold_and_limit(vectors: Vectors) -> None:
    vectors.upsert([row("a", 1, 0), row("b", 1, 1), row("c", -1, 0)])
    assert found(vectors, 1, 0, threshold=0.5) == ["a", "b"]
    assert found(vectors, 1, 0, limit=1) == ["a"]
    assert found(vectors, 1, 0, limit=0) == []


@pytest.mark.parametrize(
    ("where", "passing"),
    [
        (Filter(), {"a", "b", "c"}),
        (Filter(kind="concept"), {"c"}),
        (Filter(ontology="o1"), {"a", "c"}),
        (Filter(items=frozenset({"a", "c", "x"})), {"a", "c"}),
        (Filter(items=frozenset()), set()),
        (Filter(doc_ids=frozenset({"d2", "x"})), {"b"}),
        (Filter(doc_ids=frozenset()), set()),
        (Filter(kind="source", ontology="o1"), {"a"}),
        (Filter(equal={"role": "metric"}), {"a"}),
        (Filter(equal={"role": "metric", "authority": "low"}), set()),
        (Filter(ontology="unknown"), set()),
    ],
)
def test_all_conditions_of_a_filter_hold(vectors: Vectors, where: Filter, passing: set[str]) -> None:
    vectors.upsert([
        row("a", 1, 0, ontology="o1", doc_id="d1", role="metric", authority="high"),
        row("b", 1, 0, ontology="o2", doc_id="d2", role="claim", authority="low"),
        row("c", 1, 0, kind="concept", ontology="o1"),
    ])  # fmt: skip
    assert set(found(vectors, 1, 0, where=where)) == passing
    assert {r.item for r in vectors.fetch(where)} == passing
    assert vectors.count(where) == len(passing)


def test_delete_takes_what_passes(vectors: Vectors) -> None:
    vectors.upsert([row("a", 1, 0, doc_id="d1"), row("a", 0, 1, window=1, doc_id="d1"), row("b", 1, 0, doc_id="d2")])
    assert found(vectors, 1, 0) == ["a", "b"]
    assert vectors.delete(of("d1")) == 2
    assert vectors.delete(of("d1")) == 0
    assert found(vectors, 1, 0) == ["b"]


def test_an_empty_filter_deletes_nothing(vectors: Vectors) -> None:
    vectors.upsert([row("a", 1, 0)])
    for where in (Filter(), Filter(equal={"role": ""})):
        with pytest.raises(BadInputError):
            vectors.delete(where)
    assert vectors.count() == 1


def test_an_unknown_column_is_refused(vectors: Vectors) -> None:
    with pytest.raises(BadInputError):
        vectors.fetch(Filter(equal={"colour": "red"}))


def test_another_dimension_is_refused_whole(vectors: Vectors) -> None:
    vectors.upsert([row("a", 1, 0)])
    with pytest.raises(BadInputError):
        vectors.upsert([row("b", 1, 0), row("c", 1, 0, 0)])
    assert vectors.count() == 1
    with pytest.raises(BadInputError):
        vectors.query(vector(1, 0, 0), Filter())


def test_an_emptied_model_may_change_its_dimension(vectors: Vectors) -> None:
    vectors.upsert([row("a", 1, 0)])
    assert found(vectors, 1, 0) == ["a"]
    vectors.delete(Filter(kind="source"))
    vectors.upsert([row("b", 0, 0, 1)])
    assert found(vectors, 0, 0, 1) == ["b"]


@pytest.mark.parametrize("bad", [[float("nan"), 0.0], [float("inf"), 0.0], []])
def test_what_is_no_vector_is_refused(vectors: Vectors, bad: list[float]) -> None:
    with pytest.raises(BadInputError):
        vectors.upsert([row("a", *bad)])


def test_nothing_kept_nothing_found(vectors: Vectors) -> None:
    assert vectors.query(vector(1, 0), Filter()) == []
    vectors.upsert([])
    assert vectors.fetch(Filter()) == []
    assert vectors.delete(Filter(kind="source")) == 0
    assert vectors.count() == 0


def test_what_is_erased_is_gone_and_the_rest_stays(vectors: Vectors) -> None:
    vectors.upsert([row("a:0", 1, 0, doc_id="a"), row("b:0", 0, 1, doc_id="b"), row("c", 1, 1, kind="concept")])
    vectors.upsert([row("d", 1, 2, kind="concept"), row("d", 2, 1)])
    for _ in range(2):
        vectors.erase(["a", "unknown"], ["d"])
        assert [(left.kind, left.item) for left in vectors.fetch(Filter())] == [
            ("concept", "c"),
            ("source", "b:0"),
            ("source", "d"),
        ]
        assert found(vectors, 0, 1) == ["b:0", "c", "d"]
    vectors.erase([], [])
    vectors.upsert([row("e", 0, 1)])
    assert found(vectors, 0, 1, limit=2) == ["b:0", "e"]


def test_an_erased_vector_is_in_no_file(tmp_path: Path) -> None:
    store = SqliteVectors(tmp_path / "v.sqlite", MODEL)
    other = SqliteVectors(tmp_path / "v.sqlite", "other/1")
    secret = np.array([3, 4, 5, 6], np.float32)
    for each in (store, other):
        each.upsert([row("a:0", *secret.tolist(), doc_id="a"), row("b:0", 1, 0, 0, 0, doc_id="b")])
        each.query(secret, Filter())
    raw = store.fetch(of("a"))[0].vector.astype("<f4").tobytes()
    store.erase(["a"], [])
    assert not [path for path in tmp_path.iterdir() if raw in path.read_bytes()]
    assert [found(each, 1, 0, 0, 0) for each in (store, other)] == [["b:0"], ["b:0"]]
    store.close()
    other.close()


def test_clear_drops_everything(vectors: Vectors) -> None:
    vectors.upsert([row("a", 1, 0)])
    assert found(vectors, 1, 0) == ["a"]
    vectors.clear()
    assert (vectors.count(), found(vectors, 1, 0)) == (0, [])
    vectors.upsert([row("b", 0, 1)])
    assert found(vectors, 0, 1) == ["b"]


def test_threads_may_write_and_ask_at_once(vectors: Vectors) -> None:
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(20):
                vectors.upsert([row(f"{name}{n}", 1, n, doc_id=name)])
                assert f"{name}{n}" in found(vectors, 1, n, limit=1000)
        except BaseException as error:  # noqa: BLE001 - a thread's failure must reach the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert vectors.count() == 60


# ------------------------------------------------------------------------------ equal to brute force

keys = st.tuples(st.sampled_from(["source", "concept"]), st.sampled_from("abcdef"), st.integers(0, 2))
numbers = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=3).filter(any)
rows_given = st.lists(
    st.builds(
        lambda key, v, o, d, r, a: Row(*key, np.array(v, np.float32), ontology=o, doc_id=d, role=r, authority=a),
        keys,
        numbers,
        st.sampled_from(["o1", "o2"]),
        st.sampled_from(["d1", "d2", "d3"]),
        st.sampled_from(["", "metric", "claim"]),
        st.sampled_from(["", "high"]),
    ),
    min_size=4,
    max_size=12,
)
filters = st.builds(
    Filter,
    kind=st.sampled_from(["", "source", "concept"]),
    ontology=st.sampled_from(["", "o1"]),
    items=st.none() | st.frozensets(st.sampled_from("abcxyz"), max_size=3),
    doc_ids=st.none() | st.frozensets(st.sampled_from(["d1", "d3"]), max_size=2),
    equal=st.dictionaries(st.sampled_from(["role", "authority"]), st.sampled_from(["", "metric", "high"]), max_size=2),
)
queries = st.lists(st.tuples(numbers, filters, st.integers(1, 6)), min_size=4, max_size=8)
steps = st.lists(
    st.tuples(st.just("upsert"), rows_given)
    | st.tuples(st.just("delete"), st.sampled_from([of("d1"), Filter(kind="concept"), of("d3")]))
    | st.tuples(st.just("query"), queries),
    max_size=8,
)


@pytest.fixture(scope="module", params=["sqlite", *SERVERS])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vectors]:
    store: Vectors
    if request.param == "sqlite":
        store = SqliteVectors(tmp_path_factory.mktemp("vectors") / "v.sqlite", MODEL)
    else:
        store = on_server(part_of(request.param, request))
    yield store
    store.clear()
    store.close()


@pytest.mark.claim("VEC-1")
def test_answers_equal_brute_force(shared: Vectors) -> None:
    near = isinstance(shared, SqliteVectors)  # a server would be asked for minutes until an example is short

    @settings(max_examples=80 if near else 25, phases=Phase if near else [Phase.generate], deadline=None)
    @given(steps)
    def are_equal(script: list[tuple[str, object]]) -> None:
        shared.clear()
        compare(shared, script)

    are_equal()


def compare(store: Vectors, script: list[tuple[str, object]]) -> None:
    oracle = MemoryVectors(MODEL)
    for action, argument in script:
        if action == "upsert":
            for each in (store, oracle):
                each.upsert(argument)  # type: ignore[arg-type]
        elif action == "delete":
            assert store.delete(argument) == oracle.delete(argument)  # type: ignore[arg-type]
        else:
            for asked, where, limit in argument:  # type: ignore[attr-defined]
                wanted = np.array(asked, np.float32)
                hits, right = store.query(wanted, where, limit), oracle.query(wanted, where, 1000)
                assert [h.score for h in hits] == pytest.approx([h.score for h in right][:limit], abs=1e-6)
                scores = {(h.kind, h.item): h.score for h in right}
                assert len({(h.kind, h.item) for h in hits}) == len(hits)
                assert all(h.score == pytest.approx(scores[h.kind, h.item], abs=1e-6) for h in hits)
        assert [(r.kind, r.item, r.window, r.doc_id) for r in store.fetch(Filter())] == [
            (r.kind, r.item, r.window, r.doc_id) for r in oracle.fetch(Filter())
        ]


# ---------------------------------------------------------------------------------- only in a file


def test_rows_of_another_model_are_unseen(tmp_path: Path) -> None:
    one, other = (SqliteVectors(tmp_path / "v.sqlite", model) for model in ("one", "other"))
    one.upsert([row("a", 1, 0)])
    other.upsert([row("b", 1, 0, 0)])
    assert found(one, 1, 0) == ["a"]
    assert found(other, 1, 0, 0) == ["b"]
    assert (one.count(), other.count()) == (1, 1)
    assert other.delete(Filter(items=frozenset({"a"}))) == 0
    one.clear()
    assert (one.count(), other.count()) == (0, 1)
    one.close()
    other.close()


@pytest.fixture(params=["sqlite", *SERVERS])
def of_model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[str], Vectors]]:
    """Opens one place for any model."""
    opened: list[Vectors] = []
    place = None if request.param == "sqlite" else part_of(request.param, request)

    def open_(model: str) -> Vectors:
        opened.append(on_server(place, model) if place else SqliteVectors(tmp_path / "v.sqlite", model))
        return opened[-1]

    yield open_
    for store in opened:
        store.conclude()
        store.clear()
        store.close()


def test_a_new_model_takes_over_when_it_is_complete(of_model: Callable[[str], Vectors]) -> None:
    former = of_model("former")
    assert not former.complete()
    former.upsert([row("a", 1, 0)])
    assert former.complete()
    new = of_model("new")
    new.upsert([row("a", 1, 0, 0)])
    assert not of_model("new").complete(), "killed now, it would go on"
    assert former.count() == 1
    new.conclude()
    new.conclude()
    assert of_model("new").complete()
    assert not of_model("former").complete()
    assert (former.count(), new.count()) == (0, 1)


def test_what_is_cleared_is_to_be_derived(of_model: Callable[[str], Vectors]) -> None:
    store = of_model("one")
    store.upsert([row("a", 1, 0)])
    store.clear()
    assert not store.complete()
    store.upsert([row("a", 1, 0)])
    store.conclude()
    assert store.complete()


def test_a_model_without_rows_is_concluded_in_a_file(tmp_path: Path) -> None:
    store = SqliteVectors(tmp_path / "v.sqlite", MODEL)
    store.conclude()
    assert store.complete()
    assert found(store, 1, 0) == []
    store.upsert([row("a", 1, 0)])
    assert found(store, 1, 0) == ["a"]
    store.close()


def test_the_alias_leads_to_the_model_in_use_and_others_prefixes_stay(place: Settings, people: QdrantClient) -> None:
    ours, theirs = on_server(place), on_server(replace(place, prefix=f"{place.prefix}-team"))
    for store in (ours, theirs):
        store.upsert([row("a", 1, 0)])
    ours.conclude()
    assert people.count(place.prefix).count == 1
    ours.clear()
    assert not people.collection_exists(place.prefix)
    assert theirs.count() == 1
    for store in (ours, theirs):
        store.close()


def test_those_who_ask_the_alias_see_one_whole_model_while_another_is_made(
    place: Settings, people: QdrantClient
) -> None:
    """All that they ever find are the rows of the former one or those of the new one: no error, none, no part."""
    former, new = on_server(place, "former"), on_server(place, "new")
    former.upsert([row(f"i{n}", 1, n, role="former") for n in range(20)])
    seen: list[frozenset[str]] = []
    over = threading.Event()

    def look() -> None:
        last = False
        while not last:
            last = over.is_set()
            points, _ = people.scroll(place.prefix, limit=100)
            seen.append(frozenset((point.payload or {})["role"] for point in points))
            assert len(points) == 20

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(look) for _ in range(2)]
        for n in range(20):
            new.upsert([row(f"i{n}", 1, n, 1, role="new")])
        new.conclude()
        over.set()
        for reader in readers:
            reader.result()
    assert set(seen) == {frozenset({"former"}), frozenset({"new"})}
    assert seen[-1] == {"new"}
    for store in (former, new):
        store.close()


@pytest.mark.parametrize("chosen", [False, True])
def test_a_collection_has_what_settings_say(place: Settings, people: QdrantClient, chosen: bool) -> None:
    from kgfs.stores.vectors.qdrant import INDEXED

    with closing(on_server(replace(place, quantisation=chosen, on_disk=chosen, content=chosen))) as store:
        store.upsert([row("a", 1, 0)])
    found = people.get_collection(place.prefix)
    quantised: Any = found.config.quantization_config
    vectors: Any = found.config.params.vectors
    assert bool(vectors.on_disk) == chosen
    assert found.config.params.on_disk_payload or not chosen, "where it is not, by the server's own setting"
    assert (quantised and (quantised.scalar.type, quantised.scalar.always_ram)) == (("int8", True) if chosen else None)
    assert set(found.payload_schema) == set(INDEXED)
    ids = [point.id for point in people.scroll(place.prefix)[0]]
    assert ids == ["69be8b6c-2dbe-55d7-832d-79cca697c829"], "of a row's key, for good"


@pytest.mark.claim("VEC-3")
@pytest.mark.parametrize("wrote", [True, False], ids=["who wrote there", "who looked there"])
def test_what_is_put_after_the_server_lost_all_does_not_pass_for_all(
    place: Settings, people: QdrantClient, wrote: bool
) -> None:
    with closing(on_server(place)) as former, closing(on_server(place)) as other:
        former.upsert([row("a", 1, 0)])
        assert other.complete()
        store = former if wrote else other
        for name in [each.name for each in people.get_collections().collections if each.name.startswith(place.prefix)]:
            people.delete_collection(name)
        for _ in range(2):
            store.upsert([row("b", 0, 1)])
            assert found(store, 0, 1) == ["b"]
            assert not store.complete()
        with closing(on_server(place)) as next_one:
            next_one.upsert([row("c", 1, 1)])
            assert not next_one.complete()
        store.conclude()
        assert store.complete()
        store.clear()
        store.upsert([row("d", 1, 0)])
        assert store.complete(), "what it clears itself is not lost"


@pytest.fixture
def half_made(place: Settings, people: QdrantClient) -> Iterator[Vectors]:
    """Who made the collection waited in vain for its first index."""
    from kgfs.stores.vectors.qdrant import INDEXED

    with closing(Losing(urlsplit(place.url).port or 0)) as wire:
        slow = replace(place, url=f"http://127.0.0.1:{wire.port}", timeout=1.0)
        with closing(on_server(slow)) as store:
            with wire.losing(b"/index?"), pytest.raises(TimedOutError):
                store.upsert([row("a", 1, 0)])
            [name] = [each.name for each in people.get_collections().collections if each.name.startswith(place.prefix)]
            assert people.get_collection(name).payload_schema.keys() < set(INDEXED)
            yield store


def test_a_collection_that_was_half_made_is_made_whole(
    place: Settings, people: QdrantClient, half_made: Vectors
) -> None:
    from kgfs.stores.vectors.qdrant import INDEXED

    half_made.upsert([row("a", 1, 0)])
    assert half_made.complete()
    assert people.get_collection(place.prefix).payload_schema.keys() == set(INDEXED)


@pytest.mark.usefixtures("half_made")
def test_a_collection_that_another_half_made_gets_its_indexes(place: Settings, people: QdrantClient) -> None:
    from kgfs.stores.vectors.qdrant import INDEXED

    with closing(on_server(place)) as store:
        store.upsert([row("a", 1, 0)])
        assert store.complete()
    assert people.get_collection(place.prefix).payload_schema.keys() == set(INDEXED)


@pytest.mark.claim("VEC-5")
@pytest.mark.parametrize("content", [False, True])
def test_points_have_their_text_in_full_or_lead_to_it(place: Settings, people: QdrantClient, content: bool) -> None:
    from kgfs.stores.vectors import qdrant

    longest = "ж" * (qdrant.MOST_CONTENT // 2)
    texts = ["Zen.\r\n\0\t𝕏 ==", longest, longest + "!", "half a pair: \ud800", ""]
    given = [row(f"d:{n}", 1, n, doc_id="d", chunk_index=n, content=text) for n, text in enumerate(texts)]
    with closing(on_server(replace(place, content=content))) as store:
        assert store.keeps_content == content
        store.upsert(given if content else [replace(each, content="") for each in given])
        points = {(p.payload or {})["chunk_index"]: p.payload or {} for p in people.scroll(place.prefix, limit=10)[0]}
        has = [(points[n].get("content"), points[n].get("content_length")) for n in range(5)]
        full: list[tuple[str | None, int | None]] = [(text, len(text)) for text in texts[:2]]
        lengths = [(None, len(text)) for text in texts[2:4]]
        assert has == ([*full, *lengths, (None, None)] if content else [(None, None)] * 5)
        kept = [back.content for back in store.fetch(Filter())]
        assert kept == [""] * 5, "who asks this store asks the graph for texts"
        assert store.query(vector(1, 0), Filter(), limit=1)[0].item == "d:0"
        store.erase(["d"], [])
    assert people.count(place.prefix).count == 0


@pytest.mark.parametrize("content", [False, True])
def test_points_of_sources_say_where_they_stand_and_can_be_filtered_by_it(
    place: Settings, people: QdrantClient, content: bool
) -> None:
    from qdrant_client.http import models

    def source(n: int, of: int, doc_id: str) -> Row:
        placed = {"chunk_start_char": 10 * n, "chunk_end_char": 10 * n + 10, "content_hash": doc_id * 64}
        return row(f"{doc_id}:{n}", 1, n, doc_id=doc_id, chunk_index=n, total_chunks=of, **placed)

    def found(**wanted: str | int) -> list[str]:
        must = [models.FieldCondition(key=key, match=models.MatchValue(value=value)) for key, value in wanted.items()]
        points, _ = people.scroll(place.prefix, models.Filter(must=[*must]), limit=10)
        return sorted(str((point.payload or {})["item"]) for point in points)

    with closing(on_server(replace(place, content=content))) as store:
        assert store.keeps_payload
        store.upsert(
            [source(0, 3, "a"), source(1, 3, "a"), source(2, 3, "a"), source(0, 1, "b"), row("c", 1, 1, kind="concept")]
        )
        assert found(parent_document_id="a") == found(content_hash="a" * 64) == ["a:0", "a:1", "a:2"]
        assert found(storage_type="single") == found(total_chunks=1) == ["b:0"]
        assert found(chunk_start_char=10) == found(chunk_index=1) == found(chunk_end_char=20) == ["a:1"]
        [concept] = people.scroll(place.prefix, models.Filter(must=[_is("kind", "concept")]))[0]
        assert "storage_type" not in (concept.payload or {}) and "total_chunks" not in (concept.payload or {})
        store.erase(["a"], [])
        assert found(content_hash="a" * 64) == []
        assert found(content_hash="b" * 64) == ["b:0"]


def _is(key: str, value: str) -> Any:
    from qdrant_client.http import models

    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def test_what_is_sent_at_once_stays_below_what_a_server_takes() -> None:
    """In points and in bytes of their texts."""
    from kgfs.stores.batched import batched
    from kgfs.stores.vectors import qdrant

    heavy = [row(f"{n}", 1, n, content="x" * qdrant.MOST_CONTENT) for n in range(10)]
    light = [row(f"{n}", 1, n) for n in range(600)]
    for rows in (heavy, light):
        points = [qdrant._point(each, each.vector) for each in rows]
        for portion in batched(points, qdrant.BATCH, qdrant._weight, qdrant.WEIGHT):
            texts = [(point.payload or {}).get("content", "") for point in portion]
            assert len(portion) <= qdrant.BATCH
            assert sum(map(len, texts)) <= qdrant.WEIGHT


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("quantisation", [False, True])
def test_the_graph_of_the_server_finds_nearly_all(place: Settings, quantisation: bool) -> None:
    """Recall of the 10 best among 500, which are below the server's own threshold for its graph: what is said here is that
    the settings are understood."""
    random = np.random.default_rng(1)
    rows = [Row("source", f"i{n}", 0, random.standard_normal(32).astype(np.float32)) for n in range(500)]
    oracle = MemoryVectors(MODEL)
    with closing(on_server(replace(place, exact=False, quantisation=quantisation, on_disk=True))) as store:
        for kept in (store, oracle):
            kept.upsert(rows)
        asked = [random.standard_normal(32).astype(np.float32) for _ in range(10)]
        both = [[{hit.item for hit in kept.query(v, Filter())} for kept in (store, oracle)] for v in asked]
    assert sum(len(got & wanted) for got, wanted in both) / 100 >= 0.9


def test_two_openings_see_each_others_writes_at_once(tmp_path: Path) -> None:
    one, other = (SqliteVectors(tmp_path / "v.sqlite", MODEL) for _ in range(2))
    for n in range(30):
        one.upsert([row(f"a{n}", 1, n)])
        assert f"a{n}" in found(other, 1, n, limit=100)
        other.upsert([row(f"b{n}", 1, -n)])
        assert f"b{n}" in found(one, 1, -n, limit=100)
        if n % 7 == 0:
            other.delete(Filter(items=frozenset({f"a{n}"})))
            assert f"a{n}" not in found(one, 1, n, limit=100)
    one.close()
    other.close()


def test_of_many_rows_those_whose_codes_promise_most_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "ALL_BELOW", 100)
    monkeypatch.setattr(scan, "LEAST_COMPARED", 100)
    chance = np.random.default_rng(3)
    near = chance.normal(size=(40, 100))
    rows = near[chance.integers(0, 40, 2000)] + chance.normal(0, 0.7, (2000, 100))
    with closing(SqliteVectors(tmp_path / "vectors.sqlite", "m")) as store:
        every_row = [Row("source", f"{n:04}", 0, row.astype(np.float32)) for n, row in enumerate(rows)]
        store.upsert(every_row[:1500])
        store.query(near[0].astype(np.float32), Filter(kind="source"))
        store.upsert(every_row[1500:])
        same = 0
        for asked in near.astype(np.float32):
            exact, some = (store.query(asked, Filter(kind="source"), 10, exact=exact) for exact in (True, False))
            every = {hit.item: hit.score for hit in store.query(asked, Filter(), 2000, exact=True)}
            assert all(hit.score == pytest.approx(every[hit.item], abs=1e-6) for hit in some)
            same += len({hit.item for hit in exact} & {hit.item for hit in some})
        assert same >= 0.95 * 10 * len(near)


def test_many_replacements_keep_the_matrix_small(tmp_path: Path) -> None:
    store, other = (SqliteVectors(tmp_path / "v.sqlite", MODEL) for _ in range(2))
    for n in range(40):
        store.upsert([row(f"i{i}", 1, i + n * 0.01) for i in range(100)])
        assert len(found(other, 1, 5, limit=200)) == 100
        assert found(other, 1, 5 + n * 0.01, limit=1) == ["i5"]
    (matrix,) = tmp_path.glob("*.matrix")
    assert matrix.stat().st_size <= 64 + 4 * 2 * 2600
    assert store.fetch(Filter())[0].item == "i0"
    store.close()
    other.close()


def test_the_matrix_may_be_deleted_or_spoilt(tmp_path: Path) -> None:
    for spoil in (Path.unlink, lambda path: path.write_bytes(b"x" * 200)):
        store = SqliteVectors(tmp_path / "v.sqlite", MODEL)
        store.upsert([row("a", 1, 0), row("b", 0, 1)])
        assert found(store, 1, 0) == ["a", "b"]
        (matrix,) = tmp_path.glob("*.matrix")
        spoil(matrix)
        if not matrix.exists():
            store.upsert([row("c", 1, 0.1)])
            assert found(store, 1, 0) == ["a", "c", "b"]
            store.delete(Filter(items=frozenset({"c"})))
        store.close()
        store = SqliteVectors(tmp_path / "v.sqlite", MODEL)
        assert found(store, 1, 0) == ["a", "b"]
        store.close()


def test_several_may_make_the_matrix_at_once(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    for round_ in range(5):
        stores = [SqliteVectors(path, MODEL) for _ in range(4)]
        stores[0].upsert([row(f"{round_} {n}", 1, n) for n in range(300)])
        for matrix in tmp_path.glob("*.matrix"):
            matrix.unlink()
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda store: found(store, 1, 5, limit=9999), stores))
        assert len(answers) == 4
        assert all(answer == answers[0] for answer in answers)
        assert len(answers[0]) == 300 * (round_ + 1)
        for store in stores:
            store.close()
    assert [name.suffix for name in tmp_path.iterdir() if ".matrix" in name.name] == [".matrix"]


def test_files_are_private(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        store = SqliteVectors(tmp_path / "v.sqlite", MODEL)
        store.upsert([row("a", 1, 0)])
        found(store, 1, 0)
        assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
        store.close()
    finally:
        os.umask(umask)


def test_closed_means_closed(tmp_path: Path) -> None:
    store = SqliteVectors(tmp_path / "v.sqlite", MODEL)
    store.close()
    store.close()
    with pytest.raises(StoreError):
        store.count()


WRITER = """
import sys
import numpy as np
from pathlib import Path
from kgfs.settings import Vectors as Settings
from kgfs.stores.vectors import scan
from kgfs.stores.vectors.contract import Filter, Row
from kgfs.stores.vectors.sqlite import SqliteVectors
store = SqliteVectors(Path(sys.argv[1]), "small/1")
n = 0
while True:
    store.upsert([Row("source", f"i{n}", w, np.array([1, n + w], np.float32)) for w in range(2)])
    store.query(np.array([1, 0], np.float32), Filter())
    print(n, flush=True)
    n += 1
"""


def test_acknowledged_rows_survive_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "v.sqlite"
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            acknowledged = [int(writer.stdout.readline()) for _ in range(25)][-1]
            writer.kill()
        store = SqliteVectors(path, MODEL)
        items = {r.item for r in store.fetch(Filter())}
        assert items >= {f"i{n}" for n in range(acknowledged + 1)}
        assert store.count() == 2 * len(items)
        assert set(found(store, 1, 0, limit=10_000)) == items
        store.close()
