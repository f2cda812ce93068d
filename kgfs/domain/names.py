"""File names: their encoding as text, which names a Document may have, and how a label becomes a file name."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME_BYTES = 255


def encode_name(raw: bytes) -> str:
    """Return any file name as printable text, reversibly.

    Bytes that are not UTF-8, control characters and ``%`` become ``%XX``.
    """
    out: list[str] = []
    for char in raw.decode("utf-8", "surrogateescape"):
        if "\udc80" <= char <= "\udcff":
            out.append(f"%{ord(char) - 0xDC00:02X}")
        elif char == "%" or unicodedata.category(char) == "Cc":
            out.extend(f"%{byte:02X}" for byte in char.encode())
        else:
            out.append(char)
    return "".join(out)


def decode_name(name: str) -> bytes:
    """Return the bytes that :func:`encode_name` was given."""
    raw = name.encode("utf-8")
    return re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), raw)


def extension_of(name: str) -> str:
    """Return the lower-case extension of a file name if it is 1 to 16 ASCII letters and digits, else ``bin``."""
    stem, dot, extension = name.rpartition(".")
    if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,16}", extension):
        return extension.lower()
    return "bin"


def safe_stem(label: str, max_bytes: int = 200) -> str:
    """Return a label as a file name: UTF-8, safe unquoted in a shell, never empty, at most ``max_bytes`` bytes (7 at least)."""
    words = re.sub(r"[^\w.+#]+", "-", unicodedata.normalize("NFC", label).casefold()).strip("-._+#")
    words = re.sub(r"#(?=$|-)", "-sharp", words).replace("#", "-")
    words = re.sub(r"_*-[-_]*", "-", words)
    return words.encode()[:max_bytes].decode("utf-8", "ignore").rstrip("-._") or "unnamed"


def is_document_name(path: str) -> bool:
    """Tell whether a file at this path may become a Document.

    No part of the path may start with a dot, and the last part may not be a name that editors and downloaders use for
    temporary files.
    """
    parts = path.split("/")
    return not any(part.startswith(".") for part in parts) and not TEMPORARY_NAME.search(parts[-1])


TEMPORARY_NAME = re.compile(
    r"(?:~|\.sw[a-px]|\.tmp|\.temp|\.part|\.partial|\.crdownload|\.download|\.bak~|\.kate-swp)$"
    r"|^(?:~\$.*|#.*#|4913|\.#.*|__[^/]*__\.tmp)$",
    re.IGNORECASE,
)
"""Names that editors and downloaders give to temporary files. They are hints, used only to keep such files out of the
graph."""
