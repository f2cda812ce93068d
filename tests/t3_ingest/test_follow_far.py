"""How far a graph of a home's own is noted to be, where others do much and nothing to theirs."""

from __future__ import annotations

import pytest

from kgfs.app.turns import only_deriver, replay
from kgfs.ingest.lifecycle import rebuild
from kgfs.sharing import follow_graph as following
from kgfs.sharing.follow_graph import follow_graph
from kgfs.stores.catalog.facts import GraphFact
from kgfs.stores.stores import Stores
from tests.support.following import Home, same, told_what_is_derived
from tests.support.slow_reading import hanging


@pytest.mark.claim("SHARE-10")
def test_names_that_others_make_do_not_age_what_it_notes(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog tells only of the newest facts: who does nothing but look notes how far its graph is all the same."""
    here, _ = homes
    monkeypatch.setattr("kgfs.stores.catalog.sqlite.KEPT_ENTRIES", 60)
    monkeypatch.setattr(following, "NOTED_EVERY", 5)
    here.deposit("00")
    for home in homes:
        home.host.exchange()
        home.work()
    derived = told_what_is_derived(homes, monkeypatch)
    for part in range(4):
        for n in range(10):
            here.host.file(f"{part}-{n}-beside.txt", b"")
        for home in homes:
            home.host.exchange()
            home.work()
    here.deposit("01")
    for home in homes:
        home.host.exchange()
        home.work()
    assert derived == []
    same(homes)


def write_names(home: Home, part: str) -> None:
    """More than the catalog keeps."""
    for n in range(100):
        home.host.file(f"{part}-{n}.txt", b"")
    home.host.exchange()


@pytest.mark.claim("SHARE-10")
@pytest.mark.parametrize("asked", [False, True], ids=["by-the-worker", "by-a-verb"])
def test_a_graph_is_derived_while_others_write_more_than_the_journal_keeps(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    """As ``kgfs rebuild`` of a large home, for hours. What it was derived with is noted, so it is derived once."""
    here, there = homes
    monkeypatch.setattr("kgfs.stores.catalog.sqlite.KEPT_ENTRIES", 60)
    here.deposit("00")
    here.work()
    there.host.exchange()
    derived = told_what_is_derived(homes, monkeypatch)
    real = rebuild.rebuild_graph

    def slowly(stores: Stores) -> int:
        done = real(stores)
        here.deposit("01")
        here.work(hanging())
        write_names(here, f"meanwhile-{len(derived)}")
        there.host.exchange()
        return done

    with monkeypatch.context() as patched:
        patched.setattr(rebuild, "rebuild_graph", slowly)
        if asked:
            with only_deriver(there.host.config, there.stores, there.meet, whole=True) as stores:
                slowly(stores)
        else:
            follow_graph(there.host.config, there.stores, replay())
    for _ in range(2):
        there.work(hanging())
    assert derived == ["there"]
    assert there.stores.graph.counts()["documents"] == 2
    same(homes)


@pytest.mark.claim("SHARE-10")
def test_a_graph_follows_while_others_write_more_than_the_journal_keeps(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = homes
    monkeypatch.setattr("kgfs.stores.catalog.sqlite.KEPT_ENTRIES", 60)
    for home in homes:
        home.work()
    derived = told_what_is_derived(homes, monkeypatch)
    here.deposit("00", "01")
    here.work()
    there.host.exchange()
    real, written = rebuild.replay_in_graph, list[str]()

    def slowly(fact: GraphFact, stores: Stores) -> None:
        real(fact, stores)
        written.append(f"meanwhile-{len(written)}")
        write_names(here, written[-1])
        there.host.exchange()

    with monkeypatch.context() as patched:
        patched.setattr(rebuild, "replay_in_graph", slowly)
        follow_graph(there.host.config, there.stores, replay())
    here.deposit("02")
    here.work()
    there.host.exchange()
    there.work(hanging())
    assert len(written) == 4 and derived == []
    same(homes)


@pytest.mark.claim("SHARE-7", "SHARE-10")
@pytest.mark.parametrize("purged", [False, True])
def test_a_worker_that_was_away_for_more_than_the_journal_keeps_reads_it_from_the_ledger(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch, purged: bool
) -> None:
    here, there = homes
    monkeypatch.setattr("kgfs.stores.catalog.sqlite.KEPT_ENTRIES", 60)
    here.deposit("00", "02")
    for home in homes:
        home.host.exchange()
        home.work()
    derived = told_what_is_derived(homes, monkeypatch)
    here.deposit("01")
    here.work()
    if purged:
        here.forget("02.txt")
    write_names(here, "beside")
    here.deposit("03")
    here.work()
    there.host.exchange()
    assert there.stores.catalog.facts(there.stores.graph.followed() or 0, confirmed=True) is None
    for _ in range(2):
        there.work(hanging())
    assert derived == []
    same(homes)
