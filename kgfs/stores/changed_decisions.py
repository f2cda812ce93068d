"""Decisions as what differs from earlier ones of the same Reading, so that a small change costs little."""

from __future__ import annotations

from dataclasses import replace

from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Decisions, changed, decode_decisions, key_of_decisions, load_decisions


def as_changes(objects: Objects, former: str, whole: Decisions) -> Decisions:
    """Return what is to be stored for ``whole`` ones: what differs from those with the key ``former``, or ``whole`` where
    that would save less than half of the bytes.

    Of changes upon changes each is more than twice as long as the next: where one would not be, what it changes becomes
    part of the new one. So there are few, and many small ones cost little more than what they add. Raises MissingError if
    the garage lacks the former ones.
    """
    limit = len(whole.encode()) // 2
    while True:
        changes = _changes(former, load_decisions(objects, former), whole)
        size = len(changes.encode()) if changes is not None else limit
        if changes is None or size >= limit:
            return whole
        kept = key_of_decisions(objects, former)
        assert kept is not None, "they were read just now"
        raw = objects.get(kept)
        under = decode_decisions(raw, kept).of
        if not under or len(raw) > 2 * size:
            return changes
        former = under


def _changes(key: str, former: Decisions, whole: Decisions) -> Decisions | None:
    """Return what makes ``whole`` ones of the former ones with this key; None if nothing that can be stored does."""
    before = {matched.norm: matched for matched in former.concepts}
    named = {one.concept_id: one for one in former.named}
    changes = Decisions(
        doc_id=whole.doc_id,
        reading=whole.reading,
        concepts=tuple(matched for matched in whole.concepts if before.get(matched.norm) != matched),
        relationships=(),
        epoch=whole.epoch,
        named=tuple(one for one in whole.named if named.get(one.concept_id) != one),
        of=key,
        without=tuple(sorted(before.keys() - {matched.norm for matched in whole.concepts})),
        not_named=tuple(sorted(named.keys() - {one.concept_id for one in whole.named})),
    )
    made = changed(former, changes)
    return changes if made == replace(whole, supersedes=(), carried_out_as="") else None
