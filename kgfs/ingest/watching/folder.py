"""Bring an ontology in step with a folder, one scan at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kgfs.domain.documents import Name, NameKind, Ontology
from kgfs.errors import AWAY, BusyError, ExistsError, KgfsError, MissingError, NoSpaceError, NotEmptyError
from kgfs.ingest import timing
from kgfs.ingest.watching.notes import FolderNotes, Noted, Plan, plan
from kgfs.ingest.watching.scan import Scan, Seen, is_being_written, scan
from kgfs.ingest.writing.deposit import Deposits
from kgfs.ingest.writing.intake import Ingested
from kgfs.ingest.writing.rules import check_path
from kgfs.stores.locks import alone
from kgfs.stores.stores import Stores
from kgfs.stores.watch_files import confirmation_of, lock_of, notes_of

LATER = 1 << 62
"""A time (nanoseconds) at which no file is new any more."""

Tell = Callable[[str, Ingested | KgfsError], None]
"""A callback that is called with each file, by its path below the folder, and what became of it."""
PASSING = (*AWAY, BusyError, NoSpaceError)
"""Errors that say nothing of the file itself: it is tried again soon."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A folder and the ontology that is kept in step with it."""

    folder: Path
    """Absolute."""
    ontology: str
    into: str = ""
    """The folder below documents/ that its files are put into; '' for documents/ itself."""


class FolderWatch:
    """The watch of one folder. One thread. Use :func:`watch_folder` to make one."""

    def __init__(self, watched: Watched, stores: Stores, deposits: Deposits, notes: Path, tell: Tell) -> None:
        """``notes`` is the file that the notes of the folder are kept in."""
        self.watched = watched
        self._stores, self._deposits, self._tell = stores, deposits, tell
        self._ontology: Ontology = deposits.ontology_called(watched.ontology)
        self._notes = FolderNotes(notes, self._ontology.id)
        self._confirmed = confirmation_of(notes)
        self._refused: dict[str, tuple[Seen, str, float]] = {}
        """Files that could not be taken: as they were seen, why, and when they are tried again (monotonic)."""
        self.folders: list[Path] = [watched.folder]
        """The folders of the last scan."""
        self.held = ""
        """Why nothing is removed; '' where nothing is held back."""
        self.seconds = 0.0
        """The time that the last scan took."""

    @property
    def files(self) -> int:
        """Return how many files the ontology has from the folder."""
        return len(self._notes.files)

    @property
    def refused(self) -> dict[str, str]:
        """Return the files that could not be taken, with the reasons."""
        return {path: why for path, (_, why, _) in self._refused.items()}

    def bring_in_step(self) -> bool:
        """Bring the ontology in step at once; return whether it is. A file counts as being written only while it changes or
        is open, and is waited for ``timing.WATCH_WRITING`` seconds."""
        until = time.monotonic() + timing.WATCH_WRITING
        while True:
            try:
                still = scan(self.watched.folder).files
            except OSError:
                still = {}
            time.sleep(timing.WATCH_STILL)
            waits = self.step(still) < float("inf")
            if not waits or self.held or self._refused or time.monotonic() > until:
                return not (waits or self.held or self._refused)

    def step(self, still: Mapping[str, Seen] | None = None) -> float:
        """Scan the folder and bring the ontology in step; return in how many seconds the next scan is due at the
        latest, ``inf`` where nothing waits.

        With ``still``, the files of an earlier scan, those that are as they were then are taken, however new they are. What is told of is durable. Raise nothing for a single file, a folder that is away or a server that is away.
        """
        begun = time.monotonic()
        try:
            found = scan(self.watched.folder)
        except OSError as error:
            self.held = f"it cannot be read: {error.strerror}"
            return timing.WATCH_RETRY
        self.seconds = time.monotonic() - begun
        self.folders = found.folders
        confirmed = self._confirmed.exists()
        now = time.time_ns() if still is None else LATER
        decided = plan(self._notes.files, self._notes.device, found, now, confirmed=confirmed)
        due = self._carry_out(decided, found, found.files if still is None else still)
        self.held = decided.held
        if not decided.held:
            self._notes.set_device(found.device)
        self._notes.sync()
        if confirmed:
            self._confirmed.unlink(missing_ok=True)
        return due

    def _carry_out(self, decided: Plan, found: Scan, still: Mapping[str, Seen]) -> float:
        due = decided.again
        again = [new for old, new in decided.move if not self._move(old, new, found.files[new])]
        ready: list[str] = []
        for path in (*again, *decided.take):
            if self._is_refused(path, found.files[path]):
                continue
            if still.get(path) != found.files[path] or is_being_written(self.watched.folder / path):
                due = min(due, timing.WATCH_QUIET)
            else:
                ready.append(path)
        for path, result in self._take(ready):
            self._tell(path, result)
            if not isinstance(result, KgfsError):
                self._refused.pop(path, None)
                self._notes.take(path, Noted(found.files[path], time.time_ns()))
                continue
            pause = timing.WATCH_RETRY if isinstance(result, PASSING) else timing.WATCH_RESCAN
            self._refused[path] = (found.files[path], str(result), time.monotonic() + pause)
            due = min(due, pause)
        for path in decided.remove:
            self._remove(path)
        self._refused = {path: about for path, about in self._refused.items() if path in found.files}
        return due

    def _is_refused(self, path: str, seen: Seen) -> bool:
        known = self._refused.get(path)
        return known is not None and known[0] == seen and time.monotonic() < known[2]

    def _take(self, paths: Iterable[str]) -> Iterator[tuple[str, Ingested | KgfsError]]:
        sources = {self.watched.folder / path: path for path in paths}
        pairs = ((source, self._goal(path)) for source, path in sources.items())
        for source, result in self._deposits.ingest_files(pairs, self.watched.ontology):
            yield sources[source], result

    def _move(self, former: str, present: str, seen: Seen) -> bool:
        """Move a document as its file was moved; return whether that could be done. Else it is taken anew."""
        name = self._name(former)
        if name is None:
            return False
        parts = check_path(self._goal(present))
        try:
            parent = self._deposits.folder_below(self._ontology, parts[:-1])
            self._deposits.move(name.id, parent, parts[-1], replace=False)
        except (ExistsError, MissingError, BusyError):
            self._remove(former)
            return False
        self._notes.drop(former)
        self._notes.take(present, Noted(seen, time.time_ns()))
        self._leave_folders(name)
        self._tell(present, Ingested("/".join(parts), name.doc_id, "moved", f"it was {former}"))
        return True

    def _remove(self, path: str) -> None:
        name = self._name(path)
        if name is not None:
            try:
                self._deposits.remove(name.id)
            except MissingError:
                pass  # somebody else was faster
            else:
                why = f"it is no longer in {self.watched.folder}"
                self._tell(path, Ingested("/".join(check_path(self._goal(path))), name.doc_id, "removed", why))
            self._leave_folders(name)
        self._notes.drop(path)

    def _leave_folders(self, name: Name) -> None:
        """Remove the folders above a name that left, as far as they are empty."""
        names, parent = self._stores.catalog.names, name.parent
        root = names.resolve(self._ontology.id, self.watched.into)
        while parent not in (0, self._ontology.root) and (root is None or parent != root.id):
            folder = names.name(parent)
            if folder is None:
                return
            try:
                self._deposits.remove(parent)
            except (NotEmptyError, MissingError):
                return
            parent = folder.parent

    def _goal(self, path: str) -> str:
        return f"{self.watched.into}/{path}" if self.watched.into else path

    def _name(self, path: str) -> Name | None:
        """Return the document's live name, or None where the ontology has no file there."""
        name = self._stores.catalog.names.resolve(self._ontology.id, "/".join(check_path(self._goal(path))))
        return name if name is not None and name.kind is NameKind.FILE else None


@contextmanager
def watch_folder(watched: Watched, home: Path, stores: Stores, deposits: Deposits, tell: Tell) -> Iterator[FolderWatch]:
    """Return a context that gives the watch of a folder. The ontology is made if there is none.

    Raise BusyError if another process, or thread, watches the folder for this ontology.
    """
    notes = notes_of(home, watched.folder, watched.ontology, watched.into)
    with alone(lock_of(notes), f"{watched.folder} is watched for {watched.ontology} by another process."):
        yield FolderWatch(watched, stores, deposits, notes, tell)
