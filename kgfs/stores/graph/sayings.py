"""What the visible documents say of each concept: equal mentions as one row, with their number and the sum of their scores.

Label, aliases and description of a concept follow from these rows, which are as many as there are different ways to
mention it. So a commit costs the same however many documents mention a concept. A mention that leaves makes the rest of its
row be looked at only where it may have been the first, or the one with the highest score.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from kgfs.domain.knowledge import Saying, points
from kgfs.stores.graph.rows import SHOWN, words

_SAME = ("label", "forms", "kind", "definition", "kinds", "passed")
_KEY = f"concept = ?1 AND {' AND '.join(f'{name} = ?{place}' for place, name in enumerate(_SAME, 2))}"

_MENTIONS = f"""
    SELECT mention.concept, {", ".join(f"mention.{name}" for name in _SAME)}, mention.score, mention.deposit
    FROM mention WHERE mention.document = ?"""

_ENTER = """
    INSERT INTO saying VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?9, ?10)
    ON CONFLICT DO UPDATE SET mentions = mentions + 1, points = points + excluded.points,
        best = max(best, excluded.best), first = min(first, excluded.first)"""

_LEAVE = f"""
    UPDATE saying SET mentions = mentions - 1, points = points - ?8 WHERE {_KEY}
    RETURNING mentions, best, first, definition"""

_REST = f"""
    UPDATE saying SET (best, first) = (
        SELECT max(mention.score), min(mention.deposit)
        FROM mention CROSS JOIN document ON document.key = mention.document AND document.state = {SHOWN}
        WHERE mention.concept = saying.concept AND mention.label = saying.label AND mention.forms = saying.forms
        AND mention.kind = saying.kind AND mention.definition = saying.definition AND mention.kinds = saying.kinds
        AND mention.passed = saying.passed AND mention.document != ?8
    ) WHERE {_KEY}"""


def count_in(connection: sqlite3.Connection, edition: int, concepts: Iterable[int] | None = None) -> None:
    """Count the mentions of an edition, of these concepts alone or of all. Call it when they are visible."""
    for *key, score, deposit in _mentions(connection, edition, concepts):
        connection.execute(_ENTER, (*key, points(score), score, deposit))


def count_out(connection: sqlite3.Connection, edition: int, concepts: Iterable[int] | None = None) -> None:
    """Take mentions of an edition out. Call it before their rows go."""
    for *key, score, deposit in _mentions(connection, edition, concepts):
        mentions, best, first, definition = connection.execute(_LEAVE, (*key, points(score))).fetchone()
        if not mentions:
            connection.execute(f"DELETE FROM saying WHERE {_KEY}", key)
        elif deposit == first or (definition and score == best):
            connection.execute(_REST, (*key, edition))


def sayings_of(connection: sqlite3.Connection, concept: int) -> list[Saying]:
    """Return what is said of the concept with this key."""
    rows = connection.execute(
        f"SELECT {', '.join(_SAME)}, mentions, points, best, first FROM saying WHERE concept = ?", (concept,)
    )
    return [
        Saying(label, words(forms), kind, definition, words(kinds), bool(passed), *numbers)
        for label, forms, kind, definition, kinds, passed, *numbers in rows
    ]


def rests_on_any(connection: sqlite3.Connection, concept: int) -> bool:
    """Return whether the concept passed in a visible document."""
    found = connection.execute("SELECT 1 FROM saying WHERE concept = ? AND passed = 1 LIMIT 1", (concept,))
    return found.fetchone() is not None


def _mentions(connection: sqlite3.Connection, edition: int, concepts: Iterable[int] | None) -> list[tuple]:  # type: ignore[type-arg]
    rows = connection.execute(_MENTIONS, (edition,)).fetchall()
    if concepts is None:
        return rows
    those = {*concepts}
    return [row for row in rows if row[0] in those]
