"""The transaction of one commit to the graph: editions enter and leave, and everything derived from them is
updated."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

from kgfs.domain.knowledge import holds, strength
from kgfs.errors import BadInputError, StoreError
from kgfs.render.concept import ConceptPage
from kgfs.render.words import folded_size
from kgfs.stores.graph.claims import Claims
from kgfs.stores.graph.concepts import Concepts, Moved, count_in, count_out, rests_on_any
from kgfs.stores.graph.editions import of_document
from kgfs.stores.graph.feed import Feed
from kgfs.stores.graph.kinds import KINDS
from kgfs.stores.graph.rows import (
    COUNTED,
    DOCUMENT,
    INSTANCE,
    LEAVING,
    MENTION,
    SHOWN,
    Settled,
    hidden_name,
    inverse,
    is_hidden,
    listed,
    packed,
    slots,
)
from kgfs.stores.graph.vocabulary import ConceptRow, Publication, RelationshipRow

_ADD_TO = f"""
    SELECT DISTINCT document.key, document.doc_id, document.ontology
    FROM mention CROSS JOIN document ON document.key = mention.document
    WHERE mention.concept = ? AND document.state = {SHOWN}"""

DATED = """coalesce(email_date_end, (SELECT own_date(full_text) FROM source
    WHERE source.document = document.key AND chunk_index = 0 AND document.document_type LIKE 'text/%'))"""
"""The date that a document gives itself: of a mail that of its newest message, of a text that of its first fields."""

_EARLIER_TEXT = """
    INSERT OR REPLACE INTO earlier_text
    SELECT doc_id, ontology, reading, coalesce(
        (SELECT byte_end FROM source WHERE document = document.key ORDER BY chunk_index DESC LIMIT 1), 0
    ), text_sha256 = content_hash FROM document WHERE key = ?"""


class Commit:
    """One publication or forgetting. Use an object once: call :meth:`leave` and :meth:`enter`, then
    :meth:`settle`."""

    def __init__(
        self, connection: sqlite3.Connection, at: int, page_before: Callable[[str], ConceptPage | None]
    ) -> None:
        """Begin a commit: raise the epoch by one. ``connection`` is inside a write transaction. ``at`` is a Unix
        time in nanoseconds. ``page_before`` returns a concept's page as readers see it until the transaction ends."""
        self._sql = connection
        self._at = at
        self.epoch: int = connection.execute(
            "UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value"
        ).fetchone()[0]
        self._feed = Feed(connection, self.epoch)
        self._settling = Concepts(connection, at, self._feed, page_before)
        self._left: dict[str, tuple[int, str]] = {}
        self._veiled: dict[str, str] = {}
        """Ontologies of documents whose text is hidden from now on, or no longer, by doc_id."""
        self._entered: tuple[str, int, str] | None = None
        self._concepts: set[str] = set()
        """Ids of concepts whose mentions or evidence differ from before."""
        self._documents: dict[str, int] = {}
        """Change of the number of documents that mention a concept, by concept id."""
        self._relationships: set[str] = set()
        self._evidence: dict[str, int] = {}
        """Change of the number of pieces of evidence, by owner id."""
        self._moved: set[str] = set()
        """Ids of owners whose evidence differs from before."""
        self._replaced: set[str] = set()
        """Ids of visible documents that are reported as changed for what they say."""
        self._derived = {kind.table: kind.derived(connection, at) for kind in KINDS.values()}
        self._related: dict[str, int] = {}
        """Change of the number of relationships, by concept id."""
        self._names: dict[str, str] = {}
        self._looks_back = False
        """Whether places of concepts that rise by this commit are to be looked for in earlier documents."""
        self._counts: dict[str, dict[str, int]] = {}

    # ------------------------------------------------------------------------------- editions

    def leave(self, doc_ids: Iterable[str]) -> None:
        """Mark the visible editions of these documents as leaving. Documents that are not visible are skipped."""
        for doc_id in sorted(set(doc_ids)):
            found = self._sql.execute(
                f"SELECT key, ontology, sources, instances FROM document WHERE doc_id = ? AND state = {SHOWN}",
                (doc_id,),
            ).fetchone()
            if found is None:
                continue
            key, ontology, sources, instances = found
            self._sql.execute(f"UPDATE document SET state = {LEAVING} WHERE key = ?", (key,))
            self._veil("UPDATE document SET hidden_by = '' WHERE hidden_by = ? AND hidden_by != ''", (doc_id,))
            self._sql.execute(_EARLIER_TEXT, (key,))
            self._count(ontology, documents=-1, sources=-sources, instances=-instances)
            self._left[doc_id] = (key, ontology)
            self._touch(key, -1)

    def enter(self, edition: int, publication: Publication) -> None:
        """Make the staged edition visible, with the concepts and relationships of the publication."""
        document = publication.document
        self._fill(edition, publication)
        for doc_id in publication.hides:
            sql = f"UPDATE document SET hidden_by = ? WHERE doc_id = ? AND state = {SHOWN}"
            self._veil(sql, (document.doc_id, doc_id))
        self._check_owners(edition, publication)
        for concept in publication.concepts:
            self._meet(concept)
        self._mention(edition, publication.concepts)
        for relationship in publication.relationships:
            self._relate(relationship)
        self._entered = (document.doc_id, edition, document.ontology)
        self._looks_back = True
        self._touch(edition, 1)

    def _fill(self, edition: int, publication: Publication) -> None:
        document = publication.document
        found = self._sql.execute("SELECT chunk_id FROM source WHERE document = ? ORDER BY chunk_index", (edition,))
        chunk_ids = [chunk_id for (chunk_id,) in found]
        instances = self._sql.execute("SELECT count(*) FROM instance WHERE document = ?", (edition,)).fetchone()[0]
        row = {column: getattr(document, column) for column in DOCUMENT} | of_document(publication, chunk_ids)
        assignments = ", ".join(f"{column} = ?" for column in row)
        self._sql.execute(
            f"UPDATE document SET state = {SHOWN}, sources = ?, instances = ?, title_size = ?, {assignments} WHERE key = ?",
            (len(chunk_ids), instances, folded_size(document.source_title), *row.values(), edition),
        )
        self._sql.execute(f"UPDATE document SET dated = {DATED} WHERE key = ?", (edition,))
        self._count(document.ontology, documents=1, sources=len(chunk_ids), instances=instances)

    def _check_owners(self, edition: int, publication: Publication) -> None:
        """Raise BadInputError for evidence whose owner the publication does not name and for relationships between
        concepts that it does not mention. Raise StoreError for an evidence number that another document's living
        evidence has."""
        mentioned = {concept.concept_id for concept in publication.concepts}
        owners = mentioned | {relationship.relationship_id for relationship in publication.relationships}
        for (owner,) in self._sql.execute("SELECT DISTINCT owner FROM instance WHERE document = ?", (edition,)):
            if owner not in owners:
                raise BadInputError(f"Evidence was staged for {owner}, which the publication does not mention.")
        for relationship in publication.relationships:
            if not {relationship.subject, relationship.object} <= mentioned:
                raise BadInputError(
                    f"Relationship {relationship.relationship_id} joins concepts not mentioned with it."
                )
        clash = self._sql.execute(
            "SELECT mine.owner, mine.n FROM instance mine CROSS JOIN instance theirs"
            " ON theirs.owner = mine.owner AND theirs.n = mine.n AND theirs.document != mine.document"
            f" CROSS JOIN document ON document.key = theirs.document AND document.state = {SHOWN}"
            " WHERE mine.document = ?",
            (edition,),
        ).fetchone()
        if clash:
            raise StoreError(f"Evidence number {clash[1]} of {clash[0]} belongs to another document's quote.")

    def _meet(self, row: ConceptRow) -> None:
        known = self._sql.execute("SELECT live, name FROM concept WHERE concept_id = ?", (row.concept_id,)).fetchone()
        if known is None:
            self._check_name(row)
            try:
                self._sql.execute(
                    "INSERT INTO concept (concept_id, ontology, name, live, norm, label, aliases, description, kind,"
                    " founded, evidence, related, size, mtime, last_n, norm_hash)"
                    " VALUES (?1, ?2, ?3, 0, ?4, '', '[]', '', '', 0, 0, 0, 0, 0, 0, norm_hash(?4))",
                    (row.concept_id, row.ontology, row.name, row.norm),
                )
            except sqlite3.IntegrityError as error:
                raise StoreError(f"The directory name '{row.name}' is or was another concept's.") from error
        elif not known[0]:
            name = row.name if is_hidden(known[1]) else known[1]
            self._sql.execute(
                "UPDATE concept SET norm = ?1, norm_hash = norm_hash(?1), name = ?2 WHERE concept_id = ?3",
                (row.norm, name, row.concept_id),
            )

    def _check_name(self, row: ConceptRow) -> None:
        hidden = (row.ontology, hidden_name(row.ontology, row.name))
        if self._sql.execute("SELECT 1 FROM concept WHERE ontology = ? AND name = ?", hidden).fetchone():
            raise StoreError(f"The directory name '{row.name}' was another concept's.")

    def _mention(self, edition: int, concepts: Sequence[ConceptRow]) -> None:
        ordinals: dict[str, int] = {}
        for row in concepts:
            ordinal = ordinals[row.concept_id] = ordinals.get(row.concept_id, -1) + 1
            values = [
                packed(getattr(row.mention, column)) if column in ("forms", "kinds") else getattr(row.mention, column)
                for column in MENTION
            ]
            self._sql.execute(
                f"INSERT INTO mention (concept, document, ordinal, {', '.join(MENTION)})"
                f" SELECT key, ?, ?, {slots(len(MENTION))} FROM concept WHERE concept_id = ?",
                (edition, ordinal, *values, row.concept_id),
            )

    def _relate(self, row: RelationshipRow) -> None:
        inverse(row.type)
        self._sql.execute(
            "INSERT OR IGNORE INTO relationship (relationship_id, ontology, subject, type, object, evidence, confidence,"
            " mtime, last_n) VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0)",
            (row.relationship_id, row.ontology, row.subject, row.type, row.object),
        )

    def _touch(self, edition: int, step: int) -> None:
        (count_in if step > 0 else count_out)(self._sql, edition)
        for (concept,) in self._sql.execute(
            "SELECT DISTINCT concept.concept_id FROM mention CROSS JOIN concept ON concept.key = mention.concept"
            " WHERE mention.document = ?",
            (edition,),
        ):
            self._concepts.add(concept)
            self._documents[concept] = self._documents.get(concept, 0) + step
        for owner, kind, count in self._sql.execute(
            "SELECT owner, owner_kind, count(*) FROM instance WHERE document = ? GROUP BY owner", (edition,)
        ):
            self._evidence[owner] = self._evidence.get(owner, 0) + step * count
            if kind == "relationship":
                self._relationships.add(owner)
        for derived in self._derived.values():
            derived.touch(edition, step)

    def mark_claim(self, ontology: str, claim_id: str, into: str) -> None:
        """Record what a person said of a claim (``claims.Claims.mark``)."""
        claims = self._derived["claim"]
        assert isinstance(claims, Claims)
        for doc_id in claims.mark(ontology, claim_id, into):
            self._feed.tell("changed", "document", ontology, ontology, doc_id)
        self._count(ontology)

    # ------------------------------------------------------------------------------- derived rows

    def settle(self) -> int:
        """Update everything that is derived from the visible editions, write the change feed, and return the
        epoch."""
        self._drop_unsupported()
        self._tell_documents()
        self._tell_evidence()
        self._number_evidence()
        for relationship_id in sorted(self._relationships):
            self._settle_relationship(relationship_id)
        self._settling.settle(self._concepts, Moved(self._documents, self._evidence, self._related))
        for ontology, step in self._settling.steps.items():
            self._count(ontology, concepts=step)
        for ontology, step in self._settling.by_name.steps.items():
            self._count(ontology, relationships=step)
        settled = Settled(self._settling.risen, self._settling.forms_moved)
        for table, derived in self._derived.items():
            for ontology, owner in derived.settle(settled):
                self._feed.tell("changed", table, ontology, owner, "")
        if self._looks_back:
            self._sql.executemany(
                "INSERT OR REPLACE INTO risen SELECT concept_id, ontology, '' FROM concept WHERE concept_id = ?",
                [(concept_id,) for concept_id in self._settling.risen],
            )
        self._write_counts()
        self._feed.write()
        return self.epoch

    def _drop_unsupported(self) -> None:
        """Remove what documents add to concepts that no visible document has (any more): these are terms again."""
        for concept_id in sorted(self._concepts):
            (key,) = self._sql.execute("SELECT key FROM concept WHERE concept_id = ?", (concept_id,)).fetchone()
            if rests_on_any(self._sql, key):
                continue
            for edition, doc_id, ontology in self._sql.execute(_ADD_TO, (key,)).fetchall():
                numbers = self._sql.execute(
                    "SELECT n FROM instance WHERE owner = ? AND document = ?", (concept_id, edition)
                ).fetchall()
                self._sql.execute("DELETE FROM instance WHERE owner = ? AND document = ?", (concept_id, edition))
                count_out(self._sql, edition, [key])
                self._documents[concept_id] = self._documents.get(concept_id, 0) - 1
                self._sql.execute("DELETE FROM mention WHERE concept = ? AND document = ?", (key, edition))
                self._sql.execute(
                    "UPDATE document SET instances = instances - ? WHERE key = ?", (len(numbers), edition)
                )
                self._count(ontology, instances=-len(numbers))
                self._evidence[concept_id] = self._evidence.get(concept_id, 0) - len(numbers)
                for (n,) in numbers:
                    self._tell_one_evidence("removed", ontology, concept_id, n)
                if self._entered is None or edition != self._entered[1]:
                    self._feed.tell("changed", "document", ontology, ontology, doc_id)

    def _veil(self, update: str, values: Sequence[str]) -> None:
        self._veiled |= dict(self._sql.execute(f"{update} RETURNING doc_id, ontology", values).fetchall())

    def _tell_documents(self) -> None:
        entered = self._entered[0] if self._entered else ""
        for doc_id, (_, ontology) in self._left.items():
            if doc_id != entered:
                self._feed.tell("removed", "document", ontology, ontology, doc_id)
        if self._entered:
            what = "changed" if entered in self._left else "added"
            self._feed.tell(what, "document", self._entered[2], self._entered[2], entered)
        for doc_id, ontology in sorted(self._veiled.items()):
            if doc_id not in self._left and doc_id != entered:
                self._feed.tell("changed", "document", ontology, ontology, doc_id)

    def _tell_evidence(self) -> None:
        doc_id, edition, ontology = self._entered or ("", 0, "")
        entered = set(self._numbers(edition))
        replaced: dict[tuple[str, int], tuple[str, int]] = {}
        for former_doc_id, (former, former_ontology) in self._left.items():
            for owner, n in self._numbers(former):
                replaced[owner, n] = (former_doc_id, former)
                if (owner, n) not in entered:
                    self._tell_one_evidence("removed", former_ontology, owner, n)
        for owner, n in sorted(entered):
            if (owner, n) not in replaced:
                self._tell_one_evidence("added", ontology, owner, n)
            elif self._instance(replaced[owner, n], owner, n) != self._instance((doc_id, edition), owner, n):
                self._tell_one_evidence("changed", ontology, owner, n)

    def _tell_one_evidence(self, what: str, ontology: str, owner: str, n: int) -> None:
        self._moved.add(owner)
        self._feed.tell(what, "evidence", ontology, owner, str(n))

    def _numbers(self, edition: int) -> list[tuple[str, int]]:
        return self._sql.execute("SELECT owner, n FROM instance WHERE document = ?", (edition,)).fetchall()

    def _instance(self, of: tuple[str, int], owner: str, n: int) -> tuple[str, object]:
        doc_id, edition = of
        found = self._sql.execute(
            f"SELECT {listed(INSTANCE, 'instance')} FROM instance WHERE owner = ? AND n = ? AND document = ?",
            (owner, n, edition),
        ).fetchone()
        return doc_id, found

    def _number_evidence(self) -> None:
        """Raise ``last_n`` of each owner to its highest evidence number. A number stays used after its evidence
        has left."""
        if not self._entered:
            return
        for table, key in (("concept", "concept_id"), ("relationship", "relationship_id")):
            self._sql.execute(
                f"UPDATE {table} SET last_n = max(last_n, used.n)"
                " FROM (SELECT owner, max(n) AS n FROM instance WHERE document = ? GROUP BY owner) AS used"
                f" WHERE {table}.{key} = used.owner",
                (self._entered[1],),
            )

    def _settle_relationship(self, relationship_id: str) -> None:
        if relationship_id not in self._moved:
            return
        ontology, subject, type_, object_, evidence_before, by_name = self._sql.execute(
            "SELECT ontology, subject, type, object, evidence, by_name FROM relationship WHERE relationship_id = ?",
            (relationship_id,),
        ).fetchone()
        evidence, different, confidence = self._sql.execute(
            "SELECT count(*), count(DISTINCT instance.quote), coalesce(max(instance.confidence), 0)"
            " FROM instance CROSS JOIN document ON document.key = instance.document"
            f" WHERE instance.owner = ? AND document.state = {SHOWN}",
            (relationship_id,),
        ).fetchone()
        if not holds(type_, different, confidence):
            evidence = 0
        self._sql.execute(
            "UPDATE relationship SET evidence = ?, confidence = ?, mtime = ? WHERE relationship_id = ?",
            (evidence, confidence, self._at, relationship_id),
        )
        lives, lived = evidence or by_name, evidence_before or by_name
        if not lives and not lived:
            return
        what = "changed" if lives and lived else "added" if lives else "removed"
        weight = strength(type_, evidence, confidence)
        self._join(what, ontology, relationship_id, (subject, type_, object_, 0), weight)
        self._join(what, ontology, relationship_id, (object_, inverse(type_), subject, 1), weight)
        if what != "changed":
            self._count(ontology, relationships=1 if what == "added" else -1)
            if type_ == "RELATED_TO":
                self._tell_documents_of(relationship_id)

    def _tell_documents_of(self, relationship_id: str) -> None:
        """Report the other documents whose evidence for a relationship is shown from now on, or no longer."""
        entered = self._entered[0] if self._entered else ""
        for doc_id, ontology in self._sql.execute(
            "SELECT DISTINCT document.doc_id, document.ontology"
            " FROM instance CROSS JOIN document ON document.key = instance.document"
            f" WHERE instance.owner = ? AND document.state = {SHOWN} AND document.doc_id != ? ORDER BY document.doc_id",
            (relationship_id, entered),
        ).fetchall():
            if doc_id not in self._replaced:
                self._feed.tell("changed", "document", ontology, ontology, doc_id)

    def _join(
        self, what: str, ontology: str, relationship_id: str, seen: tuple[str, str, str, int], weight: float
    ) -> None:
        """Add, change or remove one end of a relationship and report it in the feed. ``seen`` is (the concept on
        this side, the type as seen from it, the other concept, incoming)."""
        concept, type_, other, incoming = seen
        name = self._name(other)
        if what == "added":
            row = (concept, type_, name, relationship_id, other, incoming, weight)
            self._sql.execute(f"INSERT INTO neighbour VALUES ({slots(7)})", row)
            self._related[concept] = self._related.get(concept, 0) + 1
        elif what == "removed":
            self._sql.execute(
                "DELETE FROM neighbour WHERE concept = ? AND type = ? AND name = ? AND relationship_id = ? AND incoming = ?",
                (concept, type_, name, relationship_id, incoming),
            )
            self._related[concept] = self._related.get(concept, 0) - 1
        else:
            self._sql.execute(
                "UPDATE neighbour SET strength = ?6"
                " WHERE concept = ?1 AND type = ?2 AND name = ?3 AND relationship_id = ?4 AND incoming = ?5",
                (concept, type_, name, relationship_id, incoming, weight),
            )
        self._feed.tell(what, "related", ontology, concept, f"{type_}/{name}")

    def _name(self, concept_id: str) -> str:
        if concept_id not in self._names:
            found = self._sql.execute("SELECT name FROM concept WHERE concept_id = ?", (concept_id,)).fetchone()
            self._names[concept_id] = found[0]
        return self._names[concept_id]

    def _count(self, ontology: str, **steps: int) -> None:
        counts = self._counts.setdefault(ontology, dict.fromkeys(COUNTED, 0))
        for what, step in steps.items():
            counts[what] += step

    def _write_counts(self) -> None:
        for ontology, steps in self._counts.items():
            moves = ", ".join(f"{what} = {what} + excluded.{what}" for what in COUNTED)
            self._sql.execute(
                f"INSERT INTO counter (ontology, changed_at, {', '.join(COUNTED)}) VALUES (?, ?, {slots(len(COUNTED))})"
                f" ON CONFLICT (ontology) DO UPDATE SET changed_at = max(changed_at, excluded.changed_at), {moves}",
                (ontology, self._at, *steps.values()),
            )
