"""Parts that were put while nothing promised them: failed readings, rotten objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.app.upkeep import check_home
from kgfs.config import Config, load
from kgfs.domain.documents import State
from kgfs.ingest.lifecycle.forget import carry_out, order
from kgfs.ingest.lifecycle.forget_plan import plan
from kgfs.ingest.writing import trash
from kgfs.stores.garage.listing import OWN
from kgfs.stores.part_notes import part_notes
from kgfs.stores.resolve import Found, FoundKind
from kgfs.stores.stores import Stores
from tests.support.mails import mail, mailbox, transcript
from tests.support.working import Counting, documents, work

REPORT = (
    b"# Tide mills\n\nThe sluice gate of the tide mill is made of oak. A tide mill is a mill that the tide drives.\n"
)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgfs.ingest.timing.JOB_RETRY", 0.01)
    monkeypatch.setattr("kgfs.ingest.timing.PARTS_PUT_NS", 0)


def deposit(config: Config, stores: Stores, folder: Path, path: str, content: bytes) -> None:
    with open_deposits(config, stores) as (deposits, _):
        (folder / path).write_bytes(content)
        deposits.ingest_file(folder / path, "Test")


def sweep(config: Config, stores: Stores) -> list[str]:
    """What the garage has of originals when nothing is left of what ended early."""
    with open_deposits(config, stores) as (deposits, _):
        trash.drop_unheld(stores, deposits.settler)
    return originals(stores)


def originals(stores: Stores) -> list[str]:
    return [key for key, _ in stores.garage.objects.keys("sources/")]


@pytest.mark.claim("PART-2")
@pytest.mark.logs("a bug of a model")
def test_what_a_failed_reading_put_goes_and_comes_back(home: Path, tmp_path: Path) -> None:
    config = load(home)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, "one.eml", mail("barley", ("report.md", REPORT)))
        work(config, stores, Counting(poison="grain store"))
        [failed] = documents(stores)
        assert failed.state is State.FAILED and len(originals(stores)) == 2
        assert sweep(config, stores) == [failed.key]
        assert list(part_notes(stores.garage.objects)) == [] and stores.catalog.unheld() == []
        stores.catalog.jobs.owe("read", failed.doc_id)
        work(config, stores, Counting())
        assert {one.state for one in documents(stores)} == {State.DONE}
        assert len(originals(stores)) == len(documents(stores)) == 2
        assert len(sweep(config, stores)) == 2


@pytest.mark.claim("GONE-6")
def test_a_purge_takes_what_was_read_of_parts_that_left_with_the_trash(home: Path, tmp_path: Path) -> None:
    """The bytes of a mail and of its attachments have left; what was read of them stays until the mail is purged."""
    config = load(home)
    with open_home(config) as stores:
        deep = mail("oats", ("report.md", REPORT))
        deposit(config, stores, tmp_path, "all.mbox", mailbox(mail("barley"), deep))
        work(config, stores, Counting())
        [parent] = [one for one in documents(stores) if not one.parent]
        [name] = stores.catalog.names.names_of(parent.doc_id)
        with open_deposits(config, stores) as (deposits, _):
            deposits.remove(name.id)
            work(config, stores, Counting())
            trash.empty(stores, deposits.settler)
        assert originals(stores) == [] and len({key.split("/")[1] for key in derived(stores)}) == 4
        [ontology] = stores.catalog.names.ontologies()
        target = Found(FoundKind.DOCUMENT, ontology, document=parent)
        with open_deposits(config, stores) as (deposits, _):
            ordered = order(deposits, stores, plan(stores, [target], "orphans", purge=True))
        carry_out(config, stores, ordered.id)
        assert documents(stores) == [] == derived(stores)


@pytest.mark.claim("PART-2")
def test_nothing_is_left_of_the_parts_of_a_mailbox_that_left_with_the_trash_while_it_was_read(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgfs.ingest.timing.PARTS_PUT_NS", 1 << 50)
    config = load(home)
    with open_home(config) as stores:
        deep = mail("oats", ("report.md", REPORT))
        deposit(config, stores, tmp_path, "all.mbox", mailbox(mail("barley"), deep))
        [parent] = documents(stores)
        names = stores.catalog.names.names_of(parent.doc_id)

        def meanwhile(border: str) -> None:
            if border == "reading-kept" and names:
                with open_deposits(config, stores) as (deposits, _):
                    deposits.remove(names.pop().id)
                    trash.empty(stores, deposits.settler)

        monkeypatch.setattr("kgfs.ingest.pipeline.border", meanwhile)
        work(config, stores, Counting())
        assert names == sweep(config, stores) == list(part_notes(stores.garage.objects)) == []
        deposit(config, stores, tmp_path, "all.mbox", mailbox(mail("barley"), deep))
        work(config, stores, Counting())
        assert len(originals(stores)) == 4


@pytest.mark.claim("PART-2")
@pytest.mark.logs("no such object")
def test_a_part_whose_bytes_were_lost_is_put_again_under_the_name_that_it_has(home: Path, tmp_path: Path) -> None:
    """Another mail has the same bytes with another suffix."""
    config = load(home)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, "one.eml", mail("barley", ("report.md", REPORT)))
        work(config, stores, Counting())
        [report] = [one for one in documents(stores) if one.parent]
        stores.garage.objects.delete(report.key)
        deposit(config, stores, tmp_path, "two.eml", mail("wheat", ("report.txt", REPORT)))
        work(config, stores, Counting())
        assert stores.garage.objects.get(report.key) == REPORT
        assert len(originals(stores)) == 3 and list(part_notes(stores.garage.objects)) == []


@pytest.mark.logs("no such object")
@pytest.mark.parametrize("kind", ["mailbox", "transcript"])
def test_lost_parts_are_restored_from_the_document_that_has_them(home: Path, tmp_path: Path, kind: str) -> None:
    """One after the other, where a part of a part is lost with it. Their texts would not give these bytes."""
    config = load(home)
    page = b"<html><body><p>The granite millstone grinds the rye.</p></body></html>"
    path, content = ("all.mbox", mailbox(mail("oats"), mail("rye", ("page.html", page))))
    if kind == "transcript":
        path, content = "session.jsonl", transcript("quxsegment")
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, path, content)
        work(config, stores, Counting())
        parts = {one.key: stores.garage.objects.get(one.key) for one in documents(stores) if one.parent}
        assert len(parts) > 2
        for key in parts:
            stores.garage.objects.delete(key)
    for _ in range(2):
        check_home(config, deep=False, mend=True, progress=lambda done, total, what: None)
        with open_home(config) as stores:
            work(config, stores, Counting())
    with open_home(config) as stores:
        assert {key: stores.garage.objects.get(key) for key in parts} == parts


@pytest.mark.claim("PART-2")
def test_a_rotten_object_of_a_part_is_replaced(home: Path, tmp_path: Path) -> None:
    config = load(home)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, "one.eml", mail("barley", ("report.md", REPORT)))
        work(config, stores, Counting())
        [report] = [one for one in documents(stores) if one.parent]
        [path] = [found for found in home.rglob(report.key.rpartition("/")[2]) if found.is_file()]
        path.chmod(0o600)
        path.write_bytes(b"X" + REPORT[1:])
        deposit(config, stores, tmp_path, "two.eml", mail("wheat", ("report.md", REPORT)))
        work(config, stores, Counting())
        assert stores.garage.objects.get(report.key) == REPORT


def derived(stores: Stores) -> list[str]:
    return [key for kind in OWN for key, _ in stores.garage.objects.keys(f"{kind}/")]
