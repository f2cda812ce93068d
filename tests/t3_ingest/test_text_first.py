"""Texts are shown before anything is extracted: found by words at once, in place of the former version's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits
from kgfs.compute.contract import LocalEngine
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.storing.settle import alive_sessions
from kgfs.ingest.working import pipeline as pipeline_module
from kgfs.knowledge.check import check
from kgfs.stores.catalog.facts import DocumentRead, DocumentText
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from kgfs.tree.ontology import Root
from kgfs.tree.tree_context import TreeContext
from kgfs.tree.views import TREE
from tests.support.histories import differences, seen_of
from tests.support.knowledge_of import knowledge_in
from tests.support.peers.homes import lifecycle
from tests.support.working import (
    OTHER,
    TEXT,
    Counting,
    deposit,
    documents,
    remove,
    states,
    work,
    work_until,
)

pytestmark = lifecycle


def recover(config: Config, stores: Stores) -> None:
    compute = Counting()
    engine = LocalEngine(compute, stores.garage.objects)
    pipeline_module.Pipeline(config, stores, compute, StageClock(), engine).recover()


def found(stores: Stores, words: str) -> set[str]:
    """Texts of the Sources with these words."""
    return {row.full_text for row, _ in stores.graph.find_text(words)}


def tree(config: Config, stores: Stores) -> dict[str, object]:
    with open_deposits(config, stores) as (deposits, _):
        return seen_of(Root(TreeContext(config, stores, deposits, "seen", os.getuid(), os.getgid(), 1, TREE)))


@pytest.mark.claim("VIS-10")
def test_all_texts_are_shown_before_anything_is_extracted(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT, b=OTHER, c=TEXT + OTHER)
    work(config, stores, Counting())
    facts = [fact for _, fact in stores.catalog.facts(0) or [] if isinstance(fact, (DocumentText, DocumentRead))]
    assert [type(fact) for fact in facts] == [DocumentText] * 3 + [DocumentRead] * 3


@pytest.mark.claim("VIS-10")
@pytest.mark.parametrize("border", ["text-published", "text-noted"])
def test_a_new_version_is_found_by_its_words_at_once_and_evidence_stays(
    config: Config, stores: Stores, tmp_path: Path, border: str
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    concepts = knowledge_in(stores)["Test"]["concepts"].keys()
    deposit(config, stores, tmp_path, a=OTHER)
    work_until(border, config, stores)
    assert (found(stores, "counting"), found(stores, "roots")) == (set(), {OTHER})
    assert knowledge_in(stores)["Test"]["concepts"].keys() == concepts
    recover(config, stores)
    assert states(stores) == {State.STALE: 1, State.TEXT: 1}
    before = tree(config, stores)
    assert before["/Test/text/a.txt.md"]
    assert check(config, stores, alive_sessions(config.run), worker=False, deep=True) == []
    rebuild(stores)
    assert differences(before, tree(config, stores)) == {}
    assert found(stores, "counting") == set()
    work(config, stores, Counting())
    assert states(stores) == {State.DONE: 1, State.KEPT: 1}
    before = tree(config, stores)
    rebuild(stores)
    assert differences(before, tree(config, stores)) == {}


def test_the_former_version_that_comes_back_is_found_again(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    deposit(config, stores, tmp_path, a=OTHER)
    work_until("text-noted", config, stores)
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    assert (found(stores, "counting"), found(stores, "roots")) == ({TEXT}, set())


@pytest.mark.parametrize("purge", [False, True])
def test_what_is_forgotten_between_the_two_leaves_nothing(
    config: Config, stores: Stores, tmp_path: Path, purge: bool
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work_until("text-noted", config, stores)
    doc_id = documents(stores)[0].doc_id
    assert found(stores, "counting") == {TEXT}
    if purge:
        with open_deposits(config, stores) as (deposits, _):
            target = find_document(stores, config.run, "Test/documents/a.txt")
            forget.order(deposits, stores, forget_plan.plan(stores, [target], "orphans", purge=True))
        forget.carry_out(config, stores)
        assert not [key for key, _ in stores.garage.objects.keys("") if doc_id in key]
        assert TEXT.split()[0].encode() not in config.graph_db.read_bytes()
    else:
        remove(config, stores, "a.txt")
        work(config, stores, Counting())
    assert stores.graph.document(doc_id) is None
    assert found(stores, "counting") == set()
    rebuild(stores)
    assert stores.graph.document(doc_id) is None


def test_a_document_that_is_no_text_is_unsupported_and_hides_nothing(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    (tmp_path / "a.txt").write_bytes(b"\x00\x01\x02\xff" * 100)
    with open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "a.txt", "Test")
    work(config, stores, Counting())
    assert states(stores) == {State.STALE: 1, State.UNSUPPORTED: 1}
    assert found(stores, "counting") == {TEXT}
