"""Index of the contents that undelivered facts refer to, by name."""

from __future__ import annotations

from collections.abc import Iterable

from kgfs.stores.catalog.encoding import decode
from kgfs.stores.catalog.facts import ContentKept, Settled, VersionMinted
from kgfs.stores.catalog.sqlite import Catalog

Waiting = tuple[int, str]
"""(name id, SHA-256): a content that the garage may have as a pending upload until its name is settled."""

OF_CONTENTS = (ContentKept, VersionMinted, Settled)
"""The kinds of facts that give a content to a name."""


def spoken_of(entries: Iterable[bytes]) -> set[Waiting]:
    """Return the contents that these encoded facts give to names."""
    facts = map(decode, entries)
    return {(fact.id, fact.sha256) for fact in facts if isinstance(fact, OF_CONTENTS) and fact.sha256}


class Later:
    """An index of undelivered facts, for a caller that delivers batch after batch. Each fact is read once. One
    thread."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._last: dict[Waiting, int] = {}
        """By name and content (SHA-256): the number of the last fact that refers to it."""
        self._upto = -1
        """The number of the last fact that was read."""

    def read(self, after: int) -> None:
        """Read the facts recorded so far after the fact ``after``. The facts up to there are known here, and have
        their final numbers."""
        while True:
            news = self._catalog.facts(self._upto) if self._upto >= after else None
            if news is None:  # this is the first call, or the facts were renumbered
                self._last, self._upto = {}, after
                news = self._catalog.facts(after, confirmed=True)
            if not news:
                return
            for number, fact in news:
                if isinstance(fact, OF_CONTENTS) and fact.sha256:
                    self._last[fact.id, fact.sha256] = number
            self._upto = news[-1][0]

    def speaks_of(self, name_id: int, sha256: str, after: int) -> bool:
        """Return whether a fact after ``after`` that :meth:`read` has read refers to this content of this name."""
        return self._last.get((name_id, sha256), 0) > after
