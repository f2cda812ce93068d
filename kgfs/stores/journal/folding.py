"""What the parts of the fold have in common: the tables, and the register of what each fact does to them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import singledispatch


@dataclass(frozen=True, slots=True)
class Target:
    """The tables, and the circumstances of one fact."""

    db: sqlite3.Connection
    seq: int
    session: str
    """The mount that acts; '' in a replay."""


@singledispatch
def apply_one(fact: object, target: Target) -> None:
    """Make one fact true that was checked before. Each part registers its facts."""
    raise TypeError(f"{type(fact).__name__} is not a fact.")
