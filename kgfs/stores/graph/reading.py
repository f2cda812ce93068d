"""The reading half of the graph, one indexed query for each method."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from kgfs.stores.database import Database
from kgfs.stores.graph import scoped
from kgfs.stores.graph.claims import ClaimReads
from kgfs.stores.graph.concept_reads import SELECT_CONCEPT, ConceptReads
from kgfs.stores.graph.document_reads import DocumentReads
from kgfs.stores.graph.feed import changes
from kgfs.stores.graph.joined import JoinedReads
from kgfs.stores.graph.kinds import rows_of
from kgfs.stores.graph.named import NamedReads
from kgfs.stores.graph.rows import (
    COUNTED,
    MARKS,
    SHOWN,
    STAGED,
    THOSE,
    known_as,
    mark_row,
)
from kgfs.stores.graph.scoped import draw, stepwise
from kgfs.stores.graph.terms import TermReads
from kgfs.stores.graph.vocabulary import (
    EVERYTHING,
    TEXT_ONLY,
    Change,
    Concept,
    Fault,
    Mark,
    Scope,
)


class GraphReads(DocumentReads, ConceptReads):
    """The read methods of the graph. Any thread may call them at any time; each call sees the newest commit."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.terms = TermReads(database)
        """The reads of what could be looked up, and of what is a term."""
        self.named = NamedReads(database)
        """The reads of where concepts are named."""
        self.joined = JoinedReads(database)
        """The reads of acronyms and of the joinings that rest on them."""
        self.claims = ClaimReads(database)
        """The reads of claims."""

    def faults(self) -> list[Fault]:
        from kgfs.stores.graph.faults import faults  # needed by checks only

        with self._database.snapshot() as connection:
            return faults(connection)

    def epoch(self) -> int:
        """Return the number of the newest commit that reads show; 0 before the first commit."""
        found: int = self._database.row("SELECT value FROM meta WHERE name = 'epoch'")[0]
        return found

    def clears(self) -> int:
        """Return how often the content of the graph, or of one ontology, was replaced as a whole: cleared, derived
        again or copied again. A reader that finds another number than before must drop its caches whatever the
        epoch is, because the epoch may be equal or lower."""
        found: int = self._database.row("SELECT value FROM meta WHERE name = 'clears'")[0]
        return found

    def published(self, commit_id: str) -> int | None:
        """Return the epoch in which ``commit_id`` became visible; None if it has not."""
        found = self._database.row('SELECT epoch FROM "commit" WHERE commit_id = ?', (commit_id,))
        return found[0] if found else None

    def staged(self) -> list[str]:
        """Return the commit ids that have staged rows and are neither published nor abandoned."""
        rows = self._database.rows(f"SELECT DISTINCT commit_id FROM document WHERE state = {STAGED} ORDER BY commit_id")
        return [commit_id for (commit_id,) in rows]

    def changes(self, after: int, limit: int = 10000) -> list[Change] | None:
        """Return the entries of the change feed above epoch ``after``, whole epochs only; None when the feed does
        not reach back that far."""
        with self._database.snapshot() as connection:
            return changes(connection, after, limit)

    def counts(self, ontology: str = "") -> Mapping[str, int]:
        """Return the numbers of documents, sources, concepts, relationships and instances, of one ontology or of
        all. Not a scan."""
        sums = ", ".join(f"coalesce(sum({name}), 0)" for name in COUNTED)
        where, values = ("WHERE ontology = ?", (ontology,)) if ontology else ("", ())
        return dict(zip(COUNTED, self._database.row(f"SELECT {sums} FROM counter {where}", values), strict=True))

    def texts(self, ontology: str) -> int:
        """Return the number of documents of an ontology of which only the text is shown so far. ``counts`` counts them as
        documents."""
        sql = f"SELECT count(*) FROM document WHERE ontology = ? AND state = {SHOWN} AND status = '{TEXT_ONLY}'"
        found: int = self._database.row(sql, (ontology,))[0]
        return found

    def read_before(self, version: int) -> int:
        """Return the number of visible documents that an ingest version before ``version`` read. Reads an index of them."""
        sql = f"SELECT count(*) FROM document WHERE ingest_version < ? AND state = {SHOWN}"
        found: int = self._database.row(sql, (version,))[0]
        return found

    def extent(self, doc_ids: Collection[str]) -> tuple[int, int]:
        """Return the characters and the pieces of evidence of those of these documents that are visible."""
        sums = "coalesce(sum(content_length), 0), coalesce(sum(instances), 0)"
        found = self._database.row(
            f"SELECT {sums} FROM document WHERE doc_id IN {THOSE} AND state = {SHOWN}", (json.dumps([*doc_ids]),)
        )
        return int(found[0]), int(found[1])

    def hidden(self, doc_ids: Collection[str]) -> frozenset[str]:
        """Return those of these documents whose text is not found, since the text of a successor is shown already."""
        any_hidden = (
            "EXISTS (SELECT 1 FROM document INDEXED BY document_hidden WHERE hidden_by != '')"  # mostly none is
        )
        rows = self._database.rows(
            f"SELECT doc_id FROM document WHERE {any_hidden} AND doc_id IN {THOSE} AND state = {SHOWN} AND hidden_by != ''",
            (json.dumps([*doc_ids]),),
        )
        return frozenset(doc_id for (doc_id,) in rows)

    def hidden_by(self, doc_id: str) -> tuple[str, ...]:
        """Return the documents whose text is not found while the text of this one is shown, ordered by doc_id."""
        sql = f"SELECT doc_id FROM document WHERE hidden_by = ? AND hidden_by != '' AND state = {SHOWN} ORDER BY doc_id"
        return tuple(hidden for (hidden,) in self._database.rows(sql, (doc_id,)))

    def changed_at(self, ontology: str) -> int:
        """Return when a publication or a forgetting last changed what is visible of an ontology, in Unix
        nanoseconds; 0 if none did."""
        found = self._database.row("SELECT changed_at FROM counter WHERE ontology = ?", (ontology,))
        return found[0] if found else 0

    def rows(self, table: str, ontology: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a kind (``graph.kinds``) in the visible documents of an ontology, in order of their values.
        ``doc_id`` and concept id stand in place of keys, so equal graphs give equal rows. Nothing may be published
        meanwhile."""
        with self._database.snapshot() as connection:
            yield from rows_of(connection, table, ontology)

    # ----------------------------------------------------------------------------------- for matching

    def match(self, ontology: str, norms: Sequence[str], scope: Scope = EVERYTHING) -> dict[str, str]:
        """Return the concept id of each normalised label or alias that is known. An exact label wins over an
        alias. An alias of several concepts belongs to the concept founded first: the one whose mentions have the
        earliest deposit, then the one with the lowest ``norm_hash``, then the one with the lowest id. Every
        surface form of a mention counts as an alias, whether it is shown or not. In a ``scope`` narrower than
        EVERYTHING, only labels and aliases of mentions inside the scope are known; among several concepts the same
        order decides."""
        found: dict[str, str] = {}
        limit = 1 if scope == EVERYTHING else -1
        with self._database.snapshot():
            for norm in norms:
                rows = self._database.rows(
                    "SELECT concept.concept_id, concept.key"
                    # Else the index by folded forms may be taken, of which only the ontology would narrow the search.
                    " FROM concept_form INDEXED BY concept_form_match"
                    " CROSS JOIN concept ON concept.key = concept_form.concept"
                    " WHERE concept_form.ontology = ? AND concept_form.form = ?"
                    " ORDER BY concept_form.rank, concept.founded, concept.norm_hash, concept.concept_id LIMIT ?",
                    (ontology, norm, limit),
                )
                for concept_id, key in rows:
                    if limit == 1 or scoped.says(self._database, scope, key, norm):
                        found[norm] = concept_id
                        break
        return found

    def marked(self, marks: Sequence[str]) -> list[Mark]:
        """Return the statements of persons recorded under these marks, ordered by mark and concept."""
        found = (
            self._database.rows(f"{MARKS} WHERE mark.mark = ? ORDER BY mark.concept", (m,)) for m in sorted(set(marks))
        )
        return [mark_row(row) for rows in found for row in rows]

    def marks_of(self, concept_id: str) -> list[Mark]:
        """Return the statements of persons about a concept, living or not, ordered by mark."""
        rows = self._database.rows(f"{MARKS} WHERE mark.concept = ? ORDER BY mark.mark", (concept_id,))
        return [mark_row(row) for row in rows]

    def next_numbers(self, owners: Collection[str]) -> dict[str, int]:
        """Return for each concept or relationship the evidence number above all that were ever used for it; 1 for
        a new one."""
        rows = self._database.rows(
            f"SELECT concept_id, last_n FROM concept WHERE concept_id IN {THOSE}"
            f" UNION ALL SELECT relationship_id, last_n FROM relationship WHERE relationship_id IN {THOSE}",
            (json.dumps([*owners]),),
        )
        return dict.fromkeys(owners, 1) | {owner: last + 1 for owner, last in rows}

    def names_taken(self, ontology: str, names: Collection[str]) -> dict[str, str]:
        """Return, for those of these directory names that a concept has or ever had, the id of that concept. Names
        hidden by a purge are found too."""
        shown = known_as(ontology, names)
        rows = self._database.rows(
            f"SELECT name, concept_id FROM concept WHERE name IN {THOSE} AND ontology = ?2",
            (json.dumps([*shown]), ontology),
        )
        return {shown[name]: concept_id for name, concept_id in rows}

    def popular(self, ontology: str, limit: int, scope: Scope = EVERYTHING) -> list[Concept]:
        """Return the concepts with the highest sum of living relationships and evidence, highest first, ties by
        ``norm_hash`` and then by concept id. In a narrower ``scope``, return only concepts that a mention in the
        scope names; with ``since``, the sum counts only what is inside the scope."""
        if scope != EVERYTHING:
            with self._database.snapshot():
                return self._living(scoped.popular(self._database, ontology, limit, scope))
        where = "WHERE ontology = ? AND live = 1 ORDER BY related + evidence DESC, norm_hash, concept_id LIMIT ?"
        return self._concepts(f"{SELECT_CONCEPT} {where}", (ontology, limit))

    def sample(self, ontology: str, limit: int, seed: int, scope: Scope = EVERYTHING) -> list[Concept]:
        """Return a random choice of the concepts that a mention in the scope names; the choice is the same for the
        same seed and graph."""
        with self._database.snapshot():
            if scope != EVERYTHING:
                return self._living(scoped.sample(self._database, ontology, limit, seed, scope))
            drawn = draw(
                seed,
                limit,
                self.counts(ontology)["concepts"],
                stepwise(lambda at, count: self._ids(ontology, at, count)),
                lambda: self._ids(ontology, "", -1),
            )
            return self._living(drawn)

    def _living(self, concept_ids: Sequence[str]) -> list[Concept]:
        found = self.concepts_by_id(concept_ids)
        return [found[concept_id] for concept_id in concept_ids if concept_id in found]

    def _ids(self, ontology: str, at: str, count: int) -> list[str]:
        where = "WHERE ontology = ? AND norm_hash >= ? AND live = 1 ORDER BY norm_hash, concept_id LIMIT ?"
        rows = self._database.rows(f"SELECT concept_id FROM concept {where}", (ontology, at, count))
        return [concept_id for (concept_id,) in rows]
