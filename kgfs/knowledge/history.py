"""The versions of a path, and the difference of two versions in text and in concepts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kgfs.domain.documents import Document, Version
from kgfs.errors import BadInputError, MissingError
from kgfs.render.words import time_of
from kgfs.stores.readings import Reading, load_decisions, load_reading, text_of
from kgfs.stores.resolve import Found, FoundKind
from kgfs.stores.stores import Stores

NO_NEWLINE = "\\ No newline at end of file\n"


def history(stores: Stores, found: Found) -> list[dict[str, Any]]:
    """Return plain data about each version of a file, oldest first, including removed files.

    Raises BadInputError for anything but a file.
    """
    versions = _versions(stores, found)
    live = found.name
    return [
        {
            "n": version.n,
            "when": time_of(version.minted_at),
            "path": f"documents/{version.path}",
            "sha256": version.sha256,
            "size": version.size,
            "doc_id": version.doc_id,
            "key": version.key,
            "decision": version.decision or None,
            "reason": version.reason or None,
            "state": document.state.value if document else "purged",
            "current": live is not None and (live.version, live.sha256) == (version.n, version.sha256),
        }
        for version in versions
        for document in [stores.catalog.names.document(version.doc_id)]
    ]


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two versions of a path."""

    text: str | None
    """A unified diff of the Texts, empty where they are equal; None where a version has no Text."""
    why_no_text: str
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    kept: tuple[str, ...]
    """Names of concepts, sorted: names of their directories, or labels where a version was never published.
    ``gained``, ``lost`` and ``kept`` are all empty where a version is ``unread``."""
    unread: tuple[int, ...]
    """Versions that were never read, so that their concepts are unknown."""


def difference(stores: Stores, found: Found, old: int, new: int) -> Difference:
    """Return the difference from version ``old`` to ``new``.

    It is read from the garage, so it does not depend on what the graph shows. Raises MissingError for a version that
    does not exist.
    """
    versions = {version.n: version for version in _versions(stores, found)}
    for n in (old, new):
        if n not in versions:
            known = f"it has {', '.join(map(str, versions))}" if versions else "it has none yet"
            raise MissingError(f"{found} has no version {n}; {known}.")
    sides = [_Side(stores, versions[n]) for n in (old, new)]
    unread = tuple(side.version.n for side in sides if side.reading is None)
    named = all(side.has_decisions for side in sides)
    before, after = ({} if unread else side.concepts(named=named) for side in sides)
    text, why = _text_difference(found.path, *sides)
    return Difference(
        text=text,
        why_no_text=why,
        gained=tuple(sorted(after[key] for key in after.keys() - before.keys())),
        lost=tuple(sorted(before[key] for key in before.keys() - after.keys())),
        kept=tuple(sorted(after[key] for key in after.keys() & before.keys())),
        unread=unread,
    )


def _versions(stores: Stores, found: Found) -> list[Version]:
    if found.kind is not FoundKind.DOCUMENT:
        raise BadInputError(
            f"{found} is {'an' if found.kind is FoundKind.ONTOLOGY else 'a'} {found.kind}; name one file."
        )
    names = stores.catalog.names
    if found.name is not None or found.trashed is not None:
        return names.versions(found.name.id if found.name else found.trashed.id if found.trashed else 0)
    held = names.version_of(found.doc_id)
    return [held[0]] if held else []


class _Side:
    """One version with its Document and the Reading that was published last."""

    def __init__(self, stores: Stores, version: Version) -> None:
        self._objects = stores.garage.objects
        self.version = version
        self.document: Document | None = stores.catalog.names.document(version.doc_id)
        self.reading: Reading | None = None
        if self.document is not None and self.document.reading:
            self.reading = load_reading(self._objects, version.doc_id, self.document.reading)

    @property
    def has_decisions(self) -> bool:
        return self.document is not None and bool(self.document.decisions)

    def concepts(self, *, named: bool) -> dict[str, str]:
        """Return concept key → name.

        With ``named`` the key is the id of the graph's concept, from the match decisions; else it is the normalised
        label.
        """
        if self.document is None or self.reading is None:
            return {}
        if not named:
            return {concept.norm: concept.label for concept in self.reading.concepts}
        decisions = load_decisions(self._objects, self.document.decisions)
        return {concept.concept_id: concept.name for concept in decisions.concepts}

    def text(self) -> str:
        """Return the version's Text. Raise MissingError where it has none."""
        if self.document is None:
            raise MissingError(f"version {self.version.n} was purged")
        if self.reading is not None:
            return text_of(self._objects, self.document, self.reading)
        try:
            return self._objects.get(self.version.key).decode()
        except UnicodeDecodeError:
            why = self.document.reason or "it was never read, and is not UTF-8"
            raise MissingError(f"version {self.version.n} has no text: {why}") from None


def _text_difference(path: str, old: _Side, new: _Side) -> tuple[str | None, str]:
    if old.version.sha256 == new.version.sha256:
        return "", ""
    try:
        before, after = old.text(), new.text()
    except MissingError as error:
        return None, str(error)
    named = [f"documents/{path}@{side.version.n}\t{time_of(side.version.minted_at)}" for side in (old, new)]
    return "".join(_unified(list(_lines(before)), list(_lines(after)), *named)), ""


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text with their ends. A line ends at LF only."""
    pieces = text.split("\n")
    yield from (f"{piece}\n" for piece in pieces[:-1])
    if pieces[-1]:
        yield pieces[-1]


def _unified(old: list[str], new: list[str], old_name: str, new_name: str) -> Iterator[str]:
    for line in difflib.unified_diff(old, new, old_name, new_name):
        yield line
        if not line.endswith("\n"):
            yield f"\n{NO_NEWLINE}"
