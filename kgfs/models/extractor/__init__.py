"""The offline extractors: ``grammar`` (English grammar proposes, embeddings rank) and ``statistics`` (no model at all)."""

from __future__ import annotations

from kgfs.models.contract import Embedder, Extractor
from kgfs.models.extractor.grammar import GrammarExtractor
from kgfs.models.extractor.statistics import StatisticsExtractor
from kgfs.models.grammar import English


def build(grammar: English | None, embedder: Embedder | None) -> Extractor:
    """The best extractor that these models make; without a grammar the statistics, which need none."""
    return GrammarExtractor(grammar, embedder) if grammar else StatisticsExtractor()
