"""Deposits: the use cases that change documents/, for the tree and the commands alike.

When a call returns, its change survives the end of every process, and within a second a power failure. When a flush
returns, its content is durable, and so is every change before it. When ``sync`` returns, everything is. Names are
encoded (``domain.names.encode_name``). Calls block for the disk unless they are marked *quick*; any number of threads
may call. A call marked *Blocks* raises WouldBlock, with nothing done, where the event loop calls it and it would have
to wait.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Name, NameKind, Ontology, StorageTier
from kgfs.domain.identity import new_id, new_ontology_id
from kgfs.domain.names import encode_name, is_document_name
from kgfs.errors import (
    BadInputError,
    BusyError,
    ExistsError,
    IsAFolderError,
    KgfsError,
    MissingError,
    RefusedError,
)
from kgfs.ingest.storing.content import Content, open_content
from kgfs.ingest.storing.settle import Settler
from kgfs.ingest.storing.spool import WorkingCopies
from kgfs.ingest.writing.duplicates import Duplicates
from kgfs.ingest.writing.intake import ATTEMPTS, Ingested, folder_at, take_in, take_in_many
from kgfs.ingest.writing.open_file import OpenFile, RecentNames
from kgfs.ingest.writing.rules import check_name, check_ontology_name, prefix_for
from kgfs.stores.catalog.facts import (
    AttributesSet,
    Fact,
    FileMade,
    FolderMade,
    LinkMade,
    Moved,
    OntologyMade,
    OntologyRemoved,
    OntologyRenamed,
    Removed,
)
from kgfs.stores.resolve import find_ontology
from kgfs.stores.stores import Stores
from kgfs.stores.thread_slots import WouldBlock, blocks, is_inline

PERMISSIONS = 0o7777


class Deposits:
    """Changes ontologies, names and contents. ``session`` is the living session (``sessions.open_session``) that
    makes the changes."""

    def __init__(self, config: Config, stores: Stores, session: str) -> None:
        self.duplicates = Duplicates(config, stores, lambda name, alone: self.settler.settle_early(name, alone=alone))
        admit = self.duplicates.check_flush if self.duplicates.refused else None
        self.copies = WorkingCopies(stores, config.spool, session, admit, config.tree.max_file)
        self.settler = Settler(config, stores, session, self.copies)
        self._stores = stores
        self._names = stores.catalog.names
        self.recent = RecentNames(stores.catalog)
        self._session = session

    # -------------------------------------------------------------------------------- ontologies

    def make_ontology(self, name: str, mode: int, uid: int, gid: int) -> Ontology:
        """Make an ontology.

        Raise ExistsError if there is one of that name, RefusedError for a dot-name or a name that the mount's root
        uses itself.
        """
        check_ontology_name(name)
        ontology_id = new_ontology_id()
        # Removed ontologies count too: they have trash, and keys that were cited. All prefixes are known here, so the
        # garage, which may be silent, is not asked.
        taken = {known.prefix for known in (*self._names.ontologies(), *self._names.removed_ontologies())}
        prefix = prefix_for(name, ontology_id, taken)
        fact = OntologyMade(ontology_id, name, prefix, new_id(), mode & PERMISSIONS, uid, gid, time.time_ns())
        self.record(fact)
        return self._ontology(ontology_id)

    def rename_ontology(self, ontology_id: str, name: str) -> Ontology:
        """Rename an ontology. Its id and the keys of its documents stay. Raise MissingError if it was removed."""
        check_ontology_name(name)
        if self._ontology(ontology_id).name != name:
            self.record(OntologyRenamed(ontology_id, name, time.time_ns()))
        return self._ontology(ontology_id)

    def remove_ontology(self, ontology_id: str) -> None:
        """Remove an empty ontology. Raise NotEmptyError while a name is in it."""
        self.record(OntologyRemoved(ontology_id, time.time_ns()))

    def _ontology(self, ontology_id: str) -> Ontology:
        found = self._names.ontology(ontology_id)
        if found is None:
            raise MissingError("The ontology was removed.")
        return found

    # ------------------------------------------------------------------------------------- names

    def make_folder(self, parent: int, name: str, mode: int, uid: int, gid: int) -> Name:
        """Make a folder. Raise ExistsError if the name is taken; the same holds for files and links."""
        made = new_id()
        ontology = self._folder(parent, name).ontology
        self.record_soon(FolderMade(made, ontology, parent, name, mode & PERMISSIONS, uid, gid, time.time_ns()))
        return self.name(made)

    def make_file(self, parent: int, name: str, mode: int, uid: int, gid: int) -> Name:
        """Make an empty file, and return its row, as its fact describes it. *Blocks*, where another writer must be
        waited for."""
        fact, made = self._file(parent, name, mode, uid, gid)
        if not is_inline():
            self.record_soon(fact)
        elif not self._stores.catalog.record_nowait(fact, session=self._session):
            raise WouldBlock
        return made

    def _file(self, parent: int, name: str, mode: int, uid: int, gid: int) -> tuple[FileMade, Name]:
        made, mode, now = new_id(), mode & PERMISSIONS, time.time_ns()
        ontology = self._folder(parent, name).ontology
        row = Name(made, ontology, parent, name, NameKind.FILE, mode, uid, gid, now, now, now, arrived_at=now)
        return FileMade(made, ontology, parent, name, mode, uid, gid, now), row

    def make_link(self, parent: int, name: str, target: str, uid: int, gid: int) -> Name:
        """Make a symbolic link. ``target`` is encoded as names are, and never followed."""
        made = new_id()
        ontology = self._folder(parent, name).ontology
        self.record_soon(LinkMade(made, ontology, parent, name, target, 0o777, uid, gid, time.time_ns()))
        return self.name(made)

    def move(self, name_id: int, parent: int, name: str, *, replace: bool) -> None:
        """Move a name within or across folders and ontologies.

        A name at the goal is replaced if ``replace`` is set; files open there keep their bytes. Otherwise raise
        ExistsError. Raise RefusedError for documents/ itself, and DuplicateError as a flush does.
        """
        for _ in range(ATTEMPTS):
            moved = self.name(name_id)
            folder = self._folder(parent, name)
            if moved.parent == 0:
                raise RefusedError("documents/ belongs to its ontology and cannot be moved.")
            standing = self._names.child(parent, name)
            if standing is not None and standing.id == name_id:
                return
            if standing is not None and not replace:
                raise ExistsError(f"'{name}' exists already.")
            replaced = standing.id if standing else 0
            self._check_duplicate(moved, folder, name, replaced)
            fact = Moved(name_id, folder.ontology, parent, name, replaced, time.time_ns())
            try:
                self.record_soon(fact, leaving=standing)
            except (ExistsError, MissingError):
                now = self._names.child(parent, name)
                if (now.id if now else 0) == replaced:
                    raise
                continue  # another process has put another file there since
            if standing is not None:
                self.copies.leave(standing)
            return
        raise BusyError(f"'{name}' is replaced by others faster than it can be moved there. Try again later.")

    def _check_duplicate(self, moved: Name, folder: Name, name: str, replaced: int) -> None:
        """Raise DuplicateError if a file becomes a document by being moved and would be the second with its bytes."""
        if moved.kind is not NameKind.FILE:
            return
        path, above = self._names.path(moved.id), self._names.path(folder.id)
        if folder.ontology != moved.ontology or not is_document_name(path or ""):
            goal = f"{above}/{name}" if above else name
            self.duplicates.check(replace(moved, ontology=folder.ontology), goal, replaced)

    def remove(self, name_id: int) -> None:
        """Remove a file, a link or an empty folder. Open files go on working until they are released. Raise
        RefusedError for documents/."""
        gone = self.name(name_id)
        if gone.parent == 0:
            raise RefusedError("documents/ belongs to its ontology and cannot be removed.")
        self.record_soon(Removed(name_id, time.time_ns()), leaving=gone)
        self.copies.leave(gone)

    def set_attributes(
        self,
        name_id: int,
        *,
        mode: int | None = None,
        uid: int | None = None,
        gid: int | None = None,
        atime: int | None = None,
        mtime: int | None = None,
    ) -> Name:
        """Set attributes of a name; None leaves one as it is. Times are in nanoseconds. Return the row with the new
        attributes.

        Neither content nor settling is touched. As on other filesystems only root may give a file to another owner;
        otherwise raise RefusedError. Raise MissingError if the name is gone and the file is not open.
        """
        before = self.shown(name_id)
        if before is None:
            raise MissingError("The file was removed.")
        if os.geteuid() != 0:
            _check_ownership(before, uid, gid)
        now = time.time_ns()
        mode = None if mode is None else mode & PERMISSIONS
        asked = {"mode": mode, "uid": uid, "gid": gid, "atime": atime, "mtime": mtime}
        copy = self.copies.find(name_id)
        wanted = {key: value for key, value in asked.items() if value is not None}
        try:
            self.record_soon(AttributesSet(name_id, now, mode, uid, gid, atime, mtime))
        except MissingError:
            if copy is None:
                raise
        live = self._names.name(name_id)
        after = live or _changed(before, wanted, now)
        if copy is not None and (live is None or mtime is not None):
            copy.attributes_set(after, mtime=mtime is not None)
        return after

    def name(self, name_id: int) -> Name:
        """Return a name's row as it is kept. Raise MissingError if the name is gone. *Quick*."""
        found = self._names.name(name_id)
        if found is None:
            raise MissingError("It was removed.")
        return found

    def shown(self, name_id: int, *, lately: bool = False) -> Name | None:
        """Return a name's row as it is to be shown now; None if there is none. *Quick*.

        Size and times include what an open file has not kept yet. While a file is open its row is returned even if
        its name is gone. With ``lately`` changes by other processes may be missing that are newer than the last
        :meth:`RecentNames.heard`.
        """
        names = self.recent if lately else self._names
        copy = self.copies.find(name_id)
        if copy is None:
            return names.name(name_id)
        pending = copy.pending
        row = names.name(name_id) or copy.row
        if row is None or pending is None:
            return row
        size, mtime = pending
        return replace(row, size=size, mtime=mtime, ctime=max(row.ctime, mtime))

    def _folder(self, parent: int, name: str) -> Name:
        """Return the row of the folder ``parent``, after checking that ``name`` is valid."""
        check_name(name)
        return self.name(parent)

    # ----------------------------------------------------------------------------------- content

    def open(
        self,
        name_id: int,
        *,
        write: bool = False,
        truncate: bool = False,
        append: bool = False,
        known: Name | None = None,
    ) -> OpenFile:
        """Open a file; the returned file must be released (``release``).

        It can be read in any case. Reading finds the bytes wherever they are, verified. ``known`` is the row of a
        file that was made for this very call. Raise IsAFolderError for a folder, BadInputError for a link,
        MissingError if the name is gone. *Blocks*, except for a file in ``known``, and for reading a file that has no
        writer.
        """
        if is_inline() and known is None and not (write or truncate or append):
            read = self.copies.acquire_nowait(name_id, self.recent.name(name_id))
            if read is not None:
                seen = self.copies.seen(read)
                return OpenFile(self.copies, read, self._session, writing=False, append=False, keep_cache=seen)
        if known is None:
            blocks()
        shown = known or self._names.name(name_id) or self.shown(name_id)
        if shown is not None and shown.kind is NameKind.FOLDER:
            raise IsAFolderError(f"'{shown.name}' is a folder.")
        if shown is not None and shown.kind is NameKind.LINK:
            raise BadInputError(f"'{shown.name}' is a symbolic link; open what it points to.")
        writing = write or truncate or append
        copy = self.copies.acquire(name_id, writing=writing, known=shown)
        try:
            keep_cache = self.copies.seen(copy)
            if truncate:
                copy.truncate(0)
        except BaseException:
            self.copies.release(copy, writing=writing)
            raise
        return OpenFile(
            self.copies, copy, self._session, writing=writing, append=append, keep_cache=keep_cache and not truncate
        )

    def truncate(self, name_id: int, size: int) -> None:
        """Set the length of a file to ``size`` bytes, by its name id. Durable when this returns."""
        file = self.open(name_id, write=True)
        try:
            file.truncate(size)
            file.flush()
        finally:
            file.release()

    def content(self, name_id: int) -> Content:
        """Return the kept bytes of a live file. The caller closes the content."""
        return open_content(self._stores, self.copies.spool, name_id)[1]

    def ingest_file(
        self,
        source: Path,
        ontology: str,
        as_path: str | None = None,
        progress: Callable[[int], None] = lambda size: None,
        *,
        force: bool = False,
    ) -> Ingested:
        """Deposit a file without a mount, and settle it at once: see ``intake.take_in``. A missing ontology is
        made."""
        found = self.ontology_called(ontology)
        return take_in(self, found, source, source.name if as_path is None else as_path, progress, force=force)

    def ingest_files(
        self,
        sources: Iterable[tuple[Path, str]],
        ontology: str,
        progress: Callable[[int], None] = lambda size: None,
        *,
        force: bool = False,
    ) -> Iterator[tuple[Path, Ingested | KgfsError]]:
        """Deposit several files, each at its path below documents/, as ``ingest_file`` does, at a fraction of the
        cost: see ``intake.take_in_many``."""
        return take_in_many(self, self.ontology_called(ontology), sources, progress, force=force)

    def ontology_called(self, ontology: str) -> Ontology:
        """Return the ontology of that name. Make it if there is none."""
        found = find_ontology(self._stores, ontology)
        if found is None:
            try:
                found = self.make_ontology(encode_name(os.fsencode(ontology)), 0o755, os.getuid(), os.getgid())
            except ExistsError:  # another process has just made it
                found = find_ontology(self._stores, ontology)
                if found is None:
                    raise
        return found

    def folder_below(self, ontology: Ontology, names: tuple[str, ...]) -> int:
        """Return the id of the folder at that path below documents/. Missing folders are made. Raise NotAFolderError
        where something else is in the way."""
        return folder_at(self, ontology, names)

    def sync(self) -> None:
        """Make every recorded change durable."""
        self._stores.catalog.sync()

    def record(self, *facts: Fact, inbox: Mapping[str, bytes] | None = None) -> None:
        """Record facts for this session. They are durable when this returns."""
        self._stores.catalog.record(*facts, inbox=inbox, session=self._session)

    def record_soon(self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, leaving: Name | None = None) -> None:
        """Record facts for this session. They are durable within a second, or as soon as a later fact is.

        They are durable when this returns if ``leaving`` is a name whose spool file is about to be deleted: if that
        name came back after a power failure, it would miss its bytes.
        """
        synced = leaving is not None and leaving.place is StorageTier.SPOOL
        self._stores.catalog.record(*facts, inbox=inbox, session=self._session, synced=synced)


def _check_ownership(before: Name, uid: int | None, gid: int | None) -> None:
    if uid not in (None, before.uid) or (gid not in (None, before.gid) and gid not in os.getgroups()):
        raise RefusedError(f"Only root can give '{before.name}' to another owner.")


def _changed(before: Name, wanted: dict[str, int], now: int) -> Name:
    return replace(
        before,
        mode=wanted.get("mode", before.mode),
        uid=wanted.get("uid", before.uid),
        gid=wanted.get("gid", before.gid),
        atime=wanted.get("atime", before.atime),
        mtime=wanted.get("mtime", before.mtime),
        ctime=now,
    )
