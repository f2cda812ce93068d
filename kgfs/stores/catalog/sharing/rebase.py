"""Rebase this home's unpublished facts onto facts that other homes published first.

Most facts hold as they are. Where another home took a name first, folders are merged and files become one path. Bytes
that were written on a content which the path no longer has become a version of the path marked as a conflict; the
content that was published first stays current. An entry that another home changed is not removed, moved over or
forgotten by a home that did not see the change. No rule compares times, since the clocks of two hosts may differ by
any amount. A fact that is not carried out as it was leaves an ``Overtaken`` in its place, so that the numbers of
facts only grow.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from functools import singledispatchmethod
from typing import Any

from kgfs.domain.documents import Name, NameKind, StorageTier
from kgfs.errors import KgfsError, LostLeaseError
from kgfs.stores.catalog.conflicts import DECISION, OVERWRITTEN
from kgfs.stores.catalog.encoding import tag_of
from kgfs.stores.catalog.facts import (
    AttributesSet,
    ConceptsMerged,
    ConceptSplit,
    ConflictKept,
    ContentKept,
    DocumentFailed,
    DocumentForgotten,
    DocumentRead,
    DocumentText,
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
from kgfs.stores.catalog.names import Names
from kgfs.stores.catalog.rows import Trashed
from kgfs.stores.catalog.sharing.rebase_base import Footing
from kgfs.stores.catalog.sharing.unpublished import Tail
from kgfs.stores.pending_uploads import WAITING

Record = Callable[[Fact], None]


class NotKeptError(KgfsError):
    """Bytes that must become a version are not in the garage yet. The caller stores the pending content with this
    ``key`` and tries again; if the bytes are found nowhere, the caller adds the key to ``gone``."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is not in the garage yet.")
        self.key = key


class Rebase:
    """Records the facts of the tail anew, each as it was or changed.

    ``own`` are the facts of the tail, in order; the tables are as they are without them. ``record`` records a fact or
    raises.

    ``kept`` holds the keys under which contents of the tail were stored in the garage. ``kept`` is None where the
    garage was not asked: contents that were outdated when they were recorded (``base``) then stay as they were
    recorded.

    ``gone`` holds keys of contents that the caller looked for before the rebase began, and found nowhere. Bytes are
    stored before a fact names them, and are deleted only after a fact that needs them no more. So a content that was
    not found, and that the tail still needs, is lost.

    Call :meth:`comes` with each fact of other homes before it is applied, :meth:`find_outdated` after the last of them, and
    then :meth:`carry` with each own fact in order."""

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
        """Ids of files whose content is not the one that own facts were recorded on."""
        self._ignored: set[int] = set()
        """Ids of names that the tail creates and removes again, and whose place another home's name has. No other
        home ever sees them."""
        self._purged: set[str] = set()
        self._written: dict[tuple[int, str], int] = {}
        """(name id, SHA-256) of own contents that were applied, with the name id under which the tail recorded them.
        The two ids differ where the own name was merged into another home's name."""
        self._conflicts: dict[tuple[int, str], bool] = {}
        """(name id, SHA-256) of contents that became conflicts, by facts of other homes or of this one; the value
        tells whether ``notes`` mention the conflict. Each is one conflict, though several own facts may speak of it,
        and though another home may have written the same bytes and been too late with them as well."""
        self._others = False
        """Whether there are facts of other homes at all."""
        self._ended: set[str] = set()
        """Ids of documents whose job a fact of another home has ended."""
        self._original = 0

    def comes(self, fact: Fact) -> None:
        """Note a fact of another home that is about to be applied."""
        self._others = True
        if isinstance(fact, (DocumentRead, DocumentForgotten, DocumentFailed)):
            self._ended.add(fact.doc_id)
        if isinstance(fact, ConflictKept):
            self._conflicts[fact.id, fact.sha256] = False
        if isinstance(fact, ForgettingDone) and fact.purge:
            found = [self._names.document(doc_id) for doc_id in fact.doc_ids]
            self._purged |= {document.sha256 for document in found if document is not None}

    def find_outdated(self) -> None:
        """Find the files whose content or id other homes' facts have changed. Call this when all those facts are
        applied."""
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
        """Record an own fact, or the fact that stands for it. Raises NotKeptError where a conflict needs bytes that
        the garage does not have; any other refusal leaves an ``Overtaken``."""
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
        """Return (own id, other id) of each own folder that was merged into another home's folder."""
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
        again = self._names.name(fact.id)  # another home may have restored or recreated it, too
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
        # The replaced name was put aside, which no other home knows.
        if given_way is not None and standing != given_way:
            fact = replace(fact, parent=given_way.parent, ontology=given_way.ontology, name=given_way.name)
            standing = given_way
        if standing is None or standing.id == row.id:
            self._try(replace(fact, replaces=0))
        elif standing.id == fact.replaces and standing.id not in self._outdated:
            self._try(fact)
        elif row.kind is standing.kind is NameKind.FILE and row.version == 0:
            # An editor saved by renaming a new file over a content that was outdated.
            if row.sha256 and row.sha256 != standing.sha256:
                ours = self._written.get((row.id, row.sha256), row.id)
                key = row.key if row.place is StorageTier.GARAGE else self._tail.key(ours, row.sha256)
                self._conflict(fact, standing.id, row.sha256, row.size, key)
            self._record(Removed(row.id, fact.at))
            self._footing.into[self._original] = standing.id
            self._outdated.add(standing.id)
        else:
            self._try(replace(fact, replaces=0, name=self._footing.aside(folder.id, fact.name, row.id)))

    def _try(self, fact: Fact) -> None:
        try:
            self._record(fact)
        except LostLeaseError as error:  # a worker's job runs again; a person's request is lost
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
        """Forget Documents as far as other homes' facts leave them and their names. If a file that another home has
        written is of one of the Documents, ``checks`` refuse the fact and nothing is forgotten. A name that another
        home has removed, or a Document that it has purged, holds nothing else up: the Document of a name that is in
        the trash is forgotten all the same."""
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
        key = fact.key if fact.place == StorageTier.GARAGE else self._tail.key(self._original, fact.sha256)
        if fact.id in self._ignored:
            self._not_done(fact, "it was removed again", quiet=True)
        elif fact.sha256 and fact.sha256 in self._purged:
            self._not_done(fact, "these bytes were purged elsewhere")
        elif row is None and self._names.trashed(fact.id) is None:
            self._written_again(fact)
        elif row is not None and self._others and self._nobody_has(key):
            # The fact that overwrote or removed this content may be refused. The file then keeps its earlier content,
            # which can be read, even if it is empty. Without facts of other homes this fact stays as it is: it may have
            # been published, unacknowledged.
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
            # The ConflictKept alone would take just this fact's number. With ``base`` there may be no fact of another home,
            # and the newest number must grow all the same.
            if is_known or not kept or fact.base is not None:
                self._not_done(fact, "it is a conflict" if kept else "nobody has its bytes", quiet=True)

    @_carry.register
    def _(self, fact: ConflictKept) -> None:
        row = self._names.name(fact.id)
        if fact.decision == OVERWRITTEN and (row is None or row.settled or row.sha256 != fact.sha256):
            self._not_done(fact, "the home that wrote it has settled it, or wrote it again", quiet=True)
        elif self._is_conflict(fact.id, fact.sha256):
            self._not_done(fact, "it is a conflict already", quiet=True)
        elif (row is not None and row.kind is NameKind.FILE) or self._names.trashed(fact.id) is not None:
            self._record(fact)
            self._conflicts[fact.id, fact.sha256] = True
        else:
            about = (StorageTier.GARAGE, fact.key, fact.at, fact.at)
            self._written_again(ContentKept(fact.id, fact.sha256, fact.size, *about))
            self._outdated.add(self._footing.into.get(self._original, fact.id))

    def _overtaken(self, fact: ContentKept, row: Name) -> bool:
        return fact.id in self._outdated or (fact.base is not None and fact.base != row.sha256)

    def _written_again(self, fact: ContentKept) -> None:
        """Create the file of a content again: another home removed the file, which had no version, while this home
        wrote to it. Leaves an ``Overtaken`` if the file cannot be created."""
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
        """Return whether the tail gave up this content and the garage does not have it either."""
        return self._is_missing(key) and self._tail.gave_up(key)

    def _is_missing(self, key: str) -> bool:
        """Return whether this is a content of the tail that the garage does not have, as far as is known."""
        return (self._kept is None or key not in self._kept) and self._tail.speaks_of(key)

    def _conflict(self, fact: Fact, name_id: int, sha256: str, size: int, key: str) -> bool:
        """Keep a content as a conflict, once, and add a note for people. Return False if its bytes are found nowhere.
        Raises NotKeptError if the garage does not have the bytes and they are not known to be lost."""
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
        """Return whether the content became a conflict and the path's history still has it."""
        if (name_id, sha256) not in self._conflicts:
            return False
        found = self._names.versions(name_id)
        return any(version.sha256 == sha256 and version.decision in (DECISION, OVERWRITTEN) for version in found)

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
            pass  # the decision does not fit any more: the path is settled again
        if fact.key and (isinstance(fact, VersionMinted) or fact.place == StorageTier.GARAGE):
            self._record(ContentKept(row.id, row.sha256, row.size, StorageTier.GARAGE, fact.key, row.mtime, fact.at))
        else:
            self._not_done(fact, "it is decided again", quiet=True)

    @_carry.register(DocumentRead)
    @_carry.register(DocumentText)
    @_carry.register(DocumentForgotten)
    @_carry.register(DocumentFailed)
    def _(self, fact: DocumentRead | DocumentText | DocumentForgotten | DocumentFailed) -> None:
        """Record the end of a document's job, unless a fact of another home has ended the job already. Another home
        makes up for work on the shared graph that this home did and did not publish in time; this home's fact is then
        outdated."""
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
    """Return the key of the original that was stored in the garage for a fact, else None. A content below ``WAITING``
    does not count: it is deleted with the name that its key contains."""
    in_garage = isinstance(fact, VersionMinted) or (
        isinstance(fact, (Settled, ContentKept)) and fact.place == StorageTier.GARAGE
    )
    return fact.key if in_garage and not fact.key.startswith(WAITING) else None
