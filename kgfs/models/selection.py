"""The selection of models for a configuration and this machine: the best that are installed.

Notes say which models are missing and what that means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kgfs.errors import BadInputError, ModelMissingError
from kgfs.models import made_model, tokens
from kgfs.models.contract import Embedder, Extractor, Tokens
from kgfs.models.embedder import FP32, MiniLM
from kgfs.models.extractor import table
from kgfs.models.grammar import English
from kgfs.settings import Llm, Models

if TYPE_CHECKING:
    from kgfs.models.extractor.llm import LlmExtractor

SETTINGS = {FP32: "minilm", made_model.NAME: "minilm-int8"}
"""The embedding models of this version → the settings that name them."""


@dataclass(frozen=True, slots=True)
class Selection:
    tokens: Tokens
    embedder: Embedder | None
    extractor: Extractor
    verbs: Callable[[str], bool] | None
    """Tells whether a block of text contains a verb. None where no grammar is loaded."""
    notes: tuple[str, ...]
    """Messages for people: what is missing and what that means."""


def select(
    settings: Models,
    loaded: Selection | None = None,
    in_use: str = "",
    llm: Llm | None = None,
    prompts: Path | None = None,
) -> Selection:
    """Select the models for these settings and load them, which takes a few seconds.

    ``in_use`` is the embedding model that the home has vectors of; ``auto`` keeps to it. The token counter and the embedder are taken from ``loaded`` where it is given. A missing model that the settings
    name raises ModelMissingError; with ``auto`` the selection does without it. Raises BadInputError for an unknown
    extractor, and for one that asks a language model where ``llm`` names none. ``prompts`` is the folder of the user's prompts.
    """
    notes: list[str] = []
    table.check(settings.extractor)
    counter = loaded.tokens if loaded else tokens.load()
    if counter.name != "cl100k_base":
        notes.append("Token counts are estimates: the cl100k_base vocabulary is missing.")
    embedder = loaded.embedder if loaded else _embedder(settings, in_use, notes)
    grammar = _grammar(settings, notes)
    if grammar is not None and embedder is None and settings.extractor == table.AUTO:
        notes.append("Concepts come from grammar and statistics without embeddings.")
    chosen = table.make(settings.extractor, grammar, _llm(settings.extractor, llm, prompts))
    return Selection(counter, embedder, chosen, grammar.has_verb if grammar else None, tuple(notes))


def _llm(extractor: str, settings: Llm | None, prompts: Path | None) -> LlmExtractor | None:
    if not table.needs_llm(extractor):
        return None
    if settings is None or not settings.base_url:
        raise BadInputError(f"models.extractor is '{extractor}', and llm.base_url names no language model.")
    from kgfs.models.extractor.llm import LlmExtractor

    return LlmExtractor(settings, prompts)


def _embedder(settings: Models, in_use: str, notes: list[str]) -> Embedder | None:
    if settings.embedder == "none":
        return None
    if settings.embedder != "auto":
        return MiniLM(settings.threads, quantised=settings.embedder == "minilm-int8")
    if in_use != FP32:
        try:
            return MiniLM(settings.threads, quantised=True)
        except ModelMissingError as error:
            notes.append(f"Embedding takes twice the time, with the float32 model: {error}")
    try:
        return MiniLM(settings.threads)
    except ModelMissingError as error:
        notes.append(f"No embeddings, so search is full-text only and concepts join by name alone: {error}")
        return None


def _grammar(settings: Models, notes: list[str]) -> English | None:
    if not table.may_need_grammar(settings.extractor):
        return None
    try:
        return English()
    except ModelMissingError as error:
        if settings.extractor != table.AUTO:
            raise
        notes.append(f"Concepts come from statistics alone, without relationships: {error}")
        return None
