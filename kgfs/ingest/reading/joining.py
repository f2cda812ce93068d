"""Join the concepts of a document that are one thing under several forms: their mentions become one concept.

Forms are one thing if they are equal but for number, hyphen or space, and case; if one is the other run together; if
one is the acronym that the text introduces for the other; or if one is a name of code and the other says what it is
("asyncio.Task", "asyncio.Task object"). Labels with different digits are never joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kgfs.domain.forms import form_key
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship
from kgfs.models.extractor import junk

_HYPHENS = re.compile(r"[\s\-‐‑]+")
KINDS = frozenset(
    "module function object class method attribute argument parameter command hook type package".split()  # noqa: SIM905
)
_CODE = re.compile(r"\w[_.]\w|[a-z0-9][A-Z]|\(\)$|^__")
_SHORTEST_RUN = 7
"""Characters of the shortest word that may be two words run together."""
_WRAPPED = re.compile(r"(?<=[^\s.:;])[ \t]*\n[ \t]*(?=[A-Za-z(])")
"""The end of a line inside a paragraph."""
_PARAGRAPH_BEGINS = re.compile(r"\n[ \t]*\n(?=[A-Za-z])")
PART = 1 << 16
"""Characters that are searched for acronyms at once, so that memory stays flat."""
_PARENTHESES = re.compile(r"([^().;:\n]{3,120}?)\s*\n?\s*\(([^()\n]{2,10})\)")
_ACRONYM = re.compile(r"[A-Z][A-Za-z0-9&/-]{0,8}[A-Z0-9]s?")
_MARKUP = re.compile(r"[*`_]+")
_WORD = re.compile(r"[A-Za-z0-9]+(?:[-'’][A-Za-z0-9]+)*")
_SMALL = frozenset(("a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with", "by", "at"))


def join(
    concepts: Sequence[FoundConcept], relationships: Sequence[FoundRelationship], text: str
) -> tuple[tuple[FoundConcept, ...], tuple[FoundRelationship, ...]]:
    """Return the concepts with those joined that are one thing in this text, and the relationships between them.

    A joined concept has the place, label and kind of the one with the highest score, and the forms and quotes of all.
    """
    groups: dict[str, list[FoundConcept]] = {}
    known = {folded(concept.label) for concept in concepts}
    plain = {folded(concept.label) for concept in concepts if not is_code(concept.label)}
    long_forms = {short: long for short, long in acronyms(text).items() if short in known and long in known}
    for concept in concepts:
        key = _key(concept.label, known, plain)
        groups.setdefault(long_forms.get(key, key), []).append(concept)
    joined = [_one(group) for group in groups.values()]
    norms = {concept.norm: one.norm for one, group in zip(joined, groups.values(), strict=True) for concept in group}
    return tuple(joined), tuple(between(relationships, norms))


def folded(label: str) -> str:
    """Return the key of a label: normalised, hyphens as spaces, its last word in the singular."""
    return junk.fold(_HYPHENS.sub(" ", normalise_label(label)))


def variants(norm: str) -> list[str]:
    """Return other normalised labels of the same thing: the other number, hyphens as spaces, words run together."""
    spaced = _HYPHENS.sub(" ", norm)
    one = junk.fold(spaced)
    found = [spaced, one, f"{one}s" if not one.endswith("s") else one, one.replace(" ", "-")]
    if one.count(" ") == 1 and len(one) > _SHORTEST_RUN and one.replace(" ", "").isalpha():
        found.append(one.replace(" ", ""))
    return [form for form in dict.fromkeys(found) if form != norm]


def acronyms(text: str) -> dict[str, str]:
    """Return the acronyms that a text introduces, "Long Form (LF)", as folded label → folded long form.

    An acronym that the text introduces for two long forms is left out.
    """
    found: dict[str, set[str]] = {}
    for part in _parts(text):
        for match in _PARENTHESES.finditer(_WRAPPED.sub(" ", _MARKUP.sub("", part))):
            short = match[2].strip()
            if _ACRONYM.fullmatch(short) and (long := _long_form(short.rstrip("s"), match[1])):
                found.setdefault(folded(short), set()).add(folded(long))
    return {short: next(iter(longs)) for short, longs in found.items() if len(longs) == 1 and short not in longs}


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts of about PART characters. No introduction of an acronym reaches over the end of one."""
    start = 0
    while start < len(text):
        found = _PARAGRAPH_BEGINS.search(text, start + PART)
        end = found.end() if found else len(text)
        yield text[start:end]
        start = end


def introductions(text: str) -> tuple[tuple[str, str], ...]:
    """Return the keys (:mod:`kgfs.domain.forms`) of the acronyms that a text introduces and of their long forms, in order."""
    return tuple(sorted((form_key(short), form_key(long)) for short, long in acronyms(text).items()))


def _long_form(short: str, before: str) -> str:
    """Return the words that an acronym stands for; '' if the words before it do not spell it.

    The initials of its words must spell it, or Schwartz and Hearst's alignment must find each letter in order, the
    first at the start of a word.
    """
    words = list(_WORD.finditer(before))
    letters = [char.lower() for char in short if char.isalnum()]
    for count in range(1, min(len(letters) + 4, len(words) + 1)):
        some = words[-count:]
        initials = [word[0].lower() for one in some for word in one[0].split("-") if word and word not in _SMALL]
        every = [word[0].lower() for one in some for word in one[0].split("-") if word]
        if len(letters) > 1 and letters in (initials, every) and some[0][0].lower() not in _SMALL:
            return before[some[0].start() :]
    at = len(before) - 1
    for place, letter in reversed(list(enumerate(letters))):
        while at >= 0 and (before[at].lower() != letter or (place == 0 and at > 0 and before[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
        at -= 1
    long = before[at + 1 :]
    count = len(_WORD.findall(long))
    fits = count <= min(len(letters) + 5, len(letters) * 2) and len(long) > len(short) and count > 1
    return long if fits and long[:1].lower() == letters[0] and short.lower() not in long.lower().split() else ""


def is_code(label: str) -> bool:
    """Return whether the last word of a label looks like a name in code, which has no plural and no other spelling."""
    return _CODE.search(label.rpartition(" ")[2]) is not None


def _key(label: str, known: set[str], plain: set[str]) -> str:
    key = folded(label)
    words = label.split()
    if (
        len(words) == 2
        and junk.fold(words[1].lower()) in KINDS
        and _CODE.search(words[0])
        and folded(words[0]) in known
    ):
        return folded(words[0])
    if key.count(" ") == 1 and len(key) > _SHORTEST_RUN and key.replace(" ", "") in plain:
        return key.replace(" ", "")
    return key


def _one(group: Sequence[FoundConcept]) -> FoundConcept:
    best = max(group, key=lambda concept: concept.score)
    if len(group) == 1:
        return best
    quotes = {(quote.start, quote.end): quote for concept in group for quote in concept.quotes}
    forms = (form for concept in (best, *group) for form in concept.forms)
    definition = next((concept.definition for concept in (best, *group) if concept.definition), "")
    ordered = tuple(quotes[span] for span in sorted(quotes))
    kinds = tuple(dict.fromkeys(kind for concept in (best, *group) for kind in concept.kinds))
    return replace(best, forms=tuple(dict.fromkeys(forms)), quotes=ordered, definition=definition, kinds=kinds)


def between(relationships: Sequence[FoundRelationship], norms: Mapping[str, str]) -> Iterator[FoundRelationship]:
    """Yield the relationships between other ends, once each. ``norms`` has the norm of the concept that each norm became."""
    given: set[tuple[str, str, str, int, int]] = set()
    for stated in relationships:
        subject, object_ = norms[stated.subject], norms[stated.object]
        place = (subject, stated.type, object_, stated.quote.start, stated.quote.end)
        if subject != object_ and place not in given:
            given.add(place)
            yield replace(stated, subject=subject, object=object_)
