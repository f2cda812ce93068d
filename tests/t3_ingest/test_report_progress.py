"""Homes that share a garage say how far they have followed, and a purge waits for each of them."""

from __future__ import annotations

from typing import Any

import pytest

from kgfs.app.shipping import shipping
from kgfs.knowledge.status import sharing_page
from kgfs.sharing import timing
from kgfs.stores.catalog.facts import ForgettingDone, ForgettingOwed
from kgfs.stores.hosts import HOSTS, host_id, read_roll, strike_off
from tests.support.graph_building import Doc, Told, publish
from tests.support.hosts import Host


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "REPORT_EVERY", 0.0)


def exchanged(*hosts: Host) -> None:
    for one in hosts:
        shipping(one.config, one.stores)()


def purged(host: Host) -> int:
    """The number of the fact that a document was purged there."""
    name = host.file("a.txt", b"secret")
    exchanged(host)
    host.settle()
    row = host.row(name.id)
    host.deposits.record(ForgettingOwed("order", (name.id,), (row.doc_id,), "all", True, (), (), 5))
    host.deposits.record(ForgettingDone("order", (row.doc_id,), "all", True, "commit", (), "redaction", 6 * 10**9))
    exchanged(host)
    return host.catalog.seq()


def shown(host: Host) -> dict[str, Any]:
    read_roll(host.config, host.stores)
    page = sharing_page(host.config)
    assert page is not None
    return page


@pytest.mark.claim("SHARE-8")
def test_a_purge_waits_for_each_host_until_it_is_obeyed(here: Host, there: Host) -> None:
    exchanged(here, there)
    fact = purged(here)
    waits = host_id(there.config)
    assert shown(here)["purges"] == [{"fact": fact, "at": 6, "documents": 1, "waits_for": [waits]}]
    assert {host["id"] for host in shown(here)["hosts"] if host["this"]} == {host_id(here.config)}
    exchanged(there)
    for one in (here, there):
        assert shown(one)["purges"] == []
        assert [host["followed"] for host in shown(one)["hosts"]] == [fact, fact]
    assert len(list(here.stores.garage.objects.keys(HOSTS))) == 2


@pytest.mark.claim("SHARE-8")
def test_what_is_not_erased_yet_is_not_said_to_be(here: Host, there: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    exchanged(here, there)
    fact = purged(here)
    with monkeypatch.context() as patched:
        patched.setattr("kgfs.sharing.exchange.apply_purges", lambda *_: None)
        exchanged(there)
        assert (there.config.home / "purged.json").exists()
        assert [purge["fact"] for purge in shown(here)["purges"]] == [fact]
    (there.config.home / "purged.json").unlink()
    exchanged(there)
    assert shown(here)["purges"] == []


@pytest.mark.claim("SHARE-8")
def test_what_a_graph_of_ones_own_may_still_have_is_not_said_to_be_gone(here: Host, there: Host) -> None:
    exchanged(here, there)
    fact = purged(here)
    (done,) = [told for _, told in here.catalog.facts(fact - 1) or [] if isinstance(told, ForgettingDone)]
    publish(there.stores.graph, Doc(done.doc_ids[0], [Told("Secret")], texts=["secret"]))
    exchanged(there)
    assert [purge["fact"] for purge in shown(here)["purges"]] == [fact]
    for followed in (fact - 1, fact):
        assert [purge["fact"] for purge in shown(here)["purges"]] == [fact]
        there.stores.graph.note_followed(followed)
        exchanged(there)
    assert shown(here)["purges"] == []


@pytest.mark.claim("SHARE-8")
def test_a_host_that_cannot_say_yet_that_it_obeyed_is_waited_for_all_the_same(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that nobody knew, or that was struck off: it may have what was purged."""
    exchanged(here)
    fact = purged(here)
    note = there.config.home / "purged.json"
    note.write_text('{"doc_ids": [], "sha256s": []}')
    monkeypatch.setattr("kgfs.sharing.exchange.apply_purges", lambda *_: None)
    for _ in range(2):
        exchanged(there)
    assert shown(here)["purges"][0]["waits_for"] == [host_id(there.config)]
    assert [(host["id"], host["followed"]) for host in shown(here)["hosts"] if not host["this"]] == [
        (host_id(there.config), 0)
    ]
    monkeypatch.undo()
    monkeypatch.setattr(timing, "REPORT_EVERY", 0.0)
    note.unlink(missing_ok=True)
    exchanged(there)
    assert shown(here)["purges"] == []
    assert [host["followed"] for host in shown(here)["hosts"]] == [fact, fact]


@pytest.mark.claim("SHARE-8")
def test_a_host_that_is_struck_off_is_waited_for_no_more_until_it_comes_back(here: Host, there: Host) -> None:
    exchanged(here, there)
    fact = purged(here)
    assert shown(here)["purges"]
    assert strike_off(here.stores.garage.objects, host_id(there.config))
    assert not strike_off(here.stores.garage.objects, host_id(there.config))
    assert shown(here)["purges"] == [] and len(shown(here)["hosts"]) == 1
    exchanged(there)
    assert [host["followed"] for host in shown(here)["hosts"]] == [fact, fact]


def test_what_was_known_is_found_again_without_the_note_of_it(here: Host, there: Host) -> None:
    exchanged(here, there)
    purged(here)
    before = shown(here)
    (here.config.run / "hosts.json").unlink()
    assert shown(here)["purges"] == before["purges"]
