"""The index of words of one home: which segments there are, what they lack, and what is gone from them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from kgfs.domain.word_forms import FORMS, stem
from kgfs.errors import KgfsError, from_os_error
from kgfs.stores.batched import batched
from kgfs.stores.locks import locked, locked_within
from kgfs.stores.words.merging import LARGEST, MOST, to_join
from kgfs.stores.words.scoring import WordView
from kgfs.stores.words.segment import Array, Indexed, Segment, build, merge, opened, save

FORMAT = 3
MANIFEST = "index.json"
AT_ONCE = 2000
"""Sources that a search adds by itself; where more are missing the full text of the graph answers."""
BATCH = 20_000
"""Sources that are indexed at once, in one segment."""
GONE = 0.25
"""The share of gone documents from which a segment is written anew."""
_PROBE = ("generalisations", "running", "abilities", "happily", "conditional", "relational")


class Indexable(Protocol):
    """What the index is derived from: the graph's Sources."""

    def moment(self) -> tuple[int, int, int]:
        """Return numbers that change when the Sources do: the database's own, its clears, its epoch."""
        ...

    def changed_documents(self, after: int) -> set[str] | None:
        """Return the documents that came, went or changed since that epoch; None if that is not known."""
        ...

    def marks(self, doc_ids: Collection[str] | None) -> dict[str, tuple[int, int]]:
        """Return the mark and the number of Sources of those of these documents (None: all) that are shown."""
        ...

    def indexed(self, doc_ids: Sequence[str]) -> Iterator[Indexed]:
        """Yield what is indexed of those of these documents that are shown."""
        ...


@dataclass(frozen=True, slots=True)
class _State:
    moment: tuple[int, int, int]
    """(-1, …) where the segments do not have all documents yet."""
    segments: tuple[Segment, ...]
    living: tuple[Array, ...]
    manifest: tuple[int, int]
    """Which manifest it began with."""


_NOTHING = (-1, -1, -1)


class WordIndex:
    """The index of words in a folder. Any number of threads and processes may use it.

    ``view`` is what a search asks, ``refresh`` brings the files up to date, ``erase`` removes what is gone from them.
    """

    def __init__(self, folder: Path, graph: Indexable) -> None:
        self._folder = folder
        self._graph = graph
        self._lock = threading.Lock()
        self._state = _State(_NOTHING, (), (), (0, 0))
        self._view: WordView | None = None

    # --------------------------------------------------------------------------------------------- searching

    def view(self) -> WordView | None:
        """Return the Sources as they are now; None where too many of them are not indexed yet.

        Adds at most AT_ONCE Sources by itself, in memory. Raises the errors of the graph and of the files.
        """
        with self._lock:
            moment = self._graph.moment()
            state = self._newest()
            if state.moment == _NOTHING != self._state.moment:  # files that are incomplete, or made by another version
                state = self._state
            if self._view is not None and state is self._state and state.moment == moment:
                return self._view
            followed = self._followed(state, moment, AT_ONCE)
            if followed is None:
                return None
            self._state = followed
            self._view = WordView(followed.segments, followed.living)
            return self._view

    def _newest(self) -> _State:
        """Return the state in memory, or that of the files where these were changed since."""
        manifest = self._manifest()
        if manifest == self._state.manifest:
            return self._state
        while (state := self._read(manifest)).moment == _NOTHING and (newer := self._manifest()) != manifest:
            manifest = newer  # another process has replaced the files while they were read
        return state

    def _manifest(self) -> tuple[int, int]:
        try:
            status = (self._folder / MANIFEST).stat()
        except FileNotFoundError:
            return (0, 0)
        except OSError as error:
            raise from_os_error(error, str(self._folder)) from error
        return status.st_ino, status.st_mtime_ns

    def _read(self, manifest: tuple[int, int]) -> _State:
        """Return the state of the files; an empty one for files of another version, and for damaged ones."""
        known = {segment.name: segment for segment in self._state.segments if segment.name}
        try:
            told = json.loads((self._folder / MANIFEST).read_text("utf-8"))
            if told["made_by"] != _made_by():
                return _State(_NOTHING, (), (), manifest)
            segments, living = [], []
            for name, gone in told["segments"]:
                segment = known.get(name) or opened(self._folder / name)
                mask = np.ones(segment.documents, np.bool_)
                mask[gone] = False
                segments.append(segment)
                living.append(mask)
            return _State(tuple(told["moment"]), tuple(segments), tuple(living), manifest)
        except (OSError, KgfsError, ValueError, KeyError, TypeError, IndexError):
            return _State(_NOTHING, (), (), manifest)  # it is made again

    def _followed(self, state: _State, moment: tuple[int, int, int], most: int) -> _State | None:
        """Return the state with what came and went since, in one more segment in memory; None for more than ``most``
        Sources."""
        if state.moment == moment:
            return state
        changed = self._graph.changed_documents(state.moment[2]) if state.moment[:2] == moment[:2] else None
        gone, new = self._differences(state, changed)
        if sum(new.values()) > most:
            return None
        living = _without(state, gone)
        if not new:
            return _State(moment, state.segments, living, state.manifest)
        added = build(self._graph.indexed([*new]))
        memory = [n for n, segment in enumerate(state.segments) if not segment.name]
        segments = list(state.segments)
        if len(memory) >= MOST:  # a process that nobody brings up to date the files for
            added = merge([*(segments[n] for n in memory), added], [*(living[n] for n in memory), _all(added)])
            segments = [segment for segment in segments if segment.name]
            living = tuple(mask for n, mask in enumerate(living) if n not in memory)
        return _State(moment, (*segments, added), (*living, _all(added)), state.manifest)

    def _differences(self, state: _State, changed: set[str] | None) -> tuple[list[tuple[int, int]], dict[str, int]]:
        """Return (segment, document) of what is gone or another by now, and the documents to add with their numbers of
        Sources. ``changed`` are the documents to look at; None for all."""
        marks = self._graph.marks(changed)
        held: dict[str, tuple[int, int, int]] = {}
        for number, (segment, mask) in enumerate(zip(state.segments, state.living, strict=True)):
            if changed is None:
                ids = [one.decode("utf-8", "surrogatepass") for one in segment.doc_ids.tolist()]
                places = [(doc_id, at) for at, doc_id in enumerate(ids) if mask[at]]
            else:
                asked = sorted(changed)
                wanted = np.array([one.encode("utf-8", "surrogatepass") for one in asked] or [b""], np.bytes_)
                places = [
                    (doc_id, at)
                    for doc_id, at in zip(asked, segment.find(wanted).tolist(), strict=False)
                    if at >= 0 and mask[at]
                ]
            held |= {doc_id: (number, at, int(segment.marks[at])) for doc_id, at in places}
        same = {doc_id for doc_id, (_, _, mark) in held.items() if marks.get(doc_id, (None, 0))[0] == mark}
        gone = [(number, at) for doc_id, (number, at, _) in held.items() if doc_id not in same]
        return gone, {doc_id: count for doc_id, (_, count) in marks.items() if doc_id not in same}

    # ---------------------------------------------------------------------------------------------- the files

    def is_current(self) -> bool:
        """Return whether the files have all Sources of now. Quick while nothing changes."""
        with self._lock:
            state = self._newest()
            if all(segment.name for segment in state.segments) and state.moment == self._graph.moment():
                return True
            told = self._read(self._manifest())
            return told.moment == self._graph.moment()

    def refresh(self, go_on: Callable[[], bool] = lambda: True) -> bool:
        """Bring the files up to date; return whether they are.

        False where another process is at it, or ``go_on``, which is asked between two batches, returns False. Durable
        after each batch. Raises the errors of the graph and of the files; then the files are as they were.
        """
        self._make_folder()
        with locked_within(self._folder / "lock", 0.0) as ours:
            return ours and self._refreshed(go_on)

    def erase(self) -> None:
        """Remove every word of documents that left the graph from the files. Waits for a process that refreshes them."""
        if not self._folder.exists():
            return
        with locked(self._folder / "lock"):
            state = self._read(self._manifest())
            marks = self._graph.marks(None) if state.segments else {}
            gone, _ = self._differences_to(state, marks)
            living = _without(state, gone)
            segments, masks = [], []
            for segment, mask in zip(state.segments, living, strict=True):
                if not mask.all():
                    segment = self._saved(merge([segment], [mask]))
                    mask = _all(segment)
                if segment.documents:
                    segments.append(segment)
                    masks.append(mask)
            self._write(_State(state.moment, tuple(segments), tuple(masks), state.manifest))
            self._sweep({segment.name for segment in segments})
        with self._lock:
            self._state, self._view = _State(_NOTHING, (), (), (-1, -1)), None

    def discard(self) -> None:
        """Remove the files: they are made again. Waits for a process that refreshes them."""
        if not self._folder.exists():
            return
        with locked(self._folder / "lock"):
            (self._folder / MANIFEST).unlink(missing_ok=True)
            self._sweep(set())
        with self._lock:
            self._state, self._view = _State(_NOTHING, (), (), (-1, -1)), None

    def fault(self) -> str:
        """Return what is wrong with the files, '' for nothing; reads all of them. What they lack yet is no fault."""
        if not (self._folder / MANIFEST).exists():
            return ""
        with locked(self._folder / "lock"):
            try:
                told = json.loads((self._folder / MANIFEST).read_text("utf-8"))
                for name, _ in told["segments"]:
                    opened(self._folder / name, verify=True)
            except (OSError, KgfsError, ValueError, KeyError, TypeError) as error:
                return f"index of words: {error}"
            state = self._read(self._manifest())
            if state.moment == self._graph.moment() and any(self._differences(state, None)):
                return "index of words: other documents than the graph shows"
        return ""

    def _differences_to(
        self, state: _State, marks: dict[str, tuple[int, int]]
    ) -> tuple[list[tuple[int, int]], dict[str, int]]:
        gone = [
            (number, at)
            for number, (segment, mask) in enumerate(zip(state.segments, state.living, strict=True))
            for at, doc_id in enumerate(segment.doc_ids.tolist())
            if not mask[at]
            or marks.get(doc_id.decode("utf-8", "surrogatepass"), (None, 0))[0] != int(segment.marks[at])
        ]
        return gone, {}

    def _refreshed(self, go_on: Callable[[], bool]) -> bool:
        moment = self._graph.moment()
        state = self._read(self._manifest())
        if state.moment == moment:
            return True
        known = state.moment[:2] == moment[:2]
        changed = self._graph.changed_documents(state.moment[2]) if known else None
        gone, new = self._differences(state, changed)
        living = _without(state, gone)
        segments, masks = list(state.segments), list(living)
        batches = [*batched(new.items(), BATCH, lambda item: max(item[1], 1), BATCH)]
        for number, some in enumerate(batches, 1):
            added = self._saved(build(self._graph.indexed([doc_id for doc_id, _ in some])))
            segments.append(added)
            masks.append(_all(added))
            if number == len(batches):
                break
            segments, masks = self._merged(segments, masks, LARGEST // BATCH)  # no search uses them yet
            self._write(_State(_NOTHING, tuple(segments), tuple(masks), (0, 0)))
            if not go_on():
                return False
        segments, masks = self._merged(segments, masks)
        self._write(_State(moment, tuple(segments), tuple(masks), (0, 0)))
        self._sweep({segment.name for segment in segments})
        return True

    def _merged(
        self, segments: list[Segment], masks: list[Array], most: int = MOST
    ) -> tuple[list[Segment], list[Array]]:
        """Return fewer segments where more than ``most`` are small, and none of which much is gone."""
        for number, (segment, mask) in enumerate(zip(segments, masks, strict=True)):
            if segment.documents and 1 - mask.mean() > GONE:
                segments[number] = self._saved(merge([segment], [mask]))
                masks[number] = _all(segments[number])
        chosen = to_join([segment.rows for segment in segments], most)
        if not chosen:
            return segments, masks
        joined = self._saved(merge([segments[n] for n in chosen], [masks[n] for n in chosen]))
        kept = [n for n in range(len(segments)) if n not in chosen]
        return [*(segments[n] for n in kept), joined], [*(masks[n] for n in kept), _all(joined)]

    def _saved(self, segment: Segment) -> Segment:
        return opened(self._folder / save(segment, self._folder))

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise from_os_error(error, str(self._folder)) from error

    def _write(self, state: _State) -> None:
        """Replace the manifest, durably."""
        told = {
            "made_by": _made_by(),
            "moment": state.moment,
            "segments": [
                (segment.name, np.flatnonzero(~mask).tolist())
                for segment, mask in zip(state.segments, state.living, strict=True)
            ],
        }
        fresh = self._folder / f"{MANIFEST}.new"
        try:
            with fresh.open("w", encoding="utf-8") as file:
                json.dump(told, file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._folder / MANIFEST)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            raise from_os_error(error, str(self._folder)) from error

    def _sweep(self, named: set[str]) -> None:
        """Delete files that the manifest does not name. Processes that have mapped them keep what they read."""
        for path in self._folder.glob("segment-*"):
            if path.name not in named:
                path.unlink(missing_ok=True)


def _without(state: _State, gone: Iterable[tuple[int, int]]) -> tuple[Array, ...]:
    living = list(state.living)
    fresh: set[int] = set()
    for number, at in gone:
        if number not in fresh:
            fresh.add(number)
            living[number] = living[number].copy()
        living[number][at] = False
    return tuple(living)


def _all(segment: Segment) -> Array:
    return np.ones(segment.documents, np.bool_)


def _made_by() -> list[object]:
    """Return what an index depends on besides its texts: another stemmer gives other forms."""
    return [FORMAT, FORMS, *(stem(word) for word in _PROBE)]
