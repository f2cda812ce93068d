"""Decisions about quiet bytes that are recorded together, with the originals that they rely on. A name's
bytes move into the garage under their key from inbox, spool or another key.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kgfs.domain.documents import Document, Name, NameKind, StorageTier
from kgfs.domain.identity import garage_key_of
from kgfs.domain.names import extension_of
from kgfs.errors import BusyError, KgfsError, MissingError, NoSpaceError, from_os_error
from kgfs.failpoints import border
from kgfs.ingest.storing.identify import Action, Decision, decide, identity
from kgfs.ingest.storing.spool import WorkingCopies
from kgfs.stores.catalog.facts import Fact, ReadingOwed, Settled, VersionMinted
from kgfs.stores.garage.contract import Sums
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.object_copies import checked, copy_within, key_on_the_way
from kgfs.stores.stores import Stores

CONCURRENCY = 8
"""Small objects that are put at the same time. One after the other, each would wait for the disk three times."""

_Small = dict[str, tuple[bytes, Sums]]
"""By key: contents that are put into the garage together, just before the decisions that rely on them are
recorded."""


class Batch:
    """A batch of decisions that are recorded together.

    Two decisions about the same bytes, or about the same history, are never in one batch, since the second depends on
    the first being recorded.
    """

    def __init__(self, stores: Stores, copies: WorkingCopies, trash_days: int) -> None:
        self.refused: set[int] = set()
        self._stores = stores
        self._copies = copies
        self._trash_days = trash_days
        self._facts: dict[int, tuple[Fact, ...]] = {}
        self._before: dict[int, Name] = {}
        self._bytes: set[tuple[str, str]] = set()
        self._lineages: set[int] = set()
        self._small: _Small = {}
        self._originals: set[str] = set()
        """Keys of the originals that are put for decisions that are not recorded yet."""

    def add(self, seen: Name, *, again: bool, force: bool) -> Decision | None:
        """Decide about a name, and move its bytes to the garage. Return None if there is nothing to decide (any
        more)."""
        names = self._stores.catalog.names
        if seen.sha256 and (seen.ontology, seen.sha256) in self._bytes:
            self.record()
        name = names.name(seen.id)
        path = names.path(seen.id)
        if name is None or path is None or self._copies.being_written(name.id) or self._copies.held(name):
            return None
        # A writer may have kept more in the spool file, and closed it, since the row was read. Now that no process
        # has it open the row is read again. Its statement about that spool file stays true, since no process writes
        # to the file any more.
        if not _same_bytes(names.name(seen.id), name):
            return None
        if name.settled and not again:
            return None
        now = time.time_ns()
        newest = next(reversed(names.versions(name.id)), None)
        document = names.document_with(name.ontology, name.sha256) if name.sha256 else None
        lineage, n = names.lineage_for(name.id) if name.kind is NameKind.FILE else (0, 1)
        if lineage in self._lineages:
            self.record()
            return self.add(seen, again=again, force=force)
        decision = decide(name, path, newest, document, n=n, now=now, trash_days=self._trash_days, force=force)
        if decision.action in (Action.NONE, Action.SKIP) and name.settled:
            return decision
        small: _Small = {}
        try:
            facts: list[Fact] = [
                self._minted(name, path, decision, document, n, now, small)
                if decision.mints
                else self._settled(name, decision, document, now, small)
            ]
        except KgfsError:
            if _same_bytes(names.name(name.id), name):
                raise
            return None  # the name was written or removed meanwhile, and its bytes deleted
        if decision.action is Action.REPROCESS and document is not None and (force or not decision.mints):
            run = secrets.token_hex(8) if force else ""
            facts.append(ReadingOwed(document.doc_id, decision.reason, now, run=run))
        self._small |= small
        self._facts[name.id] = tuple(facts)
        self._before[name.id] = name
        self._bytes.add((name.ontology, name.sha256))
        self._lineages |= {lineage} - {0}
        return decision

    def record(self) -> None:
        """Put the small contents, record the decisions, and give up the places where the bytes were before."""
        if not self._facts:
            return
        originals = [key for key in self._small if key not in self._originals]
        self._note(originals)
        try:
            put_small(self._stores, self._small)
            self._record_facts()
        except NoSpaceError:
            self._take_back_small()
            raise
        border("settled")
        for name_id, name in self._before.items():
            if name_id not in self.refused:
                self._copies.leave(name)
        if self._originals:
            catalog = self._stores.catalog
            catalog.drop_unheld(
                [key for key in sorted(self._originals) if not self.refused or catalog.promises(key)], synced=False
            )
            self._originals.clear()
        self._facts, self._before, self._bytes, self._lineages, self._small = {}, {}, set(), set(), {}

    def _note(self, originals: Sequence[str]) -> None:
        """Note originals that are about to be put. If this process is killed and the names are written over or removed
        before they are settled again, nothing else would ever delete the objects."""
        if originals:
            self._stores.catalog.note_unheld(originals)
            self._originals.update(originals)

    def _record_facts(self) -> None:
        catalog = self._stores.catalog
        try:
            catalog.record(*(fact for together in self._facts.values() for fact in together))
        except (BusyError, MissingError):
            for name_id, together in self._facts.items():
                try:
                    catalog.record(*together)
                except (BusyError, MissingError):  # the name has changed since: it is left for the next time
                    self.refused.add(name_id)

    def _take_back_small(self) -> None:
        """Delete the objects that were put for decisions that were not recorded.

        The inbox has the bytes still. If their names were removed, no process would ever delete these objects.
        """
        for key in self._small:
            if not self._stores.catalog.promises(key):
                self._stores.garage.objects.delete(key)

    def _settled(self, name: Name, decision: Decision, document: Document | None, now: int, small: _Small) -> Settled:
        place, key = name.place, name.key
        if place in (StorageTier.INBOX, StorageTier.SPOOL):
            place, key = StorageTier.GARAGE, self._key_without_document(name, document)
            self._bring_home(name, key, small)
        return Settled(name.id, place, key, decision.reason, now, name.sha256, decision.action.value)

    def _minted(
        self, name: Name, path: str, decision: Decision, document: Document | None, n: int, now: int, small: _Small
    ) -> VersionMinted:
        ontology = self._stores.catalog.names.ontology(name.ontology)
        if ontology is None:
            raise MissingError(f"The ontology of '{name.name}' is gone.")
        who = identity(ontology, path, name.sha256, document)
        self._bring_home(name, who.key, small)
        return VersionMinted(
            id=name.id,
            ontology=name.ontology,
            n=n,
            doc_id=who.doc_id,
            sha256=name.sha256,
            size=name.size,
            key=who.key,
            source_id=who.source_id,
            path=path,
            decision=decision.action.value,
            reason=decision.reason,
            at=now,
        )

    def _key_without_document(self, name: Name, document: Document | None) -> str:
        if document is not None:
            return document.key
        ontology = self._stores.catalog.names.ontology(name.ontology)
        if ontology is None:
            raise MissingError(f"The ontology of '{name.name}' is gone.")
        return garage_key_of(ontology.prefix, name.sha256, extension_of(name.name))

    def _bring_home(self, name: Name, key: str, together: _Small) -> None:
        if name.place is StorageTier.INBOX:
            small = small_of(self._stores, name, key)
            if small is not None:
                together[key] = small
            return
        if name.place is not StorageTier.NONE:
            self._note([key])
        bring_home(self._stores, self._copies.spool, name, key, self._copies.remembered(name.sha256))


def _same_bytes(now: Name | None, before: Name) -> bool:
    return now is not None and (now.sha256, now.place, now.key) == (before.sha256, before.place, before.key)


def bring_home(stores: Stores, spool: Path, name: Name, key: str, sums: Sums | None = None) -> None:
    """Put the bytes of ``name`` into the garage: the object ``key`` holds them, durably, when this returns.

    Idempotent. No writer may have the file open, since its spool file becomes the object. ``sums`` are those of the
    bytes, if the caller has hashed them. Memory stays flat. Raises MissingError where the bytes are gone, CorruptError
    where they are damaged, and what the garage raises.
    """
    if name.place is StorageTier.NONE:
        return
    kept = _is_kept(stores, name, key)
    # While the source is there the object is put again, even if it exists: the process that put it may have been
    # killed before the object's folder was synced, and the source is deleted after this.
    if name.place is StorageTier.INBOX:
        small = small_of(stores, name, key)
        if small is not None:
            put_small(stores, {key: small})
        return
    if name.place is StorageTier.SPOOL and (spool / name.key).exists():
        _move(stores, spool / name.key, name, key, sums)
    elif kept:
        return
    elif name.place is StorageTier.SPOOL:
        copy_within(stores, spool, key_on_the_way(stores, name), name, key)
    else:
        copy_within(stores, spool, name.key, name, key)
    border("garage-put")


def small_of(stores: Stores, name: Name, key: str) -> tuple[bytes, Sums] | None:
    """Return the bytes and sums of a small content of the inbox that is to be put under ``key``; None if the garage has
    it under that key already.

    Raise MissingError if neither has the bytes, CorruptError if they are damaged.
    """
    small = stores.catalog.inbox(name.sha256)
    if small is not None:
        return small, checked(sums_of(small), name.sha256, name.name)
    if _is_kept(stores, name, key):
        return None
    raise MissingError(f"The kept bytes of '{name.name}' are not in the inbox.")


def put_small(stores: Stores, contents: Mapping[str, tuple[bytes, Sums]]) -> None:
    """Put small contents into the garage, several at the same time, so that one sync of the disk makes several
    durable.

    ``contents`` maps keys to bytes and sums. Raises what the garage raises.
    """
    objects = stores.garage.objects
    if len(contents) == 1:
        ((key, small),) = contents.items()
        objects.put(key, *small)
    elif contents:
        with ThreadPoolExecutor(CONCURRENCY, "kgfs-settle") as several:
            # After a failure the puts that have not begun are cancelled: each would wait for a silent server anew.
            list(several.map(lambda one: objects.put(one[0], *one[1]), contents.items()))
    border("garage-put")


def _is_kept(stores: Stores, name: Name, key: str) -> bool:
    """Return whether the object ``key`` exists and holds the bytes of ``name``."""
    objects = stores.garage.objects
    return objects.exists(key) and objects.stat(key).sha256 == name.sha256


def _move(stores: Stores, kept: Path, name: Name, key: str, sums: Sums | None) -> None:
    """Cut a working copy to its kept length, and make it the object ``key``. ``sums`` are used if they are those of
    ``name``.

    Raise CorruptError if the bytes differ from those that were kept.
    """
    try:
        # A writer that was killed, or refused by a full disk, may have written more than was kept.
        if kept.stat().st_size > name.size:
            os.truncate(kept, name.size)
        if sums is None or sums.sha256 != name.sha256:
            sums = checked(sums_of(kept), name.sha256, name.name)
    except OSError as error:
        raise from_os_error(error, f"Reading the working copy {kept} of '{name.name}'") from error
    stores.garage.objects.put(key, kept, sums, move=True)
