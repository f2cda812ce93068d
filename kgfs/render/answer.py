"""``answer.md``: an answer with numbered citations and the list of its Sources [CITE, "Example Citation Output"]."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from kgfs.domain.names import decode_name
from kgfs.domain.places import Locator
from kgfs.render.page_marks import fragment
from kgfs.render.words import fold

UNCITED = "[no source]"
"""What stands behind a sentence that no shown Source bears out."""

CITATION = re.compile(r"\[C:([0-9a-f]+)\]")
"""A citation as a model writes it [CITE 5.2]."""
_SENTENCE = re.compile(r"\S.*?(?:[.!?…]+[\"'”’»)\]]*(?:\s*\[C:[0-9a-f]+\])*(?=\s|$)|$)")
_NO_SENTENCE = re.compile(r"\s*(?:#|```|~~~|\||-{3,}\s*$|\*{3,}\s*$)")
_LINK_TEXT = re.compile(r"[\\\[\]|]")


@dataclass(frozen=True, slots=True)
class ValidatedCitation:
    index: int
    """The number that stands for it in the shown answer, from 1, in order of first use."""
    chunk_id: str
    source_title: str
    source_uri: str
    page: int | None
    lines: tuple[int, int] | None
    archive_uri: str | None
    download_uri: str | None
    archive_verified: bool
    """Whether the file at ``archive_uri`` exists."""
    locator: Locator = field(default_factory=dict)
    pages: str = ""
    where: str = ""
    """Pages, and place in words, as AnswerSource has them."""


def answer_text(response: str, citations: Sequence[ValidatedCitation], up: str = "") -> str:
    """Return the answer with ``[1]`` for its citations, sentences without one marked, and the list of Sources.

    ``up`` leads from the file's folder to the mount: ``../../``. No ``[C:`` stands in the result.
    """
    numbers = {one.chunk_id: one.index for one in citations}
    marked = "\n".join(_mark(line) for line in response.splitlines())
    shown = CITATION.sub(lambda found: f"[{numbers[found[1]]}]" if found[1] in numbers else "", marked)
    shown = shown.replace("[C:", "[C :").rstrip()
    return f"{shown}\n{sources_of(citations, up)}"


def sources_of(citations: Sequence[ValidatedCitation], up: str = "") -> str:
    """Return ``**Sources:**`` and one line each, ``[1] Title | p.12 | [View](…#page-12) | [Download](…)``; '' for none."""
    if not citations:
        return ""
    return "\n**Sources:**\n" + "".join(f"{_source(one, up)}\n" for one in citations)


def _source(citation: ValidatedCitation, up: str) -> str:
    title = plain(citation.source_title) or plain(citation.source_uri)
    parts = [f"[{citation.index}] {_LINK_TEXT.sub(lambda found: chr(92) + found[0], title)}"]
    if citation.page is not None:
        parts.append(f"p.{citation.pages or citation.page}")
    elif citation.where:
        parts.append(plain(citation.where))
    elif citation.lines is not None:
        first, last = citation.lines
        parts.append(f"line {first}" if first == last else f"lines {first}-{last}")
    if citation.archive_uri and citation.archive_verified:
        parts.append(f"[View]({_link(up + citation.archive_uri)}{_place_in(citation)})")
    if citation.download_uri:
        parts.append(f"[Download]({_link(up + citation.download_uri)})")
    return " | ".join(parts)


def _place_in(citation: ValidatedCitation) -> str:
    """Return the end of the link that leads to the quote's page in the readable form; '' where it has no marks."""
    readable = citation.archive_uri or ""
    is_made = (
        readable.endswith(".md") and readable != citation.download_uri
    )  # else it is the original, or the bare Text
    return fragment(citation.locator) if is_made else ""


def plain(text: str) -> str:
    """Return a text on one line in which nothing reads as a citation of a model."""
    return fold(text).replace("[C:", "[C :")


def _link(path: str) -> str:
    return quote(decode_name(path), safe="/._-~@")


def _mark(line: str) -> str:
    """Return a line of the answer in which each sentence without a citation is marked."""
    if not line.strip() or _NO_SENTENCE.match(line):
        return line
    return _SENTENCE.sub(lambda found: found[0] if CITATION.search(found[0]) else _uncited(found[0]), line)


def _uncited(sentence: str) -> str:
    return f"{sentence} {UNCITED}" if re.search(r"\w", sentence) else sentence
