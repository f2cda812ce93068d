"""Names of derived entries that are made from a file's own name."""

from __future__ import annotations

from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name


def with_suffix(name: str, suffix: str) -> str | None:
    """Return ``name`` with ``suffix``, both encoded as names are; None if the result is longer than a name may be."""
    joined = name + suffix
    return joined if len(decode_name(joined)) <= MAX_NAME_BYTES else None


def with_id(name: str, name_id: int, suffix: str) -> str:
    """Return ``<name>~<id in hex><suffix>``, for a name that is too long or taken.

    The name is cut to the room that is left.
    """
    tail = f"~{name_id:x}{suffix}"
    room = MAX_NAME_BYTES - len(decode_name(tail))
    raw = decode_name(name)
    if len(raw) > room:
        raw = raw[:room].decode("utf-8", "ignore").encode() or b"name"
    return encode_name(raw) + tail


def id_in(name: str, suffix: str) -> int | None:
    """Return the id that :func:`with_id` put into a name; None where there is none."""
    digits = name.removesuffix(suffix).rpartition("~")[2]
    try:
        return int(digits, 16) if name.endswith(suffix) and "~" in name else None
    except ValueError:
        return None


def history_folder(name: str, name_id: int) -> str:
    """Return the name of the folder in versions/ that holds the versions of the file ``name``."""
    return with_suffix(name, "@") or with_id(name, name_id, "@")
