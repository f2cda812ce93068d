"""Parse what people type into a search: words, "exact phrases", -without, and filters such as ``path:notes/``.

An unknown filter or a bad value is a BadInputError (EINVAL in the mount), which names the filter and the remedy. All
functions are pure.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime

from kgfs.domain.word_forms import without_joiners
from kgfs.errors import BadInputError

FILTERS = {
    "ontology": "the name of an ontology",
    "path": "the start of a path in documents/",
    "type": "an extension, or a part of the media type",
    "after": "a date: 2024, 2024-01 or 2024-01-31",
    "before": "a date: 2024, 2024-01 or 2024-01-31",
    "concept": "the name of a concept",
}
"""The filters, and what each one takes."""

_TOKEN = re.compile(
    r"""(?P<minus>-)?(?:(?P<key>[a-z]{2,}):(?=[^\s:/]))?(?:"(?P<quoted>[^"]*)"|(?P<bare>\S+))""",
    re.VERBOSE,
)
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Query:
    words: str
    """What is ranked by: the words, and those of the phrases. May be empty where there are filters."""
    phrases: tuple[str, ...] = ()
    """Every document found has each of them in a Source that is found."""
    without: tuple[str, ...] = ()
    """No document found has one of these words or phrases."""
    ontology: str = ""
    paths: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """The document is of one of these."""
    after: int | None = None
    """The document's date is this time (nanoseconds) or later."""
    before: int | None = None
    """The document's date is earlier than this time."""
    concepts: tuple[str, ...] = ()
    """The document mentions each of them."""

    @property
    def filtered(self) -> bool:
        """Return whether there is a condition on the document, besides its words."""
        return bool(
            self.paths
            or self.types
            or self.concepts
            or self.without
            or self.after is not None
            or self.before is not None
        )


_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(asked: str) -> Query:
    """Return the parts of a question.

    ``key:value`` is a filter where ``key`` is two lower-case letters or more; a value with spaces stands in quotes. A
    colon or a slash behind the first colon makes a word of it (``std::vector``, ``http://…``). In quotes anything is
    a phrase. Everything is in NFC, without soft hyphens and zero-width characters. A lone or an unmatched quote, and a minus before nothing, are nothing. Raises BadInputError for what is no filter,
    and for a lone surrogate, which no text has.
    """
    if _SURROGATE.search(asked):
        raise BadInputError("Half a character (a lone surrogate) is neither kept nor found. Ask without it.")
    words: list[str] = []
    phrases: list[str] = []
    without: list[str] = []
    of: dict[str, list[str]] = {key: [] for key in FILTERS}
    typed = unicodedata.normalize("NFC", without_joiners(asked.replace("\0", " ")))
    for found in _TOKEN.finditer(typed):
        key, quoted, bare = found["key"], found["quoted"], found["bare"]
        value = quoted if quoted is not None else bare.replace('"', " ").strip()
        if key is not None:
            if key not in FILTERS:
                known = ", ".join(f"{name}:" for name in FILTERS)
                raise BadInputError(f"'{key}:' is no filter. There are {known}; for the words themselves quote them.")
            if found["minus"]:
                raise BadInputError(f"'-{key}:' is not possible: a minus stands before words and phrases.")
            if not value:
                raise BadInputError(f"'{key}:' needs {FILTERS[key]}.")
            of[key].append(value)
        elif not _WORD.search(value):
            words.extend([value] if value and not found["minus"] else [])
        elif found["minus"]:
            without.append(value)
        else:
            words.append(value)
            if quoted is not None:
                phrases.append(" ".join(value.split()))
    if len(of["ontology"]) > 1:
        raise BadInputError("Give 'ontology:' once.")
    after = [_date("after", one) for one in of["after"]]
    before = [_date("before", one) for one in of["before"]]
    return Query(
        words=" ".join(words),
        phrases=tuple(phrases),
        without=tuple(without),
        ontology=of["ontology"][0] if of["ontology"] else "",
        paths=tuple(one.removeprefix("documents/") for one in of["path"]),
        types=tuple(one.casefold().removeprefix(".") for one in of["type"]),
        after=max(after, default=None),
        before=min(before, default=None),
        concepts=tuple(of["concept"]),
    )


def _date(key: str, value: str) -> int:
    """Return the first nanosecond of a day, month or year (UTC)."""
    found = _DATE.fullmatch(value)
    wrong = BadInputError(f"'{key}:{value}' is no date. It takes {FILTERS[key]}.")
    if found is None:
        raise wrong
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        return round(datetime(year, month, day, tzinfo=UTC).timestamp()) * 10**9
    except ValueError:
        raise wrong from None
