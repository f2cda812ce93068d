"""``about.md`` of an ontology: its counts, main concepts and newest documents."""

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


def render(about: About) -> bytes:
    return rendered("\n".join(_lines(about)) + "\n")


def _lines(about: About) -> Iterator[str]:
    yield f"# {about.name}"
    yield ""
    yield (
        f"{counted(about.documents, 'document')} read, {counted(about.concepts, 'concept')}, "
        f"{counted(about.relationships, 'relationship')}, {counted(about.instances, 'piece')} of evidence."
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
    if about.newest:
        yield ""
        yield "## Newest documents"
        yield ""
        for document in about.newest:
            link = "documents/" + quote(decode_name(document.path), safe="/")
            told = "" if document.language in ("", ENGLISH) else f", {NAMES.get(document.language, document.language)}"
            yield f"- [{document.path}]({link}), {day_of(document.deposited_at)}{told}"
    if about.unread:
        yield ""
        yield "## Not read"
        yield ""
        for missing in about.unread:
            yield f"- {missing.path}: {fold(missing.reason)}"
        if about.unread_count > len(about.unread):
            yield f"- and {about.unread_count - len(about.unread)} more"
