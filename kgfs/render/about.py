"""``about.md`` of an ontology: its counts, main concepts, heaviest terms and newest documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from kgfs.domain.languages import ENGLISH, NAMES
from kgfs.domain.names import decode_name
from kgfs.render.words import counted, day_of, fold, rendered


@dataclass(frozen=True, slots=True)
class MainConcept:
    name: str
    """The concept's directory name without ``.concept``."""
    label: str
    evidence: int
    related: int


@dataclass(frozen=True, slots=True)
class NewDocument:
    path: str
    """The path below documents/, encoded as names are."""
    deposited_at: int
    language: str = ""
    """The code of its language; empty while it is not read, and where it has no prose."""
    without: str = ""
    """Why it gave no concept; empty where it has one, and while it is not read."""


@dataclass(frozen=True, slots=True)
class HeavyTerm:
    """What many places name and is no concept."""

    term: str
    places: int


@dataclass(frozen=True, slots=True)
class UnreadDocument:
    path: str
    """As that of a NewDocument, or below archive/."""
    reason: str


@dataclass(frozen=True, slots=True)
class About:
    name: str
    documents: int
    concepts: int
    relationships: int
    instances: int
    main: tuple[MainConcept, ...]
    """The concepts with the most relationships and evidence first."""
    newest: tuple[NewDocument, ...]
    """The newest documents first."""
    unread: tuple[UnreadDocument, ...] = ()
    """The newest documents that were not read."""
    unread_count: int = 0
    """How many were not read."""
    gated: int = 0
    """How many are read and found, and give no knowledge, as the gate judged."""
    claims: int = 0
    terms: tuple[HeavyTerm, ...] = ()
    """The terms with the most places first."""


def render(about: About) -> bytes:
    return rendered("\n".join(_lines(about)) + "\n")


def _lines(about: About) -> Iterator[str]:
    yield f"# {about.name}"
    yield ""
    claims = f", [{counted(about.claims, 'claim')}](claims/all.md)" if about.claims else ""
    gated = f" ({about.gated:,} gated: found by words, and no source of concepts)" if about.gated else ""
    yield (
        f"{counted(about.documents, 'document')} read{gated}, {counted(about.concepts, 'concept')}, "
        f"{counted(about.relationships, 'relationship')}, {counted(about.instances, 'piece')} of evidence{claims}."
    )
    if not about.newest and not about.documents:
        yield ""
        yield "Nothing is here yet: copy documents into documents/."
    if about.main:
        yield ""
        yield "## Main concepts"
        yield ""
        for concept in about.main:
            link = f"concepts/{concept.name}.concept/concept.md"
            support = f"{counted(concept.evidence, 'piece')} of evidence, {counted(concept.related, 'relationship')}"
            yield f"- [{fold(concept.label)}]({link}): {support}"
    if about.terms:
        yield ""
        yield "## Terms"
        yield ""
        yield "Named most, and no concepts; all are in [terms.tsv](terms.tsv)."
        yield ""
        for one in about.terms:
            yield f"- {fold(one.term)}: {counted(one.places, 'place')}"
    if about.newest:
        yield ""
        yield "## Newest documents"
        yield ""
        for document in about.newest:
            link = "documents/" + quote(decode_name(document.path), safe="/")
            told = "" if document.language in ("", ENGLISH) else f", {NAMES.get(document.language, document.language)}"
            without = f": no concept, {fold(document.without)}" if document.without else ""
            yield f"- [{document.path}]({link}), {day_of(document.deposited_at)}{told}{without}"
    if about.unread:
        yield ""
        yield "## Not read"
        yield ""
        for missing in about.unread:
            yield f"- {missing.path}: {fold(missing.reason)}"
        if about.unread_count > len(about.unread):
            yield f"- and {about.unread_count - len(about.unread)} more"
