"""Two embedding models in one worker: what is asked meanwhile, what comes meanwhile, and where a kill leaves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest

from kgfs.app import api
from kgfs.app.changeover import Changeover, Superseded
from kgfs.app.embedder_wanted import want, wanted
from kgfs.app.home import derive_vectors, open_for_worker, open_stores, open_to_derive
from kgfs.app.turns import taking_turns
from kgfs.app.working import run_worker
from kgfs.compute.answering import Answers
from kgfs.compute.deadline import Deadline
from kgfs.compute.engine import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.compute.nearest import nearest
from kgfs.compute.questions import Materials, ask
from kgfs.config import Config
from kgfs.errors import LostLeaseError
from kgfs.ingest.lifecycle.embed_again import embed_again
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.turns import Alone
from kgfs.ingest.working.worker import Worker
from kgfs.settings import Models
from kgfs.settings import Vectors as VectorSettings
from kgfs.sharing.vector_positions import position_of
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Vectors
from kgfs.stores.vectors.sqlite import SqliteVectors
from kgfs.stores.worker_lock import worker_note
from tests.fakes.garage import MemoryGarage
from tests.fakes.vectors import MemoryVectors
from tests.support.embedding import TEXTS, Embedding, Keyed, keyed
from tests.support.hosts import Host, host
from tests.support.peers.homes import EMBEDDED
from tests.support.working import TEXT, KilledError, deposit, documents, ingest, throw, work

LATE = "Cycles are found by tracing. Tracing finds cycles of objects."
pytestmark = [pytest.mark.peers(EMBEDDED, "qdrant-wire")]


@dataclass
class Worked:
    """One worker that takes a home from model ``one`` to ``two``."""

    config: Config
    stores: Stores
    two: Embedding = field(default_factory=partial(Embedding, model="two"))
    one: Embedding = field(default_factory=Embedding)
    in_use: list[Vectors] = field(default_factory=list)
    told: list[tuple[int, int]] = field(default_factory=list)
    when_used: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.answers = Answers()
        self.answers.change(Materials(self.one.embed, self.stores.vectors), 1)
        self._pipeline = Pipeline(
            self.config, self.stores, self.one, StageClock(), LocalEngine(self.one, self.stores.garage.objects)
        )
        self.changeover = Changeover(
            self.config,
            self.stores,
            self.two,
            Alone(self._pipeline),
            put_in_use=self._put_in_use,
            tell=lambda *told: self.told.append(told),
        )

    def _put_in_use(self, vectors: Vectors) -> None:
        self.in_use.append(vectors)
        self.answers.change(Materials(self.two.embed, vectors), 1)
        self.when_used()

    def run(self, watch: Callable[[], None] = lambda: None) -> None:
        derive = partial(derive_vectors, self.config, self.stores, partial(embed_again, self.stores, self.one))
        Worker(self._pipeline, ErrorLog(self.config.errors_log), lambda: None).run(
            until_idle=True,
            watch=watch,
            give_way=lambda: self.changeover.is_over,
            prepare=partial(self.changeover.prepare, derive),
            beside=self.changeover.part,
        )

    def finds(self, text: str) -> str:
        """Return the doc_id of the one Source that is as near as can be to this text, '' if there is none."""
        question = {"question": "nearest", "words": text, "ontology": "", "limit": 1, "also": []}
        [(doc_id, _, cosine)] = self.answers(question) or [("", 0, 0.0)]
        return doc_id if cosine > 0.99 else ""


@pytest.fixture
def before(config: Config, tmp_path: Path) -> Keyed:
    with open_stores(config, vectors_of="one") as stores:
        deposit(config, stores, tmp_path, **TEXTS)
        work(config, stores, Embedding())
        return keyed(stores)


@contextmanager
def changing(config: Config) -> Iterator[Worked]:
    with open_for_worker(config, vectors_of="one") as stores:
        worked = Worked(config, stores)
        try:
            yield worked
        finally:
            for vectors in worked.in_use:
                vectors.close()


def rows_of(config: Config, model: str) -> Keyed:
    with open_to_derive(config, vectors_of=model) as stores:
        return keyed(stores)


@pytest.mark.claim("VEC-4")
def test_searches_find_by_meaning_all_the_while_and_what_comes_meanwhile_is_found_before_and_after(
    config: Config, before: Keyed, tmp_path: Path
) -> None:
    asked: list[tuple[bool, str, str]] = []
    with changing(config) as worked:
        a = find_document(worked.stores, config.run, "Test/documents/a.txt").doc_id

        def watch() -> None:
            if len(worked.two.embedded) and len(documents(worked.stores)) == len(TEXTS):
                deposit(config, worked.stores, tmp_path, d=LATE)
            asked.append((worked.changeover.is_over, worked.finds(TEXT), worked.finds(LATE)))

        worked.run(watch)
        d = find_document(worked.stores, config.run, "Test/documents/d.txt").doc_id
        assert {found for _, found, _ in asked} == {a}
        assert {found for over, _, found in asked if not over} == {"", d}, "found by the former model's vectors"
        assert asked[-1] == (True, a, d), "and by the new one's"
        assert worked.two.asked == [] and worked.told[-1] == (4, 4)
        assert worked.told == sorted(worked.told)
    after = rows_of(config, "two")
    assert before.keys() < after.keys() and {len(vector) for vector in after.values()} == {48}
    assert rows_of(config, "one") == {}
    with open_stores(config, vectors_of="two") as stores:
        rebuild(stores)
        assert keyed(stores) == after


@pytest.mark.claim("VEC-4")
def test_a_worker_that_is_killed_while_it_embeds_is_followed_by_one_that_goes_on(config: Config, before: Keyed) -> None:
    with changing(config) as killed:
        with pytest.raises(KilledError):
            killed.run(lambda: throw(KilledError()) if killed.two.embedded else None)
        first = list(killed.two.embedded)
    assert rows_of(config, "one") == before
    with changing(config) as next_one:
        next_one.run()
        assert next_one.changeover.is_over
        assert next_one.two.embedded and not {*first} & {*TEXTS.values()} & {*next_one.two.embedded}
    assert rows_of(config, "two").keys() == before.keys()


@pytest.mark.claim("VEC-4")
def test_a_worker_that_is_killed_while_it_changes_over_leaves_one_model_in_use(config: Config, before: Keyed) -> None:
    with changing(config) as killed:
        killed.when_used = lambda: throw(KilledError())
        with pytest.raises(KilledError):
            killed.run()
    assert rows_of(config, "one") == before, "the former rows go when others are in use"
    assert rows_of(config, "two").keys() == before.keys()
    with changing(config) as next_one:
        derived: list[bool] = []
        next_one.changeover.prepare(lambda: derived.append(True))
        assert derived and keyed(next_one.stores) == before
        assert next_one.stores.vectors is not None and next_one.stores.vectors.complete()
        next_one.run()
        assert next_one.two.embedded == []
    with changing(config) as behind:
        behind.run()
        assert behind.changeover.is_over and behind.finds(TEXT) and behind.two.embedded == [TEXT]


@pytest.mark.models
@pytest.mark.peers(EMBEDDED)
@pytest.mark.claim("VEC-4")
def test_a_home_of_one_minilm_goes_over_to_the_other_while_it_is_asked(home: Path, tmp_path: Path) -> None:
    config = Config(home=home, models=Models(embedder="minilm", extractor="statistics"))
    ingest(config, tmp_path, a="The cat sleeps on the warm sofa all day.", b="Interest rates were raised by the bank.")
    former = worker_note(config.run)["embedder"]
    notes: list[dict[str, object]] = []
    found: list[set[str]] = []

    def watch() -> None:
        notes.append(worker_note(config.run))
        near = nearest(partial(ask, config.run), "a kitten naps", "", 1, (), Deadline(30))
        found.append({doc_id for doc_id, _ in near})

    by_itself = Config(home=home, models=Models(extractor="statistics"))
    run_worker(by_itself, until_idle=True)
    assert worker_note(config.run)["embedder"] == former, "it keeps its model until something else is asked for"
    proposals: list[api.Outdated] = []

    def agree(found: api.Outdated) -> bool:
        proposals.append(found)
        return True

    api.reprocess(by_itself, agree=agree, progress=lambda *told: None)
    assert [found.embedder for found in proposals] == ["minilm-int8"]
    run_worker(by_itself, until_idle=True, watch=watch)
    with open_stores(config) as stores:
        a = find_document(stores, config.run, "Memory/documents/a.txt").doc_id
    assert found and all(each == {a} for each in found)
    models = [note["embedder"] for note in notes]
    assert models[0] == former and models[-1] == worker_note(config.run)["embedder"] != former
    assert {"model": models[-1], "sources": 2, "of": 2} in [note.get("vectors") for note in notes]
    assert rows_of(config, str(models[-1])) and not rows_of(config, former)
    api.reprocess(by_itself, agree=agree, progress=lambda *told: None)
    assert proposals[-1].embedder == ""


def test_homes_that_share_a_server_change_over_in_the_turn_of_one_and_the_other_follows(tmp_path: Path) -> None:
    garage, former, new = MemoryGarage(), MemoryVectors("one"), MemoryVectors("two")
    with ExitStack() as stack:

        def made(name: str) -> Host:
            one = host(tmp_path / name, garage)
            stack.callback(one.session.close)
            one.config = replace(one.config, vectors=VectorSettings(store="qdrant", url="http://127.0.0.1:1"))
            one.stores = replace(one.stores, vectors=former)
            stack.enter_context(closing(one.stores.graph))
            stack.enter_context(closing(one.stores.catalog))
            return one

        def work(one: Host, compute: Embedding, second: Embedding | None = None) -> bool:
            pipeline = Pipeline(one.config, one.stores, compute, StageClock(), LocalEngine(compute, garage.objects))
            with taking_turns(pipeline, lambda _: one.exchange.meet()) as turns:
                changeover = Changeover(
                    one.config,
                    one.stores,
                    second or compute,
                    turns,
                    put_in_use=lambda vectors: setattr(former, "another_in_use", True),
                    tell=lambda done, of: None,
                    open_vectors=lambda config, model: new,
                )
                follows = Superseded(one.config, one.stores)
                return Worker(pipeline, ErrorLog(one.config.errors_log), one.exchange, turns).run(
                    until_idle=True,
                    give_way=lambda: changeover.is_over or follows(),
                    beside=changeover.part if second else lambda: False,
                )

        here, there = made("here"), made("there")
        here.ontology()
        for one, name in ((here, "a"), (there, "b")):
            one.exchange()
            one.file(f"{name}.txt", TEXTS[name].encode())
            one.settle()
            work(one, Embedding())
            one.exchange()
        known = {(row.kind, row.item, row.window) for row in former.fetch(Filter())}
        assert work(here, Embedding(), Embedding(model="two"))
        assert {(row.kind, row.item, row.window) for row in new.fetch(Filter())} == known
        position = position_of(here.config, replace(here.stores, vectors=new))
        assert position.read() == here.stores.graph.followed()
        there.file("c.txt", TEXTS["c"].encode())
        there.settle()
        there.exchange()
        assert work(there, Embedding()), "it goes on with the other model"
        pipeline = Pipeline(
            there.config, there.stores, Embedding(), StageClock(), LocalEngine(Embedding(), garage.objects)
        )
        with taking_turns(pipeline, lambda _: there.exchange.meet()) as turns, pytest.raises(LostLeaseError):
            turns.publisher()
        assert there.stores.catalog.jobs.owed()
        assert {(row.kind, row.item, row.window) for row in former.fetch(Filter())} == known, "not written anew"


@pytest.mark.models
@pytest.mark.peers(EMBEDDED)
@pytest.mark.claim("VEC-4")
def test_a_home_with_vectors_of_its_own_follows_one_that_changed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both read documents of one bucket; what the first reads by its new model has no vectors by the second one's."""
    garage = MemoryGarage()
    fp32, int8 = (LocalCompute(Models(embedder=one, extractor="statistics")) for one in ("minilm", "minilm-int8"))
    with ExitStack() as stack:

        def made(name: str) -> Host:
            one = host(tmp_path / name, garage)
            stack.callback(one.session.close)
            stack.enter_context(closing(one.stores.graph))
            stack.enter_context(closing(one.stores.catalog))
            return one

        def work(one: Host, compute: LocalCompute, second: LocalCompute | None = None) -> bool:
            """Work by a model, or from one to a second; return whether the worker ended to go on with another."""
            with closing(SqliteVectors(one.config.vectors_db, compute.embedding_model)) as vectors:
                stores, used = replace(one.stores, vectors=vectors), list[Vectors]()
                pipeline = Pipeline(one.config, stores, compute, StageClock(), LocalEngine(compute, garage.objects))
                with taking_turns(pipeline, lambda _: one.exchange.meet()) as turns:
                    changeover = Changeover(
                        one.config, stores, second or compute, turns, put_in_use=used.append, tell=lambda *told: None
                    )
                    asked = wanted(one.config)
                    gave_way = Worker(pipeline, ErrorLog(one.config.errors_log), one.exchange, turns).run(
                        until_idle=True,
                        give_way=lambda: changeover.is_over or wanted(one.config) != asked,
                        beside=changeover.part if second else lambda: False,
                    )
                for each in used:
                    each.close()
                return gave_way

        def add(one: Host, name: str) -> None:
            one.exchange()
            one.file(f"{name}.txt", TEXTS[name].encode())
            one.settle()

        here, there = made("here"), made("there")
        here.ontology()
        for one, name in ((here, "a"), (there, "b")):
            add(one, name)
            assert not work(one, fp32)
            one.exchange()
        assert not work(here, fp32)
        want(here.config, "minilm-int8")
        assert work(here, fp32, int8) and wanted(there.config) == "auto"
        add(here, "c")
        assert not work(here, int8)
        there.exchange()
        work(there, fp32)
        assert wanted(there.config) == "minilm-int8", "its worker goes on with the other model"
        with monkeypatch.context() as patched:
            patched.setattr(int8, "embed", lambda texts: pytest.fail("the other home has made all vectors"))
            assert work(there, fp32, int8)
        known, theirs = (
            {(row.kind, row.item, row.window): row.vector.tobytes() for row in vectors.fetch(Filter())}
            for one in (here, there)
            for vectors in [stack.enter_context(closing(SqliteVectors(one.config.vectors_db, int8.embedding_model)))]
        )
        assert known == theirs and {item.partition(":")[0] for kind, item, _ in known if kind == "source"} == {
            document.doc_id for document in documents(here.stores)
        }
        assert not work(there, int8), "and nothing is left to be followed"
