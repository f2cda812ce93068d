"""The graph of a Claude Code transcript: which of its entries were abandoned, and which repeat earlier ones.

Entries follow one another by ``parentUuid``. The branch that lived ends at the last turn. What leaves it, such as a prompt
that the user took back and its answers, was abandoned. Some entries leave the branch by the way they are written only:
results of tools that ran at once, further lines of one message, and what is no turn.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kgfs.domain.sessions import Fold
from kgfs.domain.transcripts import Entry, EntryKind, kinds_of


@dataclass(slots=True)
class _Node:
    n: int
    uuid: str
    parent: str
    message: str
    call: str
    calls: tuple[str, ...]
    is_turn: bool
    """Whether the user or the model speaks, or a tool answers."""
    starts: bool
    """Whether it is a prompt of the user before which nothing was said."""
    previous: _Node | None
    """The entry before it in the file."""
    following: list[_Node] = field(default_factory=list)


def folds_of(entries: Iterable[Entry], borders: Sequence[int] = (1,)) -> list[Fold]:
    """Return the abandoned branches of a transcript, and its entries that repeat one of an earlier segment.

    ``borders`` are the numbers of the first entries of its segments. What is folded together stands together in session.md
    and in one segment.
    """
    marks: dict[int, EntryKind] = {}
    between: set[int] = set()
    graph = _Graph()
    for segment, part in _by_segment(entries, borders):
        own = kinds_of(part)
        for entry in part:
            if not entry.parts or own.get(entry.n) is EntryKind.REPEATED:
                between.add(entry.n)
            elif graph.repeats(entry, segment):
                marks[entry.n] = EntryKind.REPEATED
            graph.add(entry, own.get(entry.n, EntryKind.TURN))
    marks |= {n: EntryKind.ABANDONED for n in graph.abandoned() if n not in between and n not in marks}
    found: list[Fold] = []
    for n in sorted(marks):
        last = found[-1] if found else None
        if (
            last is not None
            and last.kind == marks[n]
            and bisect_right(borders, last.first) == bisect_right(borders, n)
            and all(one in between for one in range(last.last + 1, n))
        ):
            found[-1] = Fold(last.kind, last.first, n)
        else:
            found.append(Fold(marks[n], n, n))
    return found


def _by_segment(entries: Iterable[Entry], borders: Sequence[int]) -> Iterator[tuple[int, list[Entry]]]:
    part: list[Entry] = []
    segment = 0
    for entry in entries:
        at = bisect_right(borders, entry.n)
        if part and at != segment:
            yield segment, part
            part = []
        segment = at
        part.append(entry)
    if part:
        yield segment, part


class _Graph:
    """The entries of the conversation itself: those of sub-agents are left out."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Node] = {}
        self._last: _Node | None = None
        self._seen: dict[object, int] = {}

    def repeats(self, entry: Entry, segment: int) -> bool:
        """Return whether the entry repeats one of an earlier segment, and remember it."""
        marks = [entry.uuid, (entry.message, hash(entry.parts))] if entry.message else [entry.uuid]
        first = min((self._seen.setdefault(mark, segment) for mark in marks if mark), default=segment)
        return first != segment

    def add(self, entry: Entry, kind: EntryKind) -> None:
        if not entry.uuid or entry.parent is None or entry.uuid in self._nodes or kind is EntryKind.SUB_AGENT:
            return
        is_turn = bool(entry.type in ("user", "assistant") and entry.parts and kind is EntryKind.TURN)
        starts = is_turn and entry.type == "user" and not entry.parent and not entry.call
        self._last = self._nodes[entry.uuid] = _Node(
            entry.n, entry.uuid, entry.parent, entry.message, entry.call, entry.calls, is_turn, starts, self._last
        )

    def abandoned(self) -> Iterator[int]:
        """Yield the numbers of the entries that are on no branch that lived."""
        living, start = self._branch()
        calls = {call for node in living.values() for call in node.calls}
        messages = {node.message for node in living.values()}
        starts = [node for node in self._nodes.values() if node.starts and node.uuid not in living]
        for node in self._nodes.values():
            if node.parent in self._nodes:
                self._nodes[node.parent].following.append(node)
        lost = deque(starts if start else ())
        due = deque(living.values())
        while due:
            for node in due.popleft().following:
                if node.uuid in living:
                    continue
                if (
                    not node.is_turn
                    or (node.call and node.call in calls)
                    or (node.message and node.message in messages)
                ):
                    living[node.uuid] = node
                    calls.update(node.calls)
                    due.append(node)
                else:
                    lost.append(node)
        passed: set[str] = set()
        while lost:
            node = lost.popleft()
            if node.uuid not in living and node.uuid not in passed:
                passed.add(node.uuid)
                lost.extend(node.following)
                yield node.n

    def _branch(self) -> tuple[dict[str, _Node], bool]:
        """Return the entries from the last turn back to the first one, and whether the user's first prompt is reached.

        Where what an entry follows is not in the file, as after a summary of an earlier kind, the entry before it goes on.
        """
        at = self._last
        while at is not None and not at.is_turn:
            at = at.previous
        living: dict[str, _Node] = {}
        while at is not None and at.uuid not in living:
            living[at.uuid] = at
            if at.starts:
                return living, True
            at = self._nodes.get(at.parent) or at.previous
        return living, False
