"""What is not delivered yet: which contents of which names it speaks of."""

from __future__ import annotations

from collections.abc import Iterable

from kgfs.stores.journal.contract import Journal
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ContentKept, Settled, VersionMinted

Waiting = tuple[int, str]
"""By name and SHA-256: a content that may wait in the garage to be settled."""

OF_CONTENTS = (ContentKept, VersionMinted, Settled)


def spoken_of(entries: Iterable[bytes]) -> set[Waiting]:
    """The contents that these facts give to names."""
    facts = map(decode, entries)
    return {(fact.id, fact.sha256) for fact in facts if isinstance(fact, OF_CONTENTS) and fact.sha256}


class Later:
    """Of one who delivers portion after portion: each fact is read once, however many there are. One thread."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._last: dict[Waiting, int] = {}
        """By name and content (SHA-256): the number of the last fact that speaks of it."""
        self._upto = -1
        """The last fact that was read."""

    def look(self, after: int) -> None:
        """At what was recorded so far behind the fact ``after``, of which everything is here yet."""
        while True:
            news = self._journal.facts(self._upto) if self._upto >= after else None
            if news is None:  # the first time, or what was read has other numbers by now
                self._last, self._upto = {}, after
                news = self._journal.facts(after, confirmed=True)
            if not news:
                return
            for number, fact in news:
                if isinstance(fact, OF_CONTENTS) and fact.sha256:
                    self._last[fact.id, fact.sha256] = number
            self._upto = news[-1][0]

    def speaks_of(self, name_id: int, sha256: str, after: int) -> bool:
        """Whether what :meth:`look` has seen does, behind the fact ``after``."""
        return self._last.get((name_id, sha256), 0) > after
