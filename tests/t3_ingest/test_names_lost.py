"""A home that lost its names, and derives them anew from the ledger that it shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgfs.app import home
from kgfs.ingest.sharing.acknowledge import acknowledge
from kgfs.ingest.sharing.obey import is_obeyed
from kgfs.stores.hosts import host_id, read_roll
from kgfs.stores.journal.sqlite import SqliteJournal
from tests.t3_ingest.test_exchange import Host, garage, here, there
from tests.t3_ingest.test_obey_lost import left, purged_elsewhere

__all__ = ["garage", "here", "there"]


@pytest.mark.claim("SHARE-7")
@pytest.mark.claim("SHARE-8")
@pytest.mark.parametrize("killed", ["", "purge-noted"])
def test_a_home_that_derives_its_names_anew_obeys_what_it_missed(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    fact = purged_elsewhere(here, there)
    there.journal.close()
    for path in there.config.home.glob("front.sqlite*"):
        path.unlink()

    def dies(name: str) -> None:
        if name == killed:
            raise KeyboardInterrupt

    journal = SqliteJournal(there.config.front_db)
    there.stores = replace(there.stores, journal=journal)
    journal.share()
    with monkeypatch.context() as patch:
        patch.setattr("kgfs.ingest.sharing.obey.border", dies)
        if killed:
            with pytest.raises(KeyboardInterrupt):
                home._restore(there.config, there.stores, derive=False, later=False)
            assert journal.seq() == 0 and left(there) and not is_obeyed(there.config)
    home._restore(there.config, there.stores, derive=False, later=False)
    assert journal.seq() == fact
    assert left(there) == [] and is_obeyed(there.config)
    acknowledge(there.config, there.stores)
    roll = read_roll(there.config, there.stores)
    assert [host.followed for host in roll.hosts if host.id == host_id(there.config)] == [fact]
