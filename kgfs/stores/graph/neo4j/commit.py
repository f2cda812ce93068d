"""What one commit to the graph does, inside its transaction: editions enter and leave, and all that follows from it.

The graph's own node is locked first, so commits come one after the other and epochs have no gap. What follows from a
commit is worked out here, from what the touched concepts and relationships have, in requests of many at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from neo4j import ManagedTransaction

from kgfs.domain.knowledge import RELATIONSHIP_TYPES
from kgfs.errors import BadInputError, StoreError
from kgfs.stores.graph.hiding import hidden_name, is_hidden
from kgfs.stores.graph.neo4j import feed
from kgfs.stores.graph.neo4j.requests import Requests, run
from kgfs.stores.graph.neo4j.rows import document_properties, mention_properties, shown
from kgfs.stores.graph.neo4j.settling import Settling
from kgfs.stores.graph.vocabulary import Change, ConceptRow, DocumentRow, Publication, RelationshipRow
from kgfs.stores.portions import portions

COUNTED = ("documents", "sources", "concepts", "relationships", "instances")
LEFT_AT_ONCE = 200
"""Documents that leave in one request."""


class Commit(Requests):
    """One publication or forgetting. Use once: :meth:`leave` and :meth:`enter`, then :meth:`settle`."""

    def __init__(self, tx: ManagedTransaction, graph: str, root: dict[str, Any], at: int) -> None:
        super().__init__(tx, root["space"])
        self._graph = graph
        self._at = at
        self.epoch: int = root["epoch"] + 1
        self._changes: list[Change] = []
        self._left: dict[str, tuple[str, str]] = {}
        self._digests: dict[str, dict[tuple[str, int], str]] = {}
        """Of the evidence in editions that leave or enter."""
        self._entered: tuple[str, str, str] | None = None
        self._concepts: set[str] = set()
        """Whose mentions or evidence are others than before."""
        self._relationships: set[str] = set()
        self._evidence: dict[str, int] = {}
        """By how much the number of pieces of evidence moves, by owner."""
        self._moved: set[str] = set()
        """Owners whose evidence is not what it was."""
        self._counts: dict[str, dict[str, int]] = {}

    # ------------------------------------------------------------------------------- editions

    def leave(self, doc_ids: Iterable[str]) -> None:
        """Take the shown editions of these documents out; unknown ones are passed over."""
        for some in portions(sorted(set(doc_ids)), LEFT_AT_ONCE):
            self._some_leave(some)

    def _some_leave(self, doc_ids: Sequence[str]) -> None:
        rows = self._rows(
            "UNWIND $doc_ids AS doc_id MATCH (d:Document {space: $space, doc_id: doc_id})"
            " REMOVE d:Document SET d:Leaving, d.commit_id = d.commit_id + ' ' + d.key"
            " RETURN d.doc_id AS doc_id, d.key AS key, d.ontology AS ontology, d.sources AS sources,"
            " d.instances AS instances",
            doc_ids=doc_ids,
        )
        for row in rows:
            self._count(row["ontology"], documents=-1, sources=-row["sources"], instances=-row["instances"])
            self._left[row["doc_id"]] = (row["key"], row["ontology"])
        left = [row["key"] for row in rows]
        mentioned = self._rows(
            "UNWIND $editions AS edition MATCH (o:Owner)-[:MENTIONED_IN]->(:Edition {key: edition})"
            " RETURN DISTINCT o.id AS id",
            editions=left,
        )
        self._concepts.update(row["id"] for row in mentioned)
        self._weigh(left, -1)

    def enter(self, edition: str, publication: Publication) -> None:
        """Show the staged edition with what the publication says of it."""
        document = publication.document
        check(publication.concepts, publication.relationships, self._weigh([edition], 1))
        self._refuse_taken(edition)
        self._fill(edition, document)
        self._meet(publication.concepts)
        self._mention(edition, publication.concepts)
        self._relate(publication.relationships)
        self._entered = (document.doc_id, edition, document.ontology)
        self._concepts.update(concept.concept_id for concept in publication.concepts)

    def _weigh(self, editions: Sequence[str], step: int) -> set[str]:
        """The owners of all evidence in editions that leave (``step`` -1) or enter (1)."""
        rows = self._rows(
            "UNWIND $editions AS edition MATCH (i:Instance {edition: edition})"
            " RETURN edition, i.owner AS owner, i.owner_kind AS kind, i.n AS n, i.digest AS digest",
            editions=editions,
        )
        owners = set()
        for edition, owner, kind, n, digest in rows:
            owners.add(owner)
            self._digests.setdefault(edition, {})[owner, n] = digest
            self._evidence[owner] = self._evidence.get(owner, 0) + step
            if kind == "relationship":
                self._relationships.add(owner)
        return owners

    def _fill(self, edition: str, document: DocumentRow) -> None:
        instances = len(self._digests.get(edition, {}))
        [row] = self._rows(
            "MATCH (e:Edition {key: $edition}) SET e:Document, e += $properties REMOVE e:Staged"
            " SET e.sources = COUNT { MATCH (s:Source {edition: $edition}) } RETURN e.sources AS sources",
            edition=edition,
            properties={**document_properties(document), "instances": instances},
        )
        self._count(document.ontology, documents=1, sources=row["sources"], instances=instances)

    def _refuse_taken(self, edition: str) -> None:
        clash = self._rows(
            "MATCH (mine:Instance {edition: $edition})"
            " MATCH (theirs:Instance {owner: mine.owner, n: mine.n}) USING INDEX SEEK theirs:Instance(owner, n)"
            " WHERE theirs.edition <> $edition"
            f" {shown('theirs')}"
            " RETURN mine.owner AS owner, mine.n AS n LIMIT 1",
            edition=edition,
        )
        if clash:
            raise taken_number(clash[0]["owner"], clash[0]["n"])

    def _meet(self, concepts: Sequence[ConceptRow]) -> None:
        first = {row.concept_id: row for row in reversed(concepts)}
        names = {(row.ontology, row.name) for row in concepts}
        found = self._rows(
            "RETURN COLLECT { UNWIND $ids AS id MATCH (o:Owner {space: $space, id: id}) WHERE o.name IS NOT NULL"
            " RETURN [o.id, o.name, o:Concept] } AS known,"
            " COLLECT { UNWIND $names AS wanted UNWIND [wanted[1], wanted[2]] AS name"
            " MATCH (o:Owner {space: $space, ontology: wanted[0], name: name}) RETURN wanted[..2] } AS held",
            ids=sorted(first),
            names=[[ontology, name, hidden_name(ontology, name)] for ontology, name in sorted(names)],
        )
        known = {id_: (name, lives) for row in found for id_, name, lives in row["known"]}
        new = [row for id_, row in sorted(first.items()) if id_ not in known]
        _refuse_names(new, {(ontology, name) for row in found for ontology, name in row["held"]})
        met = [{"id": row.concept_id, "ontology": row.ontology, "norm": row.norm, "name": row.name} for row in new]
        for id_, (name, lives) in known.items():
            if not lives:
                name = first[id_].name if is_hidden(name) else name
                met.append({"id": id_, "ontology": first[id_].ontology, "norm": first[id_].norm, "name": name})
        self._do(
            "UNWIND $rows AS row MERGE (o:Owner {space: $space, id: row.id})"
            " SET o += row, o.last_n = coalesce(o.last_n, 0)",
            rows=sorted(met, key=lambda row: row["id"]),
        )

    def _mention(self, edition: str, concepts: Sequence[ConceptRow]) -> None:
        ordinals: dict[str, int] = {}
        rows = []
        for row in concepts:
            ordinal = ordinals[row.concept_id] = ordinals.get(row.concept_id, -1) + 1
            rows.append({"id": row.concept_id, "said": {**mention_properties(row.mention), "ordinal": ordinal}})
        self._do(
            "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row.id}) MATCH (e:Edition {key: $edition})"
            " CREATE (o)-[m:MENTIONED_IN]->(e) SET m = row.said",
            rows=rows,
            edition=edition,
        )

    def _relate(self, relationships: Sequence[RelationshipRow]) -> None:
        self._do(
            "UNWIND $rows AS row MERGE (r:Owner {space: $space, id: row.id})"
            " WITH r, row WHERE r.type IS NULL"
            " SET r += row, r.evidence = 0, r.confidence = 0.0, r.mtime = 0, r.last_n = coalesce(r.last_n, 0)"
            " WITH r MATCH (s:Owner {space: $space, id: r.subject}) MATCH (o:Owner {space: $space, id: r.object})"
            " MERGE (r)-[:SUBJECT]->(s) MERGE (r)-[:OBJECT]->(o)",
            rows=[relationship_properties(row) for row in relationships],
        )

    # ------------------------------------------------------------------------------- what follows

    def settle(self, commit_id: str, kind: str) -> int:
        """Bring everything derived from the shown editions up to date, write the feed, return the epoch."""
        self._tell_documents()
        self._tell_evidence()
        self._number_evidence()
        settling = Settling(self._tx, self._space, self._at, self._tell, self._count)
        settling.relationships(self._relationships & self._moved)
        settling.concepts(self._concepts, self._evidence)
        settling.pages()
        parts = feed.parts_of(self._space, self.epoch, self._changes)
        *before, last = [*portions(parts, feed.PARTS_AT_ONCE)] or [[]]
        for some in before:
            feed.write(self._tx, some)
        moves = ", ".join(f"o.{what} = coalesce(o.{what}, 0) + row.{what}" for what in COUNTED)
        run(
            self._tx,
            "MATCH (g:Graph {name: $graph}) SET g.epoch = $epoch, g.newest = $commit_id, g.told = g.told + $told"
            " CREATE (:Commit {space: $space, commit_id: $commit_id, epoch: $epoch, kind: $kind, at: $at})"
            " FOREACH (part IN $parts | CREATE (c:Change) SET c = part)"
            " FOREACH (row IN $counts | MERGE (o:Ontology {space: $space, ontology: row.ontology})"
            f" SET {moves}, o.changed_at = CASE WHEN o.changed_at > $at THEN o.changed_at ELSE $at END)",
            space=self._space,
            graph=self._graph,
            epoch=self.epoch,
            told=len(self._changes),
            parts=last,
            counts=[{"ontology": ontology, **steps} for ontology, steps in sorted(self._counts.items())],
            commit_id=commit_id,
            kind=kind,
            at=self._at,
        ).consume()
        return self.epoch

    def _tell(self, what: str, kind: str, ontology: str, owner: str, name: str) -> None:
        self._changes.append(Change(self.epoch, what, kind, ontology, owner, name))

    def _tell_documents(self) -> None:
        entered = self._entered[0] if self._entered else ""
        for doc_id, (_, ontology) in self._left.items():
            if doc_id != entered:
                self._tell("removed", "document", ontology, ontology, doc_id)
        if self._entered:
            what = "changed" if entered in self._left else "added"
            self._tell(what, "document", self._entered[2], self._entered[2], entered)

    def _tell_evidence(self) -> None:
        edition, ontology = ("", "") if self._entered is None else self._entered[1:]
        entered = self._digests.get(edition, {})
        replaced: dict[tuple[str, int], str] = {}
        for former, former_ontology in self._left.values():
            digests = self._digests.get(former, {})
            replaced |= digests
            for owner, n in sorted(digests.keys() - entered.keys()):
                self._tell_one_evidence("removed", former_ontology, owner, n)
        for (owner, n), digest in sorted(entered.items()):
            if (owner, n) not in replaced:
                self._tell_one_evidence("added", ontology, owner, n)
            elif replaced[owner, n] != digest:
                self._tell_one_evidence("changed", ontology, owner, n)

    def _tell_one_evidence(self, what: str, ontology: str, owner: str, n: int) -> None:
        self._moved.add(owner)
        self._tell(what, "evidence", ontology, owner, str(n))

    def _number_evidence(self) -> None:
        """A number once used stays used, also when its evidence is gone."""
        entered = self._digests.get(self._entered[1], {}) if self._entered else {}
        highest = dict(sorted(entered))
        self._do(
            "UNWIND $rows AS row MATCH (o:Owner {space: $space, id: row[0]}) WHERE o.last_n < row[1] SET o.last_n = row[1]",
            rows=[[owner, n] for owner, n in highest.items()],
        )

    def _count(self, ontology: str, **steps: int) -> None:
        counts = self._counts.setdefault(ontology, dict.fromkeys(COUNTED, 0))
        for what, step in steps.items():
            counts[what] += step


def relationship_properties(row: RelationshipRow) -> dict[str, str]:
    return {
        "id": row.relationship_id,
        "ontology": row.ontology,
        "subject": row.subject,
        "type": row.type,
        "inverse": RELATIONSHIP_TYPES[row.type],
        "object": row.object,
    }


def check(concepts: Sequence[ConceptRow], relationships: Sequence[RelationshipRow], owners: Iterable[str]) -> None:
    """BadInputError for evidence that nobody would count."""
    mentioned = {concept.concept_id for concept in concepts}
    known = mentioned | {relationship.relationship_id for relationship in relationships}
    for owner in owners:
        if owner not in known:
            raise BadInputError(f"Evidence was staged for {owner}, which the publication does not mention.")
    for row in relationships:
        if not {row.subject, row.object} <= mentioned:
            raise BadInputError(f"Relationship {row.relationship_id} joins concepts not mentioned with it.")
        if row.type not in RELATIONSHIP_TYPES:
            types = ", ".join(sorted(RELATIONSHIP_TYPES))
            raise BadInputError(f"'{row.type}' is no relationship type; known are {types}.")


def _refuse_names(new: Sequence[ConceptRow], held: AbstractSet[tuple[str, str]]) -> None:
    """``held`` are names in ontologies that some concept has or had."""
    holders: dict[tuple[str, str], str] = {}
    for row in new:
        if holders.setdefault((row.ontology, row.name), row.concept_id) != row.concept_id:
            raise StoreError(f"The directory name '{row.name}' is another concept's.")
        if (row.ontology, row.name) in held:
            raise StoreError(f"The directory name '{row.name}' is or was another concept's.")


def taken_number(owner: str, n: int) -> StoreError:
    return StoreError(f"Evidence number {n} of {owner} belongs to another document's quote.")
