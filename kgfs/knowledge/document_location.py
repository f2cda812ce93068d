"""The present location of a document: the path that evidence and citations show."""

from __future__ import annotations

from dataclasses import dataclass

from kgfs.domain.documents import Name, Version
from kgfs.domain.names import extension_of
from kgfs.domain.parts import PartKind
from kgfs.render.conversation import NAME as MAIL
from kgfs.render.names import history_folder
from kgfs.render.source import REMOVED, STALE, Origin
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.rows import PartRow


@dataclass(frozen=True, slots=True)
class DocumentLocation:
    origin: Origin
    changed_at: int
    """When the document got this location (nanoseconds)."""

    @property
    def stale(self) -> bool:
        return self.origin.note == STALE

    @property
    def removed(self) -> bool:
        return self.origin.note == REMOVED

    @property
    def paths(self) -> tuple[str, ...]:
        """Return all files of ``documents/`` that have the document, the shown one first."""
        return () if self.origin.note else (self.origin.path, *self.origin.others)


Folders = dict[int, Name | None]
"""Folders by their ids: what a caller that asks for many documents at one moment keeps from one call to the next."""


def path_of(names: Names, doc_id: str, folders: Folders) -> str:
    """Return the path of a document's present location (:func:`standing_of`), at a fraction of its cost."""
    for name in names.names_of(doc_id):
        found = place_of(names, name, folders)
        if found is not None:
            return f"documents/{found[0]}"
    return standing_of(names, doc_id, folders).origin.path


def standing_of(names: Names, doc_id: str, folders: Folders | None = None) -> DocumentLocation:
    """Return the present location of a document. Quick, in proportion to the number of its names.

    The location is its files in ``documents/``, that of its first name before the others. If it has none, it is the
    document's version of a file that has other content now; else the document's folder in ``archive/``, which
    remains. For a tombstone it is the Text there, which exists for as long as the document's knowledge.
    """
    document = names.document(doc_id)
    changed = document.named_at if document else 0
    paths = []
    for name in names.names_of(doc_id):
        found = place_of(names, name, folders)
        if found is not None:
            paths.append(f"documents/{found[0]}")
            changed = max(changed, found[1], _minted_at(names, name, name.version))
    parts = [(place, _place_of_part(names, place)) for place in names.part_of(doc_id)]
    for _, (places, since) in parts:
        paths += [one for one in places if one not in paths]
        changed = max(changed, since)
    if paths:
        return DocumentLocation(Origin(paths[0], others=tuple(paths[1:])), changed)
    removed_at = document.removed_at if document else 0
    if names.tombstoned(doc_id):
        return DocumentLocation(Origin(f"archive/{doc_id}/text.txt", REMOVED), removed_at)
    held = names.version_of(doc_id)
    if held is not None and held[1] is not None:
        version, holder = held[0], held[1]
        found = place_of(names, holder)
        if found is not None:
            path, since = found
            shown = f"versions/{version_path(path, holder.id, version)}"
            return DocumentLocation(Origin(shown, STALE), max(since, _minted_at(names, holder, version.n + 1)))
    return DocumentLocation(Origin(f"archive/{doc_id}/original", REMOVED), removed_at)


def root_of(names: Names, doc_id: str) -> str:
    """Return the document that a part stands in after all (the first, where it is a part of several), else itself."""
    while above := names.part_of(doc_id):
        doc_id = above[0].parent
    return doc_id


def _place_of_part(names: Names, place: PartRow) -> tuple[tuple[str, ...], int]:
    """Return the paths at which a part is shown, and since when: an attachment stands in the folder of its parent, a
    mail of a mailbox in its own, and a segment of a transcript is shown as the transcript."""
    if place.kind == PartKind.SEGMENT:
        above = standing_of(names, place.parent)
        return (above.origin.path, *above.origin.others), above.changed_at
    if place.kind == PartKind.MAIL:
        return (f"archive/{place.child}/{MAIL}",), 0
    return (attachment_path(place),), 0


def attachment_path(place: PartRow) -> str:
    """Return the path of an attachment below the ontology's folder, encoded as names are."""
    return f"archive/{place.parent}/attachments/{place.name}"


def place_of(names: Names, name: Name, folders: Folders | None = None) -> tuple[str, int] | None:
    """Return the path of a live name below documents/, and since when it has been that path (nanoseconds). Quick.

    The result is ``""`` and 0 for documents/ itself, and None if the name, or a folder above it, is gone.
    """
    parts: list[str] = []
    since = 0
    step: Name | None = name
    while step is not None and step.parent:
        parts.append(step.name)
        since = max(since, step.arrived_at or step.ctime)
        parent = step.parent
        step = folders[parent] if folders is not None and parent in folders else names.name(parent)
        if folders is not None:
            folders[parent] = step
    return ("/".join(reversed(parts)), since) if step is not None else None


def version_path(path: str, name_id: int, version: Version) -> str:
    """Return the path below ``versions/`` of a version of the file at ``path``."""
    folder, _, name = path.rpartition("/")
    return f"{folder}{'/' if folder else ''}{history_folder(name, name_id)}/{version_file(version)}"


def version_file(version: Version) -> str:
    """Return ``<n>.<ext>``, with the extension of the path under which the version was minted."""
    return f"{version.n}.{extension_of(version.path.rpartition('/')[2])}"


def _minted_at(names: Names, name: Name, n: int) -> int:
    return max((version.minted_at for version in names.versions(name.id) if version.n == n), default=0)
