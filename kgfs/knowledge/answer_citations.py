"""Check the citations of an answer [CITE 5.3]: which Sources it rests on, and whether a model is to be asked again.

All functions are pure; whether a file of the archive exists is asked of a function that the caller gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kgfs.render.answer import CITATION, ValidatedCitation
from kgfs.render.answer_context import NOT_FOUND, AnswerSource

MAX_INVALID_SHARE = 0.5
"""A model is asked again where more than this share of an answer's citations is invalid [CITE 5.3]."""
MAX_RETRIES = 2
"""How often a model is asked again [CITE 5.4]."""

_SPACED = re.compile(r"[ \t]*\[C:([0-9a-f]+)\]")
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class CitationValidation:
    response: str
    """The answer without its invalid citations; valid ones stand as ``[C:chunk_id]``."""
    citations: tuple[ValidatedCitation, ...]
    invalid_citations: tuple[str, ...]
    """The cited ids that were not shown, each once, in order of first use."""
    missing_archives: tuple[str, ...]
    """Each ``archive_uri`` of a citation that has no file."""
    needs_retry: bool


def validate(response: str, shown: Mapping[str, AnswerSource], archived: Callable[[str], bool]) -> CitationValidation:
    """Return the answer with its citations checked against the Sources that the model was shown, by ``chunk_id``.

    A citation is valid where its Source was shown. A Source without a file in the archive stays cited, and is named
    in ``missing_archives``. An answer is to be asked for again where more than MAX_INVALID_SHARE of its citations are
    invalid, or where it states something and cites nothing.
    """
    cited = CITATION.findall(response)
    valid = list(dict.fromkeys(chunk_id for chunk_id in cited if chunk_id in shown))
    invalid = tuple(dict.fromkeys(chunk_id for chunk_id in cited if chunk_id not in shown))
    citations = tuple(_citation(n, shown[chunk_id], archived) for n, chunk_id in enumerate(valid, 1))
    return CitationValidation(
        response=_SPACED.sub(lambda found: found[0] if found[1] in shown else "", response),
        citations=citations,
        invalid_citations=invalid,
        missing_archives=tuple(
            dict.fromkeys(one.archive_uri for one in citations if one.archive_uri and not one.archive_verified)
        ),
        needs_retry=_is_unsupported(response, cited, shown),
    )


def ask_again(validation: CitationValidation, attempt: int) -> bool:
    """Return whether to ask once more after the attempt of this number (from 0)."""
    return validation.needs_retry and attempt < MAX_RETRIES


def _is_unsupported(response: str, cited: list[str], shown: Mapping[str, AnswerSource]) -> bool:
    if not cited:
        return _WORD.search(response) is not None and not _says_nothing_found(response)
    return sum(chunk_id not in shown for chunk_id in cited) / len(cited) > MAX_INVALID_SHARE


def _says_nothing_found(response: str) -> bool:
    """Return whether the answer is the agreed sentence alone."""
    return response.strip().strip("\"'.*_ ").casefold() == NOT_FOUND.casefold()


def _citation(index: int, source: AnswerSource, archived: Callable[[str], bool]) -> ValidatedCitation:
    return ValidatedCitation(
        index=index,
        chunk_id=source.chunk_id,
        source_title=source.source_title,
        source_uri=source.source_uri,
        page=source.page,
        lines=source.lines,
        archive_uri=source.archive_uri,
        download_uri=source.download_uri,
        archive_verified=source.archive_uri is not None and archived(source.archive_uri),
        locator=source.locator,
        pages=source.pages,
        where=source.where,
    )
