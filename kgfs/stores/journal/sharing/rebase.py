"""Own facts that were recorded on a state that others have changed meanwhile: what becomes of each.

Most hold as they are. Where a name was taken, folders are merged and files become one path. What was written on a content
that is not there any more becomes a version of the path marked as a conflict; what was delivered first stays current. What
was changed elsewhere is not removed, moved over or forgotten unseen. No rule compares times, since those of two hosts may
differ by any amount. Whatever is not carried out as it was leaves an ``Overtaken`` in its place, so numbers only grow.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import singledispatchmethod
from typing import Any

from kgfs.domain.documents import Name, NameKind, Place
from kgfs.errors import KgfsError, LostLeaseError
from kgfs.stores.journal.conflicts import DECISION
from kgfs.stores.journal.contract_names import Names, Trashed
from kgfs.stores.journal.encoding import tag_of
from kgfs.stores.journal.facts import (
    AttributesSet,
    ConceptsMerged,
    ConceptSplit,
    ConflictKept,
    ContentKept,
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    Fact,
    FileMade,
    FolderMade,
    ForgettingDone,
    ForgettingOwed,
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
from kgfs.stores.journal.sharing.footing import Footing
from kgfs.stores.journal.sharing.tail import Tail
from kgfs.stores.waiting import WAITING

Record = Callable[[Fact], None]


class NotKeptError(KgfsError):
    """Bytes that must become a version are not in the garage yet. Put what waits there, then try again; where nobody has
    them, say so."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is not in the garage yet.")
        self.key = key


class Rebase:
    """``own`` are the facts of the tail, in order; the tables are as they are without them. ``record`` makes a fact true or
    raises. ``kept`` holds the keys under which contents of the tail were put in the garage, ``gone`` those of contents that
    were looked for before this began, and that nobody had: bytes are put before a fact speaks of them, and go after one does
    that needs them no more; so what was not there then, and is still to be kept by what the tail says now, is lost. ``kept`` is
    None where nobody asked: what was overtaken when it was recorded stays so then.

    Call :meth:`comes` with each fact of others before it is folded, :meth:`look` behind the last of them, and then
    :meth:`carry` with each own fact.
    """

    def __init__(
        self,
        db: sqlite3.Connection,
        names: Names,
        own: Sequence[Fact],
        record: Record,
        kept: Container[str] | None,
        gone: Container[str] = (),
    ) -> None:
        self.notes: list[str] = []
        self._names = names
        self._record = record
        self._kept = kept
        self._gone = gone
        self._tail = Tail(own)
        self._footing = Footing(db, names, self._tail.ids, record)
        self._outdated: set[int] = set()
        """Files whose content is not the one that own facts were recorded on."""
        self._ignored: set[int] = set()
        """Names in passing that were never seen elsewhere."""
        self._purged: set[str] = set()
        self._written: dict[tuple[int, str], int] = {}
        """Own contents that were written on what are others' names now: under which ids of ours."""
        self._conflicts: dict[tuple[int, str], bool] = {}
        """Names with contents that became conflicts, by others' facts and by ours: each is one, though several facts of ours
        speak of it, and though others wrote the same and came too late with it as well. Whether people here are told of it."""
        self._others = False
        """Whether facts of others came at all."""
        self._ended: set[str] = set()
        """Documents whose work others have ended."""
        self._original = 0

    def comes(self, fact: Fact) -> None:
        """A fact of others is about to be folded."""
        self._others = True
        if isinstance(fact, (DocumentRead, DocumentForgotten, DocumentFailed)):
            self._ended.add(fact.doc_id)
        if isinstance(fact, ConflictKept):
            self._conflicts[fact.id, fact.sha256] = False
        if isinstance(fact, ForgettingDone) and fact.purge:
            found = [self._names.document(doc_id) for doc_id in fact.doc_ids]
            self._purged |= {document.sha256 for document in found if document is not None}

    def look(self) -> None:
        """The facts of others are folded: what of ours did they overtake?"""
        for name_id, (base, lineage) in self._footing.base.items():
            if base.kind is not NameKind.FILE:
                continue
            now = self._names.name(name_id)
            if now is None and self._names.trashed(name_id) is None:
                now = self._footing.successor(base, lineage)
                if now is not None:
                    self._footing.into[name_id] = now.id
            if now is not None and (now.sha256 != base.sha256 or now.id != name_id):
                self._outdated.add(now.id)

    def carry(self, fact: Fact) -> None:
        """Make an own fact true, or what stands for it."""
        self._original = getattr(fact, "id", 0)
        mapped = self._footing.mapped(fact)
        try:
            self._carry(mapped)
        except NotKeptError:
            raise
        except KgfsError as error:
            self._not_done(mapped, str(error))
        self._tail.passed()

    def united(self) -> list[tuple[int, int]]:
        """Own folders, each with that of another host which it is now."""
        found = [(own, self._names.name(other)) for own, other in self._footing.into.items()]
        return [(own, name.id) for own, name in found if name is not None and name.kind is NameKind.FOLDER]

    # ------------------------------------------------------------------------------------- ontologies, names

    @singledispatchmethod
    def _carry(self, fact: Fact) -> None:
        self._try(fact)

    @_carry.register
    def _(self, fact: OntologyMade) -> None:
        standing = self._names.ontology_named(fact.name)
        if standing is None:
            self._record(fact)
            return
        self._footing.ontology_into[fact.ontology] = standing.id
        self._footing.into[fact.root] = standing.root
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
        made = again or self._footing.make(fact)
        if made is None:
            self._not_done(fact, "its folder was removed elsewhere")
        elif made.id != fact.id or again is not None:
            self._footing.into[self._original] = made.id
            if made.sha256:
                self._outdated.add(made.id)
            self._not_done(fact, "it is one with that of another host", quiet=True)

    def _taken(self, fact: FolderMade | FileMade | LinkMade) -> bool:
        return self._names.child(fact.parent, fact.name) is not None

    @_carry.register
    def _(self, fact: Moved) -> None:
        row = self._names.name(fact.id)
        folder = self._footing.folder(fact.parent)
        if fact.id in self._ignored or row is None or folder is None:
            self._not_done(fact, "it was removed elsewhere", quiet=fact.id in self._ignored)
            return
        fact = replace(fact, parent=folder.id, ontology=folder.ontology)
        standing = self._names.child(folder.id, fact.name)
        given_way = self._names.name(fact.replaces) if self._tail.made(fact.replaces) else None
        if given_way is not None and standing != given_way:  # it was put aside, which nobody else knows
            fact = replace(fact, parent=given_way.parent, ontology=given_way.ontology, name=given_way.name)
            standing = given_way
        if standing is None or standing.id == row.id:
            self._try(replace(fact, replaces=0))
        elif standing.id == fact.replaces and standing.id not in self._outdated:
            self._try(fact)
        elif row.kind is standing.kind is NameKind.FILE and row.version == 0:
            # A save by renaming, on a content that was overtaken.
            if row.sha256 and row.sha256 != standing.sha256:
                ours = self._written.get((row.id, row.sha256), row.id)
                key = row.key if row.place is Place.GARAGE else self._tail.key(ours, row.sha256)
                self._conflict(fact, standing.id, row.sha256, row.size, key)
            self._record(Removed(row.id, fact.at))
            self._footing.into[self._original] = standing.id
            self._outdated.add(standing.id)
        else:
            self._try(replace(fact, replaces=0, name=self._footing.aside(folder.id, fact.name, row.id)))

    def _try(self, fact: Fact) -> None:
        try:
            self._record(fact)
        except LostLeaseError as error:  # what a worker did is owed again; a person's word is lost
            self._not_done(fact, str(error), quiet=not isinstance(fact, (ConceptsMerged, ConceptSplit)))
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
    def _(self, fact: ForgettingOwed) -> None:
        """Where what was written elsewhere is of a Document that is to be forgotten, nothing is, as ``checks`` have it. What
        others have removed, or purged, keeps nothing else: the Document of a name that is in the trash goes all the same."""
        there = [name_id for name_id in fact.names if self._names.name(name_id) is not None]
        names = tuple(name_id for name_id in there if name_id not in self._outdated)
        doc_ids = tuple(doc_id for doc_id in fact.doc_ids if self._names.document(doc_id) is not None)
        if names or doc_ids:
            self._try(replace(fact, names=names, doc_ids=doc_ids))
        elif there:
            self._not_done(fact, "it was written elsewhere, and stays")
        else:
            self._not_done(fact, "it was removed elsewhere", quiet=True)

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
        key = fact.key if fact.place == Place.GARAGE else self._tail.key(self._original, fact.sha256)
        if fact.id in self._ignored:
            self._not_done(fact, "it was removed again", quiet=True)
        elif fact.sha256 and fact.sha256 in self._purged:
            self._not_done(fact, "these bytes were purged elsewhere")
        elif row is None and self._names.trashed(fact.id) is None:
            self._written_again(fact)
        elif row is not None and self._others and self._nobody_has(key):
            # What it gave way to may not be carried out: then the file is what it was before, which can be read, be it
            # empty. Without facts of others all stays as it is, since it may have been delivered, unheard.
            self._not_done(fact, "it was written over, or left", quiet=True)
        elif row is not None and self._kept is None:
            self._try(fact)
        elif row is not None and not self._overtaken(fact, row):
            self._try(replace(fact, base=None))
            self._written[fact.id, fact.sha256] = self._original
        elif (row is not None and row.sha256 == fact.sha256) or not self._tail.last_word():
            self._not_done(fact, "it is there, or was written again", quiet=True)
        elif not fact.size:
            self._not_done(fact, "it was emptied here and written elsewhere, and stays as it is")
        else:
            is_known = self._is_conflict(fact.id, fact.sha256)
            kept = self._conflict(fact, fact.id, fact.sha256, fact.size, key)
            if is_known or not kept or fact.base is not None:  # numbers must grow, and no fact of others makes them
                self._not_done(fact, "it is a conflict" if kept else "nobody has its bytes", quiet=True)

    @_carry.register
    def _(self, fact: ConflictKept) -> None:
        row = self._names.name(fact.id)
        if self._is_conflict(fact.id, fact.sha256):
            self._not_done(fact, "it is a conflict already", quiet=True)
        elif (row is not None and row.kind is NameKind.FILE) or self._names.trashed(fact.id) is not None:
            self._record(fact)
            self._conflicts[fact.id, fact.sha256] = True
        else:
            about = (Place.GARAGE, fact.key, fact.at, fact.at)
            self._written_again(ContentKept(fact.id, fact.sha256, fact.size, *about))
            self._outdated.add(self._footing.into.get(self._original, fact.id))

    def _overtaken(self, fact: ContentKept, row: Name) -> bool:
        return fact.id in self._outdated or (fact.base is not None and fact.base != row.sha256)

    def _written_again(self, fact: ContentKept) -> None:
        """What was removed elsewhere, without having a version, and written here stands again."""
        known = self._footing.base.get(fact.id)
        made = None
        if known is not None:
            base, _ = known
            again = (base.mode, base.uid, base.gid, fact.at)
            made = self._footing.make(FileMade(base.id, base.ontology, base.parent, base.name, *again))
        if made is None:
            self._not_done(fact, "it was removed elsewhere")
            return
        if made.id != fact.id:
            self._footing.into[self._original] = made.id
            self._outdated.add(made.id)
            fact = replace(fact, id=made.id)
        self._carry(fact)

    def _nobody_has(self, key: str) -> bool:
        """Whether that is a content which was given up here, and the garage has not got either."""
        return self._is_missing(key) and self._tail.gave_up(key)

    def _is_missing(self, key: str) -> bool:
        """Whether that is a content of ours which the garage has not got, as far as is known."""
        return (self._kept is None or key not in self._kept) and self._tail.speaks_of(key)

    def _conflict(self, fact: Fact, name_id: int, sha256: str, size: int, key: str) -> bool:
        """Whether it is kept as one; not where nobody has its bytes."""
        if self._nobody_has(key):
            return False
        trashed = self._names.trashed(name_id)
        path = trashed.path if trashed else self._names.path(name_id) or ""
        why = (
            "written in one home after another had removed it"
            if trashed
            else "written in one home after another had changed it"
        )
        file = f"{self._ontology_called(trashed or self._names.name(name_id))}/{path}"
        is_known = self._is_conflict(name_id, sha256)
        if not is_known and self._is_missing(key):
            if key not in self._gone:
                raise NotKeptError(key)
            self.notes.append(f"{file}: {why}. What was written here is lost: its bytes are damaged, or gone.")
            return False
        if not is_known:
            self._record(ConflictKept(name_id, sha256, size, key, path, why, fact.at))
        if not (is_known and self._conflicts[name_id, sha256]):
            self.notes.append(f"{file}: {why}. What was written here is kept as a version (kgfs history).")
        self._conflicts[name_id, sha256] = True
        return True

    def _ontology_called(self, file: Name | Trashed | None) -> str:
        found = self._names.ontology(file.ontology) if file else None
        return found.name if found else file.ontology if file else ""

    def _is_conflict(self, name_id: int, sha256: str) -> bool:
        """Whether it became one, and stands in the history yet."""
        if (name_id, sha256) not in self._conflicts:
            return False
        found = self._names.versions(name_id)
        return any(version.sha256 == sha256 and version.decision == DECISION for version in found)

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
        folder = self._footing.folder(fact.parent)
        if folder is None or self._names.trashed(fact.id) is None:
            self._not_done(fact, "it is not in the trash any more")
            return
        fact = replace(fact, parent=folder.id, ontology=folder.ontology)
        if self._names.child(folder.id, fact.name) is not None:
            fact = replace(fact, name=self._footing.aside(folder.id, fact.name, fact.id))
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
        self._record(Overtaken(tag_of(fact), name_id, why, fact.at, _original_of(fact)))
        if not quiet:
            base = self._footing.base.get(name_id)
            about = getattr(fact, "name", "") or (base[0].name if base else f"{name_id:x}")
            self.notes.append(f"{about}: {tag_of(fact)} was not carried out: {why}.")


def _original_of(fact: Any) -> str | None:
    """What was brought into the garage for a fact. Not what waits there: that goes with the name it is called by."""
    in_garage = isinstance(fact, VersionMinted) or (
        isinstance(fact, (Settled, ContentKept)) and fact.place == Place.GARAGE
    )
    return fact.key if in_garage and not fact.key.startswith(WAITING) else None
