"""Resolve what a user enters to something in a home: a path in a mount, ``Ontology/path``, a doc_id or a garage
key.

Only the stores and the run files of mounts are read, so resolving also works for a mount of another process, for a
dead mount, and without any mount."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from kgfs.domain.documents import Ontology
from kgfs.errors import BadInputError, MissingError
from kgfs.stores.catalog.rows import Trashed
from kgfs.stores.mount_files import mount_notes
from kgfs.stores.resolve_in_tree import encoded, in_tree, readings_of
from kgfs.stores.resolve_targets import Found, FoundKind, of_document, of_key, of_path, ontology_of
from kgfs.stores.stores import Stores

__all__ = ["Found", "FoundKind", "find_document", "find_ontology", "find_removed", "removed_below"]

_DOC_ID = re.compile(r"[0-9a-f]{16}")


def find_document(stores: Stores, run: Path, words: str, *, trashed: bool = False) -> Found:
    """Resolve ``words`` to a file, folder, ontology or Document. ``words`` may be a path in a mount of this home,
    dead or alive, in any of its views that lead to a document; ``Ontology``, ``Ontology/path`` below documents/ or
    as in the tree; a doc_id; or a garage key. Names may be encoded as bytes from a shell or as kgfs prints them.
    ``run`` is the home's run folder, which lists its mounts. With ``trashed``, a path without a live file also
    resolves to the file that was last removed from it.

    Raises MissingError, with advice, if nothing is found, and BadInputError if the words have two different
    meanings."""
    found: list[Found] = []
    for reading in (_in_a_mount, _in_the_garage, _known_id, _known_key, _named):
        for one in reading(stores, run, words):
            if not any(_same(one, other) for other in found):
                found.append(one)
    if not found and trashed and (removed := find_removed(stores, run, words)):
        found = [removed]
    if not found:
        raise MissingError(_advice(run, words))
    if len(found) > 1:
        means = ", or ".join(f"{one}{f' ({one.doc_id})' if one.doc_id else ''}" for one in found)
        raise BadInputError(f"'{words}' can mean {means}. Say which by its doc_id, or as ONTOLOGY/documents/PATH.")
    return found[0]


def find_ontology(stores: Stores, name: str) -> Ontology | None:
    """Return the ontology with this name, given as bytes from a shell or as kgfs prints it; None if there is none."""
    named = stores.catalog.names.ontology_named
    return next((found for reading in readings_of(name) if (found := named(reading))), None)


def ontology_called(stores: Stores, name: str) -> Ontology:
    """Return the ontology with this name like :func:`find_ontology`. Raises MissingError, which lists the
    ontologies that exist, if there is none."""
    found = find_ontology(stores, name)
    if found is None:
        known = ", ".join(ontology.name for ontology in stores.catalog.names.ontologies()) or "none yet"
        raise MissingError(f"There is no ontology '{name}'; there is: {known}.")
    return found


def find_removed(stores: Stores, run: Path, words: str) -> Found | None:
    """Return the file that was last removed from the path ``words``, also if its ontology was removed; None if
    there is none.

    Inside a mount, ``words`` are first read relative to the working directory. If that names no removed file,
    ``Ontology/path`` is read as it is outside of mounts. So every path that ``kgfs trash list`` prints is found
    from everywhere."""
    for below in filter(None, (_below_a_mount(run, words), words)):
        wanted = _paths_of(below)
        found = [(gone, ontology) for path, gone, ontology in _removed(stores) if path in wanted]
        if found:
            gone, ontology = max(found, key=lambda pair: pair[0].at)
            document = stores.catalog.names.document(gone.doc_id)
            return Found(FoundKind.DOCUMENT, ontology, None, gone.path, document, trashed=gone)
    return None


def removed_below(stores: Stores, run: Path, words: str) -> list[Trashed]:
    """Return the files that were removed below the folder or ontology ``words``: for each path the file removed
    last, the latest removal first. ``words`` are read as by :func:`find_removed`. Empty if nothing was removed."""
    for below in filter(None, (_below_a_mount(run, words), words)):
        folders = tuple(f"{path}/" for path in _paths_of(below) if path)
        last: dict[str, Trashed] = {}
        for path, gone, _ in _removed(stores):
            if path.startswith(folders) and (path not in last or gone.at > last[path].at):
                last[path] = gone
        if last:
            return sorted(last.values(), key=lambda gone: (-gone.at, gone.path))
    return []


def _paths_of(words: str) -> set[str]:
    """Return the paths ``Ontology/path`` that the words can mean, with ``documents/`` and without."""
    return {
        path
        for reading in readings_of(words.strip("/"))
        for path in (reading, f"{reading}/".replace("/documents/", "/", 1).removesuffix("/"))
    }


def _removed(stores: Stores) -> Iterator[tuple[str, Trashed, Ontology]]:
    """Yield (``Ontology/path``, removed file, its ontology) for everything in the trash."""
    names = stores.catalog.names
    ontologies: dict[str, Ontology] = {}
    page = names.trash()
    while page:
        for gone in page:
            if gone.ontology not in ontologies:
                ontologies[gone.ontology] = ontology_of(names, gone.ontology, gone.key)
            ontology = ontologies[gone.ontology]
            yield f"{ontology.name}/{gone.path}", gone, ontology
        page = names.trash(after=page[-1].id)


def _same(one: Found, other: Found) -> bool:
    if one.kind is not other.kind or one.ontology.id != other.ontology.id:
        return False
    if one.doc_id and one.doc_id == other.doc_id:
        return True
    return (one.path, one.version) == (other.path, other.version)


def _advice(run: Path, words: str) -> str:
    mounts = [os.fspath(note.mountpoint) for note in mount_notes(run)]
    where = f" below {' or '.join(mounts)}" if mounts else " in a mount of this home (none stands)"
    return (
        f"Nothing here is called '{words}'. Give a path{where}, ONTOLOGY/PATH as below documents/, a doc_id of 16 hex"
        " digits, or a key sources/…; what was removed stands in the trash."
    )


# ------------------------------------------------------------------------------------------- ways to read the words


def _in_a_mount(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    below = _below_a_mount(run, words)
    yield from in_tree(stores, below) if below else _by_attribute(stores, Path(words).absolute())


def _below_a_mount(run: Path, words: str) -> str:
    """Return the path relative to the mount point; empty if it is outside of all mounts."""
    # Links are resolved except in the last component: evidence/<n>/document tells more than its target.
    absolute = Path(os.path.normpath(Path(words).absolute()))
    points = [point for note in mount_notes(run) for point in (note.mountpoint, note.mountpoint.resolve())]
    for path in (absolute, absolute.parent.resolve() / absolute.name, absolute.resolve()):
        for point in points:
            if path != point and path.is_relative_to(point):
                return os.fspath(path.relative_to(point))
    return ""


def _in_the_garage(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    """Resolve the file of an original in the garage folder of the home."""
    objects, path = run.resolve().parent / "garage" / "objects", Path(words).resolve()
    if path.is_relative_to(objects):
        parts = [part for part in path.relative_to(objects).parts if not part.startswith("@")]
        yield from of_key(stores, "/".join(parts))


def _by_attribute(stores: Stores, path: Path) -> Iterator[Found]:
    """Resolve a file by its extended attribute, for a mount that is visible at another path too, as a bind mount
    or in a container."""
    try:
        doc_id = os.getxattr(path, "user.kgfs.doc_id").decode()
    except OSError:  # no such file, or not a file of kgfs
        return
    if document := stores.catalog.names.document(doc_id):
        yield from of_document(stores, document, path.name)


def _known_id(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    document = stores.catalog.names.document(words) if _DOC_ID.fullmatch(words) else None
    if document is not None:
        yield from of_document(stores, document)


def _known_key(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    yield from of_key(stores, words)


def _named(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    """Resolve ``Ontology/path``, as in the tree and below documents/."""
    relative = words.strip("/") if not words.startswith("/") else ""
    if not relative:
        return
    explicit = list(in_tree(stores, relative))
    yield from explicit
    head, _, rest = relative.partition("/")
    if rest and not (explicit and rest.split("/")[0] == "documents"):
        for ontology, path in encoded(stores, head, rest):
            yield from of_path(stores.catalog.names, ontology, path)
