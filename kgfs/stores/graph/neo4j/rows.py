"""How the rows of the contract stand as properties: both directions of conversion."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from kgfs.domain.knowledge import Mention
from kgfs.stores.graph.vocabulary import Concept, DocumentRow, InstanceRow, SourceRow

LONGEST_KEY = 1000
"""Characters of a form that are its own key: an index entry holds at most some 8 KB."""


def _projected(variable: str, kind: type, *leave_out: str) -> str:
    names = ", ".join(f".{item.name}" for item in fields(kind) if item.name not in leave_out)
    return f"{variable} {{{names}}}"


DOCUMENT = _projected("d", DocumentRow)
SOURCE = _projected("s", SourceRow)
INSTANCE = _projected("i", InstanceRow)
CONCEPT = _projected("c", Concept, "concept_id")[:-1] + ", concept_id: c.id}"
"""Map projections of the variables ``d``, ``s``, ``i`` and ``c``, to be turned into rows by the functions below."""

MENTION = "[d.doc_id, m.deposit, m.label, m.forms, m.kind, m.score, m.definition]"
"""Of a relationship ``m`` to a Document ``d``."""


def shown(row: str, space: str = "$space") -> str:
    """Matches the Document ``d`` that this Source or Instance stands in: none while its edition is only prepared. Without the
    hint the planner reads all editions there are; with one that does not ask to seek it may scan them by the index."""
    return (
        f"MATCH (d:Edition {{key: {row}.edition}}) USING INDEX SEEK d:Edition(key)"
        f" WHERE d:Document AND d.space = {space}"
    )


def document_properties(row: DocumentRow) -> dict[str, Any]:
    return asdict(row)


def source_properties(row: SourceRow, edition: str) -> dict[str, Any]:
    more = {} if row.gated else {"words": folded(row.full_text)}
    return {**asdict(row), "section_path": list(row.section_path), "edition": edition, **more}


def instance_properties(row: InstanceRow, edition: str) -> dict[str, Any]:
    return {**asdict(row), "section_path": list(row.section_path), "edition": edition, "digest": digest(row)}


def mention_properties(mention: Mention) -> dict[str, Any]:
    properties = asdict(mention)
    del properties["doc_id"]
    return {**properties, "forms": list(mention.forms)}


def digest(row: InstanceRow) -> str:
    """Two pieces of evidence are the same to readers where theirs is."""
    return hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def document_row(found: Mapping[str, Any]) -> DocumentRow:
    return DocumentRow(**found)


def source_row(found: Mapping[str, Any]) -> SourceRow:
    return SourceRow(**{**found, "section_path": tuple(found["section_path"])})


def instance_row(found: Mapping[str, Any]) -> InstanceRow:
    return InstanceRow(**{**found, "section_path": tuple(found["section_path"])})


def concept_row(found: Mapping[str, Any]) -> Concept:
    return Concept(**{**found, "aliases": tuple(found["aliases"])})


def mention_row(found: Sequence[Any]) -> Mention:
    doc_id, deposit, label, forms, kind, score, definition = found
    return Mention(doc_id, deposit, label, tuple(forms), kind, score, definition)


def form_key(form: str) -> str:
    """What a form is found by."""
    if len(form) <= LONGEST_KEY:
        return form
    return f"{form[:64]}…{hashlib.sha256(form.encode('utf-8', 'surrogatepass')).hexdigest()}"


def folded(text: str) -> str:
    """Words without case and accents, one space between two: what the full-text index holds."""
    plain = "".join(char for char in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(char))
    return " ".join(re.findall(r"[^\W_]+", plain))


def sought(words: str) -> str:
    """A question to the full-text index for any of the words, each taken literally; '' where there is none."""
    phrases = (folded(word) for word in words.split())
    return " OR ".join(f'"{phrase}"' for phrase in phrases if phrase)
