"""How far a graph of a home's own is noted to be, where others do much and nothing to theirs."""

from __future__ import annotations

import pytest

from kgfs.ingest.working import own_graph
from tests.t3_ingest.test_own_graph import Home, homes, same, told_what_is_derived

__all__ = ["homes"]


@pytest.mark.claim("SHARE-10")
def test_names_that_others_make_do_not_age_what_it_notes(
    homes: tuple[Home, Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The journal tells only of the newest facts: who does nothing but look notes how far its graph is all the same."""
    here, _ = homes
    monkeypatch.setattr("kgfs.stores.journal.sqlite.KEPT_ENTRIES", 60)
    monkeypatch.setattr(own_graph, "AT_ONCE", 5)
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
