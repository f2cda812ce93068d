"""Which model runtimes are installed. Nothing is imported to know it."""

from __future__ import annotations

from importlib import metadata

RUNTIMES = ("onnxruntime", "tokenizers", "spacy", "tiktoken")


def survey() -> list[tuple[str, str]]:
    """(package, installed version or '')."""
    found = []
    for package in RUNTIMES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            found.append((package, ""))
    return found
