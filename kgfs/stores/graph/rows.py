"""Conversion between the data types of the vocabulary and table rows: lists of columns, and functions for both
directions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from kgfs.domain.knowledge import RELATIONSHIP_TYPES, Mention
from kgfs.errors import BadInputError
from kgfs.stores.graph.hiding import is_hidden
from kgfs.stores.graph.vocabulary import Concept, DocumentRow, InstanceRow, Mark, SourceRow

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
    return [packed(row.section_path) if name == "section_path" else getattr(row, name) for name in SOURCE]


def instance_values(row: InstanceRow) -> list[Any]:
    """Return the values of the INSTANCE columns."""
    return [packed(row.section_path) if name == "section_path" else getattr(row, name) for name in INSTANCE]


_SOURCE_PATH = SOURCE.index("section_path") + 1
_INSTANCE_PATH = [item.name for item in fields(InstanceRow)].index("section_path")
_INSTANCE_DOC = [item.name for item in fields(InstanceRow)].index("doc_id")
_INSTANCE_DEFINES = [item.name for item in fields(InstanceRow)].index("defines")
_CONCEPT_ALIASES = CONCEPT.index("aliases")


def source_row(found: Sequence[Any]) -> SourceRow:
    """Return a SourceRow from ``doc_id`` and the SOURCE columns."""
    values = list(found)
    values[_SOURCE_PATH] = words(values[_SOURCE_PATH])
    return SourceRow(*values)


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
