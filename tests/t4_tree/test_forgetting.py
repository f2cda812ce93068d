"""Forgetting and the trash, seen from above: names, graph and tree of a home with a worker and no mount."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.compute.contract import LocalEngine
from kgfs.compute.local import LocalCompute
from kgfs.config import Config, load
from kgfs.domain.documents import Document, Name, State
from kgfs.domain.names import decode_name
from kgfs.errors import BadInputError, ExistsError, MissingError
from kgfs.ingest import timing
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.ingest.working.worker import Worker
from kgfs.ingest.writing import trash
from kgfs.settings import Models
from kgfs.stores.database import remove_database
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.resolve import find_document
from tests.support.histories import Place, differences, open_place, seen
from tests.support.peers.homes import anywhere, lifecycle

pytestmark = lifecycle

ABBOT = "The abbot of Kyoto keeps a koan. The abbot of Kyoto teaches Zen practice. Zen practice is hard.\n"
MONK = "A young monk learns Zen practice. The young monk leaves Zen practice. A young monk walks.\n"


@pytest.fixture
def place(home: Path) -> Iterator[Place]:
    compute = LocalCompute(Models(embedder="none", extractor="statistics"))
    config = load(home)
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        yield open_place(config, stores, deposits, compute)


def write(place: Place, path: str, content: str, ontology: str = "Zen") -> Document:
    """Deposited and read."""
    source = place.config.home.parent / "source"
    source.write_text(content)
    place.deposits.ingest_file(source, ontology, path)
    place.work()
    return document(place, path, ontology)


def name(place: Place, path: str, ontology: str = "Zen") -> Name:
    found = place.stores.catalog.names.resolve(place.ontology(ontology).id, path)
    assert found is not None
    return found


def document(place: Place, path: str, ontology: str = "Zen") -> Document:
    found = place.stores.catalog.names.document(name(place, path, ontology).doc_id)
    assert found is not None
    return found


def now(place: Place, doc_id: str) -> Document:
    found = place.stores.catalog.names.document(doc_id)
    assert found is not None
    return found


def forgotten(place: Place, *words: str, cascade: str = "orphans", purge: bool = False) -> forget_plan.Plan:
    targets = [find_document(place.stores, place.config.run, each) for each in words]
    planned = forget_plan.plan(place.stores, targets, cascade, purge=purge)
    forget.order(place.deposits, place.stores, planned)
    assert forget.carry_out(place.config, place.stores) == 1
    assert place.stores.catalog.names.forgettings() == []
    return planned


def concepts(place: Place) -> set[str]:
    return {concept.name for concept in place.stores.graph.concepts(place.ontology("Zen").id)}


def rebuilt_is_the_same(place: Place) -> None:
    before = seen(place)
    rebuild(place.stores)
    assert differences(before, seen(place)) == {}


# ---------------------------------------------------------------------------------------------------- trash


@anywhere
@pytest.mark.claim("GONE-1")
def test_what_is_restored_is_as_it_was(place: Place) -> None:
    write(place, "a/b.txt", ABBOT)
    before = name(place, "a/b.txt")
    place.deposits.set_attributes(before.id, mode=0o640, mtime=123_000_000_456)
    before, known = name(place, "a/b.txt"), concepts(place)
    place.deposits.remove(before.id)
    place.work()
    assert now(place, before.doc_id).state is State.TRASHED
    assert concepts(place) == set()
    [gone] = trash.listed(place.stores)
    assert (gone.id, gone.path, gone.doc_id) == (before.id, "a/b.txt", before.doc_id)

    assert (
        trash.restore(place.deposits, place.stores, trash.find(place.stores, place.config.run, "Zen/a/b.txt"))
        == "Zen/documents/a/b.txt"
    )
    after = name(place, "a/b.txt")
    same = ("id", "mode", "uid", "gid", "mtime", "size", "sha256", "doc_id", "version", "settled")
    assert [getattr(after, field) for field in same] == [getattr(before, field) for field in same]
    assert [version.n for version in place.stores.catalog.names.versions(after.id)] == [1]
    readings = list(place.stores.garage.objects.keys("readings/"))
    place.work()
    assert concepts(place) == known
    assert list(place.stores.garage.objects.keys("readings/")) == readings
    assert list(trash.listed(place.stores)) == []
    rebuilt_is_the_same(place)


def test_restored_where_something_stands_asks_for_another_path(place: Place) -> None:
    write(place, "a.txt", ABBOT)
    place.deposits.remove(name(place, "a.txt").id)
    write(place, "a.txt", MONK)
    gone = trash.find(place.stores, place.config.run, "Zen/documents/a.txt")
    with pytest.raises(ExistsError, match="--as"):
        trash.restore(place.deposits, place.stores, gone)
    trash.restore(place.deposits, place.stores, gone, "Zen/kept/b.txt")
    place.work()
    assert document(place, "kept/b.txt").doc_id == gone.doc_id
    assert document(place, "a.txt").state is State.DONE


def test_the_trash_of_a_removed_ontology_is_restored_into_another(place: Place) -> None:
    write(place, "a.txt", ABBOT)
    ontology = place.ontology("Zen")
    place.deposits.remove(name(place, "a.txt").id)
    place.deposits.remove_ontology(ontology.id)
    [gone] = trash.listed(place.stores)
    assert trash.find(place.stores, place.config.run, "Zen/a.txt") == gone
    trash.restore(place.deposits, place.stores, gone, "Memory/a.txt")
    place.work()
    restored = document(place, "a.txt", "Memory")
    assert (restored.state, restored.sha256) == (State.DONE, gone.sha256)
    assert place.stores.garage.objects.exists(restored.key)


@pytest.mark.parametrize("odd", ["latin%E9.txt", "new%0Aline.txt", "100%25.txt", "documents/a.txt"])
def test_a_name_of_any_bytes_comes_back_as_it_was(place: Place, tmp_path: Path, odd: str) -> None:
    (tmp_path / "source").write_text(ABBOT)
    place.deposits.ingest_file(tmp_path / "source", "Zen", os.fsdecode(decode_name(odd)))
    place.deposits.remove(name(place, odd).id)
    for words in (f"Zen/{odd}", os.fsdecode(decode_name(f"Zen/documents/{odd}"))):
        gone = trash.find(place.stores, place.config.run, words)
        assert trash.restore(place.deposits, place.stores, gone) == f"Zen/documents/{odd}"
        place.deposits.remove(name(place, odd).id)
    gone = trash.find(place.stores, place.config.run, f"Zen/{odd}")
    elsewhere = os.fsdecode(decode_name(f"Zen/sub/{odd}"))
    assert trash.restore(place.deposits, place.stores, gone, elsewhere) == f"Zen/documents/sub/{odd}"


def test_a_removed_ontology_comes_back_under_its_name_not_its_prefix(place: Place) -> None:
    kept = write(place, "a.txt", ABBOT, "Über Zen")
    removed = place.ontology("Über Zen")
    assert removed.prefix != removed.name
    place.deposits.remove(name(place, "a.txt", "Über Zen").id)
    place.deposits.remove_ontology(removed.id)
    place.work()
    for words in (kept.doc_id, kept.key):
        found = find_document(place.stores, place.config.run, words)
        assert (found.doc_id, found.ontology.name) == (kept.doc_id, "Über Zen")
    gone = trash.find(place.stores, place.config.run, "Über Zen/a.txt")
    assert trash.restore(place.deposits, place.stores, gone) == "Über Zen/documents/a.txt"
    assert place.ontology("Über Zen").id != removed.id


@pytest.mark.claim("GONE-2")
def test_emptying_gives_up_only_what_nothing_promises(place: Place) -> None:
    once = write(place, "edited.txt", ABBOT)
    write(place, "edited.txt", MONK)
    alone = write(place, "alone.txt", "Reference counting frees cells. Reference counting is quick.\n")
    place.deposits.remove(name(place, "alone.txt").id)
    place.work()
    [gone] = trash.listed(place.stores)
    objects = place.stores.garage.objects
    assert trash.empty(place.stores, place.deposits.settler, gone.at) == 0
    assert objects.exists(alone.key)
    assert trash.empty(place.stores, place.deposits.settler, time.time_ns()) == 1
    assert not objects.exists(alone.key)
    assert objects.exists(once.key), "versions/ of a living path promise it"
    assert now(place, alone.doc_id).state is State.KEPT
    with pytest.raises(MissingError):
        trash.find(place.stores, place.config.run, "Zen/alone.txt")
    rebuilt_is_the_same(place)
    again = write(place, "again.txt", "Reference counting frees cells. Reference counting is quick.\n")
    assert (again.doc_id, again.state) == (alone.doc_id, State.DONE)


# --------------------------------------------------------------------------------------------------- forget


@anywhere
@pytest.mark.claim("GONE-3")
def test_orphans_leave_in_one_commit_however_many_documents(place: Place) -> None:
    write(place, "a.txt", ABBOT)
    write(place, "folder/b.txt", ABBOT.replace("Kyoto", "Nara"))
    write(place, "folder/deep/c.txt", ABBOT.replace("Kyoto", "Osaka"))
    kept = write(place, "kept.txt", MONK)
    only = {concept.name for concept in place.stores.graph.concepts_of(kept.doc_id)}
    epoch = place.stores.graph.epoch()
    planned = forgotten(place, "Zen/a.txt", "Zen/folder")
    assert place.stores.graph.epoch() == epoch + 1
    assert concepts(place) == only
    assert {concept.name for concept in planned.gone}.isdisjoint(only)
    assert all(c.name in only and lost > 0 for c, lost in planned.lessened)
    assert {gone.path for gone in trash.listed(place.stores)} == {"a.txt", "folder/b.txt", "folder/deep/c.txt"}
    assert place.stores.catalog.names.resolve(place.ontology("Zen").id, "folder") is None
    assert place.stores.catalog.jobs.owed() == 0
    rebuilt_is_the_same(place)


@pytest.mark.claim("GONE-3")
def test_a_document_leaves_under_all_its_names(place: Place) -> None:
    write(place, "a.txt", ABBOT)
    write(place, "same.txt", ABBOT)
    planned = forgotten(place, "Zen/a.txt")
    assert planned.documents[0].paths == ("Zen/documents/a.txt", "Zen/documents/same.txt")
    assert concepts(place) == set()


def test_a_whole_ontology_can_be_forgotten(place: Place) -> None:
    write(place, "a.txt", ABBOT)
    write(place, "deep/b.txt", MONK)
    forgotten(place, "Zen")
    assert place.stores.catalog.names.ontology_named("Zen") is None
    assert len(list(trash.listed(place.stores))) == 2


@pytest.mark.claim("GONE-4")
def test_knowledge_that_stays_keeps_its_ontology(place: Place) -> None:
    kept = write(place, "d/a.txt", ABBOT)
    before = concepts(place)
    planned = forgotten(place, "Zen", cascade="none")
    assert (planned.ontologies, len(planned.names)) == ((), 2)
    assert concepts(place) == before
    assert place.stores.catalog.names.tombstoned(kept.doc_id)
    assert not place.stores.catalog.names.children(place.ontology("Zen").root)


def test_what_was_removed_before_is_purged_by_its_path(place: Place) -> None:
    gone = write(place, "a.txt", ABBOT)
    place.deposits.remove(name(place, "a.txt").id)
    place.work()
    target = find_document(place.stores, place.config.run, "Zen/a.txt", trashed=True)
    planned = forget_plan.plan(place.stores, [target], "orphans", purge=True)
    assert [leaving.trashed for leaving in planned.documents] == [("a.txt",)]
    forget.order(place.deposits, place.stores, planned)
    forget.carry_out(place.config, place.stores)
    assert place.stores.catalog.names.document(gone.doc_id) is None
    assert not list(trash.listed(place.stores))


@anywhere
def test_a_tombstone_keeps_its_knowledge(place: Place) -> None:
    doomed = write(place, "a.txt", ABBOT)
    known = concepts(place)
    forgotten(place, "Zen/a.txt", cascade="none")
    place.work()
    assert concepts(place) == known
    assert now(place, doomed.doc_id).state is State.TRASHED
    tree = seen(place)
    [first, *_] = [path for path in tree if path.endswith("/evidence/1/source.txt") and "/related/" not in path]
    content = tree[first]
    assert isinstance(content, tuple)
    assert b"original removed" in content[4]
    link = tree[first.replace("source.txt", "document")]
    assert isinstance(link, tuple)
    assert f"archive/{doomed.doc_id}/text.txt" in str(link[4])
    citation = tree[first.replace("source.txt", "citation.json")]
    assert isinstance(citation, tuple)
    assert b'"removed": true' in citation[4]

    # Its original leaves with the trash; its Text stays readable, and a rebuild needs no more.
    trash.empty(place.stores, place.deposits.settler)
    assert not place.stores.garage.objects.exists(doomed.key)
    text = seen(place)[f"/Zen/archive/{doomed.doc_id}/text.txt"]
    assert isinstance(text, tuple)
    assert text[4] == ABBOT.encode()
    assert f"/Zen/archive/{doomed.doc_id}/original" not in seen(place)
    rebuilt_is_the_same(place)

    # A file that comes to its old place does not drive it out, and the same bytes lift it.
    write(place, "a.txt", MONK)
    assert known <= concepts(place)
    write(place, "back.txt", ABBOT)
    assert now(place, doomed.doc_id).state is State.DONE
    assert not place.stores.catalog.names.tombstoned(doomed.doc_id)


@anywhere
@pytest.mark.claim("GONE-5")
def test_all_takes_the_evidence_of_others_and_keeps_it_away_until_a_later_deposit(place: Place) -> None:
    doomed = write(place, "a.txt", ABBOT)
    other = write(place, "b.txt", MONK)
    shared = {c.name for c in place.stores.graph.concepts_of(doomed.doc_id)} & {
        c.name for c in place.stores.graph.concepts_of(other.doc_id)
    }
    assert "zen-practice" in shared
    planned = forgotten(place, "Zen/a.txt", cascade="all")
    assert [doc_id for doc_id, _ in planned.others] == [other.doc_id]
    assert concepts(place).isdisjoint({concept.name for concept in planned.gone})
    assert "young-monk" in concepts(place)
    rebuilt_is_the_same(place)

    # Read again in every way, what was deposited before does not bring them back.
    place.deposits.remove(name(place, "b.txt").id)
    place.work()
    [gone] = [gone for gone in trash.listed(place.stores) if gone.path == "b.txt"]
    trash.restore(place.deposits, place.stores, gone)
    place.work()
    assert "young-monk" in concepts(place)
    assert "zen-practice" not in concepts(place)
    rebuilt_is_the_same(place)

    write(place, "later.txt", MONK.replace("young", "old"))
    assert "zen-practice" in concepts(place)
    lifted = place.stores.graph.concept_named(place.ontology("Zen").id, "zen-practice")
    assert lifted is not None
    assert other.doc_id not in place.stores.graph.documents_of([lifted.concept_id])[lifted.concept_id]
    rebuilt_is_the_same(place)


def order(place: Place, path: str, cascade: str) -> str:
    target = find_document(place.stores, place.config.run, path)
    planned = forget_plan.plan(place.stores, [target], cascade, purge=False)
    return forget.order(place.deposits, place.stores, planned).id


def refuse(monkeypatch: pytest.MonkeyPatch, place: Place, times: int) -> list[float]:
    """As where something that it needs is lost; when it did."""
    refused: list[float] = []
    done = place.stores.graph.forget

    def forget_(*words: Any) -> int:
        if len(refused) < times:
            refused.append(time.monotonic())
            raise MissingError("it is lost")
        return done(*words)

    monkeypatch.setattr(place.stores.graph, "forget", forget_)
    return refused


@pytest.mark.claim("GONE-3")
@pytest.mark.parametrize("refused_first", [True, False])
def test_all_that_failed_is_said(place: Place, monkeypatch: pytest.MonkeyPatch, refused_first: bool) -> None:
    refuse(monkeypatch, place, 2)
    lost, large = write(place, "a.txt", ABBOT), write(place, "b.txt", MONK)
    for doc in (large, lost) if refused_first else (lost, large):
        order(place, "Zen/b.txt" if doc is large else "Zen/a.txt", "orphans" if doc is large else "none")
    ((key, _),) = place.stores.garage.objects.keys(f"readings/{lost.doc_id}/")
    place.stores.garage.objects.delete(key)
    with pytest.raises(MissingError, match="it is lost") as raised:
        forget.carry_out(place.config, place.stores)
    assert key in str(raised.value)


@pytest.mark.claim("GONE-3")
@pytest.mark.logs("recover MissingError: it is lost")
def test_a_refused_order_is_tried_again_by_a_worker_with_nothing_else_to_do_and_said_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "JOB_RETRY", 0.1)
    monkeypatch.setattr(timing, "ORDERS_RETRY", 0.5)
    doomed = write(place, "a.txt", ABBOT)
    refused = refuse(monkeypatch, place, 4)
    order(place, "Zen/a.txt", "orphans")
    compute = LocalCompute(Models(embedder="none", extractor="statistics"))
    engine = LocalEngine(compute, place.stores.garage.objects)
    pipeline = Pipeline(place.config, place.stores, compute, StageClock(), engine)
    worker = Worker(pipeline, ErrorLog(place.config.errors_log), lambda: None)
    end = time.monotonic() + 20

    def watch() -> None:
        if not place.stores.catalog.names.forgettings_count() or time.monotonic() > end:
            worker.stop()

    worker.run(watch=watch)
    assert place.stores.catalog.names.forgettings() == [] and place.stores.graph.document(doomed.doc_id) is None
    assert all(after - before > 0.5 for before, after in itertools.pairwise(refused[1:]))
    assert place.config.errors_log.read_text().count("it is lost") == 1


@pytest.mark.claim("GONE-7")
def test_a_later_deposit_wins_over_a_forgetting_that_is_owed(place: Place) -> None:
    doomed = write(place, "a.txt", ABBOT)
    target = find_document(place.stores, place.config.run, "Zen/a.txt")
    forget.order(place.deposits, place.stores, forget_plan.plan(place.stores, [target], "orphans", purge=True))
    source = place.config.home.parent / "source"
    source.write_text(ABBOT)
    place.deposits.ingest_file(source, "Zen", "again.txt")
    forget.carry_out(place.config, place.stores)
    place.work()
    assert now(place, doomed.doc_id).state is State.DONE
    assert place.stores.garage.objects.exists(doomed.key)


@anywhere
def test_a_purged_name_is_not_given_to_another_concept(place: Place) -> None:
    write(place, "a.txt", ABBOT)
    graph, ontology = place.stores.graph, place.ontology("Zen").id
    taken = {concept.name: concept.concept_id for concept in graph.concepts(ontology)}
    forgotten(place, "Zen/a.txt", purge=True)
    assert graph.names_taken(ontology, taken) == taken
    rebuilt_is_the_same(place)
    assert graph.names_taken(ontology, taken) == taken
    assert not list(place.stores.garage.objects.keys("readings/"))
    again = write(place, "a.txt", ABBOT)
    assert {concept.name: concept.concept_id for concept in graph.concepts_of(again.doc_id)} == taken
    numbers = [row.n for row in graph.instances_of(again.doc_id) if row.owner == taken["zen-practice"]]
    assert min(numbers) > 1, "numbers of purged evidence are not used again"
    rebuilt_is_the_same(place)


@pytest.mark.files("damage")
def test_what_purged_names_were_given_to_outlives_a_lost_graph_where_nothing_else_is_left(home: Path) -> None:
    compute, config = LocalCompute(Models(embedder="none", extractor="statistics")), Config(home)
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        place = open_place(config, stores, deposits, compute)
        write(place, "a.txt", ABBOT)
        forgotten(place, "Zen/a.txt", purge=True)
        before, epoch = seen(place), stores.graph.epoch()
    remove_database(config.graph_db)
    with open_home(config) as stores, open_deposits(config, stores) as (deposits, _):
        place = open_place(config, stores, deposits, compute)
        assert differences(before, seen(place)) == {}
        assert stores.graph.epoch() > 0 < epoch


def test_none_and_purge_exclude_each_other(place: Place) -> None:
    with pytest.raises(BadInputError):
        forget_plan.plan(place.stores, [], "none", purge=True)
