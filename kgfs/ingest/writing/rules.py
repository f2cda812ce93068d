"""Which names are valid, and which prefix the garage keys of an ontology have. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container

from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name
from kgfs.errors import BadInputError, NameTooLongError, RefusedError

ROOT_NAMES = frozenset({"README.md", "AGENTS.md", "search", "ask", "cite"})
"""Entries of the mount's root beside the ontologies."""


def check_name(name: str) -> None:
    """Raise NameTooLongError or BadInputError unless ``name`` (encoded) may be the name of an entry in a folder."""
    raw = decode_name(name)
    if len(raw) > MAX_NAME_BYTES:
        raise NameTooLongError(f"{name[:40]}…: a name has at most {MAX_NAME_BYTES} bytes, this one {len(raw)}.")
    if raw in (b"", b".", b"..") or b"/" in raw or b"\0" in raw:
        raise BadInputError(f"'{name}' cannot be the name of a file or folder.")


def check_ontology_name(name: str) -> None:
    """Raise what :func:`check_name` raises, and RefusedError for a dot-name or a name in :data:`ROOT_NAMES`."""
    check_name(name)
    if name.startswith("."):
        raise RefusedError(f"'{name}': names starting with a dot make no ontology. Choose another name.")
    if name in ROOT_NAMES:
        raise RefusedError(f"'{name}' is taken by kgfs itself. Choose another name.")


def prefix_for(name: str, ontology_id: str, taken: Container[str]) -> str:
    """Return the part of garage keys that stands for the ontology.

    It is the ontology's name as ASCII letters, digits, dots, dashes and underscores. ``~`` and the ontology's id are
    appended where nothing is left of the name, or another ontology has (or had) that prefix.
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9_.]+", "-", plain).strip("-.")[:100]
    if stem and stem not in taken:
        return stem
    return f"{stem or 'ontology'}~{ontology_id}"


def check_path(path: str) -> tuple[str, ...]:
    """Split a path below documents/, as a person types it, into encoded names.

    Raise BadInputError for a path that would leave the folder or that no folder could hold, NameTooLongError for a
    name that is too long.
    """
    encoded = encode_name(path.encode("utf-8", "surrogateescape"))
    if encoded.startswith("/"):
        raise BadInputError(f"'{encoded}': give a path below documents/, without a leading slash.")
    names = tuple(encoded.split("/"))
    for name in names:
        if name in ("", ".", ".."):
            raise BadInputError(f"'{encoded}': empty parts, '.' and '..' are not allowed in a path below documents/.")
        check_name(name)
    return names
