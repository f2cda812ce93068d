"""Query the graph for matching within a :class:`~kgfs.stores.graph.vocabulary.Scope`, as if only some mentions
existed.

A concept is in the scope if a visible mention in the scope names it. To sample concepts, the mentions are scanned
if few documents are in the scope. Otherwise the concepts are scanned, since most of them are then in the scope. So
neither a small scope nor a large one costs a scan of the whole graph."""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Sequence

from kgfs.domain.identity import normalise_label
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import SHOWN
from kgfs.stores.graph.sampling import SKIP, draw, stepwise
from kgfs.stores.graph.vocabulary import Scope

FEW = 100
"""The highest number of documents in a scope for which their mentions are scanned."""

_IN_SCOPE = f"""EXISTS (
    SELECT 1 FROM mention CROSS JOIN document ON document.key = mention.document
    WHERE mention.concept = concept.key AND document.state = {SHOWN}
    AND mention.deposit >= :since AND document.doc_id != :but
)"""


def says(database: Database, scope: Scope, concept: int, norm: str) -> bool:
    """Return whether a mention in the scope has the normalised form ``norm`` for the concept with this key."""
    rows = database.rows(
        "SELECT mention.label, mention.forms FROM mention CROSS JOIN document ON document.key = mention.document"
        f" WHERE mention.concept = ? AND document.state = {SHOWN} AND mention.deposit >= ? AND document.doc_id != ?",
        (concept, scope.since, scope.but),
    )
    return any(norm in map(normalise_label, (label, *json.loads(forms))) for label, forms in rows)


_WEIGHED = f"""
WITH inside AS (
    SELECT key FROM document WHERE ontology = :ontology AND state = {SHOWN} AND deposit >= :since AND doc_id != :but
), counted AS (
    SELECT owner, count(*) AS n FROM instance WHERE document IN inside GROUP BY owner
)
SELECT concept_id FROM (
    SELECT concept.concept_id, counted.n AS weight FROM counted CROSS JOIN concept ON concept_id = owner
    UNION ALL SELECT subject, 1 FROM counted CROSS JOIN relationship ON relationship_id = owner
    UNION ALL SELECT object, 1 FROM counted CROSS JOIN relationship ON relationship_id = owner
    UNION ALL SELECT concept.concept_id, 0 FROM mention CROSS JOIN concept ON concept.key = mention.concept
    WHERE mention.document IN inside
) CROSS JOIN concept USING (concept_id)
GROUP BY concept_id ORDER BY sum(weight) DESC, norm_hash, concept_id LIMIT :limit
"""


def popular(database: Database, ontology: str, limit: int, scope: Scope) -> list[str]:
    """Return ids of concepts in the scope, in the order of ``Graph.popular``. With ``since`` the cost grows with
    the rows in the scope (an index scan, 0.1 µs a piece of evidence)."""
    if scope.since:
        words = {"ontology": ontology, "limit": limit, "since": scope.since, "but": scope.but}
        return [concept_id for (concept_id,) in database.rows(_WEIGHED, words)]
    rows = database.rows(
        f"SELECT concept_id FROM concept WHERE ontology = :ontology AND live = 1 AND {_IN_SCOPE}"
        " ORDER BY related + evidence DESC, norm_hash, concept_id LIMIT :limit",
        {"ontology": ontology, "limit": limit, "since": scope.since, "but": scope.but},
    )
    return [concept_id for (concept_id,) in rows]


def sample(database: Database, ontology: str, limit: int, seed: int, scope: Scope) -> list[str]:
    """Return a random choice of the concepts in the scope, as ``Graph.sample`` does."""
    few = _of_few(database, ontology, scope)
    following: Callable[[str, int], Sequence[str]]
    if few is not None:
        hashes, ids = [norm_hash for norm_hash, _ in few], [concept_id for _, concept_id in few]
        following = lambda at, count: ids[bisect.bisect_left(hashes, at) :][:count]  # noqa: E731
        known = len(ids)
    else:

        def following(at: str, count: int) -> list[str]:
            rows = database.rows(
                f"SELECT concept_id FROM concept WHERE ontology = :ontology AND norm_hash >= :at AND live = 1"
                f" AND {_IN_SCOPE} ORDER BY norm_hash, concept_id LIMIT :count",
                {"ontology": ontology, "at": at, "count": count, "since": scope.since, "but": scope.but},
            )
            return [concept_id for (concept_id,) in rows]

        # Counting stops here: draw() only compares the count with this bound.
        known = len(following("", max(2 * limit, SKIP) + 1))
    return draw(seed, limit, known, stepwise(following), lambda: following("", known))


def _of_few(database: Database, ontology: str, scope: Scope) -> list[tuple[str, str]] | None:
    """Return (norm_hash, concept_id) of all concepts in the scope, in order; None if more than FEW documents are
    in it."""
    documents = database.rows(
        f"SELECT key FROM document WHERE ontology = ? AND state = {SHOWN} AND deposit >= ? AND doc_id != ? LIMIT ?",
        (ontology, scope.since, scope.but, FEW + 1),
    )
    if len(documents) > FEW:
        return None
    return database.rows(
        "SELECT norm_hash, concept_id FROM concept WHERE key IN (SELECT mention.concept"
        " FROM json_each(?) AS edition CROSS JOIN mention ON mention.document = edition.value) ORDER BY norm_hash, concept_id",
        (json.dumps([key for (key,) in documents]),),
    )
