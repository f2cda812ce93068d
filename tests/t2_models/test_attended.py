"""Heavy work goes in portions, and whoever looks after it can end it between them."""

from __future__ import annotations

import pytest

from kgfs.compute.heartbeat import COUNTED, PASSAGES, WithHeartbeat
from kgfs.compute.local import LocalCompute
from kgfs.errors import LostLeaseError
from kgfs.models.contract import Passage
from kgfs.settings import Models


class Looker:
    def __init__(self, patience: int) -> None:
        self.looks = 0
        self._patience = patience

    def __call__(self) -> None:
        self.looks += 1
        if self.looks > self._patience:
            raise LostLeaseError("enough")


@pytest.fixture(scope="module")
def engine() -> LocalCompute:
    return LocalCompute(Models(extractor="statistics", embedder="none"))


def passages(number: int) -> list[Passage]:
    return [Passage("Title", (), f"The lantern number {n} is a lamp. A lantern burns oil.") for n in range(number)]


def test_what_is_attended_gives_the_same(engine: LocalCompute) -> None:
    looker = Looker(1000)
    attended = WithHeartbeat(engine, looker)
    asked = passages(2 * PASSAGES + 1)
    assert attended.extract(asked, ()) == engine.extract(asked, ())
    assert looker.looks == 3
    texts = [f"word {n}" for n in range(COUNTED + 1)]
    assert attended.tokens.counts(texts) == engine.tokens.counts(texts)
    assert attended.tokens.count("two words") == engine.tokens.count("two words")
    assert looker.looks == 6
    raw = engine.extract(asked[:1], ())[0]
    assert attended.parse(raw) == engine.parse(raw)
    names = ("extractor", "extractor_model", "prompt_hash", "billed", "embedding_model")
    assert [getattr(attended, name) for name in names] == [getattr(engine, name) for name in names]


def test_it_ends_between_two_portions(engine: LocalCompute) -> None:
    with pytest.raises(LostLeaseError):
        WithHeartbeat(engine, Looker(1)).extract(passages(2 * PASSAGES), ())
    with pytest.raises(LostLeaseError):
        WithHeartbeat(engine, Looker(2)).tokens.counts(["word"] * 5 * COUNTED)


@pytest.mark.models
def test_vectors_come_in_the_order_of_the_texts() -> None:
    engine = LocalCompute(Models(extractor="statistics"))
    looker = Looker(1000)
    texts = [f"lantern {n}" for n in range(PASSAGES + 2)]
    rows = WithHeartbeat(engine, looker).embed(texts)
    assert looker.looks == 2 and len(rows) == len(texts)
    one = engine.embed([texts[-1]])[0]
    assert abs(float(rows[-1][0] @ one[0]) - 1) < 0.05
