"""Serve ``search/<words>/``: the documents that match some words, in one ontology or, at the mount's root, in all.
``page-2/`` and further pages, which are not listed, have the next documents, ``passages/`` the best passages. Any
other name in it that none of its files could have is a search within the documents of this one.

The contents of a folder are computed when it is opened or when an entry in it is looked up
(``Folder.work_out``).

``search/`` and ``ask/``, and the folders in them, are folders whose names are asked. Every name is there, known from
the name alone; this module and ``kgfs.tree.ask`` say what is in its folder. The folders list the names below which
something is saved. A name is saved with ``touch``: since every name exists already, the kernel itself answers
``mkdir`` with EEXIST. ``rmdir`` takes a saved one out of the listing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from kgfs.compute.deadline import Deadline
from kgfs.domain.names import decode_name
from kgfs.errors import BadInputError, ExistsError, MissingError, NotEmptyError, ReadOnlyError, RefusedError
from kgfs.knowledge.query import parse
from kgfs.stores.catalog.facts import SearchRemoved, SearchSaved
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.changes import SearchesChanged
from kgfs.tree.derived import DerivedFile, DerivedFolder
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.node import Attr, AttrChange, Caller, Folder, Handle, Node, Rendered
from kgfs.tree.searches import PASSAGES, Answer, Content
from kgfs.tree.timing import SEARCH
from kgfs.tree.tree_context import TreeContext

FOLDERS, FILES = "folders", "files"
NO_WORDS = re.compile(
    r"\..*|desktop\.ini|autorun\.inf|thumbs\.db|ehthumbs\.db|folder\.jpg|lost\+found|system volume information"
    r"|\$recycle\.bin|recycler|__macosx|node_modules|cvs|rcs|audio_ts|video_ts|bdmv|aacs|icon\r|\W*",
    re.IGNORECASE,
)
"""Names that programs look for in every folder. They are never asked, and no entry has such a name."""

IS_PART = re.compile(rf"{PASSAGES}|page-[1-9][0-9]{{0,5}}")
"""Names of folders in ``search/<words>/``. Only the first is listed: no scan goes through all pages."""
IS_FILE = re.compile(r"results\..*|[0-9]{2,}~.*\.(?:md|txt)", re.DOTALL)
"""Names that files of a result have, or could have."""
NO_NESTED = re.compile(rf"{IS_FILE.pattern}|{PASSAGES}|page-[0-9]*", re.DOTALL)
"""Names that are never searches within a search."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What is asked in one of the two folders."""

    name: str
    """The name of the folder, and of the group of its nodes."""
    one: str
    """What an entry is called."""
    folder: Callable[[TreeContext, str, tuple[str, ...], int], Folder]
    """Return the folder of these names in an ontology ('' for all), and of the time at which the first folder was made."""
    saved: Callable[[TreeContext, str], Mapping[str, int]]
    """Return the times (nanoseconds) at which the saved ones of an ontology were saved, by names joined by ``/``."""
    remove: Callable[[TreeContext, str, str], None]
    """Record that a saved one is removed."""


def is_question(name: str) -> bool:
    """Return whether a name is asked. *Quick*."""
    return NO_WORDS.fullmatch(words_in(name)) is None


def words_in(name: str) -> str:
    """Return the words of an encoded name, in which ``%2F`` stands for a slash."""
    return decode_name(name).decode("utf-8", "replace").replace("%2F", "/").replace("%2f", "/")


class AskedFolder(DerivedFolder[None]):
    """The base of a folder that goes on with what is asked."""

    __slots__ = ("_kind", "_names", "_ontology_id", "_since")

    def __init__(
        self, context: TreeContext, key: Key, kind: Kind, ontology_id: str, names: tuple[str, ...], since: int
    ) -> None:
        """Create the folder. ``ontology_id`` is '' where all ontologies are asked; ``since`` is the time at which ``search/`` or
        ``ask/`` was made, in nanoseconds.
        """
        super().__init__(context, key)
        self._kind = kind
        self._ontology_id = ontology_id
        self._names = names
        self._since = since

    def group(self) -> tuple[str, Hashable] | None:
        return self._kind.name, FOLDERS

    def mtime(self) -> int:
        """Return the time of the newest epoch, since what is found may differ from what was found earlier."""
        stores = self.context.stores
        asked = [self._ontology_id] if self._ontology_id else [one.id for one in stores.catalog.names.ontologies()]
        return max([self._since, *(stores.graph.changed_at(each) for each in asked)])

    def token(self) -> Hashable | None:
        # The kernel must cache neither listings nor absent names, because they belong to one answer.
        return None

    def listed(self) -> list[tuple[str, Node]]:
        """Return the names in the folder that lead to what is saved, in order."""
        return [(name, self.nested(name)) for name in self._below(self._names)]

    def nested(self, name: str) -> Folder:
        return self._kind.folder(self.context, self._ontology_id, (*self._names, name), self._since)

    def is_asked(self, name: str) -> bool:
        """Return whether a folder of this name is there."""
        return is_question(name)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        if not self.is_asked(name):
            raise RefusedError(f"'{name}' is no {self._kind.one}: programs look for it, or it is a file of an answer.")
        raise ExistsError(f"Every {self._kind.one} is there already. To have '{name}' listed: touch it")

    def remove_folder(self, name: str) -> None:
        """Take a saved name out of the listing. Raise MissingError if it is not saved, and NotEmptyError where only others are
        saved that go on below it."""
        names = (*self._names, name)
        if "/".join(names) not in self._saved():
            if self._below(names):
                raise NotEmptyError(f"Others that go on below '{name}' are saved. Remove these first.")
            raise MissingError(f"The {self._kind.one} '{name}' is not saved.")
        self._kind.remove(self.context, self._ontology_id, "/".join(names))

    def _saved(self) -> Mapping[str, int]:
        return self._kind.saved(self.context, self._ontology_id)

    def _below(self, names: tuple[str, ...]) -> list[str]:
        found: dict[str, None] = {}
        for path in self._saved():
            parts = tuple(path.split("/"))
            if len(parts) > len(names) and parts[: len(names)] == names:
                found[parts[len(names)]] = None
        return list(found)


class FirstFolder(AskedFolder):
    """Serve ``search/`` or ``ask/`` itself. It is not listed, so that no program that walks the tree enters it."""

    __slots__ = ()

    def __init__(self, context: TreeContext, kind: Kind, ontology_id: str, since: int) -> None:
        super().__init__(context, keys.part(ontology_id, kind.name), kind, ontology_id, (), since)

    def group(self) -> tuple[str, Hashable] | None:
        return None

    def mtime(self) -> int:
        return max([self._since, *self._saved().values()])

    def token(self) -> Hashable | None:
        # What is saved must appear in the listing before the change feed reports it.
        return self.context.stores.catalog.seq()

    def lookup(self, name: str) -> Node | None:
        return self.nested(name) if is_question(name) else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        return self.listed()


def found_changed(kind: Kind, stale: Invalidations) -> None:
    """Invalidate what was found, which may be gone or have other contents or paths: its names are looked up again."""
    for inode, _ in stale.group(kind.name, FOLDERS):
        stale.inode(inode)
    for _, known in stale.group(kind.name, FILES):
        for place in known.places():
            stale.entry(*place)


class ResultsFolder(AskedFolder):
    """Serve ``search/<words>/``, a search nested in it or, with ``part``, a folder in one of them. With an answer the folder
    has the answer's files; without one, :meth:`work_out` must be called first.
    """

    __slots__ = ("_answer", "_part")

    def __init__(
        self,
        context: TreeContext,
        ontology_id: str,
        names: tuple[str, ...],
        since: int,
        part: str = "",
        answer: Answer | None = None,
    ) -> None:
        super().__init__(context, keys.results(ontology_id, "/".join(names), part), KIND, ontology_id, names, since)
        self._part = part
        self._answer = answer

    # ------------------------------------------------------------------------------------------- what is in it

    is_search = True

    def needs_work(self, name: str) -> bool:
        return IS_FILE.fullmatch(name) is not None

    def work_out(self, deadline: Deadline | None = None) -> Folder:
        words = tuple(words_in(name) for name in self._names)
        answer = self.context.searches.cached(self._ontology_id, words, self._part)
        if answer is None:
            blocks()
            try:
                answer = self.context.searches.work_out(
                    self._ontology_id, words, self._part, deadline or Deadline(SEARCH)
                )
            except BadInputError as error:  # an unknown filter: errors.ndjson tells the reason that EINVAL cannot
                raise error.to_be_logged() from None
        return ResultsFolder(self.context, self._ontology_id, self._names, self._since, self._part, answer)

    def lookup(self, name: str) -> Node | None:
        if IS_FILE.fullmatch(name):
            content = self._answer.files.get(name) if self._answer else None
            return self._file(name, content) if content else None
        if self._part:
            return None
        if IS_PART.fullmatch(name):
            return self._folder(name)
        return self.nested(name) if self._is_nested(name) else None

    @staticmethod
    def _is_nested(name: str) -> bool:
        return is_question(name) and NO_NESTED.fullmatch(name) is None

    def is_asked(self, name: str) -> bool:
        return self._is_nested(name) or IS_PART.fullmatch(name) is not None

    def entries(self) -> Sequence[tuple[str, Node]]:
        files = self._answer.files if self._answer else {}
        listed: list[tuple[str, Node]] = [(name, self._file(name, content)) for name, content in files.items()]
        if not self._part:
            listed.append((PASSAGES, self._folder(PASSAGES)))
            listed += self.listed()
        return sorted(listed, key=lambda entry: entry[0])

    def _folder(self, part: str) -> ResultsFolder:
        return ResultsFolder(self.context, self._ontology_id, self._names, self._since, part)

    def _file(self, name: str, content: Content) -> ResultFile:
        mark = content.mark
        key = keys.results(self._ontology_id, self._saved_as, self._part, name, mark)
        return ResultFile(self.context, key, mark, content)

    # ----------------------------------------------------------------------------------------------- saving

    @property
    def _saved_as(self) -> str:
        return "/".join(self._names)

    def change(self, wanted: AttrChange) -> Attr:
        if self._part or (wanted.atime is None and wanted.mtime is None):
            raise ReadOnlyError("A search has no modes and owners of its own.")
        try:
            for name in self._names:
                parse(words_in(name))
        except BadInputError as error:  # it could never be looked into
            raise error.to_be_logged() from None
        if self._saved_as not in self._saved():
            self.context.deposits.record(SearchSaved(self._ontology_id, self._saved_as, time.time_ns()))
        return self.attr()

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        return (
            DerivedFolder.make_folder(self, name, mode, caller)
            if self._part
            else super().make_folder(name, mode, caller)
        )

    def remove_folder(self, name: str) -> None:
        if self._part:
            DerivedFolder.remove_folder(self, name)
        super().remove_folder(name)


class ResultFile(DerivedFile[Content]):
    """Serve a file of one answer. Once the answer is forgotten, the file is gone, and the kernel looks its name up
    again.

    The answer may be forgotten between the end of the search and the first request for its files. The files are found
    all the same: otherwise the program would be told that they do not exist, and would not ask again.
    """

    __slots__ = ("_mark",)

    def __init__(self, context: TreeContext, key: Key, mark: str, content: Content) -> None:
        super().__init__(context, key, content)
        self._mark = mark

    def group(self) -> tuple[str, Hashable]:
        return KIND.name, FILES

    def measure(self) -> tuple[int, int]:
        content = self.take_row() or self._content()
        return len(content.data), content.mtime

    def content(self) -> bytes:
        return self._content().data

    def handle(self) -> Handle:
        return Rendered(self.content())

    def _content(self) -> Content:
        found = self.context.searches.content(self._mark)
        if found is None:
            raise MissingError("What this search found was forgotten.")
        return found


def _saved(context: TreeContext, ontology_id: str) -> dict[str, int]:
    return {one.words: one.saved_at for one in context.stores.catalog.names.saved_searches(ontology_id)}


def _remove(context: TreeContext, ontology_id: str, words: str) -> None:
    context.deposits.record(SearchRemoved(ontology_id, words, time.time_ns()))


KIND = Kind("search", "search", ResultsFolder, _saved, _remove)


def saved(fact: SearchSaved | SearchRemoved, stale: Invalidations) -> None:
    """Invalidate ``search/`` after a search was saved or removed."""
    stale.key(keys.part(fact.ontology, KIND.name))


def results_changed(change: SearchesChanged, stale: Invalidations) -> None:
    """Invalidate the results of searches."""
    found_changed(KIND, stale)
