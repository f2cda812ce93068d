"""What stands for the directory name of a dead concept after a purge: enough to never give the name again."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

_MARK = "/"
"""What a hidden name starts with: no directory name has it."""


def hidden_name(ontology: str, name: str) -> str:
    """The same again for one that is hidden already."""
    if name.startswith(_MARK):
        return name
    return _MARK + hashlib.sha256(f"{ontology}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_hidden(name: str) -> bool:
    return name.startswith(_MARK)


def known_as(ontology: str, names: Collection[str]) -> dict[str, str]:
    """Name by all that may stand for it: itself, and what hides it."""
    return {hidden_name(ontology, name): name for name in names} | {name: name for name in names}
