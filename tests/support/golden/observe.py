"""Read a mounted home as a program does: what must stay the same for good, as JSON.

Only files are read, no module of kgfs, so the same code tells what the home showed when it was made and what it shows now.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CITED = (
    "document", "ontology", "concept", "content_hash", "key", "doc_id", "chunk_id", "text_sha256", "quote", "char_start", "char_end",
    "byte_start", "byte_end", "line_start", "line_end", "page", "stale",
)  # fmt: skip
"""The fields of ``citation.json`` that stay. Where the section stands and how the page is rendered may change."""
ARCHIVED = (
    "doc_id", "ontology", "title", "paths", "content_hash", "key", "source_id", "size", "media_type", "state", "version", "version_path",
    "ingest_version", "reading", "text_sha256", "text_length", "chunks", "deposited_at",
)  # fmt: skip
"""The fields of ``metadata.json`` that stay."""


def observe(knowledge: Path, garage: Path) -> dict[str, Any]:
    """Return what a mount shows of each ontology, and the objects of the garage's view of the same home."""
    ontologies = {
        path.name: _ontology(path)
        for path in sorted(knowledge.iterdir())
        if path.is_dir() and not path.name.startswith(".") and path.name not in ("search", "ask", "cite")
    }
    return {
        "ontologies": ontologies,
        "searches": _searches(knowledge),
        "objects": _objects(garage),
        "chunks": _chunks(garage),
    }


def _ontology(top: Path) -> dict[str, Any]:
    return {
        "documents": dict(_files(top / "documents")),
        "versions": dict(_files(top / "versions")),
        "archive": {path.name: _archived(path) for path in sorted((top / "archive").iterdir())},
        "concepts": {path.name: _concept(path) for path in sorted((top / "concepts").iterdir())},
        "searches": _searches(top),
    }


def _searches(top: Path) -> list[str]:
    return sorted(path.name for path in (top / "search").iterdir())


def _files(top: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each name below a folder, its odd bytes as ``surrogateescape`` writes them, with what it holds."""
    for folder, folders, files in os.walk(top):
        for name in sorted(folders + files):
            path = Path(folder, name)
            at = path.lstat()
            found: dict[str, Any] = {"mode": oct(at.st_mode), "mtime": at.st_mtime_ns}
            if path.is_symlink():
                found = {"target": os.readlink(path)}
            elif path.is_file():
                found |= {"size": at.st_size, "sha256": _sha256(path)}
            else:
                del found["mtime"]
            yield str(path.relative_to(top)), found


def _archived(folder: Path) -> dict[str, Any]:
    metadata = json.loads((folder / "metadata.json").read_bytes())
    found: dict[str, Any] = {name: metadata[name] for name in ARCHIVED}
    found["original"] = _sha256(folder / "original") if (folder / "original").exists() else None
    concepts = folder / "concepts"
    found["concepts"] = sorted(path.name for path in concepts.iterdir()) if concepts.exists() else []
    return found


def _concept(folder: Path) -> dict[str, Any]:
    related = folder / "related"
    return {
        "evidence": dict(_evidence(folder / "evidence")),
        "related": {
            kind.name: {other.name: dict(_evidence(other / "evidence")) for other in sorted(kind.iterdir())}
            for kind in (sorted(related.iterdir()) if related.exists() else ())
        },
    }


def _evidence(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each piece of evidence by its number: the quote, and where it stands."""
    for path in sorted(folder.iterdir(), key=lambda path: int(path.name)) if folder.exists() else ():
        citation = json.loads((path / "citation.json").read_bytes())
        found: dict[str, Any] = {name: citation[name] for name in CITED if name in citation}
        found["quoted"] = hashlib.sha256((path / "quote.txt").read_bytes()).hexdigest()
        found["link"] = os.readlink(path / "document") if (path / "document").is_symlink() else None
        yield path.name, found


def _objects(garage: Path) -> dict[str, str]:
    """The hash of each object, by its key."""
    return {
        str(path.relative_to(garage)): _sha256(path)
        for top in sorted(garage.iterdir())
        if top.name not in ("ledger", "hosts", "leases", "README.md") and top.is_dir()
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def _chunks(garage: Path) -> dict[str, list[Any]]:
    """Where each chunk of each Reading stands, by the Reading's key."""
    return {
        str(path.relative_to(garage)): [
            [chunk["start"], chunk["end"]] for chunk in json.loads(path.read_bytes())["chunks"]
        ]
        for path in sorted((garage / "readings").rglob("*.json"))
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
