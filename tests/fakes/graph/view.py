"""What readers of the in-memory graph see at one epoch."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from kgfs.domain.knowledge import RELATIONSHIP_TYPES, Mention, strength
from kgfs.render.concept import ConceptPage
from kgfs.render.words import counted
from kgfs.stores.graph.vocabulary import Concept, InstanceRow, Publication, Related, RelationshipRow, SourceRow


@dataclass
class Edition:
    sources: dict[int, SourceRow] = field(default_factory=dict)
    instances: dict[tuple[str, int], InstanceRow] = field(default_factory=dict)
    publication: Publication | None = None

    @property
    def told(self) -> Publication:
        assert self.publication is not None
        return self.publication


@dataclass
class View:
    """All that readers see at one epoch."""

    editions: dict[str, Edition] = field(default_factory=dict)
    instances: dict[tuple[str, int], InstanceRow] = field(default_factory=dict)
    concepts: dict[str, Concept] = field(default_factory=dict)
    pages: dict[str, ConceptPage] = field(default_factory=dict)
    mentions: dict[str, list[Mention]] = field(default_factory=dict)
    relationships: dict[str, tuple[RelationshipRow, int]] = field(default_factory=dict)
    """With the time its evidence last changed."""

    def evidence(self, owner: str) -> list[InstanceRow]:
        return [row for (of, _), row in sorted(self.instances.items()) if of == owner]

    def related(self, concept_id: str) -> list[Related]:
        seen = [
            Related(
                row.relationship_id,
                RELATIONSHIP_TYPES[row.type] if incoming else row.type,
                self.concepts[other].name,
                other,
                self.concepts[other].label,
                incoming,
                max(evidence.confidence for evidence in self.evidence(row.relationship_id)),
                mtime,
            )
            for row, mtime in self.relationships.values()
            for one, other, incoming in ((row.subject, row.object, False), (row.object, row.subject, True))
            if one == concept_id
        ]
        return sorted(seen, key=lambda r: (r.type, r.name, r.relationship_id, r.incoming))

    def strongest(self, concept_id: str) -> list[Related]:
        return sorted(self.related(concept_id), key=lambda r: -strength(r.type, self._places(r), r.confidence))

    def measure(self, row: Related) -> str:
        places = self._places(row)
        return counted(places, "place") if row.type == "RELATED_TO" else f"{row.confidence:.2f}"

    def _places(self, row: Related) -> int:
        return len(self.evidence(row.relationship_id))


def words_of(text: str) -> list[str]:
    plain = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return re.findall(r"\w+", plain.casefold())
