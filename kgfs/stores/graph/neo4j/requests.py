"""Requests inside one transaction, in one space."""

from __future__ import annotations

from typing import Any

from neo4j import ManagedTransaction


class Requests:
    """Statements that unwind a list; nothing is asked where it is empty."""

    def __init__(self, tx: ManagedTransaction, space: str) -> None:
        self._tx = tx
        self._space = space

    def _rows(self, question: str, **words: Any) -> list[Any]:
        if any(value == [] for value in words.values()):
            return []
        return list(self._tx.run(question, space=self._space, **words))

    def _do(self, statement: str, **words: Any) -> None:
        if all(value != [] for value in words.values()):
            self._tx.run(statement, space=self._space, **words).consume()
