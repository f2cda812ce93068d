"""Own facts that were recorded on a state that others have changed meanwhile: what becomes of each.

Most hold as they are. Where a name was taken, folders are merged and files become one path. What was written on a content
that is not there any more becomes a version of the path marked as a conflict; what was delivered first stays current. What
was changed elsewhere is not removed, moved over or forgotten unseen. No rule compares times, since those of two hosts may
differ by any amount. Whatever is not carried out as it was leaves an ``Overtaken`` in its place, so numbers only grow.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Sequence
from dataclasses import fields, replace
from functools import singledispatchmethod
from typing import Any

from kgfs.domain import (
    MAX_NAME_BYTES,
    Name,
    NameKind,
    Ontology,
    Place,
    decode_name,
    encode_name,
    new_id,
    new_ontology_id,
)
from kgfs.errors import KgfsError
from kgfs.stores.journal.contract import Names
from kgfs.stores.journal.facts import (
    AttributesSet,
    ConflictKept,
    ContentKept,
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    Fact,
    FileMade,
    FolderMade,
    ForgettingDone,
    LinkMade,
    Moved,
    OntologyMade,
    Overtaken,
    Removed,
    Settled,
    TrashEmptied,
    TrashRestored,
    VersionMinted,
)
from kgfs.stores.waiting import waiting_key

Record = Callable[[Fact], None]


class NotKeptError(KgfsError):
    """Bytes that must become a version are not in the garage yet. Put what waits there, then try again."""


class Rebase:
    """``own`` are the facts of the tail, in order; the tables are as they are without them. ``record`` makes a fact true or
    raises. ``kept`` holds the keys under which contents of the tail were put in the garage.

    Call :meth:`comes` with each fact of others before it is folded, :meth:`look` behind the last of them, and then
    :meth:`carry` with each own fact.
    """

    def __init__(
        self, db: sqlite3.Connection, names: Names, own: Sequence[Fact], record: Record, kept: Container[str]
    ) -> None:
        self.notes: list[str] = []
        self._db = db
        self._names = names
        self._record = record
        self._kept = kept
        self._tail = _Tail(own)
        self._base: dict[int, tuple[Name, int]] = {}
        """Names that own facts are about, as they were before others' facts, with their lineages."""
        self._ontologies = {ontology.id: ontology for ontology in names.ontologies()}
        for name_id in self._tail.ids:
            self._remember(name_id)
        self._into: dict[int, int] = {}
        """Own names that are others' names now."""
        self._ontology_into: dict[str, str] = {}
        self._outdated: set[int] = set()
        """Files whose content is not the one that own facts were recorded on."""
        self._ignored: set[int] = set()
        """Names in passing that were never seen elsewhere."""
        self._purged: set[str] = set()
        self._ended: set[str] = set()
        """Documents whose work others have ended."""
        self._original = 0

    def _remember(self, name_id: int) -> None:
        while name_id and name_id not in self._base:
            name = self._names.name(name_id)
            if name is None:
                return
            (lineage,) = self._db.execute("SELECT lineage FROM name WHERE id = ?", (name_id,)).fetchone()
            self._base[name_id] = name, lineage
            name_id = name.parent

    def comes(self, fact: Fact) -> None:
        """A fact of others is about to be folded."""
        if isinstance(fact, (DocumentRead, DocumentForgotten, DocumentFailed)):
            self._ended.add(fact.doc_id)
        if isinstance(fact, ForgettingDone) and fact.purge:
            found = [self._names.document(doc_id) for doc_id in fact.doc_ids]
            self._purged |= {document.sha256 for document in found if document is not None}

    def look(self) -> None:
        """The facts of others are folded: what of ours did they overtake?"""
        for name_id, (base, lineage) in self._base.items():
            if base.kind is not NameKind.FILE:
                continue
            now = self._names.name(name_id)
            if now is None and self._names.trashed(name_id) is None:
                now = self._successor(base, lineage)
                if now is not None:
                    self._into[name_id] = now.id
            if now is not None and (now.sha256 != base.sha256 or now.id != name_id):
                self._outdated.add(now.id)

    def _successor(self, base: Name, lineage: int) -> Name | None:
        """Who stands for a file that another was renamed over."""
        held = self._db.execute("SELECT id FROM name WHERE lineage = ? AND lineage != 0", (lineage,)).fetchone()
        found = self._names.name(held[0]) if held else self._names.child(base.parent, base.name)
        return found if found is not None and found.kind is NameKind.FILE else None

    def carry(self, fact: Fact) -> None:
        """Make an own fact true, or what stands for it."""
        self._original = getattr(fact, "id", 0)
        mapped = self._mapped(fact)
        try:
            self._carry(mapped)
        except NotKeptError:
            raise
        except KgfsError as error:
            self._not_done(mapped, str(error))
        self._tail.passed()

    def _mapped(self, fact: Any) -> Any:
        changed: dict[str, object] = {}
        for name in ("id", "parent", "replaces"):
            if getattr(fact, name, None) in self._into:
                changed[name] = self._into[getattr(fact, name)]
        for name in ("ids", "names"):
            if found := getattr(fact, name, ()):
                changed[name] = tuple(self._into.get(one, one) for one in found)
        # What is derived from an ontology's id would be wrong under another.
        if not isinstance(fact, VersionMinted) and getattr(fact, "ontology", None) in self._ontology_into:
            changed["ontology"] = self._ontology_into[fact.ontology]
        known = {one.name for one in fields(fact)}
        return replace(fact, **{name: value for name, value in changed.items() if name in known})

    # ------------------------------------------------------------------------------------- ontologies, names

    @singledispatchmethod
    def _carry(self, fact: Fact) -> None:
        try:
            self._record(fact)
        except KgfsError as error:
            self._not_done(fact, str(error))

    @_carry.register
    def _(self, fact: OntologyMade) -> None:
        standing = self._names.ontology_named(fact.name)
        if standing is None:
            self._record(fact)
            return
        self._ontology_into[fact.ontology] = standing.id
        self._into[fact.root] = standing.root
        self._not_done(fact, "it is one with that of another host", quiet=True)

    @_carry.register(FolderMade)
    @_carry.register(FileMade)
    @_carry.register(LinkMade)
    def _(self, fact: FolderMade | FileMade | LinkMade) -> None:
        if self._tail.in_passing(self._original) and self._taken(fact):
            self._ignored.add(fact.id)
            self._not_done(fact, "it was removed again", quiet=True)
            return
        again = self._names.name(fact.id)  # another host has made it stand again, too
        made = again or self._make(fact)
        if made is None:
            self._not_done(fact, "its folder was removed elsewhere")
        elif made.id != fact.id or again is not None:
            self._into[self._original] = made.id
            if made.sha256:
                self._outdated.add(made.id)
            self._not_done(fact, "it is one with that of another host", quiet=True)

    def _taken(self, fact: FolderMade | FileMade | LinkMade) -> bool:
        return self._names.child(fact.parent, fact.name) is not None

    def _make(self, fact: FolderMade | FileMade | LinkMade) -> Name | None:
        """The name that stands there now, which may be another host's; None where it cannot stand anywhere."""
        folder = self._folder(fact.parent)
        if folder is None:
            return None
        fact = replace(fact, parent=folder.id, ontology=folder.ontology)
        standing = self._names.child(folder.id, fact.name)
        if standing is not None and _alike(standing, fact):
            return standing
        if standing is not None:
            fact = replace(fact, name=self._aside(folder.id, fact.name, fact.id))
        self._record(fact)
        return self._names.name(fact.id)

    def _folder(self, folder_id: int) -> Name | None:
        """A folder of ours; made again where others removed it."""
        folder_id = self._into.get(folder_id, folder_id)
        found = self._names.name(folder_id)
        if found is not None or folder_id not in self._base:
            return found
        base, _ = self._base[folder_id]
        if base.parent == 0:
            made = self._ontology_again(self._ontologies[base.ontology], base)
        else:
            again = (base.mode, base.uid, base.gid, base.ctime)
            again_made = self._make(FolderMade(base.id, base.ontology, base.parent, base.name, *again))
            if again_made is None:
                return None
            made = again_made
        if made.id != folder_id:
            self._into[folder_id] = made.id
        return made

    def _ontology_again(self, gone: Ontology, root: Name) -> Name:
        standing = self._names.ontology_named(gone.name)
        if standing is None:
            fresh = new_ontology_id()
            about = (new_id(), root.mode, root.uid, root.gid, root.ctime)
            self._record(OntologyMade(fresh, gone.name, f"{gone.prefix.partition('~')[0]}~{fresh}", *about))
            standing = self._names.ontology(fresh)
            assert standing is not None
        self._ontology_into[gone.id] = standing.id
        found = self._names.name(standing.root)
        assert found is not None
        return found

    def _aside(self, folder: int, name: str, name_id: int) -> str:
        """A free name beside one that is taken."""
        stem, dot, extension = name.rpartition(".") if "." in name[1:] else (name, "", "")
        end = f"{dot}{extension}"
        if len(decode_name(end)) > MAX_NAME_BYTES // 2:
            stem, end = name, ""
        free = ""
        for mark in (f"~{name_id % 16**6:06x}", f"~{name_id:016x}"):
            room = MAX_NAME_BYTES - len(mark) - len(decode_name(end))
            free = f"{encode_name(decode_name(stem)[:room])}{mark}{end}"
            if self._names.child(folder, free) is None:
                break
        return free

    @_carry.register
    def _(self, fact: Moved) -> None:
        row = self._names.name(fact.id)
        folder = self._folder(fact.parent)
        if fact.id in self._ignored or row is None or folder is None:
            self._not_done(fact, "it was removed elsewhere", quiet=fact.id in self._ignored)
            return
        fact = replace(fact, parent=folder.id, ontology=folder.ontology)
        standing = self._names.child(folder.id, fact.name)
        if standing is None or standing.id == row.id:
            self._try(replace(fact, replaces=0))
        elif standing.id == fact.replaces and standing.id not in self._outdated:
            self._try(fact)
        elif row.kind is standing.kind is NameKind.FILE and row.version == 0:
            # A save by renaming, on a content that was overtaken.
            if row.sha256 and row.sha256 != standing.sha256:
                key = row.key if row.place is Place.GARAGE else self._tail.key(row.id, row.sha256)
                self._conflict(fact, standing.id, row.sha256, row.size, key)
            self._record(Removed(row.id, fact.at))
            self._into[self._original] = standing.id
            self._outdated.add(standing.id)
        else:
            self._try(replace(fact, replaces=0, name=self._aside(folder.id, fact.name, row.id)))

    def _try(self, fact: Fact) -> None:
        try:
            self._record(fact)
        except KgfsError as error:
            self._not_done(fact, str(error))

    @_carry.register
    def _(self, fact: Removed) -> None:
        if fact.id in self._ignored or self._names.name(fact.id) is None:
            self._not_done(fact, "it was removed elsewhere", quiet=True)
        elif fact.id in self._outdated:
            self._not_done(fact, "it was written elsewhere, and stays")
        else:
            self._try(fact)

    @_carry.register
    def _(self, fact: AttributesSet) -> None:
        if fact.id in self._ignored or fact.id in self._outdated:
            self._not_done(fact, "its content is another host's", quiet=True)
        else:
            self._try(fact)

    # ----------------------------------------------------------------------------------- contents, versions

    @_carry.register
    def _(self, fact: ContentKept) -> None:
        row = self._names.name(fact.id)
        if fact.id in self._ignored:
            self._not_done(fact, "it was removed again", quiet=True)
        elif fact.sha256 and fact.sha256 in self._purged:
            self._not_done(fact, "these bytes were purged elsewhere")
        elif row is None and self._names.trashed(fact.id) is None:
            self._written_again(fact)
        elif row is not None and not self._overtaken(fact, row):
            self._try(replace(fact, base=None))
        elif (row is not None and row.sha256 == fact.sha256) or not self._tail.last_word():
            self._not_done(fact, "it is there, or was written again", quiet=True)
        elif not fact.size:
            self._not_done(fact, "it was emptied here and written elsewhere, and stays as it is")
        else:
            key = fact.key if fact.place == Place.GARAGE else self._tail.key(self._original, fact.sha256)
            self._conflict(fact, fact.id, fact.sha256, fact.size, key)
            if fact.base is not None:  # numbers must grow, and no fact of others makes them
                self._not_done(fact, "it is a conflict", quiet=True)

    @_carry.register
    def _(self, fact: ConflictKept) -> None:
        row = self._names.name(fact.id)
        if (row is not None and row.kind is NameKind.FILE) or self._names.trashed(fact.id) is not None:
            self._record(fact)
        else:
            about = (Place.GARAGE, fact.key, fact.at, fact.at)
            self._written_again(ContentKept(fact.id, fact.sha256, fact.size, *about))
            self._outdated.add(self._into.get(self._original, fact.id))

    def _overtaken(self, fact: ContentKept, row: Name) -> bool:
        return fact.id in self._outdated or (fact.base is not None and fact.base != row.sha256)

    def _written_again(self, fact: ContentKept) -> None:
        """What was removed elsewhere, without having a version, and written here stands again."""
        known = self._base.get(fact.id)
        made = None
        if known is not None:
            base, _ = known
            again = (base.mode, base.uid, base.gid, fact.at)
            made = self._make(FileMade(base.id, base.ontology, base.parent, base.name, *again))
        if made is None:
            self._not_done(fact, "it was removed elsewhere")
            return
        if made.id != fact.id:
            self._into[self._original] = made.id
            self._outdated.add(made.id)
            fact = replace(fact, id=made.id)
        self._carry(fact)

    def _conflict(self, fact: Fact, name_id: int, sha256: str, size: int, key: str) -> None:
        if key not in self._kept and self._tail.speaks_of(key):
            raise NotKeptError(f"{key} is not in the garage yet.")
        trashed = self._names.trashed(name_id)
        path = trashed.path if trashed else self._names.path(name_id) or ""
        why = "written here and removed elsewhere" if trashed else "written here and elsewhere, where it came first"
        self._record(ConflictKept(name_id, sha256, size, key, path, why, fact.at))
        self.notes.append(f"{path}: {why}. What was written here is kept as a version (kgfs history).")

    @_carry.register(VersionMinted)
    @_carry.register(Settled)
    def _(self, fact: VersionMinted | Settled) -> None:
        row = self._names.name(fact.id)
        if row is None or fact.id in self._ignored or (fact.sha256 is not None and row.sha256 != fact.sha256):
            self._not_done(fact, "its content is not the path's any more", quiet=True)
            return
        known = isinstance(fact, VersionMinted) and fact.decision == "insert" and self._names.document(fact.doc_id)
        try:
            if not known:
                self._record(fact)
                return
        except KgfsError:
            pass  # what was decided does not fit any more: it is decided again
        if fact.key and (isinstance(fact, VersionMinted) or fact.place == Place.GARAGE):
            self._record(ContentKept(row.id, row.sha256, row.size, Place.GARAGE, fact.key, row.mtime, fact.at))
        else:
            self._not_done(fact, "it is decided again", quiet=True)

    @_carry.register(DocumentRead)
    @_carry.register(DocumentForgotten)
    @_carry.register(DocumentFailed)
    def _(self, fact: DocumentRead | DocumentForgotten | DocumentFailed) -> None:
        """Of what a host did to the shared graph and had no time to tell, another made up for: what it tells now is past."""
        if fact.doc_id in self._ended:
            self._not_done(fact, "another host has ended it", quiet=True)
        else:
            self._try(fact)

    # ------------------------------------------------------------------------------------------ the trash

    @_carry.register
    def _(self, fact: TrashRestored) -> None:
        folder = self._folder(fact.parent)
        if folder is None or self._names.trashed(fact.id) is None:
            self._not_done(fact, "it is not in the trash any more")
            return
        fact = replace(fact, parent=folder.id, ontology=folder.ontology)
        if self._names.child(folder.id, fact.name) is not None:
            fact = replace(fact, name=self._aside(folder.id, fact.name, fact.id))
        self._try(fact)

    @_carry.register
    def _(self, fact: TrashEmptied) -> None:
        there = tuple(name_id for name_id in fact.ids if self._names.trashed(name_id) is not None)
        if there:
            self._try(replace(fact, ids=there))
        else:
            self._not_done(fact, "the trash is empty", quiet=True)

    def _not_done(self, fact: Any, why: str, *, quiet: bool = False) -> None:
        name_id = getattr(fact, "id", 0)
        self._record(Overtaken(type(fact).__name__, name_id, why, fact.at))
        if not quiet:
            base = self._base.get(name_id)
            about = getattr(fact, "name", "") or (base[0].name if base else f"{name_id:x}")
            self.notes.append(f"{about}: {type(fact).__name__} was not carried out: {why}.")


def _alike(standing: Name, fact: FolderMade | FileMade | LinkMade) -> bool:
    """Whether two hosts made the same thing."""
    if isinstance(fact, LinkMade):
        return standing.kind is NameKind.LINK and standing.target == fact.target
    return standing.kind is (NameKind.FOLDER if isinstance(fact, FolderMade) else NameKind.FILE)


class _Tail:
    """What can be told of own facts by those around them."""

    def __init__(self, own: Sequence[Fact]) -> None:
        self.ids: set[int] = set()
        self._at = 0
        self._made: set[int] = set()
        self._moved: set[int] = set()
        self._removed: set[int] = set()
        self._last: set[int] = set()
        """Where contents stand that were not written again before they were settled."""
        self._minted: dict[tuple[int, str], str] = {}
        self._contents: set[str] = set()
        written: dict[int, int] = {}
        for at, fact in enumerate(own):
            named = (getattr(fact, field, 0) for field in ("id", "parent", "replaces"))
            self.ids |= {name_id for name_id in named if name_id}
            if isinstance(fact, (FolderMade, FileMade, LinkMade)):
                self._made.add(fact.id)
            elif isinstance(fact, Moved):
                self._moved.add(fact.id)
            elif isinstance(fact, Removed):
                self._removed.add(fact.id)
            elif isinstance(fact, ContentKept):
                self._contents.add(waiting_key(fact.id, fact.sha256))
                written[fact.id] = at
            elif isinstance(fact, ConflictKept):
                self._last.add(at)
            elif isinstance(fact, (VersionMinted, Settled)) and fact.key and fact.sha256:
                self._minted[fact.id, fact.sha256] = fact.key
                if fact.id in written:
                    self._last.add(written.pop(fact.id))
        self._last |= set(written.values())

    def passed(self) -> None:
        self._at += 1

    def in_passing(self, name_id: int) -> bool:
        """Whether it was made, and removed from where it was made."""
        return name_id in self._made & self._removed - self._moved

    def last_word(self) -> bool:
        return self._at in self._last

    def key(self, name_id: int, sha256: str) -> str:
        """Where the garage has, or is to have, a content."""
        return self._minted.get((name_id, sha256)) or waiting_key(name_id, sha256)

    def speaks_of(self, key: str) -> bool:
        return key in self._contents
