"""Steps of purges that homes of one garage do, at their borders."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kgfs.ingest.lifecycle import purge
from kgfs.ingest.writing.trash import drop_unheld, empty
from kgfs.stores.catalog.facts import ForgettingDone, ForgettingOwed
from kgfs.stores.pending_uploads import LEAVING, WAITING
from tests.fakes.garage import MemoryGarage
from tests.support.hosts import Host

BORDERS = ("original-aside", "original-gone", "original-back")


class KilledError(Exception):
    """Here."""


def met(*hosts: Host) -> None:
    for one in (*hosts, hosts[0]):
        one.exchange.meet()


def unheld_by(there: Host, here: Host, content: bytes) -> str:
    """An original that was promised and is not any more, as both know; ``there`` is to give it up."""
    name = here.file("a.txt", content)
    here.settle()
    met(here, there)
    key = here.row(name.id).key
    here.deposits.remove(name.id)
    met(here, there)
    empty(there.stores, there.deposits.settler)
    met(there, here)
    assert there.stores.garage.objects.exists(key) and there.catalog.unheld() == [key]
    return key


def give_up(host: Host) -> None:
    drop_unheld(host.stores, host.deposits.settler)


def give_up_while(host: Host, monkeypatch: pytest.MonkeyPatch, at: str, other: Host) -> None:
    """At that border of it the other one settles and delivers."""

    def deposited(name: str) -> None:
        if name == at:
            other.settle()
            other.exchange()

    with monkeypatch.context() as patch:
        patch.setattr("kgfs.stores.two_phase_delete.border", deposited)
        give_up(host)


def kept(host: Host) -> list[str]:
    return [key for key, _ in host.stores.garage.objects.keys("") if key.startswith(("sources/", WAITING, LEAVING))]


def hook(
    monkeypatch: pytest.MonkeyPatch, garage: MemoryGarage, begins: str, do: Callable[[], object], when: str
) -> None:
    """``do`` before or after the deletion of a key that begins so."""
    delete = garage.objects.delete

    def deleted(key: str) -> bool:
        if key.startswith(begins) and when == "before":
            do()
        done = delete(key)
        if key.startswith(begins) and when == "after":
            do()
        return done

    monkeypatch.setattr(garage.objects, "delete", deleted)


def given_up_by(there: Host, path: str, content: bytes) -> str:
    """An original that ``there`` deposited, removed and gave up, which it alone knew of."""
    name = there.file(path, content)
    there.settle()
    key = there.row(name.id).key
    there.deposits.remove(name.id)
    there.exchange()
    empty(there.stores, there.deposits.settler)
    there.exchange()
    give_up(there)
    assert not there.stores.garage.objects.exists(key)
    return key


def called(home: Host, host: str) -> None:
    """Of homes that purge the same at once the last one has all that stands aside."""
    (home.config.home / "host").write_text(host)


def purged_by(there: Host, path: str) -> None:
    """A file that ``there`` knows, with its document; as ``kgfs forget --purge`` has it of one that was not read yet."""
    name = there.catalog.names.resolve(there.ontology().id, path)
    assert name is not None and name.doc_id
    purged_of(there, name.doc_id, name.id)


def purged_of(there: Host, doc_id: str, *names: int) -> None:
    """A Document, with these of its names."""
    there.deposits.record(ForgettingOwed("order", names, (doc_id,), "orphans", True, (), (), 5))
    there.exchange()
    purge._erase_objects(there.config, there.stores, doc_id, {doc_id})
    there.deposits.record(ForgettingDone("order", (doc_id,), "orphans", True, "commit", (), "redaction", 6))
    purge.conclude(there.config, there.stores, {"order"})


def while_it_waits(monkeypatch: pytest.MonkeyPatch, host: Host, do: Callable[[], object]) -> None:
    """``host`` delivers; in between, its bytes are in the garage, and its facts are not."""
    done: list[object] = []

    def at(name: str) -> None:
        if name == "waiting-put" and not done:
            done.append(name)
            do()

    with monkeypatch.context() as patch:
        patch.setattr("kgfs.sharing.exchange.border", at)
        host.exchange.deliver()
    assert done
