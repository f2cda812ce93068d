"""Bundle what the views need: the stores, the settings and the deposits of one home."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kgfs.config import Config
from kgfs.ingest.writing.deposit import Deposits
from kgfs.stores.catalog.facts import QuestionSaved
from kgfs.stores.stores import Stores
from kgfs.tree.questions import Questions
from kgfs.tree.searches import Searches
from kgfs.tree.view import Views
from kgfs.tree.view_cache import ViewCache


@dataclass(frozen=True, slots=True)
class TreeContext:
    """The context of the views of one mount."""

    config: Config
    stores: Stores
    deposits: Deposits
    """Receives all writes."""
    session: str
    """Id of this mount's session."""
    uid: int
    gid: int
    """Derived entries belong to the user who mounted."""
    mounted_at: int
    """Time of entries that show the mount itself, in nanoseconds."""
    views: Views
    metrics: Callable[[], str] = str
    """Returns the text of ``.kgfs/metrics.prom``."""
    cache: ViewCache = field(default_factory=ViewCache)
    searches: Searches = field(init=False)
    questions: Questions = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "searches", Searches(self.config, self.stores, self.cache))
        object.__setattr__(self, "questions", Questions(self.config, self.stores, self.cache, self._answered))

    def _answered(self, key: tuple[str, str]) -> None:
        """Record that a saved question has a new answer, so that the kernel is told."""
        self.deposits.record(QuestionSaved(*key, time.time_ns()))
