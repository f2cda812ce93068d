"""Decisions that are stored as what differs from earlier ones."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgfs.errors import MissingError
from kgfs.stores import readings
from kgfs.stores.changed_decisions import as_changes
from kgfs.stores.readings import (
    Candidate,
    Decisions,
    MatchedConcept,
    NamedConcept,
    decode_decisions,
    keys_of_decisions,
    load_decisions,
    redact_decisions,
)
from tests.fakes.garage import MemoryObjects


def matched(n: int, places: int, *, term: bool = False) -> MatchedConcept:
    spans = tuple(position for place in range(places) for position in (100 * n + place, 100 * n + place + 5))
    return MatchedConcept(f"norm {n}", f"{n:016x}", f"norm {n}", f"norm-{n}", "term", 1.0, (n,), spans, term)


def named(n: int, places: int) -> NamedConcept:
    return NamedConcept(f"{n:016x}", tuple(range(2 * places)))


ROWS = st.dictionaries(st.integers(0, 12), st.integers(0, 4), max_size=12)
STATES = st.lists(st.tuples(ROWS, ROWS), min_size=1, max_size=8)
BASE = Decisions(
    "d" * 16,
    "r" * 16,
    tuple(matched(n, 3) for n in range(100, 160)),
    (),
    1,
    ("other",),
    (named(999, 2),),
    (Candidate(1, 5, 2, False),),
)


def decided(epoch: int, concepts: dict[int, int], others: dict[int, int]) -> Decisions:
    rows = (*BASE.concepts, *(matched(n, places) for n, places in concepts.items()))
    names = tuple(
        sorted((*BASE.named, *(named(n, places) for n, places in others.items())), key=lambda one: one.concept_id)
    )
    return replace(BASE, concepts=rows, named=names, epoch=epoch, supersedes=())


@settings(max_examples=40)
@given(STATES)
def test_whatever_changes_the_whole_is_had_again(states: list[tuple[dict[int, int], dict[int, int]]]) -> None:
    objects = MemoryObjects()
    objects.put(BASE.key, BASE.encode())
    key = BASE.key
    for epoch, state in enumerate(states, 2):
        whole = decided(epoch, *state)
        stored = as_changes(objects, key, whole)
        objects.put(stored.key, stored.encode())
        key, found = stored.key, load_decisions(objects, stored.key)
        assert found.key == key and replace(found, carried_out_as="") == whole
        sizes = [len(objects.get(one)) for one in keys_of_decisions(objects, key)]
        assert all(large > 2 * small for small, large in pairwise(sizes[:-1])), "the last ones are whole"


def test_many_small_changes_cost_what_they_add() -> None:
    objects = MemoryObjects()
    objects.put(BASE.key, BASE.encode())
    key, before, rows = BASE.key, len(BASE.encode()), dict[int, int]()
    for n in range(40):
        rows[n] = 1
        stored = as_changes(objects, key, decided(n + 2, rows, {}))
        objects.put(stored.key, stored.encode())
        key = stored.key
    written = sum(size for _, size in objects.keys("decisions/")) - before
    assert written < 40 * 400 * 6 and len([*keys_of_decisions(objects, key)]) <= 7
    assert load_decisions(objects, key).concepts == decided(2, rows, {}).concepts


def test_changes_of_what_was_redacted_or_lost() -> None:
    objects = MemoryObjects()
    objects.put(BASE.key, BASE.encode())
    whole = decided(2, {1: 1}, {})
    stored = as_changes(objects, BASE.key, whole)
    objects.put(stored.key, stored.encode())
    dead = replace(BASE.concepts[0], founded_norm="other", name="other")
    hidden = replace(BASE, concepts=(dead, *BASE.concepts[1:]), carried_out_as=BASE.commit_id)
    redact_decisions(objects, BASE.key, hidden)
    found = load_decisions(objects, stored.key)
    assert found.concepts == (dead, *whole.concepts[1:]) and found.key == stored.key
    # changes are redacted like whole ones, and stay changes
    alone = decode_decisions(objects.get(stored.key), stored.key)
    own = replace(alone.concepts[0], name="own")
    redact_decisions(objects, stored.key, replace(alone, concepts=(own,), carried_out_as=alone.commit_id))
    assert not objects.exists(stored.key)
    found = load_decisions(objects, stored.key)
    assert found.concepts == (dead, *BASE.concepts[1:], own) and found.key == stored.key
    again = as_changes(objects, stored.key, replace(found, epoch=9, carried_out_as=""))
    assert again.of in (stored.key, BASE.key)
    for key, _ in list(objects.keys(f"decisions/{BASE.doc_id}/{BASE.reading}-{BASE.commit_id}-")):
        objects.delete(key)
    with pytest.raises(MissingError, match=BASE.key):
        load_decisions(objects, stored.key)


def test_what_changes_all_is_stored_whole() -> None:
    objects = MemoryObjects()
    objects.put(BASE.key, BASE.encode())
    other = replace(BASE, concepts=tuple(matched(n, 4) for n in range(100, 160)), supersedes=())
    assert as_changes(objects, BASE.key, other) is other
    turned = replace(BASE, concepts=BASE.concepts[::-1], supersedes=())
    assert as_changes(objects, BASE.key, turned) is turned


@pytest.mark.parametrize("piece", [1, 3, 4096])
def test_what_is_encoded_in_pieces_is_the_same(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded, commit_id = BASE.encode(), BASE.commit_id
    monkeypatch.setattr(readings, "PIECE", piece)
    assert BASE.encode() == encoded and BASE.commit_id == commit_id
    assert decode_decisions(encoded, BASE.key) == BASE
    assert encoded == json.dumps(json.loads(encoded), sort_keys=True, separators=(",", ":")).encode()
