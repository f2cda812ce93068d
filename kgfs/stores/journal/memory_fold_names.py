"""What facts about ontologies and names do to the tables of the journal in memory."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from kgfs.domain.documents import Name, NameKind, Ontology, Place, Version
from kgfs.domain.names import decode_name, is_document_name
from kgfs.stores.journal.contract_names import Trashed
from kgfs.stores.journal.facts import (
    AttributesSet,
    ConflictKept,
    ContentKept,
    FileMade,
    FolderMade,
    LinkMade,
    Moved,
    OntologyMade,
    OntologyRemoved,
    OntologyRenamed,
    Overtaken,
    Removed,
    SearchRemoved,
    SearchSaved,
    SettingChanged,
)
from kgfs.stores.journal.memory_tables import Departure, Entry, Tables


@singledispatch
def apply_one(fact: object, tables: Tables, session: str) -> None:
    """Make one fact true that was checked before. Facts about documents register elsewhere."""
    raise TypeError(f"{type(fact).__name__} is not a fact.")


@apply_one.register
def _(fact: OntologyMade, tables: Tables, session: str) -> None:
    tables.ontologies[fact.ontology] = Ontology(fact.ontology, fact.name, fact.prefix, fact.root, fact.at)
    _make(tables, fact.root, fact.ontology, 0, "documents", NameKind.FOLDER, fact, session)


@apply_one.register
def _(fact: OntologyRenamed, tables: Tables, session: str) -> None:
    tables.ontologies[fact.ontology] = replace(tables.ontologies[fact.ontology], name=fact.name)


@apply_one.register
def _(fact: OntologyRemoved, tables: Tables, session: str) -> None:
    removed = tables.removed_ontologies[fact.ontology] = tables.ontologies.pop(fact.ontology)
    del tables.names[removed.root]


@apply_one.register
def _(fact: SettingChanged, tables: Tables, session: str) -> None:
    tables.settings[fact.ontology, fact.key] = fact.value


@apply_one.register
def _(fact: SearchSaved, tables: Tables, session: str) -> None:
    tables.searches[fact.ontology, fact.words] = fact.at


@apply_one.register
def _(fact: SearchRemoved, tables: Tables, session: str) -> None:
    del tables.searches[fact.ontology, fact.words]


@apply_one.register
def _(fact: FolderMade, tables: Tables, session: str) -> None:
    _make(tables, fact.id, fact.ontology, fact.parent, fact.name, NameKind.FOLDER, fact, session)


@apply_one.register
def _(fact: FileMade, tables: Tables, session: str) -> None:
    _make(tables, fact.id, fact.ontology, fact.parent, fact.name, NameKind.FILE, fact, session)


@apply_one.register
def _(fact: LinkMade, tables: Tables, session: str) -> None:
    _make(tables, fact.id, fact.ontology, fact.parent, fact.name, NameKind.LINK, fact, session)
    tables.change(fact.id, target=fact.target, size=len(decode_name(fact.target)))


def _make(
    tables: Tables,
    name_id: int,
    ontology: str,
    parent: int,
    name: str,
    kind: NameKind,
    fact: OntologyMade | FolderMade | FileMade | LinkMade,
    session: str,
) -> None:
    at = fact.at
    made = Name(name_id, ontology, parent, name, kind, fact.mode, fact.uid, fact.gid, at, at, at, arrived_at=at)
    tables.names[name_id] = Entry(made, name_id if kind is NameKind.FILE else 0, at, session)
    tables.touch_folder(parent, at)


@apply_one.register
def _(fact: ContentKept, tables: Tables, session: str) -> None:
    place = Place(fact.place)
    tables.change(fact.id, sha256=fact.sha256, size=fact.size, place=place, key=fact.key)
    tables.change(fact.id, mtime=fact.mtime, ctime=fact.at)
    tables.unsettle(fact.id, fact.at, session)


@apply_one.register
def _(fact: AttributesSet, tables: Tables, session: str) -> None:
    wanted = {key: getattr(fact, key) for key in ("mode", "uid", "gid", "atime", "mtime")}
    tables.change(fact.id, ctime=fact.at, **{key: value for key, value in wanted.items() if value is not None})


@apply_one.register
def _(fact: ConflictKept, tables: Tables, session: str) -> None:
    entry = tables.names.get(fact.id)
    takes = tables.adopted(fact.id) if entry else None
    lineage = takes or (entry.lineage if entry else tables.trash[fact.id].lineage)
    n = max((version.n for version in tables.history(lineage)), default=0) + 1
    version = Version(*(lineage, n, "", fact.sha256, fact.size, fact.key, fact.path, fact.at, "conflict", fact.reason))
    tables.versions[lineage, n] = (version, len(tables.facts))
    if entry and not takes and not entry.name.version:
        tables.change(fact.id, version=n)


@apply_one.register
def _(fact: Overtaken, tables: Tables, session: str) -> None:
    """Nothing was done, but to the garage."""
    if fact.key:
        tables.unheld.add(fact.key)


@apply_one.register
def _(fact: Removed, tables: Tables, session: str) -> None:
    leave(tables, fact.id, fact.at)


def leave(tables: Tables, name_id: int, at: int) -> None:
    """A name goes; what was settled under it goes to the trash."""
    path = tables.path(name_id) or ""
    entry = tables.names.pop(name_id)
    tables.touch_folder(entry.name.parent, at)
    if entry.name.version:
        name, newest = entry.name, tables.versions[entry.lineage, entry.name.version][0]
        tables.trash[name_id] = Trashed(
            *(name_id, name.ontology, path, name.mode, name.uid, name.gid, name.mtime, newest.size, newest.sha256),
            *(newest.key, newest.doc_id, newest.n, entry.lineage, at),
        )
        tables.departed[entry.name.parent, entry.name.name] = Departure(entry.lineage, at, removed=True)
        if not is_document_name(path):
            for place, left in tables.departed.items():
                if left.lineage == entry.lineage:
                    tables.departed[place] = replace(left, removed=True)


@apply_one.register
def _(fact: Moved, tables: Tables, session: str) -> None:
    before = tables.names[fact.id]
    below = {name.id: tables.path(name.id) or "" for name in tables.below(fact.id)}
    paths = {fact.id: tables.path(fact.id) or "", **below}
    replaced = tables.names.get(fact.replaces)
    succeeds = replaced is not None and replaced.name.version > 0 and before.name.kind is NameKind.FILE
    if succeeds:
        del tables.names[fact.replaces]
    elif replaced is not None:
        leave(tables, fact.replaces, fact.at)
    if before.name.version and (before.name.parent, before.name.name) != (fact.parent, fact.name):
        left = Departure(before.lineage, fact.at, removed=False)
        tables.departed[before.name.parent, before.name.name] = left
    tables.change(fact.id, parent=fact.parent, name=fact.name, ctime=fact.at, arrived_at=fact.at)
    tables.touch_folder(before.name.parent, fact.at)
    tables.touch_folder(fact.parent, fact.at)
    for name_id, path in paths.items():
        name = tables.names[name_id].name
        crossed = name.ontology != fact.ontology
        if crossed:
            tables.change(name_id, ontology=fact.ontology, doc_id="")
        turned = is_document_name(path) != is_document_name(tables.path(name_id) or "")
        renamed_unsettled = name_id == fact.id and not name.settled
        overwrites = name_id == fact.id and fact.replaces != 0
        if name.kind is NameKind.FILE and (crossed or turned or renamed_unsettled or overwrites):
            tables.unsettle(name_id, fact.at, session)
    if succeeds and replaced is not None:
        tables.change(fact.id, version=replaced.name.version, doc_id=replaced.name.doc_id)
        tables.names[fact.id] = replace(tables.names[fact.id], lineage=replaced.lineage)
