"""The domains of an ontology: names with keywords, by which the gate and the validation of claims tell what belongs to it.

A text names a domain if a keyword of it stands there, outside addresses. Words are compared by their stems, and
keywords of several words word by word.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from kgfs.domain.word_forms import stems_in
from kgfs.errors import BadInputError

Domains = Mapping[str, tuple[str, ...]]
"""Names of domains → their keywords."""

SETTING = "domains"
"""The setting of an ontology that has its domains, as :func:`serialised`."""

_BUSINESS = {
    "SEO": "SEO, search engine, organic traffic, ranking, keyword, backlink, Google, crawl, sitemap, internal link,"
    " search intent, core update, SERP",
    "Content marketing": "content, blog, article, newsletter, editor, headline, podcast, copywriting, webinar, audience",
    "SaaS": "SaaS, churn, trial, subscription, onboarding, MRR, ARR, recurring revenue, customer success, seat, free plan",
    "Monetization": "monetization, monetisation, revenue, pricing, price, affiliate, commission, sponsor, RPM,"
    " display ads, paywall",
    "Growth": "growth, signup, conversion, acquisition, activation, referral, funnel, retention, A/B test,"
    " click-through rate",
    "Business strategy": "strategy, competitor, market, margin, positioning, business model, budget, profit, forecast,"
    " partner",
}
PRESETS: Mapping[str, Domains] = MappingProxyType(
    {"business": {name: tuple(keywords.split(", ")) for name, keywords in _BUSINESS.items()}}
)
"""Domains to begin with, by name."""

ADDRESS = re.compile(r"(?:[a-zA-Z][a-zA-Z0-9+.-]{1,11}://|www\.|mailto:)[^\s<>\"'`]+")
"""An address of the web or of mail within a text."""

_LONGEST = 200
"""Characters of a name or a keyword."""
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")


def domains_of(settings: Mapping[str, str]) -> Domains:
    """Return the domains among the settings of an ontology."""
    value = settings.get(SETTING, "")
    return {name: tuple(keywords) for name, keywords in json.loads(value).items()} if value else {}


def serialised(domains: Domains) -> str:
    """Return the value of the setting; '' without domains."""
    return json.dumps(domains, ensure_ascii=False, separators=(",", ":")) if domains else ""


def from_line(line: str) -> tuple[str, tuple[str, ...]]:
    """Return the domain that a line like ``SEO: ranking, keyword`` sets. Raise BadInputError for another line."""
    name, colon, keywords = line.partition(":")
    if not colon:
        raise BadInputError(f"'{line}' sets no domain. Write its name, a colon and keywords: 'SEO: ranking, keyword'.")
    found = checked({name.strip(): [keyword.strip() for keyword in keywords.split(",") if keyword.strip()]})
    return next(iter(found.items()))


def checked(domains: Mapping[str, Any]) -> Domains:
    """Return the domains with each keyword once. Raise BadInputError, with the remedy, for what are no domains."""
    found: dict[str, tuple[str, ...]] = {}
    for name, keywords in domains.items():
        _check(name, "The name of a domain")
        if isinstance(keywords, str) or not isinstance(keywords, Sequence) or not keywords:
            raise BadInputError(
                f'The domain \'{name}\' needs a list of keywords: {_key(name)} = ["ranking", "keyword"].'
            )
        for keyword in keywords:
            _check(keyword, f"A keyword of the domain '{name}'")
        found[name] = tuple(dict.fromkeys(keywords))
    return found


def _check(word: object, what: str) -> None:
    if not isinstance(word, str) or not stems_in(word) or not word.isprintable() or len(word) > _LONGEST:
        raise BadInputError(f"{what} is one line of words, of at most {_LONGEST} characters: {word!r} is not.")


def from_toml(content: bytes) -> Domains:
    """Return the domains that a file sets in its table ``[domains]``. Raise BadInputError, with the remedy, for another
    file."""
    try:
        found = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInputError(f"No TOML: {error}.") from error
    table = found.pop("domains", {})
    if found or not isinstance(table, dict):
        raise BadInputError("Domains stand in one table [domains], and nothing stands beside it.")
    return checked(table)


def to_toml(domains: Domains) -> str:
    """Return the file that sets these domains."""
    lines = [f"{_key(name)} = [{', '.join(map(_quoted, keywords))}]\n" for name, keywords in domains.items()]
    return "".join(("[domains]\n", *lines))


def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else _quoted(name)


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)  # what is printable is quoted alike in JSON and in TOML


def has_keyword(text: str, keywords: Iterable[str]) -> bool:
    """Return whether a keyword stands in a text, outside addresses."""
    phrases = _phrases(tuple(keywords))
    words = stems_in(ADDRESS.sub(" ", text))
    return any(
        tuple(words[at : at + len(phrase)]) == phrase
        for at, word in enumerate(words)
        for phrase in phrases.get(word, ())
    )


def named_in(text: str, domains: Domains) -> tuple[str, ...]:
    """Return the names of the domains that a text has a keyword of, in their order."""
    return tuple(name for name, keywords in domains.items() if has_keyword(text, keywords))


@lru_cache(256)
def _phrases(keywords: tuple[str, ...]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return the stems of keywords, by the first stem of each."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for keyword in keywords:
        phrase = tuple(stems_in(keyword))
        found[phrase[0]] = (*found.get(phrase[0], ()), phrase)
    return found
