"""List what could be looked up in a document: its candidates, headings and the words of its title.

Those that are concepts are candidates too: other documents count them, and they are terms again when the concept goes.
A candidate is written down by its first place in the Text, so that Decisions hold no words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kgfs.domain.forms import Span, form_key
from kgfs.domain.function_words import HOLLOW, JOINING, WORDS
from kgfs.domain.identity import concept_id_of, normalise_label
from kgfs.domain.knowledge import FoundConcept
from kgfs.domain.languages import ENGLISH
from kgfs.models.extractor import junk
from kgfs.stores.readings import Candidate

LONGEST = 5
"""The most words of a piece of a heading that may be a term."""
SHORTEST = 3
"""The fewest letters of a lone word of a title that may be a term."""

_NUMBERING = re.compile(r"^(?:[0-9]+|[A-Za-z]|[ivxIVX]{1,4})(?:\.[0-9]+)*[.)]\s+")
_WORD = re.compile(r"[^\W_](?:[\w.+#'’\-‐‑]*[\w+#])?")

_SHORTENED = re.compile(r"\w+['’](?:t|re|ve|ll|d|m)|(?:it|that|there|here|what|who|let|he|she)['’]s", re.IGNORECASE)
"""A word that is short for two, one of which is a verb."""

Suppressed = Callable[[Sequence[str]], Collection[str]]
"""Given concept ids, return those that a person has forgotten for good."""


class Titled(Protocol):
    """What of a Reading can be looked up."""

    @property
    def concepts(self) -> tuple[FoundConcept, ...]: ...

    @property
    def sections(self) -> tuple[tuple[int, tuple[str, ...]], ...]: ...

    @property
    def title(self) -> str: ...

    @property
    def language(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Forms:
    """How a document writes one candidate."""

    norm: str
    """The normalised label."""
    keys: frozenset[str]
    heading: bool = False
    """Whether it is a whole heading."""


def forms_of(ontology: str, reading: Titled, suppressed: Suppressed) -> dict[str, Forms]:
    """Return the forms of each candidate by the key of its label. What is suppressed under any of them is left out."""
    found: dict[str, Forms] = {}
    norms: dict[str, set[str]] = {}
    for concept in reading.concepts:
        forms = [form for form in (concept.label, *concept.forms) if normalise_label(form)]
        key = form_key(concept.label)
        found[key] = Forms(concept.norm, frozenset(map(form_key, forms)))
        norms[key] = {normalise_label(form) for form in forms}
    taken = {form for one in found.values() for form in one.keys}
    for words, whole in _named_in_headings(reading):
        key = form_key(words)
        if key in found:
            found[key] = replace(found[key], heading=found[key].heading or whole)
        elif key not in taken:
            found[key] = Forms(normalise_label(words), frozenset([key]), whole)
            norms[key] = {found[key].norm}
    ids = {norm: concept_id_of(ontology, norm) for some in norms.values() for norm in some}
    barred = suppressed(sorted({*ids.values()})) if ids else ()
    return {key: one for key, one in found.items() if not any(ids[norm] in barred for norm in norms[key])}


def headings_of(reading: Titled) -> frozenset[str]:
    """Return the keys of the whole headings of a document."""
    return frozenset(form_key(words) for words, whole in _named_in_headings(reading) if whole)


def placed(forms: Mapping[str, Forms], places: Mapping[str, Iterable[Span]]) -> tuple[Candidate, ...]:
    """Return the candidates that stand in the Text, in order of their first places."""
    found: list[Candidate] = []
    for one in forms.values():
        spans = sorted({span for key in one.keys for span in places.get(key, ())})
        if spans:
            found.append(Candidate(*spans[0], len(spans), one.heading))
    return tuple(sorted(found, key=lambda one: (one.start, one.end)))


def _named_in_headings(reading: Titled) -> Iterator[tuple[str, bool]]:
    """Yield the words of headings and title that could be looked up, with whether they are a whole heading.

    Of a heading that is one run of words it is all of it. Noun phrases in other headings are candidates of the grammar. Of
    a title it is each run, and each word, that ends as a candidate of the document does: what is no noun ends none.
    """
    language = reading.language or ENGLISH
    for title in dict.fromkeys(path[-1] for _, path in reading.sections if path):
        heading = _NUMBERING.sub("", title).strip()
        pieces = list(_pieces(heading, language))
        short = len(pieces) == 1 and len(heading.split()) <= LONGEST
        if short and form_key(pieces[0]) == form_key(heading) and not _is_junk(heading, language):
            yield heading, True
    ends = {form_key(form).rpartition(" ")[2] for concept in reading.concepts for form in concept.forms}
    for piece in _pieces(reading.title, language):
        words = piece.split()
        if len(words) <= LONGEST and not _is_junk(piece, language) and form_key(words[-1]) in ends:
            yield piece, False
        for word in words:
            if sum(map(str.isalpha, word)) >= SHORTEST and not _is_junk(word, language) and form_key(word) in ends:
                yield word, False


def _is_junk(words: str, language: str) -> bool:
    """Return whether words name nothing. Only those of English are measured by its function words and hollow nouns."""
    reason = junk.reason(words)
    if language == ENGLISH:
        return bool(reason)
    return reason not in ("", "stop words", "hollow") or words.casefold() in HOLLOW.get(language, ())


def _pieces(text: str, language: str) -> Iterator[str]:
    """Yield the runs of words without a stop word or a sign between them; words such as *de* may stand in a run."""
    stop_words = junk.STOP_WORDS
    if language != ENGLISH:
        stop_words = WORDS.get(language, frozenset()) - JOINING.get(language, frozenset())
    run: list[tuple[int, int]] = []
    for found in _WORD.finditer(text):
        apart = bool(run) and text[run[-1][1] : found.start()].strip() != ""
        stops = found[0].casefold() in stop_words or not any(map(str.isalpha, found[0]))
        stops |= bool(_SHORTENED.fullmatch(found[0]))
        if run and (apart or stops):
            yield text[run[0][0] : run[-1][1]]
            run = []
        if not stops:
            run.append(found.span())
    if run:
        yield text[run[0][0] : run[-1][1]]
