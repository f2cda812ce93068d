"""What only purged documents had named lives on under the words of those who still speak of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import cast

import pytest

from kgfs.compute.contract import Compute
from kgfs.domain.documents import Document
from kgfs.errors import CorruptError
from kgfs.ingest.lifecycle import forget, forget_plan, survivors
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.matching.concept_plans import plan_merge, plan_split
from kgfs.ingest.matching.concepts import decide
from kgfs.stores.catalog.facts import ForgettingDone, ForgettingOwed
from kgfs.stores.resolve import find_document
from kgfs.stores.ship import ship_once
from tests.support.claims import Told
from tests.support.histories import Place, differences, seen
from tests.support.library import ME, Library, library_at, reading_of
from tests.support.peers.buckets import in_bucket
from tests.support.peers.homes import anywhere, lifecycle

pytestmark = lifecycle

FOUNDER = "The quxhall is a house. The quxhall uses bees.\n"
SURVIVOR = "The abbey is a house of monks. The abbey keeps bees. Bees make honey.\n"
LATER = "An abbey stands on the hill.\n"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as found:
        found.root.make_folder("Zen", 0o755, ME)
        yield found


def told(library: Library, path: str, content: str, reported: Mapping[str, str], **forms: str) -> Document:
    """Deposited and read: what is ``reported`` of each label, and another form that labels have."""
    library.write(f"Zen/documents/{path}", content.encode())
    library.settle()
    document = library.document(f"Zen/documents/{path}")
    reading = reading_of(document, path, content.encode(), {label: [quote] for label, quote in reported.items()})
    concepts = tuple(
        replace(concept, forms=(concept.label, forms[concept.label])) if concept.label in forms else concept
        for concept in reading.concepts
    )
    reading = replace(reading, concepts=concepts)
    library.stores.garage.objects.put(reading.key, reading.encode())
    library.pipeline.publish(document, reading, lambda: None)
    return document


def purge(library: Library, path: str) -> None:
    order_purge(library, path)
    forget.carry_out(library.context.config, library.stores)


def order_purge(library: Library, path: str) -> None:
    context = library.context
    planned = forget_plan.plan(
        context.stores, [find_document(context.stores, context.config.run, path)], "orphans", purge=True
    )
    forget.order(context.deposits, context.stores, planned)


def traces(library: Library, word: str) -> list[str]:
    """Files of the home, and objects of its bucket, in which it stands."""
    config = library.context.config
    files = ((path.name, path.read_bytes()) for path in config.home.rglob("*") if path.is_file())
    return [name for name, content in chain(files, in_bucket(config)) if word.encode() in content.lower()]


def rebuilt_is_the_same(library: Library) -> None:
    context = library.context
    place = Place(context.config, context.stores, context.deposits, cast(Compute, None))
    ship_once(context.stores.catalog, context.stores.garage.ledger)
    before = seen(place)
    rebuild(context.stores)
    assert differences(before, seen(place)) == {}


def names(library: Library) -> list[str]:
    return sorted(concept.name for concept in library.stores.graph.concepts(library.ontology().id))


@anywhere
@pytest.mark.claim("GONE-9")
def test_the_name_of_what_was_joined_by_an_alias_goes_with_its_document(library: Library) -> None:
    founder = told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house."}, quxhall="abbey")
    reported = {"abbey": "The abbey is a house of monks.", "bees": "Bees make honey."}
    survivor = told(library, "b.txt", SURVIVOR, reported)
    assert names(library) == ["bees", "quxhall"]
    assert library.names("Zen/concepts/quxhall.concept/evidence") == ["1", "2"]
    assert any(name.endswith(founder.key.rpartition("/")[2]) for name in traces(library, "quxhall")), "its original"
    purge(library, "Zen/documents/a.txt")
    assert names(library) == ["abbey", "bees"]
    assert library.names("Zen/concepts/abbey.concept/evidence") == ["2"], "its number is as it was"
    cited = json.loads(library.read("Zen/concepts/abbey.concept/evidence/2/citation.json"))
    assert (cited["concept"], cited["doc_id"]) == ("abbey", survivor.doc_id)
    assert traces(library, "quxhall") == []
    rebuilt_is_the_same(library)
    # Both words are used on: the one by what it names now, the other by whoever says it again.
    told(library, "c.txt", LATER, {"abbey": "An abbey stands on the hill."})
    assert library.names("Zen/concepts/abbey.concept/evidence") == ["2", "3"]
    told(library, "d.txt", FOUNDER.replace("bees", "wax"), {"quxhall": "The quxhall is a house."})
    assert names(library) == ["abbey", "bees", "quxhall"]
    assert library.names("Zen/concepts/quxhall.concept/evidence") == ["3"], "its numbers are not given again"
    rebuilt_is_the_same(library)


@pytest.mark.claim("GONE-9")
def test_the_name_of_what_a_person_merged_goes_too_and_the_word_holds(library: Library) -> None:
    told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house."})
    reported = {"abbey": "The abbey is a house of monks.", "bees": "Bees make honey."}
    told(library, "b.txt", SURVIVOR, reported)
    decide(library.stores, plan_merge(library.stores, library.ontology(), "quxhall", ["abbey", "bees"]))
    assert names(library) == ["quxhall"]
    purge(library, "Zen/documents/a.txt")
    [name] = names(library)
    assert name in ("abbey~" + _id_of(library, name)[:8], "bees~" + _id_of(library, name)[:8]), "both names had owners"
    assert traces(library, "quxhall") == []
    rebuilt_is_the_same(library)
    told(library, "c.txt", LATER, {"abbey": "An abbey stands on the hill."})
    assert names(library) == [name], "merged is merged"
    rebuilt_is_the_same(library)


def _id_of(library: Library, name: str) -> str:
    concept = library.stores.graph.concept_named(library.ontology().id, name)
    assert concept is not None
    return concept.concept_id


def test_what_earlier_versions_and_removed_files_say_of_it_is_redacted(library: Library) -> None:
    """A rebuild repeats what they did, though nothing of it is seen any more."""
    told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house."}, quxhall="abbey")
    reported = {"abbey": "The abbey is a house of monks."}
    told(library, "b.txt", SURVIVOR, reported)
    told(library, "b.txt", SURVIVOR + "More.\n", {"bees": "Bees make honey."})
    removed = told(library, "c.txt", LATER, {"abbey": "An abbey stands on the hill."})
    row = library.stores.catalog.names.resolve(library.ontology().id, "c.txt")
    assert row is not None
    library.context.deposits.remove(row.id)
    library.pipeline.forget(removed, "left")
    assert names(library) == ["bees", "quxhall"]
    purge(library, "Zen/documents/a.txt")
    assert names(library) == ["bees"]
    assert traces(library, "quxhall") == []
    rebuilt_is_the_same(library)


def test_what_a_shown_document_says_of_what_left_alone_is_redacted(library: Library) -> None:
    """Concepts that were forgotten with all their evidence are dead, though a document that is shown spoke of them."""
    doomed = told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house."}, quxhall="abbey")
    reported = {"abbey": "The abbey is a house of monks.", "bees": "Bees make honey."}
    told(library, "b.txt", SURVIVOR, reported)
    context = library.context
    found = find_document(context.stores, context.config.run, "Zen/documents/a.txt")
    forget.order(context.deposits, context.stores, forget_plan.plan(context.stores, [found], "all", purge=False))
    forget.carry_out(context.config, context.stores)
    assert names(library) == ["bees"]
    purge(library, doomed.doc_id)
    assert names(library) == ["bees"]
    assert traces(library, "quxhall") == []
    rebuilt_is_the_same(library)


def test_what_shown_documents_say_of_the_living_is_not_read(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house."})
    for n in range(5):
        told(library, f"{n}.txt", f"{SURVIVOR}{n}\n", {"bees": "Bees make honey."})
    last = told(library, "5.txt", SURVIVOR, {"bees": "Bees make honey."})
    told(library, "5.txt", LATER, {"abbey": "An abbey stands on the hill."})
    read: list[str] = []
    get = survivors.decode_decisions
    monkeypatch.setattr(survivors, "decode_decisions", lambda raw, key: read.append(key) or get(raw, key))
    purge(library, "Zen/documents/a.txt")
    assert {key.split("/")[1] for key in read} == {last.doc_id}
    assert traces(library, "quxhall") == []


def test_a_label_that_another_document_says_too_stays(library: Library) -> None:
    told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house."})
    told(library, "b.txt", SURVIVOR, {"abbey": "The abbey is a house of monks."}, abbey="Quxhall")
    purge(library, "Zen/documents/a.txt")
    assert names(library) == ["quxhall"]
    assert b'label: "abbey"\naliases: ["Quxhall"]' in library.read("Zen/concepts/quxhall.concept/concept.md")
    rebuilt_is_the_same(library)


def test_a_name_that_a_person_chose_is_still_to_be_seen(library: Library) -> None:
    told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house.", "bees": "The quxhall uses bees."})
    told(library, "b.txt", SURVIVOR, {"abbey": "The abbey is a house of monks."})
    stores, ontology = library.stores, library.ontology()
    decide(stores, plan_merge(stores, ontology, "bees", ["quxhall", "abbey"]))
    decide(stores, plan_split(stores, ontology, "bees", ["quxhall", "abbey"], [], "the-house"))
    assert names(library) == ["bees", "the-house"]
    purge(library, "Zen/documents/a.txt")
    assert [name.partition("~")[0] for name in names(library)] == ["the-house"]
    assert traces(library, "quxhall") == []
    rebuilt_is_the_same(library)


def test_the_words_of_claims_go_with_their_document(library: Library) -> None:
    said = [Told("The quxfirst house grew by 5 % in 2024.", "house of monks", "quxactor")]
    said.append(Told("A quxrefused claim.", "nowhere", "it", rejected="no quote"))
    vectors = {said[0].claim: [1.0, 0.0]}
    library.add(
        "Zen/documents/a.txt", SURVIVOR.encode(), {"abbey": ["The abbey keeps bees."]}, claims=said, vectors=vectors
    )
    kept = [Told("The kept house grew by 5 % in 2024.", "house of monks", "abbey")]
    library.add("Zen/documents/b.txt", f"{SURVIVOR}More.\n".encode(), {"abbey": ["The abbey keeps bees."]}, claims=kept)
    purge(library, "Zen/documents/a.txt")
    assert [traces(library, word) for word in ("quxfirst", "quxactor", "quxrefused")] == [[], [], []]
    [file] = library.names("Zen/claims/metric")
    assert file.startswith("the-kept-house")
    rebuilt_is_the_same(library)


def purge_failed(library: Library, monkeypatch: pytest.MonkeyPatch) -> Document:
    """After it had named anew what survives, a concept of the document that is returned."""
    told(library, "a.txt", FOUNDER, {"quxhall": "The quxhall is a house."}, quxhall="abbey")
    reported = {"abbey": "The abbey is a house of monks.", "bees": "Bees make honey."}
    before = told(library, "b.txt", SURVIVOR, reported)
    survivor = told(library, "b.txt", f"{SURVIVOR}More.\n", {"abbey": "The abbey keeps bees."})
    objects = library.stores.garage.objects
    ((rotten, _),) = objects.keys(f"decisions/{before.doc_id}/")
    order_purge(library, "Zen/documents/a.txt")
    get = objects.get

    def damaged(key: str, start: int = 0, length: int | None = None) -> bytes:
        if key == rotten:
            raise CorruptError(f"{key}: its bytes are others.")
        return get(key, start, length)

    with monkeypatch.context() as patch, pytest.raises(CorruptError):
        patch.setattr(objects, "get", damaged)
        forget.carry_out(library.context.config, library.stores)
    assert names(library) == ["abbey"] and library.stores.catalog.names.forgettings()
    return survivor


@pytest.mark.claim("GONE-7")
def test_a_purge_that_failed_goes_on_though_what_survived_is_purged_meanwhile(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    survivor, catalog = purge_failed(library, monkeypatch), library.stores.catalog
    told(library, "c.txt", LATER, {"abbey": "An abbey stands on the hill."})
    library.stores.graph.forget("gone", [survivor.doc_id], 5)
    named = tuple(name.id for name in catalog.names.names_of(survivor.doc_id))
    catalog.record(ForgettingOwed("other", named, (survivor.doc_id,), "all", True, (), (), 5))
    catalog.record(ForgettingDone("other", (survivor.doc_id,), "all", True, "gone", (), "redaction", 5))
    assert catalog.names.document(survivor.doc_id) is None
    assert forget.carry_out(library.context.config, library.stores) == 1
    assert catalog.names.forgettings() == [] and names(library) == ["abbey"]


@pytest.mark.claim("GONE-6", "GONE-7", "GONE-9")
def test_a_purge_that_failed_after_it_named_what_survives_goes_on_with_these_names(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    purge_failed(library, monkeypatch)
    assert forget.carry_out(library.context.config, library.stores) == 1
    assert names(library) == ["abbey"]
    assert traces(library, "quxhall") == []
    rebuilt_is_the_same(library)
