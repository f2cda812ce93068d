"""How far a graph on a server has come, and so whether a replica of it is current."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    space: str
    """A random name, another one for each graph that was ever made, emptied or rebuilt."""
    clears: int
    imposed: int
    """How often something was changed that no feed tells."""
    epoch: int
    newest: str
    """Id of the commit that made the epoch; '' where none did. A server that was restored to an earlier day and has gone
    on has another one at the same epoch."""
    changes_above: int
    """The feed tells of epochs above this one."""
    marked: int
    """How often marks were set."""
    redacted: int
    """How often names were hidden, and the feed given up with them."""
    ids_above: int
    ids_up_to: int
    """Of the epochs above the first, up to the second, whose feed was given up, bare ids are kept; -1 where none was."""

    @property
    def is_new(self) -> bool:
        """Whether the graph was just made, and never had anything: one that was emptied on purpose counts that."""
        return self.epoch == self.clears == 0

    @property
    def identity(self) -> tuple[str, int, int]:
        """A replica of a graph with another identity is made anew."""
        return self.space, self.clears, self.imposed
