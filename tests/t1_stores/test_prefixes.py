"""Earlier versions that need no bytes of their own: whatever is deleted, killed or done at the same time, they stay."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import closing, nullcontext, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.errors import CorruptError, MissingError
from kgfs.stores.garage.contract import BLOCK, Garage, Objects
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.listing import object_path
from kgfs.stores.garage.prefix_links import LINKS, OF, ON, tidy_prefixes
from kgfs.stores.garage.prefixes import MIN_LINKED, PrefixObjects, by_length, everything
from tests.fakes.garage import MemoryObjects
from tests.support.peers.buckets import GARAGES, garage_of

WHOLE = random.Random(7).randbytes(2 * BLOCK + BLOCK // 3)
GROWN = [WHOLE[:size] for size in (MIN_LINKED, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, len(WHOLE) - 1, len(WHOLE))]


@pytest.fixture(params=GARAGES)
def garage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Garage]:
    with closing(garage_of(request.param, tmp_path, request)) as garage:
        yield garage


def key_of(content: bytes) -> str:
    return f"sources/T/{hashlib.sha256(content).hexdigest()[:32]}.jsonl"


def grow(objects: Objects, versions: list[bytes]) -> list[str]:
    """Put each version, and have the one before it rest on it; return their keys."""
    keys = []
    for content in versions:
        objects.put(key_of(content), content)
        if keys:
            assert objects.keep_as_prefix(keys[-1], key_of(content))
        keys.append(key_of(content))
    return keys


def held(objects: Objects) -> list[str]:
    """The originals that take space."""
    return [key for key, _ in objects.stored.keys("sources/")]


def test_a_version_that_its_successor_begins_with_is_an_object_like_all_others(garage: Garage) -> None:
    objects = garage.objects
    keys = grow(objects, GROWN)
    assert held(objects) == [keys[-1]]
    for key, content in zip(keys, GROWN, strict=True):
        assert objects.exists(key)
        assert objects.has_sums(key)
        assert objects.stat(key).sha256 == hashlib.sha256(content).hexdigest()
        assert objects.entry(key).size == len(content)
        assert objects.get(key) == content
        assert objects.salvage(key) == content
        for start, length in ((0, 10), (len(content) - 5, 100), (len(content), 5), (len(content) + 9, 5), (0, None)):
            end = None if length is None else start + length
            assert objects.get(key, start, length) == content[start:end], (start, length)
        with closing(objects.open(key)) as reader:
            assert reader.sums == objects.stat(key)
            assert reader.read_at(BLOCK - 3, 6) == content[BLOCK - 3 : BLOCK + 3]
    assert list(objects.keys("")) == sorted((key, len(content)) for key, content in zip(keys, GROWN, strict=True))
    assert list(objects.keys(keys[0])) == [(keys[0], len(GROWN[0]))]
    assert objects.names("sources/T") == sorted(key.rpartition("/")[2] for key in keys)
    assert objects.names() == ["sources/"]
    assert objects.put(keys[0], GROWN[0]).size == len(GROWN[0])
    assert held(objects) == [keys[-1]]
    objects.stored.put(keys[0], GROWN[0])  # it has bytes of its own, too, as a kill leaves it
    assert list(objects.keys(keys[0])) == [(keys[0], len(GROWN[0]))]
    assert objects.resting_on(keys[-1])
    for key in by_length(objects, keys):
        assert objects.delete(key)
        assert not objects.exists(key)
        assert not objects.delete(key)
        with pytest.raises(MissingError):
            objects.open(key)
    assert list(objects.stored.keys("")) == []


@pytest.mark.parametrize("first", [-1, 0, 3])
def test_what_others_rest_on_is_deleted_after_they_have_another_place(garage: Garage, first: int) -> None:
    objects = garage.objects
    keys = grow(objects, GROWN)
    assert objects.delete(keys[first])
    assert not objects.exists(keys[first])
    left = {key: content for key, content in zip(keys, GROWN, strict=True) if key != keys[first]}
    assert held(objects) == [max(left, key=lambda key: len(left[key]))]  # the longest holds the others' bytes
    assert all(objects.get(key) == content for key, content in left.items())


def test_what_is_no_prefix_or_not_there_keeps_its_bytes(garage: Garage) -> None:
    objects = garage.objects
    other = WHOLE[: BLOCK + 10] + b"!" + WHOLE[BLOCK + 11 :]
    for content in (WHOLE, other, WHOLE[: BLOCK + 20], b"small", b"small and more"):
        objects.put(key_of(content), content)
    assert not objects.keep_as_prefix(key_of(WHOLE[: BLOCK + 20]), key_of(other))
    assert not objects.keep_as_prefix(key_of(WHOLE), key_of(WHOLE[: BLOCK + 20]))
    assert not objects.keep_as_prefix(key_of(WHOLE), key_of(WHOLE))
    assert not objects.keep_as_prefix(key_of(b"small"), key_of(b"small and more"))
    assert not objects.keep_as_prefix(key_of(b"absent"), key_of(WHOLE))
    assert not objects.keep_as_prefix(key_of(WHOLE), key_of(b"absent"))
    assert len(held(objects)) == 5


def test_a_long_chain_is_followed(tmp_path: Path) -> None:
    objects = PrefixObjects(FileObjects(tmp_path / "objects"))
    versions = [WHOLE[: MIN_LINKED + size] for size in range(60)]
    keys = grow(objects, versions)
    assert len(held(objects)) == 1
    assert all(objects.get(key) == version for key, version in zip(keys, versions, strict=True))
    afresh = PrefixObjects(FileObjects(tmp_path / "objects"))
    assert afresh.get(keys[0]) == versions[0]


class _Killed(BaseException):
    """The process dies here."""


class _Dying(MemoryObjects):
    """Objects whose process dies before the change number ``left``."""

    def __init__(self) -> None:
        super().__init__()
        self.left = -1

    def _count(self) -> None:
        if self.left == 0:
            raise _Killed
        self.left -= 1

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self._count()
        return super().put(*args, **kwargs)

    def delete(self, key: str) -> bool:
        self._count()
        return super().delete(key)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "overwrite", "delete", "again"]),
        st.integers(0, 1000),
        st.one_of(st.just(-1), st.integers(0, 12)),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_histories_with_kills_give_every_version_or_none(steps: list[tuple[str, int, int]]) -> None:
    """What was not deleted is there byte for byte after a kill before any change; what was deleted is gone."""
    stored = _Dying()
    objects = PrefixObjects(stored)
    wanted: dict[str, bytes] = {}
    going: set[str] = set()
    newest = b""
    for step, chance, kill in steps:
        chosen = sorted(wanted)[chance % len(wanted)] if wanted else ""
        content = newest + random.Random(chance).randbytes(chance + 1) if step == "append" and newest else b""
        content = content or random.Random(chance).randbytes(MIN_LINKED + chance)
        if step in ("append", "overwrite"):
            objects.put(key_of(content), content)  # a put is one change of the store, which others test
            going.discard(key_of(content))
            wanted[key_of(content)] = content
        if step == "delete" and chosen:
            going.add(chosen)
        stored.left = kill
        try:
            if step in ("append", "overwrite") and newest and key_of(newest) in wanted:
                objects.keep_as_prefix(key_of(newest), key_of(content))
            elif step == "delete" and chosen:
                objects.delete(chosen)
            elif step == "again" and chosen:
                stored.put(chosen, wanted[chosen])
        except _Killed:
            objects = PrefixObjects(stored)
        stored.left = -1
        for key in sorted(going):  # a deletion that was killed is owed
            objects.delete(key)
            wanted.pop(key, None)
            assert not objects.exists(key)
        going.clear()
        if step in ("append", "overwrite"):
            newest = content
        there = dict(objects.keys("sources/"))
        for key, kept in wanted.items():
            assert objects.get(key) == kept
            assert there.pop(key) == len(kept)
        assert there == {}
    for key in [key for key, _ in list(objects.keys(""))]:
        objects.delete(key)
    assert list(objects.keys("")) == []
    assert not [key for key, _ in stored.keys("") if key.startswith(f"{LINKS}of/")]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 30), st.integers(0, 30))
def test_what_a_kill_leaves_is_tidied_away(linking: int, deleting: int) -> None:
    """Killed before any change of linking three versions, then of deleting the newest: each version takes its space once."""
    stored = _Dying()
    versions = GROWN[-3:]
    objects = PrefixObjects(stored)
    for content in versions:
        objects.put(key_of(content), content)
    stored.left = linking
    with suppress(_Killed):
        for earlier, later in pairwise(versions):
            objects.keep_as_prefix(key_of(earlier), key_of(later))
    stored.left = deleting
    with suppress(_Killed):
        objects.delete(key_of(versions[-1]))
    stored.left = -1
    there = [content for content in versions if objects.exists(key_of(content))]
    assert there[:2] == versions[:2]
    tidy_prefixes(objects, nullcontext, 1 << 62)
    assert [objects.get(key_of(content)) for content in there] == there
    assert len(set(held(objects))) == len(held(objects))
    assert len(list(stored.keys(ON))) == len(list(stored.keys(OF)))
    assert tidy_prefixes(objects, nullcontext, 1 << 62) == 0
    for content in there:
        objects.delete(key_of(content))
    assert list(stored.keys("")) == []


def test_what_another_process_deleted_is_not_taken_for_kept() -> None:
    """This one has read it before, and remembers where its bytes are."""
    stored = MemoryObjects()
    here, there = PrefixObjects(stored), PrefixObjects(stored)
    keys = grow(here, GROWN[-3:-1])
    assert here.get(keys[0]) == GROWN[-3]
    there.delete(keys[0])
    assert not here.exists(keys[0])
    here.put(keys[0], GROWN[-3])
    assert here.get(keys[0]) == GROWN[-3]


def test_rot_in_the_successor_is_rot_of_the_earlier_version_where_it_has_it(tmp_path: Path) -> None:
    objects = PrefixObjects(FileObjects(tmp_path / "objects"))
    keys = grow(objects, [WHOLE[: BLOCK - 5], WHOLE[: 2 * BLOCK], WHOLE])
    path = object_path(tmp_path / "objects", keys[-1])
    path.chmod(0o600)
    with path.open("r+b") as file:
        file.seek(BLOCK + 7)
        file.write(b"????")
    with pytest.raises(CorruptError):
        objects.get(keys[1])
    assert objects.get(keys[0]) == WHOLE[: BLOCK - 5]
    with pytest.raises(CorruptError):
        objects.delete(keys[-1])
    assert objects.exists(keys[-1])
    path.unlink()
    assert not objects.exists(keys[0])
    with pytest.raises(CorruptError, match="lost"):
        objects.open(keys[0])


def test_a_copy_of_all_that_is_stored_has_what_was_linked_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = MemoryObjects()
    objects = PrefixObjects(stored)
    objects.put(key_of(GROWN[2]), GROWN[2])
    listed = stored.keys

    def changing(prefix: str = "") -> Iterator[tuple[str, int]]:
        found = list(listed(prefix))
        if not prefix:
            found = [one for one in found if one[0] != key_of(GROWN[2])]  # the listing was not that far yet
            monkeypatch.setattr(stored, "keys", listed)
            grow(objects, GROWN[2:4])
        return iter(found)

    monkeypatch.setattr(stored, "keys", changing)
    copied = MemoryObjects()
    for key in everything(stored):
        copied.put(key, stored.get(key))
    assert PrefixObjects(copied).get(key_of(GROWN[2])) == GROWN[2]


def test_a_copy_of_all_that_is_stored_has_the_end_of_a_chain_that_grew_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored = MemoryObjects()
    objects = PrefixObjects(stored)
    keys = grow(objects, GROWN[2:4])
    listed, looks = stored.keys, 0

    def changing(prefix: str = "") -> Iterator[tuple[str, int]]:
        nonlocal looks
        looks += 1
        found = [one for one in listed(prefix) if prefix or one[0] != keys[-1]]  # the listing was not that far yet
        if looks == 2:  # all links are listed
            monkeypatch.setattr(stored, "keys", listed)
            objects.put(key_of(GROWN[4]), GROWN[4])
            assert objects.keep_as_prefix(keys[-1], key_of(GROWN[4]))
        return iter(found)

    monkeypatch.setattr(stored, "keys", changing)
    copied = MemoryObjects()
    for key in everything(stored):
        copied.put(key, stored.get(key))
    assert PrefixObjects(copied).get(keys[0]) == GROWN[2]
