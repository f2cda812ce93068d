"""Update the concepts that a commit touched: label, aliases, description, whether they live, size and mtime of
their pages.

The table ``saying`` has what the visible documents say of each concept: equal mentions are one row, with their number
and the sum of their scores. Label, aliases and description of a concept follow from these rows, which are as many as
there are different ways to mention it. So a commit costs the same however many documents mention a concept. A mention
that leaves makes the rest of its row be looked at only where it may have been the first, or the one with the highest
score.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from kgfs.domain.forms import form_key
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import Saying, points
from kgfs.render.concept import ConceptPage, Summary, render, summarise_sayings, surface_forms
from kgfs.render.words import folded_size
from kgfs.stores.graph.by_name import ByName
from kgfs.stores.graph.feed import Feed
from kgfs.stores.graph.pages import meanings, most_telling, page_frame, page_size, with_lines
from kgfs.stores.graph.rows import SHOWN, packed, words

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


@dataclass(frozen=True, slots=True)
class Moved:
    """The changes that a commit makes to the numbers of concepts, by concept id. A missing id means no change."""

    documents: Mapping[str, int]
    evidence: Mapping[str, int]
    related: Mapping[str, int]

    def anything(self, concept_id: str) -> bool:
        """Return whether any number of the concept changes."""
        return any(steps.get(concept_id) for steps in (self.documents, self.evidence, self.related))


@dataclass(frozen=True, slots=True)
class _Living:
    key: int
    name: str
    frame: ConceptPage
    """The concept's page as of this commit, without its lines."""
    changed: bool
    """True if the page changes for certain, since it shows every number that moved."""
    founded: bool


class Concepts:
    """The concepts of one commit, inside its transaction. ``page_before`` returns a concept's page as readers see
    it."""

    def __init__(
        self, connection: sqlite3.Connection, at: int, feed: Feed, page_before: Callable[[str], ConceptPage | None]
    ) -> None:
        self._sql = connection
        self._at = at
        self._feed = feed
        self._page_before = page_before
        self._living: dict[str, _Living] = {}
        self._relabelled: set[str] = set()
        self.by_name = ByName(connection, at, feed)
        self.steps: dict[str, int] = {}
        """Change of the number of living concepts, by ontology."""
        self.forms_moved: set[tuple[str, str]] = set()
        """(ontology, key) of the forms that concepts gained or lost."""
        self.risen: set[str] = set()
        """Ids of concepts that live by this commit and did not before."""

    def settle(self, concept_ids: Iterable[str], moved: Moved) -> None:
        """Update these concepts, and the pages of their neighbours. Call it once, after relationships and evidence
        of the commit are final."""
        touched = sorted(concept_ids)
        for concept_id in touched:
            self._settle(concept_id, moved)
        neighbours = {
            other
            for concept_id in self._relabelled
            for (other,) in self._sql.execute("SELECT other FROM neighbour WHERE concept = ?", (concept_id,))
        }
        self._settle_pages(sorted({*touched, *neighbours, *self._settle_by_name()}))

    def _settle_by_name(self) -> list[str]:
        """Add and remove relationships by name, and return the ids of the concepts whose pages show that."""
        self.by_name.settle()
        for concept_id, step in self.by_name.related.items():
            living = self._living.get(concept_id)
            if living is None:
                self._sql.execute(
                    "UPDATE concept SET related = related + ? WHERE concept_id = ? AND live = 1", (step, concept_id)
                )
                continue
            frame = replace(living.frame, related_count=living.frame.related_count + step)
            self._living[concept_id] = replace(living, frame=frame, changed=True)
        return [*self.by_name.related]

    # ------------------------------------------------------------------------------- labels and aliases

    def _settle(self, concept_id: str, moved: Moved) -> None:
        key, ontology, name, live, norm, evidence, related, documents, *before = self._sql.execute(
            "SELECT key, ontology, name, live, norm, evidence, related, documents,"
            " founded, label_size, label, aliases, description, kind FROM concept WHERE concept_id = ?",
            (concept_id,),
        ).fetchone()
        said = sayings_of(self._sql, key)
        if not said:
            self._bury(key, concept_id, ontology, name, lived=bool(live))
            return
        founded = min(one.first for one in said if one.passed)
        documents += moved.documents.get(concept_id, 0)
        summary = summarise_sayings(said)
        now = [founded, folded_size(summary.label), *_shown(summary)]
        if now != before or not live:
            self._sql.execute(
                f"UPDATE concept SET {'' if live else 'live = 1, '}founded = ?, label_size = ?, label = ?, aliases = ?,"
                " description = ?, kind = ? WHERE key = ?",
                (*now, key),
            )
        forms = {normalise_label(form): 2 for form in surface_forms(said)}
        forms |= {normalise_label(summary.label): 1, norm: 0}
        self._set_forms(key, ontology, forms)
        ends = {kind for one in said for kind in one.kinds}
        named = form_key(summary.label)  # of mentions under several forms only the label is the concept's name
        self.by_name.set_kinds(key, concept_id, ontology, {kind for kind in ends if named.endswith(f" {kind}")})
        if founded != before[0] or now[2] != before[2]:  # of two concepts with one form the one founded first is meant
            self.by_name.renamed(ontology, map(form_key, forms))
        if now[2] != before[2]:
            self._relabelled.add(concept_id)
        if not live:
            self.risen.add(concept_id)
            self._count(ontology, 1)
            self._feed.tell("added", "concept", ontology, ontology, name)
        self._living[concept_id] = _Living(
            key=key,
            name=name,
            frame=ConceptPage(
                concept_id=concept_id,
                ontology=ontology,
                label=summary.label,
                aliases=summary.aliases,
                kind=summary.kind,
                description=summary.description,
                documents=documents,
                evidence_count=evidence + moved.evidence.get(concept_id, 0),
                related_count=related + moved.related.get(concept_id, 0),
                evidence=(),
                related=(),
                telling=None if summary.description else most_telling(self._sql, concept_id),
                meanings=meanings(self._sql, concept_id, (summary.label, *summary.aliases)),
            ),
            changed=not live or now[2:] != before[2:] or moved.anything(concept_id),
            founded=not live,
        )

    def _bury(self, key: int, concept_id: str, ontology: str, name: str, *, lived: bool) -> None:
        self._sql.execute(
            "UPDATE concept SET live = 0, norm = '', norm_hash = '', label = '', aliases = '[]', description = '', kind = '', founded = 0,"
            " evidence = 0, related = 0, documents = 0, size = 0, mtime = 0 WHERE key = ?",
            (key,),
        )
        self._sql.execute("DELETE FROM risen WHERE concept_id = ?", (concept_id,))
        self._set_forms(key, ontology, {})
        self.by_name.set_kinds(key, concept_id, ontology, ())
        if not lived:  # documents only add to a concept that none has
            return
        self._count(ontology, -1)
        self._feed.tell("removed", "concept", ontology, ontology, name)

    def _set_forms(self, key: int, ontology: str, forms: dict[str, int]) -> None:
        known = dict(self._sql.execute("SELECT form, rank FROM concept_form WHERE concept = ?", (key,)).fetchall())
        for form in known.keys() - forms.keys():
            self._sql.execute("DELETE FROM concept_form WHERE concept = ? AND form = ?", (key, form))
        for form, rank in forms.items() - known.items():
            self._sql.execute(
                "INSERT OR REPLACE INTO concept_form (concept, form, rank, ontology, folded) VALUES (?, ?, ?, ?, ?)",
                (key, form, rank, ontology, form_key(form)),
            )
        self.forms_moved.update((ontology, form_key(form)) for form in known.keys() ^ forms.keys())
        if known != forms:
            self.by_name.renamed(ontology, map(form_key, known | forms))

    def _count(self, ontology: str, step: int) -> None:
        self.steps[ontology] = self.steps.get(ontology, 0) + step

    # ------------------------------------------------------------------------------- pages

    def _settle_pages(self, concept_ids: Iterable[str]) -> None:
        """Update size and mtime of the pages that changed, among the concepts touched, the ends of relationships
        that moved, and the concepts whose page shows a neighbour's new label."""
        changed: list[tuple[int, int, int, int, int, int]] = []
        for concept_id in concept_ids:
            living = self._living.get(concept_id) or self._untouched(concept_id)
            size = self._size_now(living) if living else None
            if living is None or size is None:
                continue
            frame = living.frame
            changed.append((frame.evidence_count, frame.related_count, frame.documents, size, self._at, living.key))
            if not living.founded:
                self._feed.tell("changed", "concept", frame.ontology, frame.ontology, living.name)
        self._sql.executemany(
            "UPDATE concept SET evidence = ?, related = ?, documents = ?, size = ?, mtime = ? WHERE key = ?", changed
        )

    def _untouched(self, concept_id: str) -> _Living | None:
        """Return the present state of a concept that this commit did not touch; None if the concept is dead."""
        found = page_frame(self._sql, concept_id)
        return _Living(*found, changed=False, founded=False) if found else None

    def _size_now(self, living: _Living) -> int | None:
        """Return the bytes of the page as of this commit; None if the page has not changed."""
        if living.changed:
            return page_size(self._sql, living.frame)
        content = render(with_lines(self._sql, living.frame))
        before = self._page_before(living.frame.concept_id)
        return None if before is not None and content == render(before) else len(content)


def _shown(summary: Summary) -> tuple[str, str, str, str]:
    return summary.label, packed(summary.aliases), summary.description, summary.kind


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
