"""The list of model runtimes, and which of them are installed. Nothing is imported to find out."""

from __future__ import annotations

from importlib import metadata

RUNTIMES = ("onnxruntime", "tokenizers", "spacy", "tiktoken")


def survey() -> list[tuple[str, str]]:
    """Return (package, installed version or '') for each runtime."""
    found = []
    for package in RUNTIMES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            found.append((package, ""))
    return found
