"""What a replica is made from: rows as they stand, by key and by page, and what says whether it is current.

Nothing here is tried again: whoever copies gives up the whole step and takes it again later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from neo4j import ManagedTransaction

from kgfs.stores.graph.neo4j import feed
from kgfs.stores.graph.neo4j.commit import COUNTED
from kgfs.stores.graph.neo4j.locking import is_whole, lock_whole
from kgfs.stores.graph.neo4j.place import Place
from kgfs.stores.graph.neo4j.requests import run
from kgfs.stores.graph.neo4j.speaking import ROOT, Speaking
from kgfs.stores.graph.replica.standing import Standing
from kgfs.stores.graph.rows import DOCUMENT, INSTANCE, MENTION, SOURCE

Answer = TypeVar("Answer")
Row = Sequence[Any]

_OWNER = """
WITH o, properties(o) AS p
RETURN p.id, p.ontology, p.name, o:Concept, p.norm, p.label, p.aliases, p.description, p.kind, p.founded,
       coalesce(p.evidence, 0), p.related, p.size, coalesce(p.mtime, 0), p.page_hash, coalesce(p.last_n, 0),
       [(o)-[c:CALLED]->(f:Form) | [coalesce(f.whole, f.form), c.rank]],
       p.subject, p.type, p.object, coalesce(p.confidence, 0.0)"""
"""A concept where it has a name, a relationship where it has a type; else somebody's who is still preparing. Properties are
taken all at once: the server walks along those of a node anew for each that is named."""


class Origin:
    """The graph of one namespace, for reading whole. From any number of threads."""

    def __init__(self, place: Place) -> None:
        self._speaking = Speaking(place)
        self._graph = place.namespace

    def standing(self) -> Standing | None:
        """None where there is no such graph (yet, or any more). AwayError or TimedOutError within some
        seconds."""
        found = self._speaking.glance(ROOT, graph=self._graph)
        return _standing_of(found["root"] if found is not None else None)

    def look(self, work: Callable[[Look], Answer], *, alone: bool = False) -> Answer:
        """``work`` in one transaction, of a moment when no commit was there in part. ``alone``: nobody commits meanwhile;
        for what takes no long time."""
        if alone:
            return self._speaking.once(
                lambda tx: work(Look(tx, _standing_of(lock_whole(tx, self._graph)))), writes=True
            )
        whole = self._whole()
        return self._speaking.once(lambda tx: work(Look(tx, whole)))

    def _whole(self) -> Standing | None:
        """What the graph stood at when nothing of it was there in part. Waits for a commit that is about to be, and for one
        that is under way only where nobody noted that the one before was."""
        found = self._speaking.glance(ROOT, graph=self._graph)
        if found is not None and not is_whole(found["root"]):
            found = self._speaking.note_whole(self._graph)
        return _standing_of(found["root"] if found is not None else None)

    def close(self) -> None:
        self._speaking.close()


class Look:
    """Rows are told one by one as they come, so that none are held in memory together."""

    def __init__(self, tx: ManagedTransaction, standing: Standing | None) -> None:
        self._tx = tx
        self.standing = standing
        """All of this epoch is there; what was committed since may be there in part."""
        self._space = self.standing.space if self.standing else ""

    def _rows(self, question: str, **words: Any) -> Iterator[Row]:
        yield from run(self._tx, question, space=self._space, **words)

    def epoch_of(self, commit_id: str) -> int | None:
        found = next(self._rows("MATCH (c:Commit {space: $space, commit_id: $id}) RETURN c.epoch", id=commit_id), None)
        return found[0] if found else None

    def changes(self, after: int, up_to: int) -> Iterator[Row]:
        """(epoch, what, kind, ontology, owner, name), in order; without what is given up meanwhile, as :func:`.feed.parts` says."""
        for epoch, some in feed.parts(self._tx, self._space, after, up_to):
            for words in some:
                yield epoch, *words

    def untold(self, after: int, up_to: int) -> Iterator[Row]:
        """('document' or '', id) of what was touched in epochs whose feed was given up; without what is removed meanwhile."""
        parts = self._rows(
            "MATCH (c:Change) WHERE c.space = $space AND c.epoch > $after AND c.epoch <= $up_to AND c.part < 0"
            " RETURN c.kind, c.owner",
            after=after,
            up_to=up_to,
        )
        for kinds, owners in parts:
            if feed.is_there((kinds, owners)):
                yield from zip(kinds, owners, strict=True)

    # ------------------------------------------------------------------------- concepts, relationships

    def owners(self, ids: Sequence[str]) -> Iterator[Row]:
        return self._rows(f"UNWIND $ids AS id MATCH (o:Owner {{space: $space, id: id}}) {_OWNER}", ids=ids)

    def owners_after(self, after: str, limit: int) -> Iterator[Row]:
        """By id."""
        page = "MATCH (o:Owner) WHERE o.space = $space AND o.id > $after WITH o ORDER BY o.id LIMIT $limit"
        return self._rows(f"{page} {_OWNER}", after=after, limit=limit)

    def ids_of_names(self, names: Sequence[tuple[str, str]]) -> list[str]:
        """Of concepts that have or had these names in these ontologies."""
        question = "UNWIND $names AS n MATCH (o:Owner {space: $space, ontology: n[0], name: n[1]}) RETURN o.id"
        return [row[0] for row in self._rows(question, names=[list(name) for name in names])]

    def ids_of_documents(self, doc_ids: Sequence[str]) -> list[str]:
        """Of concepts that these documents mention."""
        question = (
            "UNWIND $ids AS id MATCH (:Document {space: $space, doc_id: id})<-[:MENTIONED_IN]-(o:Owner)"
            " RETURN DISTINCT o.id"
        )
        return [row[0] for row in self._rows(question, ids=doc_ids)]

    # ------------------------------------------------------------------------------------ documents

    def documents(self, doc_ids: Sequence[str]) -> Iterator[Row]:
        """(key of the edition, sources, instances, DOCUMENT columns)."""
        return self._rows(f"UNWIND $ids AS id MATCH (d:Document {{space: $space, doc_id: id}}) {_EDITION}", ids=doc_ids)

    def documents_after(self, after: str, limit: int) -> Iterator[Row]:
        """By doc_id."""
        page = "MATCH (d:Document) WHERE d.space = $space AND d.doc_id > $after WITH d ORDER BY d.doc_id LIMIT $limit"
        return self._rows(f"{page} {_EDITION}", after=after, limit=limit)

    def sources(self, editions: Sequence[str]) -> Iterator[Row]:
        """(key of the edition, SOURCE columns)."""
        return self._rows(_belonging("Source", SOURCE), keys=editions)

    def instances(self, editions: Sequence[str]) -> Iterator[Row]:
        """(key of the edition, INSTANCE columns)."""
        return self._rows(_belonging("Instance", INSTANCE), keys=editions)

    def mentions(self, editions: Sequence[str]) -> Iterator[Row]:
        """(key of the edition, concept id, ordinal, MENTION columns)."""
        return self._rows(
            "UNWIND $keys AS key MATCH (:Edition {key: key})<-[m:MENTIONED_IN]-(o:Owner)"
            f" WITH key, o.id AS id, properties(m) AS p RETURN key, id, p.ordinal, {_listed('p', MENTION)}",
            keys=editions,
        )

    # ----------------------------------------------------------------------------------------- the rest

    def counts(self) -> Iterator[Row]:
        """(ontology, documents, sources, concepts, relationships, instances, changed_at)."""
        return self._rows(
            "MATCH (o:Ontology) WHERE o.space = $space AND o.ontology IS NOT NULL"
            f" RETURN o.ontology, {', '.join(f'coalesce(o.{what}, 0)' for what in COUNTED)}, o.changed_at"
        )

    def marks(self) -> Iterator[Row]:
        """(mark, concept, ontology, joined)."""
        return self._rows(
            "MATCH (m:Mark) WHERE m.space = $space AND m.mark IS NOT NULL AND m.concept_id IS NOT NULL"
            " RETURN m.mark, m.concept_id, m.ontology, m.joined"
        )


def _listed(variable: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{variable}.{column}" for column in columns)


def _belonging(label: str, columns: Sequence[str]) -> str:
    return (
        f"UNWIND $keys AS key MATCH (n:{label} {{edition: key}})"
        f" WITH key, properties(n) AS p RETURN key, {_listed('p', columns)}"
    )


_EDITION = f"RETURN d.key, d.sources, d.instances, {_listed('d', DOCUMENT)}"


def _standing_of(root: Mapping[str, Any] | None) -> Standing | None:
    if root is None:
        return None
    return Standing(
        space=root["space"],
        clears=root["clears"],
        imposed=root.get("imposed", 0),
        epoch=root["epoch"],
        newest=root.get("newest", ""),
        changes_above=root["changes_above"],
        marked=root.get("marked", 0),
        redacted=root.get("redacted", 0),
        ids_above=root.get("ids_above", 0),
        ids_up_to=root.get("ids_up_to", -1),
    )
