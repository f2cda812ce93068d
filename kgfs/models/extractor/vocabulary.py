"""The words between two concepts that mean a relationship. Types are those of ``domain.RELATIONSHIP_TYPES``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    type: str
    confidence: float
    inverse: bool = False
    """Whether the grammatical subject is the relationship's object."""


VERBS: Mapping[str, Meaning] = {
    "use": Meaning("USES", 0.8),
    "utilize": Meaning("USES", 0.8),
    "utilise": Meaning("USES", 0.8),
    "employ": Meaning("USES", 0.8),
    "leverage": Meaning("USES", 0.7),
    "reuse": Meaning("USES", 0.7),
    "require": Meaning("REQUIRES", 0.8),
    "need": Meaning("REQUIRES", 0.7),
    "support": Meaning("SUPPORTS", 0.8),
    "enable": Meaning("SUPPORTS", 0.7),
    "facilitate": Meaning("SUPPORTS", 0.7),
    "create": Meaning("CREATES", 0.8),
    "produce": Meaning("CREATES", 0.8),
    "generate": Meaning("CREATES", 0.8),
    "construct": Meaning("CREATES", 0.7),
    "emit": Meaning("CREATES", 0.6),
    "define": Meaning("DEFINES", 0.8),
    "specify": Meaning("DEFINES", 0.7),
    "introduce": Meaning("DEFINES", 0.6),
    "replace": Meaning("REPLACES", 0.85),
    "supersede": Meaning("REPLACES", 0.9),
    "supplant": Meaning("REPLACES", 0.85),
    "obsolete": Meaning("REPLACES", 0.8),
    "extend": Meaning("EXTENDS", 0.8),
    "subclass": Meaning("EXTENDS", 0.85),
    "augment": Meaning("EXTENDS", 0.7),
    "enhance": Meaning("EXTENDS", 0.6),
    "cause": Meaning("CAUSES", 0.8),
    "trigger": Meaning("CAUSES", 0.7),
    "raise": Meaning("CAUSES", 0.6),
    "induce": Meaning("CAUSES", 0.8),
    "prevent": Meaning("PREVENTS", 0.8),
    "avoid": Meaning("PREVENTS", 0.65),
    "forbid": Meaning("PREVENTS", 0.75),
    "prohibit": Meaning("PREVENTS", 0.75),
    "disallow": Meaning("PREVENTS", 0.75),
    "inhibit": Meaning("PREVENTS", 0.75),
    "contain": Meaning("PART_OF", 0.75, inverse=True),
    "include": Meaning("PART_OF", 0.65, inverse=True),
    "comprise": Meaning("PART_OF", 0.75, inverse=True),
    "contradict": Meaning("CONTRASTS_WITH", 0.7),
}
"""Subject – verb – direct object. The passive swaps the ends."""

PREPOSITIONS: Mapping[tuple[str, str], Meaning] = {
    ("depend", "on"): Meaning("REQUIRES", 0.8),
    ("depend", "upon"): Meaning("REQUIRES", 0.8),
    ("rely", "on"): Meaning("REQUIRES", 0.75),
    ("rely", "upon"): Meaning("REQUIRES", 0.75),
    ("consist", "of"): Meaning("PART_OF", 0.8, inverse=True),
    ("belong", "to"): Meaning("PART_OF", 0.75),
    ("inherit", "from"): Meaning("EXTENDS", 0.85),
    ("derive", "from"): Meaning("EXTENDS", 0.7),
    ("build", "on"): Meaning("EXTENDS", 0.65),
    ("lead", "to"): Meaning("CAUSES", 0.75),
    ("result", "in"): Meaning("CAUSES", 0.75),
    ("protect", "against"): Meaning("PREVENTS", 0.75),
    ("differ", "from"): Meaning("CONTRASTS_WITH", 0.8),
    ("conflict", "with"): Meaning("CONTRASTS_WITH", 0.7),
    ("contrast", "with"): Meaning("CONTRASTS_WITH", 0.75),
}
"""Subject – verb – preposition – object, active."""

PASSIVES: Mapping[tuple[str, str], Meaning] = {
    ("replace", "with"): Meaning("REPLACES", 0.8, inverse=True),
    ("base", "on"): Meaning("EXTENDS", 0.6),
    ("derive", "from"): Meaning("EXTENDS", 0.75),
    ("compose", "of"): Meaning("PART_OF", 0.75, inverse=True),
    ("make", "of"): Meaning("PART_OF", 0.6, inverse=True),
    ("contain", "in"): Meaning("PART_OF", 0.7),
    ("include", "in"): Meaning("PART_OF", 0.7),
    ("embed", "in"): Meaning("PART_OF", 0.6),
}
"""Subject – passive verb – preposition – object. Passives with ``by`` are those of VERBS."""

ADJECTIVES: Mapping[tuple[str, str], Meaning] = {
    ("dependent", "on"): Meaning("REQUIRES", 0.75),
    ("different", "from"): Meaning("CONTRASTS_WITH", 0.75),
    ("incompatible", "with"): Meaning("CONTRASTS_WITH", 0.75),
    ("part", "of"): Meaning("PART_OF", 0.8),
    ("component", "of"): Meaning("PART_OF", 0.8),
    ("subset", "of"): Meaning("PART_OF", 0.75),
    ("superset", "of"): Meaning("PART_OF", 0.75, inverse=True),
    ("replacement", "for"): Meaning("REPLACES", 0.8),
    ("successor", "to"): Meaning("REPLACES", 0.75),
    ("successor", "of"): Meaning("REPLACES", 0.75),
    ("extension", "to"): Meaning("EXTENDS", 0.75),
    ("extension", "of"): Meaning("EXTENDS", 0.75),
    ("subclass", "of"): Meaning("IS_A", 0.85),
    ("kind", "of"): Meaning("IS_A", 0.8),
    ("type", "of"): Meaning("IS_A", 0.75),
    ("form", "of"): Meaning("IS_A", 0.75),
    ("sort", "of"): Meaning("IS_A", 0.7),
    ("variant", "of"): Meaning("IS_A", 0.7),
    ("instance", "of"): Meaning("IS_A", 0.75),
    ("example", "of"): Meaning("IS_A", 0.75),
}
"""Subject – be – adjective or noun – preposition – object."""
