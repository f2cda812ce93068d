"""Another embedding model over a home that was read with one: how searches go meanwhile, what comes meanwhile, and where a kill leaves it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from kgfs.app import api
from kgfs.app.home import derive_vectors, open_deposits, open_home
from kgfs.app.working import run_worker
from kgfs.compute.deadline import Deadline
from kgfs.compute.nearest import nearest
from kgfs.compute.questions import ask
from kgfs.config import Config
from kgfs.errors import MissingError, StoreError
from kgfs.ingest.lifecycle.backfill import Backfill
from kgfs.ingest.lifecycle.forget import order
from kgfs.ingest.lifecycle.forget_plan import plan
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.settings import Models
from kgfs.stores.garage.opening import open_garage
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Row
from kgfs.stores.worker_lock import worker_note
from tests.support.embedding import TEXTS, Embedding, Keyed, keyed
from tests.support.peers.homes import EMBEDDED, SERVERS_AND_VECTORS
from tests.support.working import Counting, deposit, documents, ingest, work

pytestmark = [pytest.mark.peers(EMBEDDED, "qdrant-wire"), pytest.mark.lifecycle("qdrant-wire", SERVERS_AND_VECTORS)]


def rows(stores: Stores) -> list[Row]:
    assert stores.vectors is not None
    return stores.vectors.fetch(Filter())


@pytest.fixture
def before(config: Config, tmp_path: Path) -> Keyed:
    """The rows of the first model, by which the texts were read."""
    with open_home(config, vectors_of="one") as stores:
        deposit(config, stores, tmp_path, **TEXTS)
        work(config, stores, Embedding())
        return keyed(stores)


def backfill(config: Config, stores: Stores, compute: Embedding) -> Backfill:
    """As a worker that begins has it."""
    found = Backfill(stores, compute, config.run / "vectors.rebuilding", derive=partial(derive_vectors, config, stores))
    found.prepare()
    return found


def switch(config: Config, stores: Stores, compute: Embedding) -> None:
    found = backfill(config, stores, compute)
    while found.part():
        pass


@pytest.mark.claim("VEC-4")
def test_another_model_takes_over_without_an_extractor_being_asked(
    config: Config, before: Keyed, tmp_path: Path
) -> None:
    assert {len(vector) for vector in before.values()} == {32}
    compute = Embedding(model="two")
    with open_home(config, vectors_of="two") as stores:
        assert rows(stores) == []
        switch(config, stores, compute)
        found = keyed(stores)
        assert found.keys() == before.keys()
        assert {len(vector) for vector in found.values()} == {48}
        assert compute.asked == []
        asked = len(compute.embedded)
        switch(config, stores, compute)
        rebuild(stores)
        assert keyed(stores) == found
        assert len(compute.embedded) == asked, "each word was asked for once"
        deposit(config, stores, tmp_path, d="Cycles are found by tracing. Tracing finds cycles of objects.")
        work(config, stores, compute)
        assert len(rows(stores)) > len(found)
    with open_home(config, vectors_of="one", derive=False) as stores:
        assert rows(stores) == [], "the former model's are gone"


@pytest.mark.claim("VEC-4")
def test_a_kill_in_between_is_resumed_and_leaves_the_former_in_use(config: Config, before: Keyed) -> None:
    first, second = Embedding(model="two"), Embedding(model="two")
    with open_home(config, vectors_of="two") as stores:
        killed = backfill(config, stores, first)
        assert killed.part() and killed.is_due
        assert first.embedded
    with open_home(config, vectors_of="one", derive=False) as stores:
        assert keyed(stores) == before
    with open_home(config, vectors_of="two") as stores:
        switch(config, stores, second)
        assert keyed(stores).keys() == before.keys()
    whole = Embedding(model="three")
    with open_home(config, vectors_of="three") as stores:
        switch(config, stores, whole)
    assert len(first.embedded) + len(second.embedded) == len(whole.embedded)


@pytest.mark.claim("VEC-4")
def test_what_comes_meanwhile_gets_vectors_and_no_rows_are_in_use_before_all_have_theirs(
    config: Config, before: Keyed, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []
    uses: list[bool] = []
    compute = Embedding(model="two")
    with open_home(config, vectors_of="two") as stores:
        assert stores.vectors is not None

        def done() -> None:
            assert stores.vectors is not None
            uses.append(stores.vectors.complete())

        found = Backfill(
            stores,
            compute,
            config.run / "vectors.rebuilding",
            derive=partial(derive_vectors, config, stores),
            tell=lambda *given: told.append(given),
            done=done,
        )
        found.prepare()
        assert found.is_due and told == [(0, 3)]
        assert found.part()
        deposit(config, stores, tmp_path, d="Cycles are found by tracing. Tracing finds cycles of objects.")
        work(config, stores, compute)
        assert found.is_due and uses == []
        while found.part():
            pass
        assert uses == [True] and told[-1] == (3, 3) and told == sorted(told)
        after = keyed(stores)
        assert before.keys() < after.keys()
        rebuild(stores)
        assert keyed(stores) == after


@pytest.mark.models
@pytest.mark.peers(EMBEDDED)
@pytest.mark.claim("VEC-4")
def test_searches_go_by_words_until_all_documents_have_the_new_vectors(home: Path, tmp_path: Path) -> None:
    config = Config(home=home, models=Models(embedder="minilm", extractor="statistics"))
    ingest(config, tmp_path, a="The cat sleeps on the warm sofa all day.", b="Interest rates were raised by the bank.")
    former = worker_note(config.run)["embedder"]
    by_itself = Config(home=home, models=Models(extractor="statistics"))
    run_worker(by_itself, until_idle=True)
    assert worker_note(config.run)["embedder"] == former, "it keeps its model until something else is asked for"
    proposals: list[api.Outdated] = []

    def agree(found: api.Outdated) -> bool:
        proposals.append(found)
        return True

    api.reprocess(by_itself, agree=agree, progress=lambda *told: None)
    assert [found.embedder for found in proposals] == ["minilm-int8"]
    seen: list[tuple[dict[str, object] | None, str, set[str]]] = []

    def watch() -> None:
        told, why = worker_note(config.run).get("vectors"), ""
        near: set[str] = set()
        try:
            near = {doc_id for doc_id, _ in nearest(partial(ask, config.run), "a kitten naps", "", 1, (), Deadline(30))}
        except StoreError as error:
            why = str(error)
        seen.append((told, why, near))

    run_worker(by_itself, until_idle=True, watch=watch)
    with open_home(config) as stores:
        a = find_document(stores, config.run, "Memory/documents/a.txt").doc_id
    model = worker_note(config.run)["embedder"]
    assert model != former and "vectors" not in worker_note(config.run)
    assert all(("embeds all documents again" in why) == (told is not None) for told, why, _ in seen)
    assert seen[0][0] == {"model": model, "sources": 1, "of": 2}
    assert seen[-1] == (None, "", {a})
    with open_home(config, vectors_of=former, derive=False) as stores:
        assert rows(stores) == []
    api.reprocess(by_itself, agree=agree, progress=lambda *told: None)
    assert proposals[-1].embedder == ""


@pytest.mark.peers(EMBEDDED, SERVERS_AND_VECTORS)
@pytest.mark.usefixtures("before")
def test_what_was_forgotten_then_is_embedded_when_it_comes_back(config: Config, tmp_path: Path) -> None:
    with open_home(config, vectors_of="one") as stores:
        remove(config, stores, "b.txt")
        work(config, stores, Embedding())
    compute = Embedding(model="two")
    with open_home(config, vectors_of="two") as stores:
        switch(config, stores, compute)
        without = keyed(stores)
        assert TEXTS["b"] not in compute.embedded
        deposit(config, stores, tmp_path, b=TEXTS["b"])
        work(config, stores, compute)
        back = keyed(stores)
        assert back.keys() > without.keys()
        assert TEXTS["b"] in compute.embedded
        assert compute.asked == []
        rebuild(stores)
        assert keyed(stores) == back
        [doc_id] = {document.doc_id for document in documents(stores)} & {
            item.partition(":")[0] for kind, item, _ in back.keys() - without.keys() if kind == "source"
        }
        assert len(list(stores.garage.objects.keys(f"vectors/{doc_id}/"))) == 3


def remove(config: Config, stores: Stores, name: str) -> None:
    root = stores.catalog.names.ontologies()[0].root
    found = next(child for child in stores.catalog.names.children(root) if child.name == name)
    with open_deposits(config, stores) as (deposits, _):
        deposits.remove(found.id)


@pytest.mark.claim("VEC-4")
def test_another_model_takes_over_though_the_reading_of_one_document_is_lost(config: Config, before: Keyed) -> None:
    compute = Embedding(model="two")
    with open_home(config, vectors_of="two") as stores:
        assert stores.vectors is not None
        lost = find_document(stores, config.run, "Test/documents/b.txt")
        for key in [key for key, _ in stores.garage.objects.keys(f"readings/{lost.doc_id}/")]:
            stores.garage.objects.delete(key)
        with pytest.raises(MissingError, match="The garage has lost readings/"):
            switch(config, stores, compute)
        found = keyed(stores)
        assert stores.vectors.complete() and found.keys() < before.keys()
        assert {row.doc_id for row in rows(stores) if row.kind == "source"} == {
            one.doc_id for one in documents(stores) if one.doc_id != lost.doc_id
        }
        switch(config, stores, compute)
        assert keyed(stores) == found, "what is lost is told once, and not looked for at each start"


@pytest.mark.claim("GONE-6", "VEC-5")
def test_what_is_purged_while_there_is_no_embedder_leaves_the_vectors_of_a_former_one(
    config: Config, before: Keyed
) -> None:
    with open_home(config) as stores:
        assert stores.vectors is None
        gone = find_document(stores, config.run, "Test/documents/b.txt")
        with open_deposits(config, stores) as (deposits, _):
            order(deposits, stores, plan(stores, [gone], "orphans", purge=True))
        work(config, stores, Counting())
        assert not stores.catalog.names.forgettings()
    with open_home(config, vectors_of="one", derive=False) as stores:
        left = keyed(stores)
        assert left.keys() < before.keys()
        assert {kind for kind, _, _ in before.keys() - left.keys()} == {"source", "concept"}
        assert gone.doc_id not in {row.doc_id for row in rows(stores)}


@pytest.mark.models
@pytest.mark.peers(EMBEDDED)
@pytest.mark.files("removes the file of the vectors")
@pytest.mark.logs("recover MissingError: The garage has lost readings/")
def test_a_worker_whose_vectors_lack_a_lost_reading_says_that_it_works_and_derives_them_once(
    home: Path, tmp_path: Path
) -> None:
    config = Config(home=home, models=Models(extractor="statistics"))
    ingest(
        config,
        tmp_path,
        a="A root set is a form of memory. The root set uses a memory.",
        b="A cell is a form of graph.",
    )
    objects = open_garage(config).objects
    objects.delete(next(key for key, _ in objects.keys("readings/")))
    for path in config.vectors_db.parent.glob(f"{config.vectors_db.name}*"):
        path.unlink()
    states: list[str] = []
    for _ in range(2):
        run_worker(config, until_idle=True, watch=lambda: states.append(worker_note(config.run)["state"]))
    assert states and set(states) == {"working"}
    assert config.errors_log.read_bytes().count(b"recover") == 1
