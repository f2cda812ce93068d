"""Concepts that purged documents had named, where homes share the garage and a purge is not carried out at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from kgfs.compute.contract import Compute
from kgfs.compute.engine import LocalEngine
from kgfs.domain.documents import Document
from kgfs.errors import CorruptError
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.rebuild import rebuild_graph
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.stores.catalog.facts import ForgettingDone, ForgettingOwed
from kgfs.stores.resolve import find_document
from tests.fakes.garage import MemoryGarage
from tests.support.giving_up import hook, met
from tests.support.hosts import Host, host
from tests.support.knowledge_of import knowledge_in
from tests.support.library import reading_of

FOUNDER = b"The quxhall is a house. The quxhall uses bees.\n"
SURVIVOR = b"The abbey is a house of monks. The abbey keeps bees. Bees make honey.\n"
PASSAGE = {"quxhall": "The quxhall is a house."}
PASSAGE_ELSEWHERE = {"abbey": "The abbey is a house of monks.", "bees": "Bees make honey."}


@contextmanager
def home(where: Path, garage: MemoryGarage) -> Iterator[Host]:
    made = host(where, garage)
    made.config.logs.mkdir(parents=True)
    with closing(made):
        yield made


@pytest.fixture
def here(tmp_path: Path, garage: MemoryGarage) -> Iterator[Host]:
    with home(tmp_path / "here", garage) as made:
        made.ontology()
        made.exchange()
        yield made


@pytest.fixture
def there(tmp_path: Path, garage: MemoryGarage, here: Host) -> Iterator[Host]:
    with home(tmp_path / "there", garage) as made:
        made.exchange()
        yield made


def told(at: Host, path: str, content: bytes, reported: Mapping[str, str], **forms: str) -> Document:
    """Deposited and read, as what is ``reported`` of each label, and another form that labels have."""
    known = at.catalog.names.resolve(at.ontology().id, path)
    if known is None:
        at.file(path, content)
    else:
        at.write(known.id, content)
    at.settle()
    found = at.catalog.names.resolve(at.ontology().id, path)
    document = at.catalog.names.document(found.doc_id) if found else None
    assert document is not None
    reading = reading_of(document, path, content, {label: [quote] for label, quote in reported.items()})
    concepts = tuple(replace(one, forms=(one.label, forms.get(one.label, one.label))) for one in reading.concepts)
    reading = replace(reading, concepts=concepts)
    objects = at.stores.garage.objects
    objects.put(reading.key, reading.encode())
    engine = LocalEngine(cast(Compute, None), objects)
    Pipeline(at.config, at.stores, cast(Compute, None), StageClock(), engine).publish(document, reading, lambda: None)
    return document


def ordered(at: Host, *paths: str) -> None:
    targets = [find_document(at.stores, at.config.run, f"Notes/documents/{path}") for path in paths]
    forget.order(at.deposits, at.stores, forget_plan.plan(at.stores, targets, "orphans", purge=True))
    at.exchange()


def names(at: Host) -> list[str]:
    return sorted(concept.name for concept in at.stores.graph.concepts(at.ontology().id))


def traces(at: Host, word: bytes) -> list[str]:
    objects = at.stores.garage.objects
    return [key for key, _ in objects.keys("") if word in objects.get(key).lower()]


def rebuilt_is_the_same(at: Host) -> None:
    at.exchange()
    before = knowledge_in(at.stores)
    rebuild_graph(at.stores)
    assert knowledge_in(at.stores) == before


def purge_failed(here: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch) -> Document:
    """After it had named anew what survives, a concept of the document that is returned."""
    told(here, "a.txt", FOUNDER, PASSAGE, quxhall="abbey")
    before = told(here, "b.txt", SURVIVOR, PASSAGE_ELSEWHERE)
    survivor = told(here, "b.txt", SURVIVOR + b"More.\n", {"abbey": "The abbey keeps bees."})
    ((rotten, _),) = garage.objects.keys(f"decisions/{before.doc_id}/")
    ordered(here, "a.txt")
    get = garage.objects.get

    def damaged(key: str, start: int = 0, length: int | None = None) -> bytes:
        if key == rotten:
            raise CorruptError(f"{key}: its bytes are others.")
        return get(key, start, length)

    with monkeypatch.context() as patch, pytest.raises(CorruptError):
        patch.setattr(garage.objects, "get", damaged)
        forget.carry_out(here.config, here.stores)
    assert names(here) == ["abbey"] and here.catalog.names.forgettings()
    return survivor


@pytest.mark.claim("GONE-7")
def test_a_purge_that_failed_goes_on_though_what_survived_is_purged_meanwhile(
    here: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    survivor = purge_failed(here, garage, monkeypatch)
    told(here, "c.txt", b"An abbey stands on the hill.\n", {"abbey": "An abbey stands on the hill."})
    here.stores.graph.forget("gone", [survivor.doc_id], 5)
    named = tuple(name.id for name in here.catalog.names.names_of(survivor.doc_id))
    here.deposits.record(ForgettingOwed("other", named, (survivor.doc_id,), "all", True, (), (), 5))
    here.deposits.record(ForgettingDone("other", (survivor.doc_id,), "all", True, "gone", (), "redaction", 5))
    here.exchange()
    assert here.catalog.names.document(survivor.doc_id) is None
    assert forget.carry_out(here.config, here.stores) == 1
    assert here.catalog.names.forgettings() == [] and names(here) == ["abbey"]


@pytest.mark.claim("GONE-6", "GONE-7", "GONE-9")
def test_a_purge_that_failed_after_it_named_what_survives_goes_on_with_these_names(
    here: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    purge_failed(here, garage, monkeypatch)
    assert forget.carry_out(here.config, here.stores) == 1
    assert names(here) == ["abbey"]
    assert traces(here, b"quxhall") == []
    rebuilt_is_the_same(here)


@pytest.mark.logs(r"forgetting\.done was not carried out")
@pytest.mark.claim("GONE-6", "GONE-7", "GONE-9")
def test_what_is_left_of_an_order_goes_on_with_the_names_that_were_given_when_another_home_deposits_some_of_it(
    here: Host, there: Host, garage: MemoryGarage, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(here, "a.txt", FOUNDER, PASSAGE, quxhall="abbey")
    told(here, "b.txt", SURVIVOR, PASSAGE_ELSEWHERE)
    back = told(here, "c.txt", b"Wax burns.\n", {"wax": "Wax burns."})
    met(here, there)
    ordered(here, "a.txt", "c.txt")
    met(there, here)
    again: list[int] = []

    def deposited() -> None:
        if not again:
            again.append(there.file("again.txt", b"Wax burns.\n").id)
            there.settle()
            there.exchange()

    with monkeypatch.context() as patch:
        hook(patch, garage, "sources/", deposited, "before")
        forget.carry_out(here.config, here.stores)
    here.exchange()
    (left,) = here.catalog.names.forgettings()
    assert back.doc_id not in left.doc_ids and left.doc_ids
    assert forget.carry_out(here.config, here.stores) == 1
    met(here, there)
    assert here.read_at("again.txt") == b"Wax burns.\n"
    assert "abbey" in names(here) and "quxhall" not in names(here)
    assert traces(here, b"quxhall") == []
    rebuilt_is_the_same(here)
