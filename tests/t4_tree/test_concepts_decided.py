"""Concepts merged and split by a person's word: the tree, what later matching makes of it, and that a rebuild gives the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.domain.documents import Document, Ontology
from kgfs.errors import BadInputError, ExistsError, MissingError
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.matching.concept_plans import plan_merge, plan_split
from kgfs.ingest.matching.concepts import catch_up, decide
from kgfs.stores.catalog.facts import ConceptsMerged, ConceptSplit, DocumentForgotten
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.ship import ship_once
from kgfs.tree.node import Link
from tests.support.library import ME, Library, library_at, read
from tests.support.peers.homes import anywhere, lifecycle

pytestmark = lifecycle

ZEN = "Zen is a school. Zen uses koans. A koan is a riddle.\n"
CHAN = "Chan is older. Chan uses koans too. Zen came later.\n"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as found:
        found.root.make_folder("Zen", 0o755, ME)
        yield found


@pytest.fixture
def told(library: Library) -> Library:
    library.add(
        "Zen/documents/zen.txt",
        ZEN.encode(),
        {"Zen": ["Zen is a school."], "koan": ["A koan is a riddle."]},
        [("Zen", "USES", "koan", "Zen uses koans.")],
    )
    library.add(
        "Zen/documents/chan.txt",
        CHAN.encode(),
        {"Chan": ["Chan is older."], "koan": ["Chan uses koans too."]},
        [("Chan", "USES", "koan", "Chan uses koans too.")],
    )
    return library


def ontology(library: Library) -> Ontology:
    found = library.stores.catalog.names.ontology_named("Zen")
    assert found is not None
    return found


def merge(library: Library, into: str, *others: str) -> None:
    decide(library.stores, plan_merge(library.stores, ontology(library), into, others))


def split(library: Library, concept: str, *labels: str, documents: tuple[Document, ...] = (), name: str = "") -> str:
    doc_ids = [document.doc_id for document in documents]
    plan = plan_split(library.stores, ontology(library), concept, labels, doc_ids, name)
    decide(library.stores, plan)
    return plan.name


def concepts(library: Library) -> list[str]:
    return sorted(name.removesuffix(".concept") for name in library.names("Zen/concepts"))


def seen(library: Library) -> dict[str, tuple[object, ...]]:
    """All that derived folders show: sizes, times and bytes."""
    found: dict[str, tuple[object, ...]] = {}
    for path, node in library.walk():
        attr = node.attr()
        if path.startswith(".kgfs") or node.attr().direct_io:
            continue
        if isinstance(node, Link):
            found[path] = (attr.mtime, node.target())
        elif hasattr(node, "entries"):
            found[path] = (attr.mtime,)
        else:
            found[path] = (attr.mtime, attr.size, read(node))
    return found


def assert_rebuilt_is_the_same(library: Library) -> None:
    before, marks = seen(library), library.stores.graph.marked(["x"])
    rebuild(library.stores)
    after = seen(library)
    assert after == before
    assert library.stores.graph.marked(["x"]) == marks


@pytest.mark.claim("WORD-2")
def test_merging_moves_everything_and_the_name_leaves(told: Library) -> None:
    assert concepts(told) == ["chan", "koan", "zen"]
    merge(told, "zen", "chan.concept")
    assert concepts(told) == ["koan", "zen"]
    page = told.read("Zen/concepts/zen.concept/concept.md").decode()
    assert "Chan" in page
    assert told.names("Zen/concepts/zen.concept/evidence") == ["1", "2"]
    assert told.read("Zen/concepts/zen.concept/evidence/2/quote.txt") == b"Chan is older."
    assert told.find("Zen/chan.concept/concept.md") is None
    assert told.names("Zen/concepts/zen.concept/related/USES") == ["koan"]
    assert len(told.names("Zen/concepts/zen.concept/related/USES/koan/evidence")) == 2
    assert told.names("Zen/concepts/koan.concept/related/USED_BY") == ["zen"]
    found_in = told.names(f"Zen/archive/{told.document('Zen/documents/chan.txt').doc_id}/concepts")
    assert found_in == ["koan.md", "zen.md"]
    assert_rebuilt_is_the_same(told)


@anywhere
def test_splitting_undoes_a_merge_under_the_former_name(told: Library) -> None:
    before = {path: content for path, content in seen(told).items() if path.endswith("concept.md")}
    merge(told, "zen", "chan")
    assert split(told, "zen", "Chan") == "chan"
    assert concepts(told) == ["chan", "koan", "zen"]
    assert told.names("Zen/concepts/zen.concept/evidence") == ["1"]
    assert told.names("Zen/concepts/chan.concept/evidence") == ["2"], "a number is never used again"
    assert told.names("Zen/concepts/chan.concept/related/USES") == ["koan"]
    page = "Zen/concepts/zen.concept/concept.md"
    assert told.read(page) == before[page][-1]
    assert_rebuilt_is_the_same(told)
    merge(told, "zen", "chan")
    assert concepts(told) == ["koan", "zen"]
    assert_rebuilt_is_the_same(told)


def test_relationships_between_the_merged_go_and_come_back(library: Library) -> None:
    library.add(
        "Zen/documents/a.txt",
        CHAN.encode(),
        {"Chan": ["Chan is older."], "Zen": ["Zen came later."]},
        [("Zen", "REPLACES", "Chan", "Zen came later.")],
    )
    assert library.names("Zen/concepts/zen.concept/related") == ["REPLACES"]
    merge(library, "zen", "chan")
    assert library.names("Zen/concepts/zen.concept/related") == []
    assert_rebuilt_is_the_same(library)
    split(library, "zen", "Chan")
    assert library.names("Zen/concepts/zen.concept/related/REPLACES") == ["chan"]
    assert_rebuilt_is_the_same(library)


@pytest.mark.claim("WORD-2")
def test_later_documents_say_what_was_merged(told: Library) -> None:
    merge(told, "zen", "chan")
    told.add("Zen/documents/later.txt", b"Chan again.\n", {"chan": ["Chan again."]})
    assert concepts(told) == ["koan", "zen"]
    assert "3" in told.names("Zen/concepts/zen.concept/evidence")
    assert_rebuilt_is_the_same(told)


def forget(library: Library, document: Document) -> None:
    """As the worker does when the last name is gone."""
    library.pipeline.forget(document, f"forget-{document.doc_id}-{time.time_ns()}")


def test_what_was_merged_stays_merged_when_all_was_forgotten(told: Library) -> None:
    merge(told, "zen", "chan")
    for path in ("Zen/documents/zen.txt", "Zen/documents/chan.txt"):
        document = told.document(path)
        folder = told.node("Zen/documents")
        folder.remove_file(path.rpartition("/")[2])  # type: ignore[attr-defined]
        forget(told, document)
    assert concepts(told) == []
    told.add("Zen/documents/later.txt", b"Chan again.\n", {"Chan": ["Chan again."]})
    assert concepts(told) == ["zen"]
    told.add("Zen/documents/more.txt", b"Zen again.\n", {"Zen": ["Zen again."]})
    assert concepts(told) == ["zen"]
    assert_rebuilt_is_the_same(told)


def test_forgetting_leaves_no_trace_of_a_merged_label(told: Library) -> None:
    merge(told, "zen", "chan")
    document = told.document("Zen/documents/chan.txt")
    told.node("Zen/documents").remove_file("chan.txt")  # type: ignore[attr-defined]
    forget(told, document)
    assert "Chan" not in told.read("Zen/concepts/zen.concept/concept.md").decode()
    assert told.stores.graph.match(ontology(told).id, ["chan"]) == {}
    assert_rebuilt_is_the_same(told)


@pytest.fixture
def snakes(library: Library) -> Library:
    """One label, two things: matching joined them."""
    library.add("Zen/documents/code.txt", b"Python is a language.\n", {"Python": ["Python is a language."]})
    library.add("Zen/documents/zoo.txt", b"A python is a snake.\n", {"python": ["A python is a snake."]})
    assert concepts(library) == ["python"]
    return library


def test_splitting_by_document_gives_a_concept_with_a_name_of_its_own(snakes: Library) -> None:
    zoo = snakes.document("Zen/documents/zoo.txt")
    assert split(snakes, "python", documents=(zoo,), name="python-snake") == "python-snake"
    assert concepts(snakes) == ["python", "python-snake"]
    assert snakes.read("Zen/concepts/python-snake.concept/evidence/1/quote.txt") == b"A python is a snake."
    assert snakes.names("Zen/concepts/python.concept/evidence") == ["1"]
    assert_rebuilt_is_the_same(snakes)
    # Another document is matched as before, the same one as was said, whichever version it is.
    snakes.add("Zen/documents/third.txt", b"Python has lists.\n", {"Python": ["Python has lists."]})
    assert len(snakes.names("Zen/concepts/python.concept/evidence")) == 2
    snakes.add("Zen/documents/zoo.txt", b"A python has no legs.\n", {"python": ["A python has no legs."]})
    assert snakes.names("Zen/concepts/python-snake.concept/evidence") == ["2"]
    assert_rebuilt_is_the_same(snakes)
    merge(snakes, "python", "python-snake")
    snakes.add("Zen/documents/zoo.txt", b"A python has no arms.\n", {"python": ["A python has no arms."]})
    assert concepts(snakes) == ["python"]
    assert_rebuilt_is_the_same(snakes)


@pytest.mark.claim("WORD-2")
def test_what_was_split_by_document_stays_so_when_it_is_renamed_and_edited(snakes: Library) -> None:
    split(snakes, "python", documents=(snakes.document("Zen/documents/zoo.txt"),), name="python-snake")
    deposits, root = snakes.context.deposits, snakes.ontology().root
    zoo = snakes.stores.catalog.names.child(root, "zoo.txt")
    assert zoo is not None
    deposits.move(zoo.id, root, "animals.txt", replace=False)
    snakes.add("Zen/documents/animals.txt", b"A python has no legs.\n", {"python": ["A python has no legs."]})
    assert snakes.names("Zen/concepts/python-snake.concept/evidence") == ["2"]
    assert_rebuilt_is_the_same(snakes)
    merge(snakes, "python", "python-snake")
    snakes.add("Zen/documents/animals.txt", b"A python has no arms.\n", {"python": ["A python has no arms."]})
    assert concepts(snakes) == ["python"]
    assert_rebuilt_is_the_same(snakes)


def test_a_new_concept_without_a_name_gets_one(snakes: Library) -> None:
    name = split(snakes, "python", documents=(snakes.document("Zen/documents/zoo.txt"),))
    assert name.startswith("python~")
    assert concepts(snakes) == ["python", name]


def test_a_split_label_is_not_joined_again_by_alias(library: Library) -> None:
    """``reading_of`` knows one form a label, so an alias comes from a merge."""
    library.add("Zen/documents/a.txt", ZEN.encode(), {"Zen": ["Zen is a school."], "koan": ["A koan is a riddle."]})
    library.add("Zen/documents/b.txt", CHAN.encode(), {"Zen": ["Zen came later."], "Chan": ["Chan is older."]})
    merge(library, "zen", "chan")
    split(library, "zen", "Chan")
    library.add("Zen/documents/c.txt", b"Chan is calm. Zen too.\n", {"Chan": ["Chan is calm."], "Zen": ["Zen too."]})
    assert concepts(library) == ["chan", "koan", "zen"]
    assert len(library.names("Zen/concepts/chan.concept/evidence")) == 2
    assert_rebuilt_is_the_same(library)


def test_a_publication_that_is_noted_again_does_not_take_a_word_back(told: Library) -> None:
    """As when a document is read again with the same result."""
    merge(told, "zen", "chan")
    told.publish(
        "Zen/documents/chan.txt",
        {"Chan": ["Chan is older."], "koan": ["Chan uses koans too."]},
        [("Chan", "USES", "koan", "Chan uses koans too.")],
    )
    merge(told, "koan", "zen")
    assert concepts(told) == ["koan"]
    assert split(told, "koan", "Chan") == "chan"
    assert concepts(told) == ["chan", "koan"]
    assert_rebuilt_is_the_same(told)


def test_what_cannot_be_is_refused(told: Library) -> None:
    for wrong in (
        lambda: merge(told, "zen", "nothing"),
        lambda: merge(told, "nothing", "zen"),
        lambda: split(told, "zen", "Koan"),
        lambda: split(told, "koan", documents=(replace(told.document("Zen/documents/zen.txt"), doc_id="0" * 16),)),
    ):
        with pytest.raises(MissingError):
            wrong()
    for wrong in (
        lambda: merge(told, "zen", "zen"),
        lambda: split(told, "zen"),
        lambda: split(told, "zen", "Zen"),
        lambda: split(told, "koan", documents=(told.document("Zen/documents/zen.txt"),), name="not a name"),
    ):
        with pytest.raises(BadInputError):
            wrong()
    with pytest.raises(ExistsError):
        split(told, "koan", documents=(told.document("Zen/documents/zen.txt"),), name="chan")
    assert concepts(told) == ["chan", "koan", "zen"]


def test_a_word_that_was_not_carried_out_is_made_up_for(told: Library) -> None:
    plan = plan_merge(told.stores, ontology(told), "zen", ["chan"])
    for decisions in plan.decisions:
        told.stores.garage.objects.put(decisions.key, decisions.encode())
    told.stores.catalog.record(plan.word)
    assert concepts(told) == ["chan", "koan", "zen"]
    told.pipeline.recover()
    assert concepts(told) == ["koan", "zen"]
    epoch = told.stores.graph.epoch()
    catch_up(told.stores)
    assert told.stores.graph.epoch() == epoch
    assert_rebuilt_is_the_same(told)


def test_the_ledger_alone_brings_names_and_decisions_back(told: Library, tmp_path: Path) -> None:
    merge(told, "zen", "chan")
    split(told, "zen", "Chan")
    ship_once(told.stores.catalog, told.stores.garage.ledger)
    other = Catalog(tmp_path / "other.sqlite")
    other.replay(told.stores.garage.ledger.replay())
    for document in told.stores.catalog.names.documents(ontology(told).id):
        assert other.names.document(document.doc_id) == document
    other.close()
    facts = told.stores.catalog.facts(0, 1000) or []
    assert [type(f) for _, f in facts if isinstance(f, ConceptsMerged | ConceptSplit)] == [ConceptsMerged, ConceptSplit]
    assert not any(isinstance(fact, DocumentForgotten) for _, fact in facts)
