"""One name for different things: the page of the concept says so, and a question for it is answered with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kgfs.compute.deadline import Deadline
from kgfs.knowledge.ask.asking import ask
from kgfs.render.meanings import Said, meanings_of
from kgfs.tree.node import File
from tests.support.library import library_at
from tests.support.working import Counting, work

MEANINGS = Path(__file__).parents[1] / "data/meanings"


def said(*documents: Sequence[str]) -> list[Said[str]]:
    return [
        Said(number, at == 0, quote, quote)
        for at in range(max(map(len, documents)))
        for number, quotes in enumerate(documents)
        for quote in quotes[at : at + 1]
    ]


BOAT = ("Heron is a boat with two engines.", "Heron crosses the fjord of Alness with forty cars.")
WADER = ("Heron is a grey bird of shallow ponds.", "Heron eats frogs, sticklebacks and beetles at dawn.")


@pytest.mark.parametrize(
    ("documents", "expected"),
    [
        ((BOAT, WADER), [BOAT[0], WADER[0]]),
        ((BOAT, WADER, ("Herons are the birds that nest in trees.", "A heron builds its nest of twigs.")), [BOAT[0], WADER[0]]),
        ((BOAT, ("Heron is a vessel.", "Heron has two engines and carries forty cars over the fjord.")), []),
        ((BOAT, ("Heron is a fast boat.", "Passengers drink coffee aboard while gulls follow Heron.")), []),
        ((BOAT, ("Heron is a grey bird.",)), []),
        ((BOAT, ("Heron: see the timetable of winter sailings, tickets and prices.",)), []),
        ((BOAT,), []),
    ],
    ids=["two", "a third of the second", "the same cars", "the same head", "says little", "no definition", "alone"],
)  # fmt: skip
def test_definitions_apart_in_head_and_words_are_different_things(
    documents: tuple[tuple[str, ...], ...], expected: list[str]
) -> None:
    assert list(meanings_of(["Heron"], said(*documents))) == expected


@pytest.mark.claim("ASK-4")
def test_the_page_says_that_a_name_is_used_for_two_things_and_answers_name_both(tmp_path: Path) -> None:
    with library_at(tmp_path / "home") as library:
        ontology = library.ontology()
        for path in sorted(MEANINGS.glob("*.md")):
            library.write(f"Zen/documents/{path.name}", path.read_bytes())
            library.settle()
        work(library.context.config, library.stores, Counting())

        def asked(question: str) -> set[str]:
            answer = ask(library.stores, tmp_path / "run", question, ontology.id, Deadline(30))
            return {quote.text for quote in answer.quotes}

        people = {"Mara Quill is the head gardener of Stonefield Gardens."}
        people |= {"Mara Quill is the chief financial officer of Brightwater."}
        things = {"Mercury is a liquid metal.", "Mercury is the planet closest to the sun."}
        assert asked("Who is Mara Quill?") >= people and asked("What is Mercury?") >= things
        for name, definitions in (("mara-quill", people), ("mercury", things)):
            at = f"Zen/concepts/{name}.concept/concept.md"
            head = library.read(at).decode().partition("## Evidence")[0]
            assert "This name is used for 2 different things:" in head
            assert all(f"“{one}” (" in head for one in definitions)
        documents = library.node("Zen/documents")
        documents.remove_file("p1.md")  # type: ignore[attr-defined]
        documents.remove_file("merc2.md")  # type: ignore[attr-defined]
        library.settle()
        work(library.context.config, library.stores, Counting())
        for name in ("mara-quill", "mercury"):
            assert "different things" not in library.read(f"Zen/concepts/{name}.concept/concept.md").decode()
        for path, node in library.walk("Zen/concepts"):
            if isinstance(node, File) and path.endswith("concept.md"):
                assert len(library.read(path)) == node.attr().size, path


def test_a_page_that_an_earlier_kgfs_sized_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with library_at(tmp_path / "home") as library:
        library.ontology()
        with monkeypatch.context() as earlier:
            earlier.setattr("kgfs.stores.graph.pages.meanings_of", lambda names, evidence: ())
            for name in ("p1.md", "p2.md"):
                library.write(f"Zen/documents/{name}", (MEANINGS / name).read_bytes())
                library.settle()
            work(library.context.config, library.stores, Counting())
        at = "Zen/concepts/mara-quill.concept/concept.md"
        node = library.find(at)
        assert node is not None and "different things" not in (page := library.read(at)).decode()
        assert len(page) == node.attr().size
