"""What stands for the directory name of a dead concept after a purge: enough to never give the name again."""

from __future__ import annotations

import hashlib

_MARK = "/"
"""What a hidden name starts with: no directory name has it."""


def hidden_name(ontology: str, name: str) -> str:
    """The same again for one that is hidden already."""
    if name.startswith(_MARK):
        return name
    return _MARK + hashlib.sha256(f"{ontology}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_hidden(name: str) -> bool:
    return name.startswith(_MARK)
