"""Plan what is forgotten on purpose: which documents, names and concepts leave, and what stays without some of its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

from kgfs.domain.documents import Document, Name, NameKind, Ontology
from kgfs.errors import BadInputError
from kgfs.stores.batched import batched
from kgfs.stores.graph.vocabulary import Concept
from kgfs.stores.resolve import Found, FoundKind
from kgfs.stores.resolve_targets import ontology_of
from kgfs.stores.stores import Stores

PAGE = 1000


@dataclass(frozen=True, slots=True)
class Leaving:
    """A Document that the plan covers."""

    document: Document
    paths: tuple[str, ...]
    """Paths of all its current names, as ``Ontology/documents/path``."""
    trashed: tuple[str, ...]
    """Paths below documents/ that it has had and has no more, since they were removed, renamed or overwritten."""
    versions: int
    """The number of path versions that are this Document."""
    evidence: int
    """The number of pieces of evidence that it gives now."""
    part_of: tuple[str, ...] = ()
    """The places at which it is a part of others of the plan, as ``Ontology/documents/path/name``."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an order to forget would do."""

    cascade: str
    purge: bool
    documents: tuple[Leaving, ...]
    names: tuple[Name, ...]
    """All names that leave documents/, also those of no Document. A folder comes after its contents."""
    ontologies: tuple[Ontology, ...]
    """Ontologies that go with all their contents. Empty with cascade ``none``, where they stay with their knowledge."""
    gone: tuple[Concept, ...]
    """Concepts that leave the graph."""
    lessened: tuple[tuple[Concept, int], ...]
    """Concepts that stay, each with the number of pieces of evidence that it loses."""
    staying: tuple[tuple[str, int], ...]
    """Parts that stay, by name, each with the number of files and other documents that have it. Those are among them
    that were to be forgotten, and are held by others."""
    alone: tuple[str, ...]
    """Paths that leave while their Documents stay, since others hold them as parts."""
    others: tuple[tuple[str, int], ...]
    """``doc_id`` of each document that stays, with the number of its pieces of evidence that go (cascade ``all``
    only)."""

    @property
    def nothing(self) -> bool:
        """Return whether there is nothing to forget."""
        return not self.documents and not self.names and not self.ontologies

    def plain(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {
            "cascade": self.cascade,
            "purge": self.purge,
            "documents": [
                {
                    "doc_id": leaving.document.doc_id,
                    "key": leaving.document.key,
                    "paths": leaving.paths,
                    "trashed": leaving.trashed,
                    "versions": leaving.versions,
                    "evidence": leaving.evidence,
                    "part_of": leaving.part_of,
                }
                for leaving in self.documents
            ],
            "names": len(self.names),
            "ontologies": [ontology.name for ontology in self.ontologies],
            "concepts_gone": [concept.name for concept in self.gone],
            "concepts_lessened": {concept.name: lost for concept, lost in self.lessened},
            "names_alone": self.alone,
            "parts_that_stay": [{"name": name, "held_by": others} for name, others in self.staying],
            "other_documents": dict(self.others),
        }


def plan(stores: Stores, targets: Sequence[Found], cascade: str, *, purge: bool) -> Plan:
    """Return what forgetting these targets would do. Changes nothing.

    Raise BadInputError for a purge with cascade ``none``, which would keep the knowledge. A plan without ``purge``
    leaves out documents that have neither a name nor a publication.
    """
    if purge and cascade == "none":
        raise BadInputError("--purge erases a document, --cascade none keeps its knowledge: choose one of them.")
    names = stores.catalog.names
    own: dict[int, Name] = {}
    wanted: dict[str, Document] = {}
    ontologies: list[Ontology] = []
    for found in targets:
        if found.kind is FoundKind.ONTOLOGY:
            ontologies += [found.ontology] if cascade != "none" else []
            wanted |= {document.doc_id: document for document in _documents_in(stores, found.ontology.id)}
        elif found.name is not None and (not found.version or found.version == found.name.version):
            own[found.name.id] = found.name
        if found.document is not None:
            wanted[found.document.doc_id] = found.document
        top = found.ontology.root if found.kind is FoundKind.ONTOLOGY else found.name.id if found.name else 0
        if found.kind is not FoundKind.DOCUMENT:
            own |= {name.id: name for name in _below(stores, top)}
    for name in own.values():
        if name.doc_id and (document := names.document(name.doc_id)):
            wanted[name.doc_id] = document
    if purge:
        wanted |= _versions_with(stores, wanted)
    for document in wanted.values():
        own |= {name.id: name for name in names.names_of(document.doc_id)}
    asked = wanted
    wanted = _with_parts(stores, _without_held(stores, asked, purge=purge), purge=purge)
    held = asked.keys() - wanted.keys()
    if not purge:
        wanted = {doc_id: document for doc_id, document in wanted.items() if document.commit_id or names.held(doc_id)}
    for document in wanted.values():
        own |= {name.id: name for name in names.names_of(document.doc_id)}
        if purge:
            same = [name for name in names.names_at(document.key) if name.ontology == document.ontology]
            own |= {name.id: name for name in same}
    evidence, lost = _evidence(stores, wanted)
    gone, lessened, others = _knowledge(stores, wanted, lost, cascade)
    return Plan(
        cascade=cascade,
        purge=purge,
        documents=tuple(
            _leaving(stores, document, evidence[doc_id], wanted.keys()) for doc_id, document in sorted(wanted.items())
        ),
        names=tuple(_deepest_first(stores, own.values())),
        ontologies=tuple(ontologies),
        gone=tuple(gone),
        lessened=tuple(lessened),
        staying=_staying(stores, wanted.keys(), held, purge=purge),
        alone=tuple(sorted(_shown(stores, name) for name in own.values() if name.doc_id in held)),
        others=tuple(others),
    )


def unsettled(stores: Stores, targets: Sequence[Found]) -> list[Name]:
    """Return the names that these targets concern whose bytes wait to be settled.

    Settle them before planning: until then it is not known which Documents they are.
    """
    found: dict[int, Name] = {}
    for target in targets:
        if target.name is not None and target.kind is FoundKind.DOCUMENT:
            found[target.name.id] = target.name
        elif target.kind is not FoundKind.DOCUMENT:
            top = target.ontology.root if target.kind is FoundKind.ONTOLOGY else target.name.id if target.name else 0
            found |= {name.id: name for name in _below(stores, top)}
        if target.document is not None:
            found |= {name.id: name for name in stores.catalog.names.names_at(target.document.key)}
    return [name for name in found.values() if not name.settled]


def _documents_in(stores: Stores, ontology: str) -> Iterable[Document]:
    names = stores.catalog.names
    page = names.documents(ontology, limit=PAGE)
    while page:
        yield from page
        page = names.documents(ontology, after=page[-1].doc_id, limit=PAGE)


def _below(stores: Stores, folder: int) -> Iterable[Name]:
    names = stores.catalog.names
    page = names.children(folder, limit=PAGE) if folder else []
    while page:
        for name in page:
            if name.kind is NameKind.FOLDER:
                yield from _below(stores, name.id)
            yield name
        page = names.children(folder, after=page[-1].name, limit=PAGE)


def _deepest_first(stores: Stores, found: Iterable[Name]) -> list[Name]:
    paths = {name.id: stores.catalog.names.path(name.id) or "" for name in found}
    return sorted(found, key=lambda name: (-paths[name.id].count("/"), name.kind is NameKind.FOLDER, paths[name.id]))


def _versions_with(stores: Stores, wanted: dict[str, Document]) -> dict[str, Document]:
    """Return the other versions of the paths that have these Documents now or had them last.

    Versions that another path has, or had, are left out.
    """
    names = stores.catalog.names
    own: set[int] = set()
    for doc_id in wanted:
        own |= {lineage for lineage in names.lineages(doc_id) if names.history(lineage)[-1].doc_id in wanted}
    found = {version.doc_id for lineage in own for version in names.history(lineage)} - wanted.keys()
    documents = [names.document(doc_id) for doc_id in found if set(names.lineages(doc_id)) <= own]
    return {document.doc_id: document for document in documents if document is not None}


def _without_held(stores: Stores, wanted: dict[str, Document], *, purge: bool) -> dict[str, Document]:
    """Return those of the Documents that no other document holds as its part.

    Raise BadInputError for a purge of such a one: its bytes are part of the other's.
    """
    names, staying = stores.catalog.names, dict(wanted)
    while True:
        held = [doc_id for doc_id in staying if any(row.parent not in staying for row in names.part_of(doc_id))]
        if not held:
            return staying
        for doc_id in held:
            if purge:
                first, *more = [row for row in names.part_of(doc_id) if row.parent not in staying]
                others = f" and of {len(more)} more, which hold its bytes" if more else ", which holds its bytes"
                raise BadInputError(
                    f"{first.name} is a part of {_place_of(stores, first.parent)}{others}. Forget what it is a part of."
                )
            del staying[doc_id]


def _with_parts(stores: Stores, wanted: dict[str, Document], *, purge: bool) -> dict[str, Document]:
    """Return the Documents with those of their parts that no other document holds, and that never were a file's.

    A purge leaves those that a document in the trash, or an earlier version, has, too; it takes those along that were
    parts before, and are nobody's now.
    """
    names, found, fresh = stores.catalog.names, dict(wanted), list(wanted)
    while fresh:
        children = {row.child for doc_id in fresh for row in names.parts(doc_id) if row.child}
        if purge:  # what was read of parts that are none any more is there still
            children.update(names.first_found_in(fresh))
        fresh = []
        for child in sorted(children - found.keys()):
            document = names.document(child)
            alone = {row.parent for row in names.part_of(child, held=not purge)} <= found.keys() and not names.lineages(
                child
            )
            if document is not None and alone:
                found[child] = document
                fresh.append(child)
    return found


def _evidence(stores: Stores, doc_ids: Iterable[str]) -> tuple[dict[str, int], Counter[str]]:
    """Return the number of pieces of evidence per document, and per concept their sum over all these documents."""
    evidence: dict[str, int] = {}
    lost: Counter[str] = Counter()
    for doc_id in doc_ids:
        rows = stores.graph.instances_of(doc_id)
        evidence[doc_id] = len(rows)
        lost.update(row.owner for row in rows if row.owner_kind == "concept")
    return evidence, lost


def _knowledge(
    stores: Stores, wanted: dict[str, Document], lost: Counter[str], cascade: str
) -> tuple[list[Concept], list[tuple[Concept, int]], list[tuple[str, int]]]:
    graph = stores.graph
    if cascade == "none":
        return [], [], []
    touched: dict[str, Concept] = {}
    for doc_id in wanted:
        touched |= {concept.concept_id: concept for concept in graph.concepts_of(doc_id)}
    ordered = sorted(touched.values(), key=lambda concept: (concept.ontology, concept.name))
    if cascade == "all":
        return ordered, [], _others(stores, ordered, wanted)
    gone: list[Concept] = []
    lessened: list[tuple[Concept, int]] = []
    for some in batched(ordered, PAGE):
        speakers = graph.resting_on([concept.concept_id for concept in some])
        for concept in some:
            if wanted.keys() >= set(speakers[concept.concept_id]):
                gone.append(concept)
            else:
                lessened.append((concept, lost[concept.concept_id]))
    return gone, lessened, []


def _others(stores: Stores, concepts: Sequence[Concept], wanted: dict[str, Document]) -> list[tuple[str, int]]:
    graph = stores.graph
    owners: dict[str, None] = {}
    for concept in concepts:
        owners[concept.concept_id] = None
        after = ""
        while page := graph.related(concept.concept_id, after=after, limit=PAGE):
            owners |= dict.fromkeys(related.relationship_id for related in page)
            after = f"{page[-1].type}/{page[-1].name}"
    lost: Counter[str] = Counter()
    for owner in owners:
        after_n = 0
        while rows := graph.instances(owner, after=after_n, limit=PAGE):
            lost.update(row.doc_id for row in rows if row.doc_id not in wanted)
            after_n = rows[-1].n
    return sorted(lost.items())


def _staying(stores: Stores, wanted: Set[str], held: Iterable[str], *, purge: bool) -> tuple[tuple[str, int], ...]:
    """Return the parts of the documents ``wanted`` that stay, and the documents ``held``, which stay as parts of others:
    their names, and how many files and other documents have each."""
    names, found = stores.catalog.names, dict[str, tuple[str, int]]()
    rows = [row for doc_id in wanted for row in names.parts(doc_id) if row.child and row.child not in wanted]
    for row in [*rows, *(names.part_of(doc_id)[0] for doc_id in held)]:
        if row.child not in found:
            above = {one.parent for one in names.part_of(row.child, held=not purge)} - wanted
            live = 0 if row.child in held else len(names.names_of(row.child))
            found[row.child] = (row.name, len(above) + live)
    return tuple(sorted(found.values()))


def _part_of(stores: Stores, doc_id: str, wanted: Container[str]) -> tuple[str, ...]:
    """Return the places at which a document is a part of others of the plan."""
    rows = stores.catalog.names.part_of(doc_id, held=False)
    return tuple(f"{_place_of(stores, row.parent)}/{row.name}" for row in rows if row.parent in wanted)


def _place_of(stores: Stores, doc_id: str) -> str:
    """Return a path of a document, or the one at which it came first, as ``Ontology/documents/path``."""
    names, document = stores.catalog.names, stores.catalog.names.document(doc_id)
    if document is None:
        return f"document {doc_id}"
    live = names.names_of(doc_id)
    if live:
        return _shown(stores, live[0])
    return f"{_documents_of(stores, document)}/{document.source_id.partition('/')[2]}"


def _shown(stores: Stores, name: Name) -> str:
    ontology = stores.catalog.names.ontology(name.ontology)
    top = ontology.name if ontology is not None else name.ontology
    return f"{top}/documents/{stores.catalog.names.path(name.id)}"


def _documents_of(stores: Stores, document: Document) -> str:
    return f"{ontology_of(stores.catalog.names, document.ontology, document.key).name}/documents"


def _leaving(stores: Stores, document: Document, evidence: int, wanted: Container[str]) -> Leaving:
    names = stores.catalog.names
    top = _documents_of(stores, document)
    live = [f"{top}/{names.path(name.id)}" for name in names.names_of(document.doc_id)]
    lineages = names.lineages(document.doc_id)
    versions = [v for lineage in lineages for v in names.history(lineage) if v.doc_id == document.doc_id]
    removed = sorted({version.path for version in versions} - {path.removeprefix(f"{top}/") for path in live})
    return Leaving(
        document=document,
        paths=tuple(live),
        trashed=tuple(removed),
        versions=len(versions),
        evidence=evidence,
        part_of=_part_of(stores, document.doc_id, wanted),
    )
