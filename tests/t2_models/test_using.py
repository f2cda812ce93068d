"""One engine, several extractors: what they share is loaded once."""

from __future__ import annotations

import pytest

from kgfs.compute.local import LocalCompute
from kgfs.errors import BadInputError
from kgfs.models.contract import Passage
from kgfs.settings import Models


@pytest.mark.models
def test_another_extractor_shares_the_embedder_and_is_made_once() -> None:
    compute = LocalCompute(Models())
    other = compute.using("statistics")
    assert (compute.extractor.partition("/")[0], other.extractor) == ("grammar", "statistics/1")
    assert compute.using("auto") is compute
    assert compute.using("statistics") is other
    assert other.embedding_model == compute.embedding_model != ""
    assert other._selection.embedder is compute._selection.embedder
    assert other._selection.tokens is compute._selection.tokens
    assert other.extract([Passage("", (), "A koan is a riddle.")], [])


def test_an_unknown_extractor_is_refused() -> None:
    compute = LocalCompute(Models(embedder="none", extractor="statistics"))
    with pytest.raises(BadInputError, match="'best'; known are auto, grammar, statistics"):
        compute.using("best")
    assert (compute.billed, compute.takes_known) == (False, False)
