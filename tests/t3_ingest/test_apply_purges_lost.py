"""Purges of another home are obeyed though this home lost its note of them, or its names."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app import home
from kgfs.app.shipping import with_exchange
from kgfs.errors import StoreError
from kgfs.sharing.apply_purges import is_obeyed
from kgfs.sharing.exchange import Exchange
from kgfs.sharing.report_progress import report_progress
from kgfs.stores.catalog.facts import ForgettingDone, ForgettingOwed
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.hosts import host_id, known_roll, read_roll
from kgfs.stores.run_files import write_note
from kgfs.stores.spool_file import is_held
from tests.support.hosts import LARGE, Host

SECRET = b"the word is xyzzy"


def purged_elsewhere(here: Host, there: Host) -> int:
    """The number of the fact, of which ``there`` has not learnt; it has the bytes in its cache and quarantine."""
    name = here.file("a.txt", SECRET)
    here.settle()
    here.exchange()
    there.exchange()
    row = here.row(name.id)
    for path in (there.config.garage_cache / "ab/object", there.config.home / f"quarantine/1-{row.sha256[:32]}"):
        path.parent.mkdir(parents=True)
        path.write_bytes(SECRET)
    here.deposits.record(ForgettingOwed("order", (name.id,), (row.doc_id,), "all", True, (), (), 5))
    here.deposits.record(ForgettingDone("order", (row.doc_id,), "all", True, "commit", (), "redaction", 6 * 10**9))
    here.exchange()
    return here.catalog.seq()


def left(host: Host) -> list[Path]:
    return [path for path in host.config.home.rglob("*") if path.is_file() and b"xyzzy" in path.read_bytes()]


@pytest.mark.claim("SHARE-7")
def test_a_note_that_a_power_loss_emptied_is_made_anew_from_the_ledger(here: Host, there: Host) -> None:
    fact = purged_elsewhere(here, there)
    (there.config.home / "purged.json").write_text("")
    Exchange(there.config, there.stores).pull()
    assert there.catalog.seq() == fact
    assert left(there) == [] and is_obeyed(there.config)


@pytest.mark.claim("SHARE-7")
def test_what_leaves_the_spool_while_it_is_looked_at_keeps_no_purge_from_being_obeyed(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged_elsewhere(here, there)
    there.file("b.txt", LARGE)

    def looked(path: Path) -> bool:
        there.settle()
        return is_held(path)

    monkeypatch.setattr("kgfs.sharing.apply_purges.is_held", looked)
    Exchange(there.config, there.stores).pull()
    assert left(there) == [] and is_obeyed(there.config)
    assert there.spool_files() == [] and there.read_at("b.txt") == LARGE


@pytest.mark.logs("sharing StoreError: Reading the working copy .*0123abcd-00")
def test_what_cannot_be_read_in_the_spool_is_told_in_words(here: Host, there: Host) -> None:
    purged_elsewhere(here, there)
    (there.config.spool / "0123abcd-00").mkdir()
    Exchange(there.config, there.stores).pull()
    assert "Reading the working copy" in there.config.errors_log.read_text() and not is_obeyed(there.config)


def test_a_roll_that_a_power_loss_emptied_is_read_anew(here: Host, there: Host) -> None:
    report_progress(here.config, here.stores)
    before = known_roll(here.config)
    assert before is not None and len(before.hosts) == 1
    for damaged in ("", "{}", "[1]", '{"upto": 1, "read_at": 1.0, "hosts": [1], "purges": []}'):
        (here.config.run / "hosts.json").write_text(damaged)
        assert known_roll(here.config) is None
        assert read_roll(here.config, here.stores).hosts == before.hosts


def test_a_note_is_durable_before_it_takes_its_place_and_a_full_disk_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, synced = tmp_path / "told.json", list[str]()
    write_note(note, ["before"])
    fsync = os.fsync

    def sync(descriptor: int) -> None:
        synced.append(f"{os.readlink(f'/proc/self/fd/{descriptor}')} {note.read_text()}")
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", sync)
        write_note(note, ["after"], durable=True)
    (content, folder) = synced
    assert content.startswith(f"{tmp_path}/told.") and content.endswith('["before"]')
    assert folder == f'{tmp_path} ["after"]'
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(StoreError):
            write_note(note, ["never"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["told.json"]
    assert note.read_text() == '["after"]' and note.stat().st_mode & 0o777 == 0o600


@pytest.mark.claim("SHARE-7")
@pytest.mark.claim("SHARE-8")
@pytest.mark.parametrize("killed", ["", "purge-noted"])
def test_a_home_that_derives_its_names_anew_obeys_what_it_missed(
    here: Host, there: Host, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    fact = purged_elsewhere(here, there)
    there.catalog.close()
    for path in there.config.home.glob("front.sqlite*"):
        path.unlink()

    def dies(name: str) -> None:
        if name == killed:
            raise KeyboardInterrupt

    catalog = Catalog(there.config.catalog_db)
    catalog.share()
    there.stores = with_exchange(there.config, replace(there.stores, catalog=catalog))
    with monkeypatch.context() as patch:
        patch.setattr("kgfs.sharing.apply_purges.border", dies)
        if killed:
            with pytest.raises(KeyboardInterrupt):
                home._restore(there.config, there.stores, derive=False, later=False)
            assert catalog.seq() == 0 and left(there) and not is_obeyed(there.config)
    home._restore(there.config, there.stores, derive=False, later=False)
    assert catalog.seq() == fact
    assert left(there) == [] and is_obeyed(there.config)
    report_progress(there.config, there.stores)
    roll = read_roll(there.config, there.stores)
    assert [host.followed for host in roll.hosts if host.id == host_id(there.config)] == [fact]
