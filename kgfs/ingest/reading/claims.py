"""Validate the claims of a language model [COMPILER 7], and work out the fields that it is not asked for.

A claim that fails is kept with the first reason, so that people see what was refused and why; nothing finds it.
"""

from __future__ import annotations

import re
from math import isnan

from kgfs.domain.domains import Domains, has_keyword
from kgfs.domain.invented import MONTHS, Grounds
from kgfs.domain.knowledge import AUTHORITIES, CLAIM_ROLES, SCOPES, FoundClaim, Quote
from kgfs.domain.word_forms import stems_in
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
REASONS = (
    *(NO_QUOTE, WRONG_ROLE, "role quote", "role other", WRONG_SCOPE, WRONG_AUTHORITY, NO_ACTOR, WRONG_DOMAIN),
    *(NO_KEYWORD, INVENTED, NOT_SELF_CONTAINED, TOO_SHORT),
)
"""The reasons in the order in which they are looked for."""

_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|‘[^’]*’|(?<!\w)'[^']*'(?!\w)")
_POINTING = re.compile(
    r"\b(?:we|our|ours|us)\b|\bI\b|\b[Tt](?:he|his) (?:passage|document|section|text|excerpt|header)\b|\bsection of\b"
)
_STANDARD = re.compile(r"\b(?:PEP|RFC|ISO|IEC|IEEE|DIN|EN|ADR|BIP)[ -]?\d+\b")
_COMPANY = re.compile(
    r"\b(?:Inc|Ltd|LLC|GmbH|AG|Corp|Co|plc|Labs|Media|Group|Studio|Foundation|Institute|University|company|team)\b\.?"
)
_PERSON = re.compile(
    r"(?:[A-Z][^\W\d_]+|[A-Z]\.)(?: (?:van|von|de|der|den|la|[A-Z]\.|[A-Z][^\W\d_'’-]+(?:[-'’][A-Z]\w+)?))+"
)
_PLATFORM = re.compile(r"\b(?:platform|network|marketplace|search engine|store|app)s?\b", re.IGNORECASE)
_PRODUCT = re.compile(
    r"\b(?:plan|product|tool|site|newsletter|page|package|library|module|function|method)s?\b", re.IGNORECASE
)
_AUTHOR = re.compile(r"\b(?:author|writer|we|I)s?\b")
_FUTURE = re.compile(
    r"\b(?:will|shall|going to|plans? to|planned|next|upcoming|is to be|are to be|from now on)\b", re.IGNORECASE
)
_PAST = re.compile(r"\b(?:was|were|had|did|\w{2,}ed|rose|fell|grew|lost|made|took|paid|sold|brought|came|went|got)\b")
_TIMELESS = ("definition", "heuristic", "instruction")
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")


def found_claim(
    raw: RawClaim, quote: Quote | None, source: str, grounds: Grounds, domains: Domains, min_tokens: int
) -> FoundClaim:
    """Return a claim with all fields and the first reason for which it is refused, '' for none.

    ``quote`` is the span of its quote, None where the text does not say it; ``source`` the text of the quote's Source.
    """
    claim, actor, timeframe = (" ".join(text.split()) for text in (raw.claim, raw.actor, raw.timeframe))
    domain = _domain(raw.domain, domains)
    actor_class = class_of(actor)
    return FoundClaim(
        claim=claim,
        role=raw.role,
        domain=domain,
        actor=actor,
        actor_class=actor_class,
        timeframe=timeframe or "unknown",
        timeframe_class=timeframe.casefold() if timeframe.casefold() in ("inferred", "unknown", "") else "explicit",
        time_horizon=horizon_of(claim, raw.role, timeframe, grounds.year),
        scope=raw.scope,
        authority=raw.authority,
        confidence=0.0 if isnan(raw.confidence) else min(1.0, max(0.0, raw.confidence)),
        quote=quote,
        added=grounds.added(claim, source) if quote is not None else (),
        rejected=_reason(raw, claim, actor, actor_class, domain, quote, grounds, domains, min_tokens),
    )


def _domain(named: str, domains: Domains) -> str:
    """Return the ontology's domain of this name, whatever its case; the name itself where there is none."""
    wanted = " ".join(named.split())
    return next((name for name in domains if name.casefold() == wanted.casefold()), wanted)


def _reason(
    raw: RawClaim,
    claim: str,
    actor: str,
    actor_class: str,
    domain: str,
    quote: Quote | None,
    grounds: Grounds,
    domains: Domains,
    min_tokens: int,
) -> str:
    if quote is None:
        return NO_QUOTE
    if raw.role not in CLAIM_ROLES:
        return f"role {raw.role}" if raw.role in ("quote", "other") else WRONG_ROLE
    if raw.scope not in SCOPES:
        return WRONG_SCOPE
    if raw.authority not in AUTHORITIES:
        return WRONG_AUTHORITY
    stems = stems_in(claim)
    if not actor or not ({*stems_in(actor)} <= {*stems} or actor_class in stems):
        return NO_ACTOR
    if domains and domain not in domains:
        return WRONG_DOMAIN
    if domains and not has_keyword(claim, (domain, *domains[domain])):
        return NO_KEYWORD
    if grounds.invented(claim):
        return INVENTED
    if _POINTING.search(_QUOTED.sub(" ", claim)):
        return NOT_SELF_CONTAINED
    return TOO_SHORT if len(claim.split()) < min_tokens else ""


def class_of(actor: str) -> str:
    """Return what an actor is, by its name: author, company, product, platform, person, standard or other."""
    if _STANDARD.search(actor):
        return "standard"
    if _AUTHOR.fullmatch(actor.removeprefix("the ")):
        return "author"
    for name, pattern in (("company", _COMPANY), ("platform", _PLATFORM), ("product", _PRODUCT)):
        if pattern.search(actor):
            return name
    return "person" if _PERSON.fullmatch(actor) else "other"


def horizon_of(claim: str, role: str, timeframe: str, year: int) -> str:
    """Return whether a claim is about the past, the present, the future or no time. ``year`` is that of its document; 0 if unknown."""
    years = [int(found) for found in _YEAR.findall(timeframe)]
    if _FUTURE.search(claim) or (years and year and min(years) > year):
        return "future"
    is_dated = bool(years) or any(word.casefold() in MONTHS for word in timeframe.split())
    if is_dated and _PAST.search(claim):
        return "past"
    if not is_dated and role in _TIMELESS:
        return "timeless"
    return "past" if not is_dated and role == "metric" and _PAST.search(claim) else "present"
