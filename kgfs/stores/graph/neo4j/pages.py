"""What ``concept.md`` shows, as one projection of a concept. Used by readers and, inside a commit, to know size and time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgfs.render.concept import SHOWN_EVIDENCE, SHOWN_RELATED, ConceptPage, EvidenceLine, RelatedLine
from kgfs.stores.graph.neo4j.rows import shown

NEIGHBOURS = """CALL (c) {
    MATCH (c)-[x:RELATES_TO]->(o:Concept) RETURN x, o, x.type AS type, false AS incoming
    UNION ALL
    MATCH (c)<-[x:RELATES_TO]-(o:Concept) RETURN x, o, x.inverse AS type, true AS incoming
}"""
"""Each living relationship of the concept ``c`` as seen from it, those with itself twice."""

PAGE = f"""c {{
    .ontology, .label, .aliases, .kind, .description, concept_id: c.id,
    evidence_count: c.evidence, related_count: c.related,
    documents: COUNT {{ MATCH (c)-[:MENTIONED_IN]->(d:Document) RETURN DISTINCT d }},
    evidence: COLLECT {{
        MATCH (i:Instance {{owner: c.id}}) USING INDEX SEEK i:Instance(owner, n) WHERE i.n >= 0
        {shown("i", "space")}
        WITH i, d ORDER BY i.owner, i.n LIMIT {SHOWN_EVIDENCE}
        RETURN [i.n, i.quote, d.source_title, i.line_start, i.line_end]
    }},
    related: COLLECT {{
        {NEIGHBOURS}
        WITH x, o, type, incoming ORDER BY type, o.name, x.relationship_id, incoming LIMIT {SHOWN_RELATED}
        RETURN [type, o.name, o.label, x.confidence]
    }}
}}"""
"""Evidence is asked for in the order of an index: of a concept that all documents mention no more is read then than is shown."""


def concept_page(found: Mapping[str, Any]) -> ConceptPage:
    return ConceptPage(
        **{
            **found,
            "aliases": tuple(found["aliases"]),
            "evidence": tuple(EvidenceLine(*line) for line in found["evidence"]),
            "related": tuple(RelatedLine(*line) for line in found["related"]),
        }
    )
