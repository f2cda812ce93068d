"""Map the names of unpublished facts to the tree that other homes' facts have made: to other ids, to free names
beside taken ones, or to names that are created again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

from kgfs.domain.documents import Name, NameKind, Ontology
from kgfs.domain.identity import new_id, new_ontology_id
from kgfs.domain.names import MAX_NAME_BYTES, decode_name, encode_name
from kgfs.stores.catalog.facts import Fact, FileMade, FolderMade, LinkMade, OntologyMade, VersionMinted
from kgfs.stores.catalog.names import Names


class Footing:
    """The names of the tail, as they were before other homes' facts and as they are now. Create it before those facts
    are applied: the tables must be as they were without them.

    ``ids`` are the names that own facts are about. ``record`` records a fact or raises."""

    def __init__(
        self, db: sqlite3.Connection, names: Names, ids: Iterable[int], record: Callable[[Fact], None]
    ) -> None:
        self._db = db
        self._names = names
        self._record = record
        self.base: dict[int, tuple[Name, int]] = {}
        """Name id to (name, lineage) before other homes' facts, for the names of the tail and the folders above
        them."""
        self._ontologies = {ontology.id: ontology for ontology in names.ontologies()}
        for name_id in ids:
            self._remember(name_id)
        self.into: dict[int, int] = {}
        """Id of an own name to the id of another home's name that it was merged into."""
        self.ontology_into: dict[str, str] = {}
        """Id of an own ontology to the id of another home's ontology that it was merged into."""

    def _remember(self, name_id: int) -> None:
        while name_id and name_id not in self.base:
            name = self._names.name(name_id)
            if name is None:
                return
            (lineage,) = self._db.execute("SELECT lineage FROM name WHERE id = ?", (name_id,)).fetchone()
            self.base[name_id] = name, lineage
            name_id = name.parent

    def successor(self, base: Name, lineage: int) -> Name | None:
        """Return the file that took the place of a file when another file was renamed over it: the holder of its
        lineage, else the file at its old place. None if there is none."""
        held = self._db.execute("SELECT id FROM name WHERE lineage = ? AND lineage != 0", (lineage,)).fetchone()
        found = self._names.name(held[0]) if held else self._names.child(base.parent, base.name)
        return found if found is not None and found.kind is NameKind.FILE else None

    def mapped(self, fact: Any) -> Any:
        """Return the fact with the ids of merged names and ontologies replaced."""
        changed: dict[str, object] = {}
        for name in ("id", "parent", "replaces"):
            if getattr(fact, name, None) in self.into:
                changed[name] = self.into[getattr(fact, name)]
        for name in ("ids", "names"):
            if found := getattr(fact, name, ()):
                changed[name] = tuple(self.into.get(one, one) for one in found)
        # A VersionMinted keeps its ontology: values in it derive from the ontology's id and would be wrong under another.
        if not isinstance(fact, VersionMinted) and getattr(fact, "ontology", None) in self.ontology_into:
            changed["ontology"] = self.ontology_into[fact.ontology]
        known = {one.name for one in fields(fact)}
        return replace(fact, **{name: value for name, value in changed.items() if name in known})

    def make(self, fact: FolderMade | FileMade | LinkMade) -> Name | None:
        """Create the entry and return its name, or return another home's name of the same kind at that place. An
        entry whose place is taken by something else gets a free name beside it. Return None if its folder is not
        there and cannot be created again."""
        folder = self.folder(fact.parent)
        if folder is None:
            return None
        fact = replace(fact, parent=folder.id, ontology=folder.ontology)
        standing = self._names.child(folder.id, fact.name)
        if standing is not None and _alike(standing, fact):
            return standing
        if standing is not None:
            fact = replace(fact, name=self.aside(folder.id, fact.name, fact.id))
        self._record(fact)
        return self._names.name(fact.id)

    def folder(self, folder_id: int) -> Name | None:
        """Return an own folder, with merged ids replaced. A folder that other homes removed is created again, with
        the folders and the ontology above it. Return None if it is not known."""
        folder_id = self.into.get(folder_id, folder_id)
        found = self._names.name(folder_id)
        if found is not None or folder_id not in self.base:
            return found
        base, _ = self.base[folder_id]
        if base.parent == 0:
            made = self._ontology_again(self._ontologies[base.ontology], base)
        else:
            again = (base.mode, base.uid, base.gid, base.ctime)
            again_made = self.make(FolderMade(base.id, base.ontology, base.parent, base.name, *again))
            if again_made is None:
                return None
            made = again_made
        if made.id != folder_id:
            self.into[folder_id] = made.id
        return made

    def _ontology_again(self, gone: Ontology, root: Name) -> Name:
        standing = self._names.ontology_named(gone.name)
        if standing is None:
            fresh = new_ontology_id()
            about = (new_id(), root.mode, root.uid, root.gid, root.ctime)
            self._record(OntologyMade(fresh, gone.name, f"{gone.prefix.partition('~')[0]}~{fresh}", *about))
            standing = self._names.ontology(fresh)
            assert standing is not None
        self.ontology_into[gone.id] = standing.id
        found = self._names.name(standing.root)
        assert found is not None
        return found

    def aside(self, folder: int, name: str, name_id: int) -> str:
        """Return a free name in the folder, made from a taken name and the id of the entry. It is at most
        ``MAX_NAME_BYTES`` long."""
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


def _alike(standing: Name, fact: FolderMade | FileMade | LinkMade) -> bool:
    """Return whether another home's entry is the same thing: a folder, a file, or a link with the same target."""
    if isinstance(fact, LinkMade):
        return standing.kind is NameKind.LINK and standing.target == fact.target
    return standing.kind is (NameKind.FOLDER if isinstance(fact, FolderMade) else NameKind.FILE)
