"""Parts of documents: attachments are documents with a parent, read, found, forgotten and rebuilt with it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits, open_home
from kgfs.config import Config, load
from kgfs.domain.documents import Document, State
from kgfs.domain.names import decode_name
from kgfs.domain.parts import PartNames
from kgfs.errors import BadInputError
from kgfs.ingest.lifecycle.forget import carry_out, order
from kgfs.ingest.lifecycle.forget_plan import plan
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.writing import trash
from kgfs.knowledge.document import document_page
from kgfs.knowledge.document_location import standing_of
from kgfs.stores.part_notes import part_notes
from kgfs.stores.resolve import Found, FoundKind
from kgfs.stores.stores import Stores
from tests.support.mails import mail
from tests.support.working import Counting, documents, work

REPORT = (
    b"# Tide mills\n\nThe sluice gate of the tide mill is made of oak. A tide mill is a mill that the tide drives.\n"
)
TABLE = b"part,metres\nsluice gate,3\nlantern pinion,1\n"


def deposit(config: Config, stores: Stores, folder: Path, **contents: bytes) -> None:
    with open_deposits(config, stores) as (deposits, _):
        for stem, content in contents.items():
            path = folder / stem.replace("_", ".")
            path.write_bytes(content)
            deposits.ingest_file(path, "Test")


def by_content(stores: Stores, content: bytes) -> Document:
    digest = hashlib.sha256(content).hexdigest()
    [found] = [document for document in documents(stores) if document.sha256 == digest]
    return found


def found_at(stores: Stores, path: str) -> Found:
    [ontology] = stores.catalog.names.ontologies()
    name = stores.catalog.names.resolve(ontology.id, path)
    assert name is not None
    return Found(FoundKind.DOCUMENT, ontology, name, path, stores.catalog.names.document(name.doc_id))


def comparable(stores: Stores, ontology: str) -> list[object]:
    graph, found = stores.graph, list[object]()
    for concept in graph.concepts(ontology):
        found += [concept, *graph.instances(concept.concept_id), *graph.related(concept.concept_id)]
    return [*graph.documents(ontology), *found]


def test_an_attachment_is_read_as_a_document_of_its_own(home: Path, tmp_path: Path) -> None:
    config = load(home)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, one_eml=mail("barley", ("report.md", REPORT), ("../report.md", TABLE)))
        work(config, stores, Counting())
        [ontology] = stores.catalog.names.ontologies()
        parent = next(document for document in documents(stores) if not document.parent)
        report, table = by_content(stores, REPORT), by_content(stores, TABLE)
        assert report.source_id == f"{parent.source_id}/report.md"
        assert (table.source_id, table.state, table.depth) == (f"{parent.source_id}/report~2.md", State.DONE, 1)
        assert report.root == parent.doc_id == report.parent
        assert stores.garage.objects.get(report.key) == REPORT
        assert document_page(stores, found_at(stores, "one.eml"))["parts"] == {"done": 2}
        assert standing_of(stores.catalog.names, report.doc_id).origin.path == (
            f"archive/{parent.doc_id}/attachments/report.md"
        )
        rows = stores.catalog.names.parts(parent.doc_id)
        assert [(row.name, row.given) for row in rows] == [("report.md", "report.md"), ("report~2.md", "../report.md")]
        assert stores.graph.concepts_of(report.doc_id), "it gives evidence"
        labels = {concept.label for concept in stores.graph.concepts_of(parent.doc_id)}
        assert "grain store" in {label.lower()[:11] for label in labels}
        assert not [label for label in labels if "octet" in label or "bytes" in label or label == "John"], labels
        shown = comparable(stores, ontology.id)
        rebuild(stores)
        assert comparable(stores, ontology.id) == shown


@pytest.mark.claim("PART-2")
def test_one_content_in_many_mails_is_one_document_that_leaves_with_the_last(home: Path, tmp_path: Path) -> None:
    config = load(home)
    with open_home(config) as stores:
        mails = {f"m{n}_eml": mail(f"grain {n}", ("report.md", REPORT)) for n in range(3)}
        deposit(config, stores, tmp_path, **mails)
        work(config, stores, Counting())
        report = by_content(stores, REPORT)
        assert len(documents(stores)) == 4
        location = standing_of(stores.catalog.names, report.doc_id).origin
        parents = [document.doc_id for document in documents(stores) if not document.parent]
        assert {location.path, *location.others} == {f"archive/{one}/attachments/report.md" for one in parents}
        attachment = Found(FoundKind.DOCUMENT, stores.catalog.names.ontologies()[0], document=report)
        planned = plan(stores, [attachment], "orphans", purge=False)
        assert planned.nothing and planned.staying == (("report.md", 3),)
        with pytest.raises(BadInputError, match=r"report.md is a part of Test/documents/m\d.eml and of 2 more"):
            plan(
                stores,
                [Found(FoundKind.DOCUMENT, stores.catalog.names.ontologies()[0], document=report)],
                "orphans",
                purge=True,
            )
        for n in range(3):
            planned = plan(stores, [found_at(stores, f"m{n}.eml")], "orphans", purge=True)
            assert planned.staying == ((("report.md", 2 - n),) if n < 2 else ())
            assert [one.part_of for one in planned.documents if one.part_of] == [
                (f"Test/documents/m{n}.eml/report.md",)
            ] * (n == 2)
            with open_deposits(config, stores) as (deposits, _):
                ordered = order(deposits, stores, planned)
                assert carry_out(config, stores, ordered.id) == 1
            assert (stores.catalog.names.document(report.doc_id) is None) == (n == 2)
            assert stores.garage.objects.exists(report.key) == (n < 2)
            work(config, stores, Counting())
        assert documents(stores) == [] and list(stores.garage.objects.keys("sources/")) == []


@pytest.mark.claim("PART-2")
def test_removal_and_return_of_a_mail_take_its_attachments_along(home: Path, tmp_path: Path) -> None:
    config = load(home)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, one_eml=mail("barley", ("report.md", REPORT)))
        work(config, stores, Counting())
        report, compute = by_content(stores, REPORT), Counting()
        name = found_at(stores, "one.eml").name
        assert name is not None
        with open_deposits(config, stores) as (deposits, _):
            deposits.remove(name.id)
        work(config, stores, compute)
        gone = stores.catalog.names.document(report.doc_id)
        assert gone is not None and gone.state is State.TRASHED and stores.graph.document(report.doc_id) is None
        deposit(config, stores, tmp_path, two_eml=(tmp_path / "one.eml").read_bytes())
        work(config, stores, compute)
        again = stores.catalog.names.document(report.doc_id)
        assert again is not None and again.state is State.DONE and stores.graph.document(report.doc_id) is not None
        assert compute.asked == [], "its Reading was there"


@pytest.mark.claim("PART-2")
@pytest.mark.logs("no such object")
@pytest.mark.parametrize("lost", [False, True])
def test_an_attachment_that_is_given_up_while_another_mail_with_it_is_read_is_kept(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    """The trash leaves what a reading under way has put. What is gone all the same is put again."""
    config = load(home)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, one_eml=mail("barley", ("report.md", REPORT)))
        work(config, stores, Counting())
        report, name = by_content(stores, REPORT), found_at(stores, "one.eml").name
        assert name is not None
        with open_deposits(config, stores) as (deposits, _):
            deposits.remove(name.id)
        work(config, stores, Counting())
        deposit(config, stores, tmp_path, two_eml=mail("wheat", ("report.md", REPORT)))
        emptied: list[bool] = []

        def meanwhile(border: str) -> None:
            if border == "validated" and not emptied:
                with open_deposits(config, stores) as (deposits, _):
                    trash.empty(stores, deposits.settler)
                emptied.append(stores.garage.objects.exists(report.key))
                if lost:
                    stores.garage.objects.delete(report.key)

        monkeypatch.setattr("kgfs.ingest.reading.stages.border", meanwhile)
        monkeypatch.setattr("kgfs.ingest.timing.JOB_RETRY", 0.01)
        work(config, stores, Counting())
        assert emptied == [True]
        again = stores.catalog.names.document(report.doc_id)
        assert again is not None and again.state is State.DONE
        assert stores.garage.objects.get(report.key) == REPORT
        assert list(part_notes(stores.garage.objects)) == []
        assert list(part_notes(stores.garage.objects)) == []


@pytest.mark.claim("PART-2")
def test_a_purge_leaves_what_a_mail_in_the_trash_has_too(home: Path, tmp_path: Path) -> None:
    config = load(home)
    with open_home(config) as stores:
        mails = {f"m{n}_eml": mail(f"grain {n}", ("report.md", REPORT)) for n in range(2)}
        deposit(config, stores, tmp_path, **mails)
        work(config, stores, Counting())
        report, name = by_content(stores, REPORT), found_at(stores, "m0.eml").name
        assert name is not None
        with open_deposits(config, stores) as (deposits, _):
            deposits.remove(name.id)
            ordered = order(deposits, stores, plan(stores, [found_at(stores, "m1.eml")], "orphans", purge=True))
            carry_out(config, stores, ordered.id)
        assert stores.garage.objects.get(report.key) == REPORT
        with open_deposits(config, stores) as (deposits, _):
            trash.restore(deposits, stores, next(trash.listed(stores)))
        work(config, stores, compute := Counting())
        again = stores.catalog.names.document(report.doc_id)
        assert again is not None and again.state is State.DONE and compute.asked == []


@pytest.mark.parametrize(
    "given", ["", "..", "a/b/../../x.pdf", "\x00.txt", "n" * 300 + ".pdf", "rapport\r\n.md", "C:\\x\\y.doc"]
)
def test_every_name_ends_safe(given: str) -> None:
    names = PartNames()
    both = [names.take(given, "text/plain"), names.take(given, "text/plain")]
    assert len(set(both)) == 2
    for name in both:
        raw = decode_name(name)
        assert 0 < len(raw) < 250 and raw not in (b".", b"..") and not set(raw) & {0, 10, 13, ord("/"), ord("\\")}
