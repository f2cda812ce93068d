"""Garage keys: which are valid, and which belong to a document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kgfs.errors import BadInputError, NameTooLongError

if TYPE_CHECKING:
    from kgfs.stores.garage.contract import Objects

MAX_KEY = 1024
"""The maximal length of a key in characters. It is the limit of S3, so that every garage can hold every key."""

MAX_PART = 240
"""The maximal length of one part of a key in characters: the 255 of a file name less what a garage on files adds."""

OWN = ("readings", "decisions", "records", "vectors", "texts")
"""Folders of the garage with objects of a document beside its original; each has one subfolder per document."""

_PART = re.compile(r"[A-Za-z0-9._~%+-]+")


def check_key(key: str) -> tuple[str, ...]:
    """Return the parts of a key.

    Raise BadInputError if the key is not valid (see :class:`~kgfs.stores.garage.contract.Objects`), and
    NameTooLongError if the key or one of its parts is too long.
    """
    parts = tuple(key.split("/"))
    for part in parts:
        if not _PART.fullmatch(part) or part in (".", ".."):
            raise BadInputError(f"{key!r} is no garage key: its part {part!r} is not allowed.")
    if len(key) > MAX_KEY or max(map(len, parts)) > MAX_PART:
        raise NameTooLongError(f"{key!r} is too long for a garage key ({MAX_KEY} characters, {MAX_PART} a part).")
    return parts


def objects_of(objects: Objects, doc_id: str) -> list[str]:
    """Return the keys of what was derived from a document. Makes one listing for each folder."""
    return [key for kind in OWN for key, _ in objects.keys(f"{kind}/{doc_id}/")]
