"""Homes with a graph each on one ledger: who has its turn reads and publishes, and the graphs of the others follow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kgfs.app.turns import only_changer, only_deriver, replay, taking_turns
from kgfs.domain.identity import normalise_label
from kgfs.errors import BusyError, LostLeaseError, NoSpaceError, UnavailableError
from kgfs.ingest import timing as ingest_timing
from kgfs.ingest.lifecycle import forget, rebuild, survivors
from kgfs.ingest.lifecycle.rebuild import rebuild_graph
from kgfs.ingest.matching import publication
from kgfs.ingest.repair.repair import repair
from kgfs.ingest.working.claims import Claim
from kgfs.ingest.working.worker import Worker
from kgfs.sharing import follow_graph as following
from kgfs.sharing import report_progress as acknowledging
from kgfs.sharing import shared_commits
from kgfs.sharing import timing as sharing_timing
from kgfs.sharing.follow_graph import follow_graph
from kgfs.sharing.turns import Together
from kgfs.stores.catalog.facts import GraphFact, ReadingOwed
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.hosts import host_id, read_roll
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from tests.support.following import SHORT, Home, same, told_what_is_derived
from tests.support.knowledge_of import knowledge_in
from tests.support.running import until
from tests.support.slow_reading import TEXTS, hanging, read_first
from tests.support.working import KilledError, throw


@pytest.mark.claim("SHARE-10")
def test_two_that_work_at_once_read_each_document_once(homes: tuple[Home, Home]) -> None:
    here, there = homes
    stems = sorted(TEXTS)
    here.deposit(*stems[:6])
    there.deposit(*stems[6:])
    here.host.exchange()
    with ThreadPoolExecutor(2) as pool:
        finished = list(pool.map(Home.work, homes))
    assert sum(finished) == len(stems)
    asked = [text for home in homes for text in home.compute.asked]
    assert len(asked) == len(set(asked)) == len(stems)
    assert len(list(here.stores.garage.objects.keys("readings/"))) == len(stems)
    same(homes)


@pytest.mark.claim("MACH-3")
@pytest.mark.logs("worker (UnavailableError|NoSpaceError): only here")
@pytest.mark.parametrize("fault", [UnavailableError, NoSpaceError])
def test_one_that_cannot_go_on_for_a_fault_of_its_own_lets_the_others(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    here, there = homes
    here.deposit("00", "01")
    there.host.exchange()
    with (
        monkeypatch.context() as patched,
        taking_turns(pipeline := here.pipeline(), here.meet) as turns,
        ThreadPoolExecutor(1) as pool,
    ):
        assert isinstance(turns, Together)
        worker = Worker(pipeline, ErrorLog(here.host.config.errors_log), here.host.exchange, turns)
        patched.setattr(ingest_timing, "JOB_RETRY", 2.0)
        met: list[str] = []

        claim = worker._claim

        def look(**given: Any) -> Claim | None:
            if turns._ours is not None:
                met.append("the disk is full")
                raise NoSpaceError("only here")
            return None if met else claim(**given)  # it claims before it has its turn

        if fault is NoSpaceError:
            patched.setattr(worker, "_claim", look)
        else:
            patched.setattr(here.compute, "answers", 0)
        working = pool.submit(worker.run)
        try:
            until(here.host.config.errors_log.exists)
            there.work(hanging())
        finally:
            worker.stop()
        working.result()
    here.work(hanging())
    assert there.stores.graph.counts()["documents"] == 2
    same(homes)


def test_a_turn_begins_though_what_was_read_of_the_newest_document_is_lost(homes: tuple[Home, Home]) -> None:
    """It is published and noted: nothing of it is needed."""
    here, _ = homes
    here.deposit("00", "01")
    here.work()
    here.lose_reading("01.txt")
    here.deposit("02")
    assert here.work(hanging()) == 1


@pytest.mark.claim("MACH-3")
@pytest.mark.logs("recover MissingError: readings/")
def test_an_order_that_cannot_be_carried_out_keeps_nobody_from_the_others(homes: tuple[Home, Home]) -> None:
    here, _ = homes
    here.deposit("00", "01")
    here.work()
    here.lose_reading("00.txt")
    here.order("00.txt", "none", purge=False)  # its Text is to be kept, by what was read
    here.order("01.txt")
    here.deposit("02")
    assert here.work(hanging()) == 1
    assert [owed.cascade for owed in here.stores.catalog.names.forgettings()] == ["none"]


@pytest.mark.claim("SHARE-10")
def test_a_document_whose_reading_is_lost_can_be_purged(homes: tuple[Home, Home]) -> None:
    here, there = homes
    here.deposit("00", "01", "02")
    here.work()
    before = words(here, "01.txt")
    here.lose_reading("01.txt")
    assert words(here, "01.txt") == before
    here.forget("01.txt")
    there.host.exchange()
    there.work(hanging())
    assert not keeps_word(here)
    same(homes)


@pytest.mark.claim("MACH-2", "SHARE-10")
@pytest.mark.parametrize("homes", [SHORT], indirect=True, ids=[""])
def test_one_that_stood_still_past_its_turn_publishes_nothing(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, quick = homes
    slow.deposit("00", "01", "02")
    quick.host.exchange()
    with taking_turns(slow.pipeline(), slow.meet) as turns:
        assert isinstance(turns, Together)
        publisher = turns.publisher()
        assert publisher is not None
        document, reading, job = read_first(publisher)

        stood: list[int] = []

        def stand_still() -> None:
            if not stood:
                monkeypatch.setattr(turns._holding._leases, "renew", lambda *_: False)  # no sign of life any more
                stood.append(quick.work())
                slow.host.exchange()

        with pytest.raises(LostLeaseError, match="changed its graph since"):
            publisher.publish(document, reading, stand_still, job)
        assert stood == [3]
        assert slow.stores.graph.counts()["documents"] == 0
        assert turns.publisher() is None
    assert slow.work() == 0
    assert len(slow.compute.asked) == 1
    same(homes)


@pytest.mark.claim("SHARE-10")
@pytest.mark.parametrize("homes", [SHORT], indirect=True, ids=[""])
def test_what_was_recorded_and_not_delivered_gives_way_to_what_was(homes: tuple[Home, Home]) -> None:
    """As of a worker that was killed between: its fact waits while the other home goes on, and is not carried out then."""
    late, quick = homes
    late.deposit("00", "01")
    quick.host.exchange()

    def away(stores: Stores) -> None:
        if stores.catalog.unshipped()[1]:
            raise UnavailableError("The bucket does not answer.")

    with taking_turns(late.pipeline(), away) as turns:
        publisher = turns.publisher()
        assert publisher is not None
        document, reading, job = read_first(publisher)
        with pytest.raises(UnavailableError):
            publisher.publish(document, reading, lambda: None, job)
    assert late.stores.catalog.jobs.owed() == 1
    assert late.stores.graph.counts()["documents"] == 0, "no graph has what the ledger may refuse"
    quick.deposit("02")
    assert quick.work() == 3
    assert late.work() == 0
    same(homes)


@pytest.mark.claim("SHARE-10")
def test_a_verb_that_was_overtaken_says_so(homes: tuple[Home, Home]) -> None:
    here, there = homes
    here.deposit("00", "01")
    here.work()
    there.work()
    here.deposit("02")
    there.host.exchange()
    here.order("00.txt", purge=False)
    here.host.exchange()
    with (
        pytest.raises(BusyError, match="If it was first"),
        only_changer(here.host.config, here.stores, here.meet) as stores,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setattr("kgfs.stores.leases.bucket.BucketLeases._lives", lambda *_: False)  # it is taken for dead
        there.host.exchange()
        there.work()
        forget.carry_out(here.host.config, stores)
    here.work()
    assert here.stores.graph.counts()["documents"] == 2
    same(homes)


@pytest.mark.claim("SHARE-7", "SHARE-10")
def test_a_purge_leaves_no_word_in_the_graphs_of_the_others(homes: tuple[Home, Home]) -> None:
    here, there = homes
    here.deposit("00", "01", "02")
    here.work()
    there.work()
    assert keeps_word(there)
    here.forget("01.txt")
    there.host.exchange()
    there.work()
    for home in homes:
        assert not keeps_word(home)
    same(homes)


@pytest.mark.claim("SHARE-7", "SHARE-8")
def test_a_purge_is_acknowledged_when_no_word_is_left_also_after_a_rebuild(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = homes
    monkeypatch.setattr(sharing_timing, "REPORT_EVERY", 0.0)
    there.stores.graph._database._writer.execute("PRAGMA secure_delete=OFF")  # as elsewhere, where SQLite is built so
    here.host.file("long.txt", " ".join(f"The root set number {n} is a memory cell." for n in range(1000)).encode())
    here.deposit("00", "02")
    here.work()
    there.work()
    here.forget("long.txt")
    there.meet(there.stores)
    purge = there.stores.catalog.changed_elsewhere()

    def says() -> bool:
        acknowledging.report_progress(there.host.config, there.stores)
        roll = read_roll(there.host.config, there.stores)
        return [host.followed >= purge for host in roll.hosts if host.id == host_id(there.host.config)] == [True]

    assert not says()
    with only_deriver(there.host.config, there.stores, there.meet, whole=True) as stores:
        rebuild_graph(stores)
    assert stores.graph.counts()["documents"] == 2
    assert says() and not keeps_word(there)
    there.work()
    same(homes)


def words(home: Home, path: str) -> set[str]:
    """Of a document's labels, as a purge looks for them with the survivors."""
    doc_id = find_document(home.stores, home.host.config.run, f"Notes/documents/{path}").doc_id
    return {normalise_label(form) for form in survivors._forms_of(home.stores, [doc_id])}


def keeps_word(home: Home) -> bool:
    return b"number 1" in b"".join(path.read_bytes() for path in home.host.config.home.glob("graph.sqlite*"))


@pytest.mark.claim("SHARE-10")
def test_it_follows_step_by_step_whatever_happened(homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = homes
    derived = told_what_is_derived(homes, monkeypatch)
    here.work()
    there.work()
    assert sorted(derived) == ["here", "there"], "a graph that is new"
    for stem, one, other in (("00", here, there), ("01", there, here), ("02", here, there)):
        one.deposit(stem)
        other.host.file(f"{stem}-beside.txt", b"")  # what waits gets other numbers
        other.host.exchange()
        one.work()
        other.work()
    here.forget("00.txt")
    here.work()
    there.host.exchange()
    there.work()
    same_step_by_step(homes)
    here.deposit("03")
    here.order("01.txt", "all", purge=False)
    here.work()
    there.deposit("04")
    there.work()
    here.work()
    assert len(derived) == 2
    same(homes)


@pytest.mark.claim("SHARE-10")
@pytest.mark.parametrize("border", ["staged", "publication-recorded", "publication-delivered", "followed-in-graph"])
def test_one_that_is_killed_anywhere_derives_nothing_anew(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch, border: str
) -> None:
    here, there = homes
    for home in homes:
        home.work()
    derived = told_what_is_derived(homes, monkeypatch)
    here.deposit("00", "01", "02")
    there.host.exchange()
    for killed in (here, there):
        with monkeypatch.context() as patched:
            for module in (following, shared_commits, publication):
                patched.setattr(module, "border", lambda name: throw(KilledError()) if name == border else None)
            with pytest.raises(KilledError):
                killed.work(hanging())
        monkeypatch.setattr("kgfs.stores.leases.bucket.BucketLeases._lives", lambda *_: False)  # its leases run out
    for home in (here, there, here):
        home.work(hanging())
    assert derived == []
    same_step_by_step(homes)
    same(homes)


def same_step_by_step(homes: tuple[Home, Home]) -> None:
    """They know the same before anything is rebuilt."""
    for home in homes:
        home.meet(home.stores)
        home.work()
    here, there = (knowledge_in(home.stores) for home in homes)
    assert here == there


@pytest.mark.claim("SHARE-10")
def test_what_failed_midway_goes_on_and_what_was_derived_follows(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = homes
    for home in homes:
        home.work()
    derived = told_what_is_derived(homes, monkeypatch)
    config, stores = there.host.config, there.stores
    (ontology,) = stores.catalog.names.ontologies()

    here.deposit("00", "01", "02")
    here.work()
    there.host.exchange()
    real, left = rebuild.replay_in_graph, [2]

    def twice(fact: GraphFact, stores: Stores) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise UnavailableError("The bucket does not answer.")
        real(fact, stores)

    with monkeypatch.context() as patched:
        patched.setattr(rebuild, "replay_in_graph", twice)
        with pytest.raises(UnavailableError):
            follow_graph(config, stores, replay())
    assert stores.graph.counts()["documents"] == 2
    follow_graph(config, stores, replay())

    def other_goes_on(stem: str) -> None:
        here.deposit(stem)
        here.work()
        there.work()
        assert there.stores.graph.counts()["documents"] == here.stores.graph.counts()["documents"]

    other_goes_on("03")
    with only_deriver(config, stores, there.meet, whole=False) as alone:
        rebuild_graph(alone, ontology=ontology.id)
    other_goes_on("04")
    with only_changer(config, stores, there.meet) as alone:
        assert repair(config, alone, [Damage(Kind.DANGLING, "something")])
    other_goes_on("05")
    assert derived == []
    same(homes)


@pytest.mark.claim("MACH-3")
@pytest.mark.logs("recover MissingError: The garage has lost readings/")
def test_a_home_that_lacks_what_a_publication_needs_waits_there_and_the_others_go_on(homes: tuple[Home, Home]) -> None:
    here, there = homes
    here.deposit("00", "01")
    here.work()
    here.lose_reading("00.txt")
    there.host.exchange()
    there.deposit("02")
    with taking_turns(there.pipeline(), there.meet) as turns:
        for _ in range(3):
            assert turns.publisher() is None, "what it decides might not hold in graphs that have more"
            turns.keep_up(now=True)
    assert there.host.config.errors_log.read_text().count("MissingError") == 1
    here.host.exchange()
    assert here.work(hanging()) == 1
    lost = find_document(here.stores, here.host.config.run, "Notes/documents/00.txt").doc_id
    here.stores.catalog.record(ReadingOwed(lost, "as check --repair has it", 1, run="repair-1"))
    here.host.exchange()
    assert here.work(hanging()) == 1
    there.host.exchange()
    there.work(hanging())
    same_step_by_step(homes)
    same(homes)
