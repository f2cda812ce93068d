"""Names of files: how any bytes are held, which names may be a Document's, and how a label becomes one."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME_BYTES = 255


def encode_name(raw: bytes) -> str:
    """Any file name as printable text, reversibly: bytes that are no UTF-8, controls and ``%`` become ``%XX``."""
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
    """The bytes that :func:`encode_name` was given."""
    raw = name.encode("utf-8")
    return re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), raw)


def extension_of(name: str) -> str:
    """The lower-case extension of a file name if it is a plain one, else ``bin``."""
    stem, dot, extension = name.rpartition(".")
    if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,16}", extension):
        return extension.lower()
    return "bin"


def safe_stem(label: str, max_bytes: int = 200) -> str:
    """A label as a derived file name: UTF-8, safe unquoted in a shell, never empty, at most ``max_bytes``."""
    words = re.sub(r"[^\w.+#]+", "-", unicodedata.normalize("NFC", label).casefold()).strip("-._+#")
    words = re.sub(r"#(?=$|-)", "-sharp", words).replace("#", "-")
    words = re.sub(r"-{2,}", "-", words)
    return words.encode()[:max_bytes].decode("utf-8", "ignore").rstrip("-._") or "unnamed"


def is_document_name(path: str) -> bool:
    """Whether a file at this path may become a Document: no part of it is a dot-name, and its own name is
    not one that editors and downloaders use for files in passing."""
    parts = path.split("/")
    return not any(part.startswith(".") for part in parts) and not TEMPORARY_NAME.search(parts[-1])


TEMPORARY_NAME = re.compile(
    r"(?:~|\.sw[a-px]|\.tmp|\.temp|\.part|\.partial|\.crdownload|\.download|\.bak~|\.kate-swp)$"
    r"|^(?:~\$.*|#.*#|4913|\.#.*|__[^/]*__\.tmp)$",
    re.IGNORECASE,
)
"""Names that editors and downloaders give to files in passing: hints, used only to keep such files out of the graph."""
