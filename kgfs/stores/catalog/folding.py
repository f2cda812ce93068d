"""What the parts of the fold share: the tables, and the registry of functions that apply facts."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import singledispatch


@dataclass(frozen=True, slots=True)
class Target:
    """The connection to the tables, and the circumstances of the fact that is being applied."""

    db: sqlite3.Connection
    seq: int
    session: str
    """The mount that acts; '' in a replay."""


@singledispatch
def apply_one(fact: object, target: Target) -> None:
    """Apply one checked fact to the tables. Each part of the fold registers the functions of its facts here."""
    raise TypeError(f"{type(fact).__name__} is not a fact.")
