"""Random histories of growing files in a home: what is promised has its bytes, and what was purged has none."""

from __future__ import annotations

import hashlib
import random
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgfs.domain.documents import NameKind
from kgfs.errors import KgfsError
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.ingest.storing import settle
from kgfs.ingest.writing import trash
from kgfs.stores.garage import prefixes
from kgfs.stores.garage.prefix_links import LINKS
from kgfs.stores.resolve import find_document
from tests.support.library import Library, library_at
from tests.support.working import Counting, work

PATHS = ("a.txt", "a.txt", "b.txt")
STEPS = ["append"] * 5 + ["copy"] * 2 + ["overwrite", "remove", "empty", "purge", "purge one", "read"]


class _Killed(BaseException):
    """The process dies here."""


@pytest.mark.claim("GONE-2")
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1000), st.integers(0, 9)), min_size=10, max_size=18))
def test_what_is_promised_has_its_bytes_and_what_was_purged_has_none(steps: list[tuple[str, int, int]]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefixes, "MIN_LINKED", 4)
        patch.setattr(settle, "MIN_LINKED", 4)
        with library_at(Path(folder) / "home") as library:
            library.ontology()
            for step, number, dies in steps:
                passed = [dies]

                def border(name: str, left: list[int] = passed) -> None:
                    left[0] -= 1
                    if left[0] == 0:
                        raise _Killed

                patch.setattr(prefixes, "border", border)
                with suppress(_Killed):
                    _take(library, step, random.Random(number))
                patch.setattr(prefixes, "border", lambda name: None)
                forget.carry_out(library.context.config, library.stores)  # as the next worker does
                _prove(library)


def _take(library: Library, step: str, chance: random.Random) -> None:
    stores, deposits = library.stores, library.context.deposits
    names = {
        name.name: name for name in stores.catalog.names.children(library.ontology().root) if name.kind is NameKind.FILE
    }
    path, other = chance.choice(PATHS), chance.choice(PATHS)
    before = library.read(f"Zen/documents/{path}") if path in names else b""
    if step == "append":
        library.write(f"Zen/documents/{path}", before + b"line %d\n" % chance.randrange(3) * chance.randrange(1, 4))
    elif step == "overwrite":
        library.write(f"Zen/documents/{path}", b"other %d\n" % chance.randrange(3))
    elif step == "copy" and before:
        library.write(f"Zen/documents/{other}", before)
    elif step == "remove" and path in names:
        deposits.remove(names[path].id)
    elif step == "empty":
        trash.empty(stores, deposits.settler)
    elif step == "read":
        work(library.context.config, stores, Counting())
    elif step.startswith("purge"):
        known = sorted(one.doc_id for one in stores.catalog.names.documents(library.ontology().id))
        words = chance.choice(known or [""]) if step == "purge one" else f"Zen/documents/{path}"
        with suppress(KgfsError):  # it is not there
            target = find_document(stores, library.context.config.run, words)
            forget.order(deposits, stores, forget_plan.plan(stores, [target], "orphans", purge=True))
            forget.carry_out(library.context.config, stores)
    library.settle()


def _prove(library: Library) -> None:
    stores = library.stores
    objects, promised = stores.garage.objects, {key: sha256 for key, sha256, _ in stores.catalog.promised()}
    for key, sha256 in promised.items():
        assert hashlib.sha256(objects.get(key)).hexdigest() == sha256
    there = {key for key, _ in objects.keys("sources/")}
    known = {one.key for one in stores.catalog.names.documents(library.ontology().id)}
    assert there <= known | promised.keys() | set(stores.catalog.unheld()), "of what was purged nothing is there"
    if not there:
        assert not [key for key, _ in objects.stored.keys(f"{LINKS}of/")]
