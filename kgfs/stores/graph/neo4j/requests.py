"""Requests inside one transaction, in one space."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from neo4j import ManagedTransaction, Result

_WORD = re.compile(r"\$(\w+)")


def planned_once(statement: str, words: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The statement with all its words in one map, and that map. The server keeps a plan for each order of magnitude of the
    lists and strings that a statement is given, and planning takes longer than most of ours; into maps it does not look."""
    assert words.keys() >= {*_WORD.findall(statement)}  # what a map lacks would be null, and nothing found by it
    return statement.replace("$", "$given."), {"given": dict(words)}


def run(tx: ManagedTransaction, statement: str, **words: Any) -> Result:
    """For what is given lists or texts of any length: planned once."""
    return tx.run(*planned_once(statement, words))


class Requests:
    """Statements that unwind a list; nothing is asked where it is empty."""

    def __init__(self, tx: ManagedTransaction, space: str) -> None:
        self._tx = tx
        self._space = space

    def _rows(self, question: str, **words: Any) -> list[Any]:
        if any(value == [] for value in words.values()):
            return []
        return list(run(self._tx, question, space=self._space, **words))

    def _do(self, statement: str, **words: Any) -> None:
        if all(value != [] for value in words.values()):
            run(self._tx, statement, space=self._space, **words).consume()
