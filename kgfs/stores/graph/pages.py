"""What ``concept.md`` shows, read from the tables. Used by readers and, inside a commit, to know size and time."""

from __future__ import annotations

import sqlite3

from kgfs.render.concept import SHOWN_EVIDENCE, SHOWN_RELATED, ConceptPage, EvidenceLine, RelatedLine
from kgfs.stores.graph.rows import SHOWN, words

_EVIDENCE = f"""
    SELECT instance.n, instance.quote, document.source_title, instance.line_start, instance.line_end
    FROM instance CROSS JOIN document ON document.key = instance.document
    WHERE instance.owner = ? AND document.state = {SHOWN} ORDER BY instance.n LIMIT {SHOWN_EVIDENCE}"""

_RELATED = f"""
    SELECT neighbour.type, neighbour.name, concept.label, relationship.confidence
    FROM neighbour CROSS JOIN relationship ON relationship.relationship_id = neighbour.relationship_id
    CROSS JOIN concept ON concept.concept_id = neighbour.other
    WHERE neighbour.concept = ?
    ORDER BY neighbour.type, neighbour.name, neighbour.relationship_id, neighbour.incoming LIMIT {SHOWN_RELATED}"""

_DOCUMENTS = f"""
    SELECT count(DISTINCT mention.document)
    FROM mention CROSS JOIN document ON document.key = mention.document
    WHERE mention.concept = ? AND document.state = {SHOWN}"""


def concept_page(connection: sqlite3.Connection, concept_id: str) -> ConceptPage | None:
    """The page of a living concept; the caller holds one snapshot."""
    found = connection.execute(
        "SELECT key, ontology, label, aliases, kind, description, evidence, related"
        " FROM concept WHERE concept_id = ? AND live = 1",
        (concept_id,),
    ).fetchone()
    if found is None:
        return None
    key, ontology, label, aliases, kind, description, evidence, related = found
    return ConceptPage(
        concept_id=concept_id,
        ontology=ontology,
        label=label,
        aliases=words(aliases),
        kind=kind,
        description=description,
        documents=connection.execute(_DOCUMENTS, (key,)).fetchone()[0],
        evidence_count=evidence,
        related_count=related,
        evidence=tuple(EvidenceLine(*row) for row in connection.execute(_EVIDENCE, (concept_id,))),
        related=tuple(RelatedLine(*row) for row in connection.execute(_RELATED, (concept_id,))),
    )
