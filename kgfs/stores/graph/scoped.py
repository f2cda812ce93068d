"""Query the graph for matching within a :class:`~kgfs.stores.graph.vocabulary.Scope`, as if only some mentions
existed.

A concept is in the scope if a visible mention in the scope names it. To sample concepts, the mentions are scanned
if few documents are in the scope. Otherwise the concepts are scanned, since most of them are then in the scope. So
neither a small scope nor a large one costs a scan of the whole graph.

A random choice of concepts depends only on the seed and the living concepts, and scans none of the others.
"""

from __future__ import annotations

import bisect
import json
import random
from collections.abc import Callable, Sequence

from kgfs.domain.identity import normalise_label
from kgfs.stores.database import Database
from kgfs.stores.graph.rows import SHOWN
from kgfs.stores.graph.vocabulary import Scope

SKIP = 32
"""Each draw starts at a random hash and takes up to this many steps from there. Otherwise an id behind a narrow
gap between hashes would be drawn rarely."""
FRUITLESS = 32
"""The number of rounds without a new id after which drawing ends, because no other ids exist. At least half of
``count`` are undrawn before, so this does not happen by chance."""

Nth = Callable[[Sequence[tuple[str, int]]], Sequence[str]]
"""For each (hash, n), return the n-th id whose hash is not below that hash; after the last id comes the first."""

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


def draw(
    seed: int,
    limit: int,
    count: int,
    nth: Nth,
    every: Callable[[], Sequence[str]],
) -> list[str]:
    """Return ``limit`` distinct ids of ``count``, in the order drawn.

    Ids are ordered by their hashes (``norm_hash``), which are spread evenly. Each draw starts at a random hash,
    and the last id is followed by the first. ``nth`` returns the ids for many draws at once. ``every`` returns all
    ids in that order; they are sampled directly if most of them are wanted anyway. Returns fewer ids if some were
    removed since ``count`` was taken."""
    source = random.Random(seed)
    if count <= max(2 * limit, SKIP):
        return source.sample(list(every()), min(limit, count))
    drawn: dict[str, None] = {}
    fruitless = 0
    while len(drawn) < limit and fruitless < FRUITLESS:
        starts = []
        for _ in range(limit - len(drawn)):
            steps = source.randrange(SKIP) + 1
            starts.append((f"{source.getrandbits(64):016x}", steps))
        before = len(drawn)
        drawn |= dict.fromkeys(nth(starts))
        fruitless = 0 if len(drawn) > before else fruitless + 1
    return list(drawn)


def stepwise(following: Callable[[str, int], Sequence[str]]) -> Nth:
    """Return an :data:`Nth` that answers each draw by a query of its own. ``following(hash, n)`` returns the first
    ``n`` ids whose hash is not below that one."""

    def nth(text: str, steps: int) -> str:
        found = following(text, steps)
        return (found if len(found) == steps else following("", steps - len(found)))[-1]

    return lambda starts: [nth(text, steps) for text, steps in starts]
