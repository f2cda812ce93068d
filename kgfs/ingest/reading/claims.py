"""Validate the claims of a language model [COMPILER 7], and work out the fields that it is not asked for.

A claim that fails is kept with the first reason, so that people see what was refused and why; nothing finds it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from kgfs.domain.domains import Domains, has_keyword
from kgfs.domain.function_words import WORDS as FUNCTION_WORDS
from kgfs.domain.invented import MONTHS, Grounds
from kgfs.domain.knowledge import AUTHORITIES, CLAIM_ROLES, SCOPES, FoundClaim, Quote
from kgfs.domain.word_forms import stem, stems_in
from kgfs.ingest.reading.validate import share
from kgfs.models.contract import RawClaim

NO_QUOTE = "quote not found"
WRONG_ROLE = "wrong role"
WRONG_SCOPE = "wrong scope"
WRONG_AUTHORITY = "wrong authority"
NO_ACTOR = "no actor"
NO_KEYWORD = "no domain keyword"
WRONG_DOMAIN = "wrong domain"
INVENTED = "invented"
NOT_SELF_CONTAINED = "not self-contained"
TOO_SHORT = "too short"

_QUOTED = re.compile(r"\"[^\"]*\"|“[^“”]*”|‘[^‘’]*’|`[^`]*`|(?<!\w)'[^']*'(?!\w)")
_POINTING = re.compile(
    r"\b(?:[Ww]e|[Oo]urs?|us|[Mm]y|mine|me)\b|\b[Tt]h(?:e|is) passage\b|\b[Tt]his (?:document|section|text|excerpt)\b|\bsection of\b"
    r"|\b[Tt]he (?:document|section|text|excerpt|header) (?:says|states|describes|mentions|explains|notes)\b"
)
_I = re.compile(r"(?<![\w./-])I\b(?![./-]\w)")
_WORD_BEFORE = re.compile(r"\b(\w+) $")
_STANDARD = re.compile(r"\b(?:PEP|RFC|ISO|IEC|IEEE|DIN|EN|ADR|BIP)[ -]?\d+\b")
_COMPANY = re.compile(
    r"\b(?:Inc|Ltd|LLC|GmbH|AG|Corp|Co|plc|Labs|Media|Group|Studio|Foundation|Institute|University|Association|Authority"
    r"|Council|Committee|Agency|Bank|[Cc]ompany|[Tt]eam)\b\.?"
)
_PERSON = re.compile(
    r"(?:[A-Z][^\W\d_]+|[A-Z]\.)(?: (?:van|von|de|der|den|la|[A-Z]\.|[A-Z][^\W\d_'’-]+(?:[-'’][A-Z]\w+)?))+"
)
_PLATFORM = re.compile(r"\b(?:platform|network|marketplace|search engine|store)s?\b", re.IGNORECASE)
_PRODUCT = re.compile(
    r"\b(?:plan|product|tool|app|site|newsletter|page|package|library|module|function|method)s?\b", re.IGNORECASE
)
_AUTHOR = re.compile(r"(?:the )?(?:authors?|writers?|we|I)\b", re.IGNORECASE)
_FUTURE = re.compile(
    r"\b(?:will|shall|going to|plans? to|planned|next|upcoming|is to be|are to be|from now on)\b", re.IGNORECASE
)
_PAST = re.compile(r"\b(?:was|were|had|did|\w{2,}ed|rose|fell|grew|lost|made|took|paid|sold|brought|came|went|got)\b")
_TIMELESS = ("definition", "heuristic", "instruction")
_UNDATED = ("unknown", "inferred", "")
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b|(?<=\d{{4}}-)\d\d", re.IGNORECASE)
_FUNCTION_WORDS = FUNCTION_WORDS["en"]


def found_claim(
    raw: RawClaim, quote: Quote | None, source: str, grounds: Grounds, domains: Domains, min_tokens: int
) -> FoundClaim:
    """Return a claim with all fields and the first reason for which it is refused, '' for none.

    ``quote`` is the span of its quote, None where the text does not say it; ``source`` the text of the quote's Source.
    """
    claim, actor, timeframe = (" ".join(text.split()) for text in (raw.claim, raw.actor, raw.timeframe))
    found = FoundClaim(
        claim=claim,
        role=raw.role,
        domain=_domain(raw.domain, domains),
        actor=actor,
        actor_class=class_of(actor),
        timeframe=timeframe or "unknown",
        timeframe_class="explicit" if timeframe.casefold() not in _UNDATED else timeframe.casefold() or "unknown",
        time_horizon=horizon_of(claim, raw.role, timeframe, grounds.day),
        scope=raw.scope,
        authority=raw.authority,
        confidence=share(raw.confidence),
        quote=quote,
        added=grounds.added(claim, source) if quote is not None else (),
    )
    return replace(found, rejected=_reason(found, grounds, domains, min_tokens))


def _domain(named: str, domains: Domains) -> str:
    """Return the ontology's domain of this name, whatever its case; the name itself where there is none, '' without domains."""
    wanted = " ".join(named.split()) if domains else ""
    return next((name for name in domains if name.casefold() == wanted.casefold()), wanted)


def _reason(found: FoundClaim, grounds: Grounds, domains: Domains, min_tokens: int) -> str:
    claim = found.claim
    if found.quote is None:
        return NO_QUOTE
    if found.role not in CLAIM_ROLES:
        return f"role {found.role}" if found.role in ("quote", "other") else WRONG_ROLE
    if found.scope not in SCOPES:
        return WRONG_SCOPE
    if found.authority not in AUTHORITIES:
        return WRONG_AUTHORITY
    if not _names(claim, found.actor, found.actor_class):
        return NO_ACTOR
    if domains and found.domain not in domains:
        return WRONG_DOMAIN
    if domains and not has_keyword(claim, (found.domain, *domains[found.domain])):
        return NO_KEYWORD
    if grounds.invented(claim):
        return INVENTED
    if _points(_QUOTED.sub(" ", claim)):
        return NOT_SELF_CONTAINED
    return TOO_SHORT if len(claim.split()) < min_tokens else ""


def _names(claim: str, actor: str, actor_class: str) -> bool:
    """Return whether a claim has all words of its actor, articles and the like aside, or the word of the actor's class."""
    stems = {*stems_in(claim)}
    wanted = {*stems_in(actor)}
    telling = wanted - {stem(word) for word in _FUNCTION_WORDS} or wanted
    return bool(wanted) and (telling <= stems or (actor_class != "other" and stem(actor_class) in stems))


def _points(claim: str) -> bool:
    """Return whether a claim speaks of its text or as its writer. The I of "World War I" and of "I/O" does neither."""
    before = [_WORD_BEFORE.search(claim, max(0, found.start() - 30), found.start()) for found in _I.finditer(claim)]
    is_said = any(not word or not word[1][0].isupper() or word[1].lower() in _FUNCTION_WORDS for word in before)
    return is_said or bool(_POINTING.search(claim))


def class_of(actor: str) -> str:
    """Return what an actor is, by its name: author, company, product, platform, person, standard or other."""
    if _AUTHOR.match(actor):
        return "author"
    if _STANDARD.search(actor):
        return "standard"
    for name, pattern in (("company", _COMPANY), ("platform", _PLATFORM), ("product", _PRODUCT)):
        if pattern.search(actor):
            return name
    return "person" if _PERSON.fullmatch(actor) else "other"


def horizon_of(claim: str, role: str, timeframe: str, at: date | None) -> str:
    """Return whether a claim is about the past, the present, the future or no time. ``at`` is the day of its document."""
    if timeframe.casefold() in _UNDATED:
        if role in _TIMELESS:
            return "timeless"
        if _FUTURE.search(claim):
            return "future"
        return "past" if role == "metric" and _PAST.search(claim) else "present"
    years = {int(found) for found in _YEAR.findall(timeframe)}
    months = [MONTHS.get(found.lower()) or int(found) for found in _MONTH.findall(timeframe)]
    begins = (min(years or {at.year}), min(months or [1 if years == {at.year} else at.month])) if at else (0, 0)
    is_told = role != "instruction" and _PAST.search(
        claim
    )  # a document that says when it began may tell what came later
    if at and (years or months) and begins > (at.year, at.month) and not is_told:
        return "future"
    is_over = bool(years) and at is not None and max(years) < at.year
    if _FUTURE.search(claim) and not is_over:
        return "future"
    return "past" if (years or months) and _PAST.search(claim) else "present"
