"""Which keys are keys."""

from __future__ import annotations

import re

from kgfs.errors import BadInputError, NameTooLongError

MAX_KEY = 1024
"""Characters of a key: what S3 allows, so that every garage can hold every key."""

MAX_PART = 240
"""Characters of one part: a file name's 255 less what a garage on files adds to it."""

_PART = re.compile(r"[A-Za-z0-9._~%+-]+")


def check_key(key: str) -> tuple[str, ...]:
    """The parts of a key; BadInputError if it is none (see the contract of Objects), NameTooLongError if too long."""
    parts = tuple(key.split("/"))
    for part in parts:
        if not _PART.fullmatch(part) or part in (".", ".."):
            raise BadInputError(f"{key!r} is no garage key: its part {part!r} is not allowed.")
    if len(key) > MAX_KEY or max(map(len, parts)) > MAX_PART:
        raise NameTooLongError(f"{key!r} is too long for a garage key ({MAX_KEY} characters, {MAX_PART} a part).")
    return parts
