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


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    return MiniLM(threads=1)


@pytest.fixture(scope="session")
def grammar_extractor(english: English, minilm: MiniLM) -> GrammarExtractor:
    return GrammarExtractor(english, minilm)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
