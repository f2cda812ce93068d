"""What may be a name, and what an ontology's keys are called. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container

from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name
from kgfs.errors import BadInputError, NameTooLongError, RefusedError

ROOT_NAMES = frozenset({"README.md", "AGENTS.md", "search", "ask"})
"""What stands at the mount's root beside the ontologies."""


def check_name(name: str) -> None:
    """``name`` (encoded) may stand in a folder."""
    raw = decode_name(name)
    if len(raw) > MAX_NAME_BYTES:
        raise NameTooLongError(f"{name[:40]}…: a name has at most {MAX_NAME_BYTES} bytes, this one {len(raw)}.")
    if raw in (b"", b".", b"..") or b"/" in raw or b"\0" in raw:
        raise BadInputError(f"'{name}' cannot be the name of a file or folder.")


def check_ontology_name(name: str) -> None:
    check_name(name)
    if name.startswith("."):
        raise RefusedError(f"'{name}': names starting with a dot make no ontology. Choose another name.")
    if name in ROOT_NAMES:
        raise RefusedError(f"'{name}' is taken by kgfs itself. Choose another name.")


def prefix_for(name: str, ontology_id: str, taken: Container[str]) -> str:
    """The part of garage keys that stands for the ontology: its name as ASCII letters, digits, dots and dashes; with
    a piece of its id where nothing is left of the name or another ontology has (or had) that prefix."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9_.]+", "-", plain).strip("-.")[:100]
    if stem and stem not in taken:
        return stem
    return f"{stem or 'ontology'}~{ontology_id}"


def check_path(path: str) -> tuple[str, ...]:
    """A path below documents/ as a person types it, as encoded names. BadInputError for one that would leave the
    folder or that no folder could hold."""
    encoded = encode_name(path.encode("utf-8", "surrogateescape"))
    if encoded.startswith("/"):
        raise BadInputError(f"'{encoded}': give a path below documents/, without a leading slash.")
    names = tuple(encoded.split("/"))
    for name in names:
        if name in ("", ".", ".."):
            raise BadInputError(f"'{encoded}': empty parts, '.' and '..' are not allowed in a path below documents/.")
        check_name(name)
    return names
