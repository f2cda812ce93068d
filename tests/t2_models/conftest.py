"""Models are loaded once for the whole rung; tests that want none of the network forbid it."""

from __future__ import annotations

import socket
from typing import NoReturn

import pytest

from kgfs.models.embedder import MiniLM
from kgfs.models.extractor.grammar import GrammarExtractor
from kgfs.models.grammar import English


@pytest.fixture(scope="session")
def english() -> English:
    return English()


@pytest.fixture(scope="session", params=[False, True], ids=["fp32", "int8"])
def quantised(request: pytest.FixtureRequest) -> bool:
    """Whether the embedding model is the quantised one."""
    return bool(request.param)


@pytest.fixture(scope="session")
def minilm(quantised: bool) -> MiniLM:
    return MiniLM(threads=1, quantised=quantised)


@pytest.fixture(scope="session")
def grammar_extractor(english: English) -> GrammarExtractor:
    return GrammarExtractor(english)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
