"""A concept of a later document in the documents before it: places, evidence, and nothing left of what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.rebuild import rebuild_graph
from kgfs.ingest.matching import earlier
from kgfs.ingest.matching.concept_plans import plan_merge
from kgfs.ingest.matching.concepts import catch_up, decide
from kgfs.knowledge.check.kept import in_garage
from kgfs.stores.resolve import find_document
from kgfs.tree.node import File
from tests.support.library import Library, library_at, read
from tests.support.terms import SURE, WEAK, add, concepts, named

NAMING = "Whoever sits practises zazen.\n"
TERM = "Zazen means sitting meditation. Zen has zazen.\n"
FOUNDING = "Zazen is the heart of Zen.\n"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        add(library, "naming.txt", NAMING, {"Whoever": (WEAK, NAMING.strip())})
        add(
            library,
            "term.txt",
            TERM,
            {"Zazen": (WEAK, "Zazen means sitting meditation."), "Zen": (SURE, "Zen has zazen.")},
        )
        yield library


def look_back(library: Library) -> int:
    batches = 0
    while library.pipeline.look_back():
        batches += 1
    assert library.stores.graph.faults() == []
    return batches


def everything(library: Library) -> dict[str, tuple[bytes, int]]:
    found = {path: node for path, node in library.walk("Zen") if isinstance(node, File)}
    return {path: (read(node), node.attr().mtime) for path, node in found.items()}


def quotes(library: Library, concept: str) -> list[bytes]:
    numbers = [name for name in library.names(f"Zen/concepts/{concept}.concept/evidence") if name.isdigit()]
    return [library.read(f"Zen/concepts/{concept}.concept/evidence/{n}/quote.txt") for n in sorted(numbers, key=int)]


@pytest.mark.parametrize(("at_once", "held"), [(1, 4_000_000), (24, 4_000_000), (24, 1)])
def test_places_and_evidence_of_earlier_documents(
    library: Library, at_once: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier, "DOCUMENTS", at_once)
    monkeypatch.setattr(earlier, "HELD", held)
    look_back(library)
    assert concepts(library) == ["zen"]
    founding = add(library, "founding.txt", FOUNDING, {"zazen": (SURE, FOUNDING.strip())})
    assert quotes(library, "zazen") == [FOUNDING.strip().encode()]
    assert look_back(library) >= 1 and look_back(library) == 0
    assert named(library, "zazen") == 4, "one of the naming document, two of the term's, one of the founding one"
    assert quotes(library, "zazen") == [FOUNDING.strip().encode(), b"Zazen means sitting meditation."]
    before = everything(library)
    rebuild_graph(library.stores)
    assert everything(library) == before
    while library.pipeline.look_back():
        pass
    assert everything(library) == before, "looking again changes nothing"
    # the term's document adds evidence, and is nothing that the concept rests on
    library.pipeline.forget(founding, "forget-founding")
    assert concepts(library) == ["zen"] and library.stores.graph.faults() == []
    before = everything(library)
    rebuild_graph(library.stores)
    assert everything(library) == before
    # it is founded anew, under numbers that were never given
    add(library, "again.txt", "Zazen again.\n", {"zazen": (SURE, "Zazen again.")})
    look_back(library)
    assert named(library, "zazen") == 4 and len(quotes(library, "zazen")) == 2
    before = everything(library)
    rebuild_graph(library.stores)
    assert everything(library) == before
    library.pipeline.forget(library.document("Zen/documents/term.txt"), "forget-term")
    assert concepts(library) == ["zazen"] and named(library, "zazen") == 2 and len(quotes(library, "zazen")) == 1


def decisions_of(library: Library, doc_id: str) -> dict[str, int]:
    return dict(library.stores.garage.objects.keys(f"decisions/{doc_id}/"))


def test_a_batch_is_stored_as_what_it_adds(library: Library) -> None:
    words = [f"lantern {n} wheel" for n in range(150)]
    text = "".join(f"The {word} is near zazen and kinhin and gassho.\n" for word in words)
    large = add(library, "large.txt", text, {word: (SURE, f"The {word} is near zazen") for word in words})
    look_back(library)
    before = decisions_of(library, large.doc_id)
    for n, word in enumerate(["zazen", "kinhin", "gassho"]):
        add(library, f"founding {n}.txt", f"This is {word}.\n", {word: (SURE, f"This is {word}.")})
        look_back(library)
        assert named(library, word) >= 151
    after = decisions_of(library, large.doc_id)
    assert after.keys() > before.keys(), "what was whole stays, as others are changes of it"
    assert sum(after.values()) - sum(before.values()) < max(before.values()) / 2
    shown = everything(library)
    rebuild_graph(library.stores)
    assert everything(library) == shown
    assert list(in_garage(library.stores, deep=True, progress=lambda *_: None)) == []
    for key in before:  # as after a kill while it was purged
        library.stores.garage.objects.delete(key)
    lost = list(in_garage(library.stores, deep=False, progress=lambda *_: None))
    assert {damage.doc_id for damage in lost} == {large.doc_id}
    context = library.context
    planned = forget_plan.plan(
        library.stores, [find_document(library.stores, context.config.run, large.doc_id)], "orphans", purge=True
    )
    forget.order(context.deposits, library.stores, planned)
    forget.carry_out(context.config, library.stores)
    assert decisions_of(library, large.doc_id) == {} and library.stores.graph.faults() == []
    assert named(library, "zazen") == 4


def test_a_term_of_a_later_document_adds_to_a_living_concept(library: Library) -> None:
    text = "The Zens of Japan are schools. Zens differ.\n"
    later = add(library, "later.txt", text, {"Zens": (WEAK, "The Zens of Japan are schools.")})
    assert quotes(library, "zen") == [b"Zen has zazen.", b"The Zens of Japan are schools."]
    assert library.names(f"Zen/archive/{later.doc_id}/concepts") == ["zen.md"]
    before = everything(library)
    rebuild_graph(library.stores)
    assert everything(library) == before
    library.pipeline.forget(library.document("Zen/documents/term.txt"), "forget-term")
    assert concepts(library) == [], "the concept rested on that document alone"
    assert library.stores.graph.faults() == []


def test_a_person_joins_what_rests_on_one_with_what_rests_on_another(library: Library) -> None:
    add(library, "founding.txt", FOUNDING, {"zazen": (SURE, FOUNDING.strip())})
    look_back(library)
    decide(library.stores, plan_merge(library.stores, library.ontology(), "zen", ["zazen"]))
    assert concepts(library) == ["zen"] and len(quotes(library, "zen")) == 3
    before = everything(library)
    rebuild_graph(library.stores)
    assert everything(library) == before
    library.pipeline.forget(library.document("Zen/documents/founding.txt"), "forget-founding")
    assert len(quotes(library, "zen")) == 2 and library.stores.graph.faults() == []


def test_a_batch_that_was_recorded_and_not_carried_out_is_caught_up(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(library, "founding.txt", FOUNDING, {"zazen": (SURE, FOUNDING.strip())})
    with monkeypatch.context() as patched:
        patched.setattr("kgfs.ingest.matching.concepts.carry_out_word", lambda *_: None)
        assert library.pipeline.look_back()
    assert named(library, "zazen") == 3, "by the founding document alone, and the places of the term"
    catch_up(library.stores)
    assert named(library, "zazen") == 4 and len(quotes(library, "zazen")) == 2
    assert look_back(library) == 0
