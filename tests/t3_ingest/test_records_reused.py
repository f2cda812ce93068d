"""What is not asked again: unchanged Sources of a long document, bytes known under other paths and in other ontologies."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.app.home import open_deposits
from kgfs.config import Config, load
from kgfs.domain.documents import State
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.runs import living, owe_again, plan
from kgfs.knowledge.document import document_page
from kgfs.settings import Pipeline as Settings
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from tests.support.peers.homes import EMBEDDED, lifecycle
from tests.support.working import TEXT, Counting, deposit, states, work

pytestmark = lifecycle

WORDS = (
    "garbage collector memory reference counting tracing algorithm object cell program heap root pointer cycle pause "
    "generation barrier mark sweep copy region thread stack register machine language compiler runtime"
)


@pytest.fixture
def config(home: Path) -> Config:
    return replace(load(home), pipeline=Settings(max_attempts=2))


def paragraphs(size: int) -> list[str]:
    """Of about ``size`` characters together, each another."""
    chance, words = random.Random(5), WORDS.split()
    made: list[str] = []
    while sum(map(len, made)) < size:
        sentences = [
            f"The {' '.join(chance.choices(words, k=3))} uses a {' '.join(chance.choices(words, k=6))}."
            for _ in range(6)
        ]
        made.append(f"Paragraph {len(made)}. " + " ".join(sentences))
    return made


def reused(config: Config, stores: Stores, words: str) -> tuple[int, int]:
    """Records that were (asked for, there already)."""
    page = document_page(stores, find_document(stores, config.run, words))
    return page["reading"]["records"]["extracted"], page["reading"]["records"]["reused"]


def test_what_the_first_of_many_versions_said_is_not_asked_again(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    text = paragraphs(20_000)
    compute = Counting()
    for turn in range(7):
        text[-1] = f"The last paragraph was written anew, which makes version {turn} of this document."
        deposit(config, stores, tmp_path, a="\n\n".join(text))
        compute = Counting()
        work(config, stores, compute)
        if turn:
            assert 1 <= len(compute.asked) <= 2, turn


def test_other_paths_and_other_ontologies_ask_nothing(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, a=TEXT, b=TEXT)
    first = Counting()
    work(config, stores, first)
    assert len(first.asked) == 1, "two names, one extraction"
    with open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "a.txt", "Copied")
    copied = Counting()
    work(config, stores, copied)
    assert copied.asked == []
    assert reused(config, stores, "Copied/a.txt") == (0, 1)
    assert states(stores) == {State.DONE: 2}
    names = stores.catalog.names
    original, copy = (find_document(stores, config.run, words) for words in ("Test/a.txt", "Copied/a.txt"))
    concepts = [{c.norm for c in stores.graph.concepts_of(found.doc_id)} for found in (original, copy)]
    assert concepts[0] == concepts[1] != set()
    assert names.names_of(original.doc_id) != names.names_of(copy.doc_id)


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_moving_to_another_ontology_asks_nothing(config: Config, stores: Stores, tmp_path: Path, folder: bool) -> None:
    with open_deposits(config, stores) as (deposits, _):
        (tmp_path / "a.txt").write_text(TEXT)
        deposits.ingest_file(tmp_path / "a.txt", "Test", "notes/a.txt")
        work(config, stores, Counting())
        goal = deposits.make_ontology("Goal", 0o755, 0, 0)
        moved = find_document(stores, config.run, "Test/notes" if folder else "Test/notes/a.txt").name
        assert moved is not None
        deposits.move(moved.id, goal.root, moved.name, replace=False)
        deposits.settler.settle_now()
        after = Counting()
        work(config, stores, after)
        assert after.asked == []
    path = "Goal/notes/a.txt" if folder else "Goal/a.txt"
    found = find_document(stores, config.run, path)
    assert found.document is not None
    assert found.document.state is State.DONE
    assert found.document.key.startswith("sources/Goal/")
    assert stores.graph.counts(goal.id)["concepts"] > 0
    [test] = [one for one in stores.catalog.names.ontologies() if one.name == "Test"]
    assert stores.graph.counts(test.id)["concepts"] == 0, "what the path left behind was forgotten"


@pytest.mark.parametrize("path", ["a.txt", "b.txt"])
def test_force_reads_again_whatever_path_it_comes_by(config: Config, stores: Stores, tmp_path: Path, path: str) -> None:
    deposit(config, stores, tmp_path, a=TEXT)
    work(config, stores, Counting())
    before = find_document(stores, config.run, "Test/a.txt").document
    with open_deposits(config, stores) as (deposits, _):
        done = deposits.ingest_file(tmp_path / "a.txt", "Test", path, force=True)
    assert done.decision == "reprocess"
    [job] = stores.catalog.jobs.all()
    assert job.run, "no Reading of before may answer"
    work(config, stores, Counting())
    after = find_document(stores, config.run, f"Test/{path}").document
    assert before is not None and after is not None
    assert (after.doc_id, after.state) == (before.doc_id, State.DONE)
    assert after.deposit > before.deposit
    assert states(stores) == {State.DONE: 1}


@pytest.mark.peers(EMBEDDED, "minio")
def test_what_others_had_from_a_purged_document_is_not_asked_again(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    """The same bytes in another ontology, and what was made of them there."""
    text = paragraphs(20_000)
    deposit(config, stores, tmp_path, a="\n\n".join(text))
    work(config, stores, Counting())
    with open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "a.txt", "Copied")
        work(config, stores, Counting())
        (tmp_path / "a.txt").write_text(
            "\n\n".join(text) + "\n\nA last paragraph that says something about Zen gardens."
        )
        deposits.ingest_file(tmp_path / "a.txt", "Copied")
        work(config, stores, Counting())
        asked, there = reused(config, stores, "Copied/a.txt")
        assert there > asked > 0
        doomed = find_document(stores, config.run, "Test/a.txt")
        forget.order(deposits, stores, forget_plan.plan(stores, [doomed], "orphans", purge=True))
    forget.carry_out(config, stores)
    left = list(stores.garage.objects.keys(f"records/{doomed.doc_id}/"))
    assert left == []
    [copied] = [ontology for ontology in stores.catalog.names.ontologies() if ontology.name == "Copied"]
    [document] = living(stores.catalog.names, copied)
    compute = Counting()
    planned = plan(config, stores, compute, "Copied", [document], "hybrid")
    assert planned.reusable_chunks == planned.chunks == asked + there
    owe_again(stores, [document.doc_id], "hybrid")
    work(config, stores, compute)
    assert compute.asked == []
