"""Conversion between the data types of the vocabulary and table rows: lists of columns, and functions for both
directions.

After a purge a hash substitutes for the directory name of a dead concept; it suffices to never assign the name again.
:class:`Derived` is the base of what a commit works out of the rows of a kind.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from kgfs.domain.knowledge import RELATIONSHIP_TYPES, Mention
from kgfs.errors import BadInputError
from kgfs.stores.graph.vocabulary import Concept, DocumentRow, InstanceRow, Mark, SourceRow

_MARK = "/"
"""The first character of a hidden name. No directory name contains it."""

STAGED, SHOWN, LEAVING = 0, 1, 2
"""States of an edition (see schema.sql)."""


def _columns(kind: type, leave_out: str = "") -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind) if item.name != leave_out)


DOCUMENT = _columns(DocumentRow)
SOURCE = _columns(SourceRow, "doc_id")
INSTANCE = _columns(InstanceRow, "doc_id")
CONCEPT = _columns(Concept)
MENTION = ("deposit", "label", "forms", "kind", "score", "definition", "kinds", "passed")
"""Columns in the order of the fields of the vocabulary's types; the functions below rely on this order."""

COUNTED = ("documents", "sources", "concepts", "relationships", "instances")
"""The counters of each ontology, in the order of ``Graph.counts``."""


THOSE = "(SELECT value FROM json_each(?1))"
"""The values of a JSON list, the first parameter."""


def listed(columns: Sequence[str], table: str) -> str:
    """Return the columns, each prefixed with the table, as a list for SELECT."""
    return ", ".join(f"{table}.{column}" for column in columns)


def slots(count: int) -> str:
    """Return ``count`` parameter placeholders, separated by commas."""
    return ", ".join("?" * count)


def words(packed: str) -> tuple[str, ...]:
    """Decode a column with a list of strings; the reverse of :func:`packed`."""
    return tuple(json.loads(packed)) if packed != "[]" else ()


def packed(items: Sequence[str]) -> str:
    """Encode strings for a column, as JSON."""
    return json.dumps(items, ensure_ascii=False, separators=(",", ":")) if items else "[]"


def source_values(row: SourceRow) -> list[Any]:
    """Return the values of the SOURCE columns."""
    values = [packed(row.section_path) if name == "section_path" else getattr(row, name) for name in SOURCE]
    if row.embedding_text == row.full_text:
        values[_SOURCE_EMBEDDED] = ""
    return values


def instance_values(row: InstanceRow) -> list[Any]:
    """Return the values of the INSTANCE columns."""
    return [packed(row.section_path) if name == "section_path" else getattr(row, name) for name in INSTANCE]


_SOURCE_EMBEDDED = SOURCE.index("embedding_text")
_SOURCE_PATH = SOURCE.index("section_path") + 1
_INSTANCE_PATH = [item.name for item in fields(InstanceRow)].index("section_path")
_INSTANCE_DOC = [item.name for item in fields(InstanceRow)].index("doc_id")
_INSTANCE_DEFINES = [item.name for item in fields(InstanceRow)].index("defines")
_CONCEPT_ALIASES = CONCEPT.index("aliases")


def source_row(found: Sequence[Any]) -> SourceRow:
    """Return a SourceRow from ``doc_id`` and the SOURCE columns."""
    values = list(found)
    values[_SOURCE_PATH] = words(values[_SOURCE_PATH])
    row = SourceRow(*values)
    if not row.embedding_text and not row.gated:
        row.embedding_text = row.full_text
    return row


def instance_row(found: Sequence[Any]) -> InstanceRow:
    """Return an InstanceRow from ``doc_id`` and the INSTANCE columns."""
    values = list(found)
    values.insert(_INSTANCE_DOC, values.pop(0))
    values[_INSTANCE_PATH] = words(values[_INSTANCE_PATH])
    values[_INSTANCE_DEFINES] = bool(values[_INSTANCE_DEFINES])
    return InstanceRow(*values)


def concept_row(found: Sequence[Any]) -> Concept:
    """Return a Concept from the CONCEPT columns."""
    values = list(found)
    values[_CONCEPT_ALIASES] = words(values[_CONCEPT_ALIASES])
    return Concept(*values)


def mention_row(found: Sequence[Any]) -> Mention:
    """Return a Mention from ``doc_id`` and the MENTION columns."""
    doc_id, deposit, label, forms, kind, score, definition, kinds, passed = found
    return Mention(doc_id, deposit, label, words(forms), kind, score, definition, words(kinds), bool(passed))


def inverse(type_: str) -> str:
    """Return the name of a relationship type as seen from its object. Raises BadInputError for an unknown type."""
    try:
        return RELATIONSHIP_TYPES[type_]
    except KeyError:
        known = ", ".join(sorted(RELATIONSHIP_TYPES))
        raise BadInputError(f"'{type_}' is no relationship type; known are {known}.") from None


MARKS = """SELECT mark.mark, mark.ontology, mark.concept, mark.joined, coalesce(concept.name, '')
    FROM mark LEFT JOIN concept ON concept.concept_id = mark.concept"""


def mark_row(found: Sequence[str | int]) -> Mark:
    """Return a Mark from a row of the query MARKS; a hidden name becomes ''."""
    mark, ontology, concept_id, joined, name = found
    return Mark(str(mark), str(ontology), str(concept_id), bool(joined), "" if is_hidden(str(name)) else str(name))


def hidden_name(ontology: str, name: str) -> str:
    """Return the hash that hides a directory name. A name that is hidden already is returned unchanged."""
    if name.startswith(_MARK):
        return name
    return _MARK + hashlib.sha256(f"{ontology}:{name}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_hidden(name: str) -> bool:
    """Return whether a name is a hash that hides a directory name."""
    return name.startswith(_MARK)


def known_as(ontology: str, names: Collection[str]) -> dict[str, str]:
    """Return each name by both forms that the table may hold: the name itself and its hidden form."""
    return {hidden_name(ontology, name): name for name in names} | {name: name for name in names}


@dataclass(frozen=True, slots=True)
class Settled:
    """What the concepts of a commit became."""

    risen: Collection[str]
    """Ids of concepts that live by this commit and did not before."""
    forms_moved: Collection[tuple[str, str]]
    """(ontology, key) of the forms that concepts gained or lost."""


class Derived:
    """The work on the rows of one kind in one commit, inside its transaction. It keeps what is summed up from them.

    A kind overrides what concerns it: here the methods do nothing.
    """

    def __init__(self, connection: sqlite3.Connection, at: int) -> None:
        """Begin. ``at`` is the time of the commit, a Unix time in nanoseconds."""
        self._sql = connection
        self._at = at

    def touch(self, edition: int, step: int) -> None:
        """Count the rows of an edition that enters (``step`` 1) or leaves (-1)."""

    def strike(self, key: int, concept_id: str) -> None:
        """Remove what the rows of visible documents tell of a concept, which is about to die."""

    def replace(self, edition: int, rows: Sequence[Any]) -> bool:
        """Replace what an edition tells of concepts that it has. Return whether anything changed."""
        return False

    def rename(self, former: str, concept_id: str) -> None:
        """Have the rows that only name one concept name another one."""

    def part(self, younger: str) -> None:
        """Undo what a joining did to rows, before the joining is deleted."""

    def settle(self, settled: Settled) -> Iterable[tuple[str, str]]:
        """Update what is summed up, once all concepts are final. Yield (ontology, owner) of what readers see change."""
        return ()
