"""What a person's words name in a home: a path in a mount, ``Ontology/path``, a doc_id or a garage key.

Only stores and the notes of mounts are asked, so that it works for a mount of another process, a dead one, and none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kgfs.domain import Document, Name, NameKind, Ontology, encode_name
from kgfs.errors import BadInputError, MissingError
from kgfs.render.names import id_in
from kgfs.stores.journal.contract import Names, Trashed
from kgfs.stores.mount_notes import mount_notes
from kgfs.stores.stores import Stores

_DOC_ID = re.compile(r"[0-9a-f]{16}")
_CONCEPT = ".concept"
_MARKDOWN = ".md"
_HISTORY = "@"
_PAGE = 1000


class FoundKind(StrEnum):
    DOCUMENT = "document"
    """A file of documents/, read or not, or a Document that no file has any more."""
    FOLDER = "folder"
    ONTOLOGY = "ontology"


@dataclass(frozen=True, slots=True)
class Found:
    kind: FoundKind
    ontology: Ontology
    """Of what a removed one left: without a name, its root 0."""
    name: Name | None = None
    """The live file, link or folder; None for an ontology and for a Document that no file has."""
    path: str = ""
    """Below documents/, encoded; of a Document that no file has, the path of its newest version."""
    document: Document | None = None
    """Of the version that was named, else the newest; None while there is none (empty, temporary or not settled yet)."""
    version: int = 0
    """The number, where the words named one version of the path."""
    trashed: Trashed | None = None
    """The removed file, where one was asked for."""

    @property
    def doc_id(self) -> str:
        return self.document.doc_id if self.document else ""

    def __str__(self) -> str:
        if self.kind is FoundKind.ONTOLOGY:
            return self.ontology.name
        shown = f"{self.ontology.name}/documents/{self.path}"
        return f"{shown}@{self.version}" if self.version else shown


def find_document(stores: Stores, run: Path, words: str, *, trashed: bool = False) -> Found:
    """What ``words`` name: a path in a mount of this home (``run`` has their notes), dead or alive, in any of its views
    that lead to a document; ``Ontology``, ``Ontology/path`` below documents/ or as in the tree; a doc_id; a garage key.
    Names may be given as bytes of a shell or as kgfs prints them. With ``trashed`` also the file that was removed last
    from a path where none stands now.

    MissingError says what to try. BadInputError: the words can be read in two ways that mean different things.
    """
    found: list[Found] = []
    for reading in (_in_a_mount, _in_the_garage, _known_id, _known_key, _named):
        for one in reading(stores, run, words):
            if not any(_same(one, other) for other in found):
                found.append(one)
    if not found and trashed:
        found = list(_in_the_trash(stores, run, words))
    if not found:
        raise MissingError(_advice(run, words))
    if len(found) > 1:
        means = ", or ".join(f"{one}{f' ({one.doc_id})' if one.doc_id else ''}" for one in found)
        raise BadInputError(f"'{words}' can mean {means}. Say which by its doc_id, or as ONTOLOGY/documents/PATH.")
    return found[0]


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


# ------------------------------------------------------------------------------------------- the readings of words


def _in_a_mount(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    below = _below_a_mount(run, words)
    yield from _in_tree(stores, below) if below else _by_attribute(stores, Path(words).absolute())


def _below_a_mount(run: Path, words: str) -> str:
    """The path from a mount point on; empty for one outside of all mounts."""
    # A link in the way is followed, but not the last one: evidence/<n>/document says more than where it leads.
    absolute = Path(os.path.normpath(Path(words).absolute()))
    points = [point for note in mount_notes(run) for point in (note.mountpoint, note.mountpoint.resolve())]
    for path in (absolute, absolute.parent.resolve() / absolute.name, absolute.resolve()):
        for point in points:
            if path != point and path.is_relative_to(point):
                return os.fspath(path.relative_to(point))
    return ""


def _in_the_garage(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    """The file of an original in the home itself."""
    objects, path = run.resolve().parent / "garage" / "objects", Path(words).resolve()
    if path.is_relative_to(objects):
        parts = [part for part in path.relative_to(objects).parts if not part.startswith("@")]
        yield from _known_key(stores, run, "/".join(parts))


def _in_the_trash(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    names = stores.journal.names
    head, _, rest = (_below_a_mount(run, words) or words).strip("/").partition("/")
    wanted = {
        (ontology.id, path.removeprefix("documents/")): ontology for ontology, path in _encoded(stores, head, rest)
    }
    newest: Trashed | None = None
    page = names.trash()
    while page:
        for gone in page:
            if (gone.ontology, gone.path) in wanted and (newest is None or gone.at > newest.at):
                newest = gone
        page = names.trash(after=page[-1].id)
    if newest is not None:
        ontology = wanted[newest.ontology, newest.path]
        document = names.document(newest.doc_id)
        yield Found(FoundKind.DOCUMENT, ontology, None, newest.path, document, trashed=newest)


def _by_attribute(stores: Stores, path: Path) -> Iterator[Found]:
    """A mount that stands under another path, too: a bind mount, a container's."""
    try:
        doc_id = os.getxattr(path, "user.kgfs.doc_id").decode()
    except OSError:  # no file, or none of kgfs
        return
    if document := stores.journal.names.document(doc_id):
        yield from _of_document(stores, document, path.name)


def _known_id(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    document = stores.journal.names.document(words) if _DOC_ID.fullmatch(words) else None
    if document is not None:
        yield from _of_document(stores, document)


def _known_key(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    parts = words.split("/")
    if len(parts) != 3 or parts[0] != "sources":
        return
    names = stores.journal.names
    for ontology in names.ontologies():
        if ontology.prefix == parts[1] and (document := _with_key(stores, ontology, words)):
            yield from _of_document(stores, document)


def _with_key(stores: Stores, ontology: Ontology, key: str) -> Document | None:
    names, objects = stores.journal.names, stores.garage.objects
    try:
        found = names.document_with(ontology.id, objects.stat(key).sha256)
        if found is not None and found.key == key:
            return found
    except (MissingError, BadInputError):  # the garage has lost it, or never had a key like that
        pass
    page = names.documents(ontology.id, limit=_PAGE)
    while page:
        for document in page:
            if document.key == key:
                return document
        page = names.documents(ontology.id, after=page[-1].doc_id, limit=_PAGE)
    return None


def _named(stores: Stores, run: Path, words: str) -> Iterator[Found]:
    """``Ontology/path``: as in the tree, and below documents/."""
    relative = words.strip("/") if not words.startswith("/") else ""
    if not relative:
        return
    explicit = list(_in_tree(stores, relative))
    yield from explicit
    head, _, rest = relative.partition("/")
    if rest and not (explicit and rest.split("/")[0] == "documents"):
        for ontology, path in _encoded(stores, head, rest):
            yield from _of_path(stores.journal.names, ontology, path)


# ------------------------------------------------------------------------------------------- the tree of a mount


def _in_tree(stores: Stores, below: str) -> Iterator[Found]:
    """A path below a mount point, of either view."""
    head, _, rest = below.partition("/")
    if head == "sources":
        yield from _known_key(stores, Path(), below)
    for ontology, path in _encoded(stores, head, rest):
        yield from _in_ontology(stores, ontology, path)


def _encoded(stores: Stores, head: str, rest: str) -> Iterator[tuple[Ontology, str]]:
    """The words as bytes of a shell and, where that is something else, as kgfs prints names."""
    for name, path in dict.fromkeys([(encode_name(os.fsencode(head)), encode_name(os.fsencode(rest))), (head, rest)]):
        if ontology := stores.journal.names.ontology_named(name):
            yield ontology, path


def _in_ontology(stores: Stores, ontology: Ontology, path: str) -> Iterator[Found]:
    names = stores.journal.names
    part, _, rest = path.partition("/")
    if part in ("", "documents"):
        yield from _of_path(names, ontology, rest)
    elif part == "text":
        yield from _of_text(names, ontology, rest)
    elif part == "versions":
        yield from _of_versions(names, ontology, rest)
    elif part == "archive":
        document = names.document(rest.partition("/")[0])
        if document is not None and document.ontology == ontology.id:
            yield from _of_document(stores, document)
    elif part == "concepts":
        yield from _of_evidence(stores, ontology, rest)
    elif part.endswith(_CONCEPT):
        yield from _of_evidence(stores, ontology, path)
    elif not rest:
        yield from _of_path(names, ontology, part)


def _of_path(names: Names, ontology: Ontology, path: str) -> Iterator[Found]:
    path = path.strip("/")
    if not path:
        yield Found(FoundKind.ONTOLOGY, ontology)
    elif name := names.resolve(ontology.id, path):
        yield _of_name(names, ontology, name, path)


def _of_name(names: Names, ontology: Ontology, name: Name, path: str) -> Found:
    if name.kind is NameKind.FOLDER:
        return Found(FoundKind.FOLDER, ontology, name, path)
    document = names.document(name.doc_id) if name.doc_id else None
    return Found(FoundKind.DOCUMENT, ontology, name, path, document)


def _of_document(stores: Stores, document: Document, called: str = "") -> Iterator[Found]:
    """A Document with the first of its names, or the first that is ``called`` so."""
    names = stores.journal.names
    ontology = names.ontology(document.ontology) or _removed(document)
    live = sorted(names.names_of(document.doc_id), key=lambda name: name.name != encode_name(os.fsencode(called)))
    for name in live:
        if (path := names.path(name.id)) is not None:
            yield Found(FoundKind.DOCUMENT, ontology, name, path, document)
            return
    held = names.version_of(document.doc_id)
    yield Found(FoundKind.DOCUMENT, ontology, None, held[0].path if held else "", document)


def _removed(document: Document) -> Ontology:
    return Ontology(document.ontology, "", document.key.split("/")[1], 0, 0)


def _of_text(names: Names, ontology: Ontology, path: str) -> Iterator[Found]:
    folder, _, last = path.rpartition("/")
    parent = names.resolve(ontology.id, folder)
    if parent is None or not last:
        yield from _of_path(names, ontology, path)
        return
    stem = names.child(parent.id, last.removesuffix(_MARKDOWN)) if last.endswith(_MARKDOWN) else None
    name = names.child(parent.id, last) or stem or _with_id(names, parent, last, _MARKDOWN)
    if name is not None:
        yield _of_name(names, ontology, name, _joined(folder, name.name))


def _of_versions(names: Names, ontology: Ontology, path: str) -> Iterator[Found]:
    folder = names.resolve(ontology.id, "")
    parts = [part for part in path.split("/") if part]
    for at, part in enumerate(parts):
        if folder is None:
            return
        file = names.child(folder.id, part.removesuffix(_HISTORY)) if part.endswith(_HISTORY) else None
        file = file or _with_id(names, folder, part, _HISTORY)
        if file is not None and file.kind is NameKind.FILE:
            yield from _of_history(names, ontology, file, "/".join(parts[at + 1 :]))
            return
        folder = names.child(folder.id, part) or _with_id(names, folder, part, "")
    if folder is not None:
        yield from _of_path(names, ontology, names.path(folder.id) or "")


def _of_history(names: Names, ontology: Ontology, file: Name, version: str) -> Iterator[Found]:
    found = _of_name(names, ontology, file, names.path(file.id) or "")
    if not version:
        yield found
        return
    for one in names.versions(file.id):
        if version.partition(".")[0] == str(one.n):
            yield Found(FoundKind.DOCUMENT, ontology, file, found.path, names.document(one.doc_id), one.n)


def _of_evidence(stores: Stores, ontology: Ontology, path: str) -> Iterator[Found]:
    """``<name>.concept/[related/<type>/<name>/]evidence/<n>[/…]``: the document that the evidence is from."""
    graph = stores.graph
    parts = path.split("/")
    concept = graph.concept_named(ontology.id, parts[0].removesuffix(_CONCEPT))
    if concept is None:
        return
    owners, rest = [concept.concept_id], parts[1:]
    if len(rest) > 3 and rest[0] == "related":
        related = graph.related(concept.concept_id, rest[1])
        owners = [one.relationship_id for one in related if one.name == rest[2]]
        rest = rest[3:]
    if len(rest) < 2 or rest[0] != "evidence" or not (rest[1].isascii() and rest[1].isdigit()):
        return
    for owner in owners:
        instance = graph.instance(owner, int(rest[1]))
        document = stores.journal.names.document(instance.doc_id) if instance else None
        if document is not None:
            yield from _of_document(stores, document)
            return


def _with_id(names: Names, parent: Name, shown: str, suffix: str) -> Name | None:
    """The entry of ``parent`` whose shown name has its id added."""
    name_id = id_in(shown, suffix)
    found = names.name(name_id) if name_id and name_id < 1 << 63 else None
    return found if found is not None and found.parent == parent.id else None


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
