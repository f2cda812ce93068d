"""An acronym and its long form are one concept while a document introduces it: joined, parted, rebuilt, shared."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.domain.documents import Document
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.ingest.matching import joinings
from kgfs.ingest.matching.concept_plans import plan_merge, plan_split
from kgfs.ingest.matching.concepts import decide
from kgfs.stores.catalog.facts import ConceptsMerged, ConceptSplit
from kgfs.stores.resolve_targets import Found, FoundKind
from kgfs.tree.node import Link
from tests.support.library import ME, Library, library_at, read
from tests.support.peers.homes import anywhere, lifecycle

pytestmark = lifecycle

LONG, SHORT = "garbage collector", "GC"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as found:
        found.root.make_folder("Zen", 0o755, ME)
        yield found


def long(library: Library) -> Document:
    return library.add(
        "Zen/documents/long.txt",
        b"The garbage collector frees cells. The garbage collector uses a heap.\n",
        {LONG: ["The garbage collector frees cells."], "heap": ["The garbage collector uses a heap."]},
        [(LONG, "USES", "heap", "The garbage collector uses a heap.")],
    )


def short(library: Library, name: str = "short") -> Document:
    words = f"The GC of {name} pauses."
    return library.add(
        f"Zen/documents/{name}.txt",
        f"{words} Its GC uses a heap.\n".encode(),
        {SHORT: [words], "heap": ["Its GC uses a heap."]},
        [(SHORT, "USES", "heap", "Its GC uses a heap.")],
    )


def introducing(library: Library, name: str = "introducing") -> Document:
    return library.add(
        f"Zen/documents/{name}.txt",
        f"In {name} the garbage collector (GC) is new. A heap grows.\n".encode(),
        {"heap": ["A heap grows."]},
    )


def gone(library: Library, document: Document) -> None:
    library.pipeline.forget(document, f"forget-{document.doc_id}-{time.time_ns()}")


def concepts(library: Library) -> list[str]:
    return sorted(name.removesuffix(".concept") for name in library.names("Zen/concepts"))


def numbers(library: Library, concept: str) -> dict[str, str]:
    folder = f"Zen/concepts/{concept}.concept/evidence"
    return {n: library.read(f"{folder}/{n}/quote.txt").decode() for n in library.names(folder)}


def seen(library: Library) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path, node in library.walk():
        attr = node.attr()
        if path.startswith(".kgfs") or attr.direct_io:
            continue
        if isinstance(node, Link):
            found[path] = (attr.mtime, node.target())
        else:
            found[path] = (attr.mtime,) if hasattr(node, "entries") else (attr.mtime, attr.size, read(node))
    return found


def assert_rebuilt_is_the_same(library: Library) -> None:
    before, graph = seen(library), library.stores.graph
    rows = graph.joined.joinings(), graph.faults()
    rebuild(library.stores)
    assert seen(library) == before
    assert (graph.joined.joinings(), graph.faults()) == rows == (rows[0], [])


@anywhere
@pytest.mark.claim("WORD-4")
def test_joined_when_a_document_introduces_the_acronym_and_parted_when_it_is_forgotten(library: Library) -> None:
    long(library)
    short(library)
    assert concepts(library) == ["garbage-collector", "gc", "heap"]
    introduces = introducing(library)
    assert concepts(library) == ["garbage-collector", "heap"]
    assert numbers(library, "garbage-collector") == {
        "1": "The garbage collector frees cells.",
        "2": "The GC of short pauses.",
    }
    assert 'aliases: ["GC"]' in library.read("Zen/concepts/garbage-collector.concept/concept.md").decode()
    for former, target in (
        ("concepts/gc", b"garbage-collector.concept"),
        ("gc", b"concepts/garbage-collector.concept"),
    ):
        link = library.node(f"Zen/{former}.concept")
        assert isinstance(link, Link) and link.target() == target
    assert "gc.concept" not in library.names("Zen/concepts")
    later = short(library, "later")
    assert numbers(library, "garbage-collector")["3"] == "The GC of later pauses."
    assert_rebuilt_is_the_same(library)
    [word] = [fact for _, fact in library.stores.catalog.facts(0, 10_000) or [] if isinstance(fact, ConceptsMerged)]
    assert word.documents == (introduces.doc_id,)

    gone(library, introduces)
    assert concepts(library) == ["garbage-collector", "gc", "heap"]
    assert numbers(library, "garbage-collector") == {"1": "The garbage collector frees cells."}
    assert numbers(library, "gc") == {"1": "The GC of short pauses.", "2": "The GC of later pauses."}
    related = "Zen/concepts/gc.concept/related/USES/heap/evidence"
    assert library.names(related) == ["1", "2"]
    assert library.stores.graph.joined.joinings() == []
    assert_rebuilt_is_the_same(library)
    gone(library, later)
    introducing(library, "again")
    assert concepts(library) == ["garbage-collector", "heap"]
    assert numbers(library, "garbage-collector")["2"] == "The GC of short pauses.", "what comes back has its number"
    short(library, "third")
    assert numbers(library, "garbage-collector")["4"] == "The GC of third pauses.", (
        "and no other gets one that was used"
    )
    assert_rebuilt_is_the_same(library)


def test_it_rests_on_every_document_that_introduces_it(library: Library) -> None:
    first, second = introducing(library, "first"), introducing(library, "second")
    long(library)
    short(library)
    assert concepts(library) == ["garbage-collector", "heap"]
    gone(library, first)
    assert concepts(library) == ["garbage-collector", "heap"]
    gone(library, second)
    assert concepts(library) == ["garbage-collector", "gc", "heap"]
    assert_rebuilt_is_the_same(library)


def test_a_document_with_both_forms_that_introduces_them_is_no_alias_for_others(library: Library) -> None:
    both = library.add(
        "Zen/documents/both.txt", b"A garbage collector (GC) is used.\n", {LONG: ["A garbage collector (GC) is used."]}
    )
    long(library)
    short(library)
    assert concepts(library) == ["garbage-collector", "heap"]
    gone(library, both)
    assert concepts(library) == ["garbage-collector", "gc", "heap"]
    assert numbers(library, "gc") == {"1": "The GC of short pauses."}
    assert_rebuilt_is_the_same(library)


def test_the_older_leaves_and_the_younger_gets_its_name_back(library: Library) -> None:
    founder = long(library)
    short(library)
    introduces = introducing(library)
    gone(library, founder)
    assert numbers(library, "garbage-collector") == {"2": "The GC of short pauses."}
    gone(library, introduces)
    assert concepts(library) == ["gc", "heap"] and numbers(library, "gc") == {"1": "The GC of short pauses."}
    assert_rebuilt_is_the_same(library)


@pytest.mark.parametrize("purge", [False, True])
def test_an_order_to_forget_parts_before_it_forgets(library: Library, purge: bool) -> None:
    long(library)
    short(library)
    introduces = introducing(library)
    target = Found(FoundKind.DOCUMENT, library.ontology(), None, "", introduces)
    planned = forget_plan.plan(library.stores, [target], "orphans", purge=purge)
    forget.order(library.context.deposits, library.stores, planned)
    forget.carry_out(library.context.config, library.stores)
    assert concepts(library) == ["garbage-collector", "gc", "heap"]
    assert numbers(library, "gc") == {"1": "The GC of short pauses."}
    assert_rebuilt_is_the_same(library)


def test_an_acronym_of_two_things_joins_nothing(library: Library) -> None:
    library.add("Zen/documents/other.txt", b"The golden cup (GC) is old.\n", {"cup": ["The golden cup (GC) is old."]})
    long(library)
    short(library)
    introducing(library)
    assert concepts(library) == ["cup", "garbage-collector", "gc", "heap"]


def test_what_a_person_decided_comes_first(library: Library) -> None:
    long(library)
    short(library)
    introduces = introducing(library)
    ontology = library.ontology()
    decide(library.stores, plan_split(library.stores, ontology, "garbage-collector", [SHORT]))
    joinings.catch_up(library.stores)
    introducing(library, "again")
    assert concepts(library) == ["garbage-collector", "gc", "heap"]
    decide(library.stores, plan_merge(library.stores, ontology, "garbage-collector", ["gc"]))
    gone(library, introduces)
    gone(library, library.document("Zen/documents/again.txt"))
    assert concepts(library) == ["garbage-collector", "heap"]
    assert_rebuilt_is_the_same(library)


def test_what_a_killed_worker_did_not_come_to_is_made_up_for(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    long(library)
    short(library)
    with monkeypatch.context() as patched:
        patched.setattr(joinings, "join_new", lambda *_: 0)
        introduces = introducing(library)
    joinings.catch_up(library.stores)
    assert concepts(library) == ["garbage-collector", "heap"]
    with monkeypatch.context() as patched:
        patched.setattr(joinings, "part_before", lambda *_: 0)
        gone(library, introduces)
    joinings.catch_up(library.stores)
    assert concepts(library) == ["garbage-collector", "gc", "heap"]
    assert numbers(library, "gc") == {"1": "The GC of short pauses."}
    facts = [fact for _, fact in library.stores.catalog.facts(0, 10_000) or []]
    assert sum(isinstance(fact, ConceptsMerged | ConceptSplit) for fact in facts) == 2
    assert_rebuilt_is_the_same(library)
