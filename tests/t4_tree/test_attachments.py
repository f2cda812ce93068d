"""The archive: each original under its own name with its readable form, and what came with a mail."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kgfs.compute.deadline import Deadline
from kgfs.domain.names import encode_name
from kgfs.tree.node import File, Folder, Link
from tests.support.library import Library, library_at, read
from tests.support.mails import mail
from tests.support.working import Counting, work

REPORT = b"# Tide mills\n\nThe sluice gate of the tide mill is made of oak. The sluice gate is lifted by the tide.\n"
OTHER = b"The lantern pinion of the tide mill turns the lantern pinion of the stone.\r\nA lantern pinion wears.\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with library_at(tmp_path_factory.mktemp("attachments") / "home") as library:
        library.ontology()
        two = mail(
            "barley", ("report.txt", REPORT), ("report.txt", OTHER), ("empty.txt", b""), ("notes.md", REPORT + b"x")
        )
        library.write("Zen/documents/barley.eml", two)
        library.write("Zen/documents/rye.eml", mail("rye", ("the report.txt", REPORT)))
        library.write(
            "Zen/documents/original", b"The name of this file stands in the archive already, so it gets another.\n"
        )
        answer = (
            "From: Jane <jane@example.com>\nTo: john@example.com\nSubject: Re: barley\nMessage-ID: <answer@example.com>\n"
            "References: <barley@example.com>\nDate: Wed, 17 Jan 2024 10:00:00 +0000\n\nThe flour is good.\n\n"
            "On Mon, 15 Jan 2024, John <john@example.com> wrote:\n> The grain store keeps the flour dry.\n"
        )
        third = answer.replace("answer@", "third@").replace("<barley@", "<answer@").replace("17 Jan", "18 Jan")
        box = f"From jane Wed Jan 17\n{answer}\nFrom jane Thu Jan 18\n{third.replace('good', 'gone')}\n"
        library.write("Zen/documents/old.mbox", box.encode())
        library.settle()
        work(library.context.config, library.stores, Counting())
        yield library


@pytest.mark.claim("PART-1")
def test_a_mail_has_two_files_of_one_name_byte_for_byte(library: Library) -> None:
    folder = f"Zen/archive/{library.document('Zen/documents/barley.eml').doc_id}/attachments"
    assert library.names(folder) == [
        *("empty.txt", "notes.md", "report.txt", "report.txt.md", "report~2.txt", "report~2.txt.md"),
    ]
    assert (library.read(f"{folder}/report.txt"), library.read(f"{folder}/report~2.txt")) == (REPORT, OTHER)
    assert library.read(f"{folder}/empty.txt") == b""
    readable = library.read(f"{folder}/report~2.txt.md").decode()
    assert readable.startswith("# report~2.txt\n\n**Type:** ") and "[Download Original](report~2.txt)" in readable
    assert readable.endswith(OTHER.decode()), "its Text"
    found = json.loads(library.read(f"{folder.rpartition('/')[0]}/metadata.json"))["attachments"]
    assert list(found) == ["report.txt", "report~2.txt", "empty.txt", "notes.md"]
    assert found["report~2.txt"]["given_name"] == "report.txt"
    assert library.find(f"Zen/{found['report~2.txt']['browse_uri']}") is not None


def test_everything_listed_in_the_archive_is_found_and_sized_exactly(library: Library) -> None:
    seen: dict[int, str] = {}
    for path, node in library.walk("Zen/archive"):
        found = library.find(path)
        if isinstance(node, Link):
            continue
        assert found is not None and found.attr() == node.attr(), path
        assert seen.setdefault(node.inode, path) == path
        if isinstance(node, File):
            assert len(read(node)) == node.attr().size, path
    assert any(path.endswith("/_original") for path in seen.values())


def test_the_newest_documents_of_an_ontology_are_files_not_their_parts(library: Library) -> None:
    newest = library.read("Zen/about.md").decode().partition("## Newest documents\n\n")[2].split("\n\n")[0].splitlines()
    shown = sorted(line.split("](documents/")[0].removeprefix("- [") for line in newest)
    assert shown == ["barley.eml", "old.mbox", "original", "rye.eml"]


@pytest.mark.claim("PART-1")
def test_evidence_of_an_attachment_leads_to_it(library: Library) -> None:
    graph, ontology = library.stores.graph, library.ontology()
    parents = {library.document(f"Zen/documents/{name}.eml").doc_id for name in ("barley", "rye")}
    found = 0
    for concept in graph.concepts(ontology.id):
        for instance in graph.instances(concept.concept_id):
            at = f"Zen/concepts/{concept.name}.concept/evidence/{instance.n}"
            cited = json.loads(library.read(f"{at}/citation.json"))
            if "/attachments/" not in cited["document"]:
                continue
            found += 1
            link = library.find(f"{at}/document")
            assert isinstance(link, Link) and encode_name(link.target()).endswith(cited["document"])
            assert cited["document"].split("/")[1] in parents
            assert cited["quote"] in library.read(f"Zen/{cited['document']}").decode()
    assert found


def test_a_search_finds_a_mail_and_what_came_with_it_each_on_its_own(library: Library) -> None:
    mail_id = library.document("Zen/documents/barley.eml").doc_id
    parts = {part.name: part.child for part in library.stores.catalog.names.parts(mail_id) if part.child}
    folder = library.node("Zen/search/mill")
    assert isinstance(folder, Folder)
    found = dict(folder.work_out(Deadline(30)).entries())
    page = found["results.json"]
    assert isinstance(page, File)
    results = {one["id"]: one for one in json.loads(read(page))["results"]}
    assert {mail_id, *(parts[name] for name in parts if name != "empty.txt")} <= {*results}
    for doc_id, one in results.items():
        text = library.read(f"{one['content_location']}").decode()
        assert one["content_location"] == f"Zen/archive/{doc_id}/text.txt"
        assert all(chunk["content"] == text[chunk["char_start"] : chunk["char_end"]] for chunk in one["chunks"])
        assert one["file"] in found


def test_one_content_of_two_mails_names_both(library: Library) -> None:
    parents = [library.document(f"Zen/documents/{name}.eml").doc_id for name in ("barley", "rye")]
    [held] = {library.stores.catalog.names.parts(parents[1])[0].child}
    page = json.loads(library.read(f"Zen/archive/{held}/metadata.json"))
    assert sorted(page["parents"]) == sorted(parents) and page["parents"][0] == page["parent_id"] and page["depth"] == 1
    first = "barley.eml/report.txt" if page["parent_id"] == parents[0] else "rye.eml/the report.txt"
    assert page["source_id"].endswith(f"/{first}"), "that of the mail that was read first"


def test_the_mails_of_a_mailbox_are_its_children_and_one_conversation(library: Library) -> None:
    box = library.document("Zen/documents/old.mbox")
    page = json.loads(library.read(f"Zen/archive/{box.doc_id}/metadata.json"))
    assert (page["state"], page["chunks"], list(page["attachments"])) == ("done", 0, ["00001.eml", "00002.eml"])
    first, second = (part["doc_id"] for part in page["attachments"].values())
    assert "attachments" not in library.names(f"Zen/archive/{box.doc_id}")
    assert library.find(f"Zen/archive/{box.doc_id}/attachments/00001.eml") is not None, "its source_uri"
    barley = library.document("Zen/documents/barley.eml").doc_id
    assert {"email.eml", "email.eml.md"} <= {*library.names(f"Zen/archive/{first}")}
    assert library.read(f"Zen/archive/{first}/email.eml").endswith(b"> The grain store keeps the flour dry.\n")
    shown = library.read(f"Zen/archive/{first}/email.eml.md").decode()
    assert shown.startswith(
        "# Re: barley\n\n**Type:** Email Conversation\n**Participants:** jane@example.com, john@example.com\n"
    )
    assert (
        "**Messages:** 2" in shown
        and "\n## Message 2\n\n**From:** John <john@example.com>\n**Date:** 2024-01-15\n\nOn Mon, 15 Jan 2024, John"
        in shown
    )
    assert shown.count("# Re: barley") == 1
    for doc_id, others in ((barley, [first, second]), (first, [barley, second]), (second, [barley, first])):
        found = json.loads(library.read(f"Zen/archive/{doc_id}/metadata.json"))
        assert list(found["thread"]) == others
        conversation = library.read(f"Zen/archive/{doc_id}/email.eml.md").decode()
        for other in others:
            assert f"(../{other}/email.eml.md)" in conversation and library.find(f"Zen/{found['thread'][other]}")


def test_the_text_of_a_mailbox_is_that_of_its_mails_in_order(library: Library) -> None:
    box = library.document("Zen/documents/old.mbox")
    mails = [row.child for row in library.stores.catalog.names.parts(box.doc_id)]
    texts = [library.read(f"Zen/archive/{mail}/text.txt") for mail in mails]
    assert library.read(f"Zen/archive/{box.doc_id}/text.txt") == b"\n".join(texts)
    assert library.read("Zen/text/old.mbox.md").endswith(b"\n".join(texts))
