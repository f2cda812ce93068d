"""The substitute for the directory name of a dead concept after a purge: a hash, which suffices to never assign
the name again."""

from __future__ import annotations

import hashlib
from collections.abc import Collection

_MARK = "/"
"""The first character of a hidden name. No directory name contains it."""


def hidden_name(ontology: str, name: str) -> str:
    """Return the hash that hides a directory name. A name that is hidden already is returned unchanged."""
    if name.startswith(_MARK):
        return name
    return _MARK + hashlib.sha256(f"{ontology}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_hidden(name: str) -> bool:
    """Return whether a name is a hash that hides a directory name."""
    return name.startswith(_MARK)


def known_as(ontology: str, names: Collection[str]) -> dict[str, str]:
    """Return each name by both forms that the table may hold: the name itself and its hidden form."""
    return {hidden_name(ontology, name): name for name in names} | {name: name for name in names}
