"""The files of ``claims/``: one claim with its evidence, all claims by role, and those that validation refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.render.answer_context import AnswerSource, as_data, header
from kgfs.render.search import link
from kgfs.render.words import below, counted, fold, json_line, lines_of, rendered, yaml_list, yaml_word

UP = "../../"
"""From the file of a claim to the ontology's folder."""


@dataclass(frozen=True, slots=True)
class ClaimQuote:
    """A quote on which a claim rests, and where it stands."""

    quote: str
    path: str
    """The present path of the document, below the ontology's folder."""
    note: str
    """What is to be said of that path (``render.source.STALE`` or REMOVED); else empty."""
    source: AnswerSource
    """The Source of the quote, as it is cited; ``archive_uri`` is below the ontology's folder."""
    lines: tuple[int, int]


@dataclass(frozen=True, slots=True)
class OtherClaim:
    """A claim that another one refers to."""

    claim: str
    file: str
    """``<role>/<name>.md``"""
    path: str
    """The present path of its first document."""
    lines: tuple[int, int]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ClaimPage:
    fields: Mapping[str, str | float | int | tuple[str, ...]]
    """What stands in the front matter."""
    claim: str
    quotes: tuple[ClaimQuote, ...]
    concepts: tuple[tuple[str, str], ...]
    """(directory name, label) of the concepts in the quotes."""
    alike: tuple[OtherClaim, ...]
    also: tuple[OtherClaim, ...]


def claim_md(page: ClaimPage) -> bytes:
    """Return ``<name>.md``."""
    return rendered("\n".join(_lines(page)) + "\n")


def _lines(page: ClaimPage) -> Iterator[str]:
    yield "---"
    for name, value in page.fields.items():
        yield f"{name}: {_yaml(value)}"
    yield from ("---", "", as_data(fold(page.claim)), "", "## Evidence")
    for one in page.quotes:
        yield from ("", header(one.source), "")
        yield from (f"> {line}".rstrip() for line in as_data(one.quote).splitlines())
        yield from ("", _place(one))
    if page.concepts:
        named = (f"[{fold(label)}]({UP}concepts/{name}.concept/concept.md)" for name, label in page.concepts)
        yield from ("", f"Concepts: {', '.join(named)}")
    for title, others in (("Said alike in", page.alike), ("See also", page.also)):
        if others:
            yield from ("", f"## {title}", "", *map(_other, others))


def _yaml(value: str | float | tuple[str, ...]) -> str:
    if isinstance(value, tuple):
        return yaml_list(value)
    return yaml_word(value) if isinstance(value, str) else str(value)


def _place(one: ClaimQuote) -> str:
    source = one.source
    where = [f"[{fold(one.path)}]({link(UP + one.path)}){below(source.source_title, source.section_path)}"]
    where += [lines_of(*one.lines), *([source.where] if source.where else []), *([one.note] if one.note else [])]
    view = f" | [View]({link(UP + source.archive_uri)})" if source.archive_uri else ""
    return f"{', '.join(where)}{view}"


def _other(one: OtherClaim) -> str:
    note = f" ({one.note})" if one.note else ""
    return f"- [{fold(one.claim)}](../{one.file}): {fold(one.path)}, {lines_of(*one.lines)}{note}"


@dataclass(frozen=True, slots=True)
class ListedClaim:
    claim: str
    file: str
    evidence: int


def all_md(ontology: str, by_role: Sequence[tuple[str, Sequence[ListedClaim]]], rejected: int) -> bytes:
    """Return ``all.md``: all claims, by role."""
    lines = [f"# Claims of {fold(ontology)}"]
    for role, claims in by_role:
        lines += ["", f"## {role} ({len(claims):,})", ""]
        lines += [f"- [{fold(one.claim)}]({one.file}) ({counted(one.evidence, 'quote')})" for one in claims]
    if rejected:
        lines += ["", f"{counted(rejected, 'claim')} failed validation: [rejected.ndjson](rejected.ndjson)"]
    return rendered("\n".join(lines) + "\n")


def rejected_ndjson(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return ``rejected.ndjson``: one JSON object a line."""
    return b"".join(map(json_line, rows))
