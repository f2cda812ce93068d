"""Folders of ``search/`` and ``ask/`` that stand in each other: which are listed where something below them is saved."""

from __future__ import annotations

from collections.abc import Iterable


def below(saved: Iterable[str], names: tuple[str, ...]) -> list[str]:
    """Return the names in the folder ``names`` that lead to what is saved, given as encoded names joined by ``/``."""
    found: dict[str, None] = {}
    for path in saved:
        parts = tuple(path.split("/"))
        if len(parts) > len(names) and parts[: len(names)] == names:
            found[parts[len(names)]] = None
    return list(found)
