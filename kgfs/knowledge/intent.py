"""Read what a question is after, and what else than its words it is looked for by. Rules do it, and a language model where one is to.

The rules are cue words: on annotated questions they name the intent of more than half, and say '' where none stands. An intent that
is not sure weighs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kgfs.compute.completing import Request, complete
from kgfs.compute.deadline import Deadline
from kgfs.domain.domains import Domains, domains_of, named_in
from kgfs.domain.identity import normalise_label
from kgfs.domain.word_forms import forms_in
from kgfs.errors import GivenUpError, KgfsError
from kgfs.knowledge.ask.question import named_in as runs_of
from kgfs.stores.stores import Stores

UNKNOWN = "unknown"
RULES = "rules"
CONCEPTS = 4
"""The most concepts of a question whose other names and neighbours are looked for."""
NEIGHBOURS = 4
"""The most neighbours of each."""
EXPANSIONS = 12
"""The most phrases that are looked for besides the words of a question."""
MODEL = 0.3
"""The share of the time of a question that the language model has to say what it is after."""

_INTENTS = (
    (
        "comparative",
        r"\b(?:vs\.?|versus|compar\w+|differ\w*|better|worse|prefer\w*|rather than|instead of|advantages? over)\b|\bchosen over\b"
        r"|\b(?:more|less|cheaper|faster|slower|higher|lower)\b.*\bthan\b",
    ),
    (
        "contrarian",
        r"\b(?:really|actually|myth|overrated|against|objections?|critici\w+|wrong|harmful)\b|^\s*(?:do|does|can)n't\b"
        r"|^\s*why (?:\w+ ){1,6}not\b|^\s*(?:do|does) (?:\w+ ){1,6}(?:work|matter|help|hurt|pay|take|allow)\b",
    ),
    ("persuasive", r"\bworth\b|\b(?:benefits?|reasons? (?:to|for)|convinc\w+|persuad\w+|case for)\b|^\s*why should\b"),
    (
        "procedural",
        r"^\s*how (?:do|can|should|must|may|to|would|is|are) |\b(?:should|must|may|steps?|set up|configur\w+|install\w*)\b"
        r"|^\s*(?:which|what) (?:\w+ ){1,3}(?:can|needs?|are needed|belongs?)\b|^\s*when (?:are|is|should|must|may)\b|\bneeded\b",
    ),
    ("educational", r"^\s*(?:what|who|whose|why|when|where|which|how)\b|^\s*(?:define|explain|describe)\b"),
)
"""The first whose cue stands in a question is its intent."""
_STAGES = (
    ("retention", r"\b(?:renew\w*|cancel\w*|upgrad\w*|keep|kept|retain\w*|troubleshoot\w*|support tickets?)\b"),
    (
        "decision",
        r"\b(?:costs?|price[sd]?|pricing|buy\w*|choose|should|must|may|how to|set up|install\w*|needed)\b|^\s*how (?:do|can) ",
    ),
    (
        "consideration",
        r"\b(?:compar\w+|differ\w*|better|worse|worth|versus|vs|against|why|advantages?|rather|works?|reduce|increase|effect)\b|^\s*(?:do|does|is|are) ",
    ),
    ("awareness", r"^\s*(?:what (?:is|are|was|were|does)|who|where|when|define|explain|how (?:many|much))\b"),
)
_CUES = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _INTENTS)
_STAGE_CUES = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _STAGES)


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question is after."""

    intent: str = ""
    """educational, persuasive, contrarian, comparative or procedural; '' where that is not sure."""
    domain: str = ""
    """A domain of the ontology that the question names; '' for none."""
    funnel_stage: str = UNKNOWN
    by: str = RULES
    """``rules``, or the language model that said so."""
    concepts: tuple[str, ...] = ()
    """The concepts that the question names."""
    expansions: tuple[str, ...] = ()
    """What it is looked for by, besides its words: other names and neighbours of these concepts, and phrases of the model."""

    def as_data(self) -> dict[str, Any]:
        """Return it as results have it."""
        data = asdict(self)
        return data | {"concepts": list(self.concepts), "expansions": list(self.expansions)}


def by_rules(words: str, domains: Domains) -> Intent:
    """Return what the cue words of a question say."""
    intent = next((name for name, cue in _CUES if cue.search(words)), "")
    stage = next((name for name, cue in _STAGE_CUES if cue.search(words)), UNKNOWN)
    return Intent(intent, next(iter(named_in(words, domains)), ""), stage)


def read_intent(stores: Stores, ontology: str, words: str, *, neighbours: bool = True) -> Intent:
    """Return what a question is after by rules, in one ontology (its id) or in all (''), with other names of the concepts that it
    names, and with the names of their ``neighbours``."""
    searched = [ontology] if ontology else [one.id for one in stores.catalog.names.ontologies()]
    found = by_rules(words, domains_in(stores, ontology))
    labels, names, beside = _concepts(stores, searched, words)
    return replace(found, concepts=tuple(labels), expansions=_new(words, [*names, *(beside if neighbours else ())]))


def domains_in(stores: Stores, ontology: str) -> Domains:
    """Return the domains of an ontology, or of all ('')."""
    names = stores.catalog.names
    found: dict[str, tuple[str, ...]] = {}
    for each in [ontology] if ontology else [one.id for one in names.ontologies()]:
        found |= domains_of(names.settings(each))
    return found


def _concepts(stores: Stores, ontologies: Sequence[str], words: str) -> tuple[list[str], list[str], list[str]]:
    """Return the labels of the concepts that a question names, their other names, and those of their neighbours."""
    labels: list[str] = []
    names: list[str] = []
    neighbours: list[str] = []
    norms = [normalise_label(run) for run in runs_of(words)]
    for each in ontologies:
        ids = list(dict.fromkeys(stores.graph.match(each, norms).values()))[: CONCEPTS - len(labels)]
        for concept_id, concept in stores.graph.concepts_by_id(ids).items():
            labels.append(concept.label)
            names += [concept.label, *concept.aliases]
            neighbours += [one.label for one in stores.graph.related(concept_id, limit=NEIGHBOURS)][:NEIGHBOURS]
    return labels, names, neighbours


def _new(words: str, phrases: Sequence[str]) -> tuple[str, ...]:
    """Return the phrases that bring a word which the question has not, each once."""
    known = set(forms_in(words))
    found = dict.fromkeys(phrase for phrase in phrases if not known.issuperset(forms_in(phrase)))
    return tuple(found)[:EXPANSIONS]


def say_intent(run: Path, words: str, ruled: Intent, domains: Sequence[str], patience: Deadline) -> Intent:
    """Return what the worker's language model says that a question is after, with the expansions of both; what rules say where
    it does not answer. Raises GivenUpError alone."""
    known = (f"Domains: {', '.join(domains)}",) if domains else ()
    try:
        said = complete(run, Request("intent", words, known), patience.within(patience.left * MODEL))
    except GivenUpError:
        raise
    except KgfsError:
        patience.check()
        return ruled
    if said.intent is None:
        return ruled
    told = said.intent
    phrases = [str(one) for one in told.get("expansions", ())]
    return replace(
        ruled,
        intent=str(told.get("intent", "")),
        domain=str(told.get("domain", "")) or ruled.domain,
        funnel_stage=str(told.get("funnel_stage", UNKNOWN)),
        by=said.model,
        expansions=_new(words, [*phrases, *ruled.expansions]),
    )
