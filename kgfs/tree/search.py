"""Serve ``search/<words>/``: the documents that match some words, in one ontology or, at the mount's root, in all.
``page-2/`` and further pages, which are not listed, have the next documents, ``passages/`` the best passages. Any other name
in it that none of its files could have is a search within the documents of this one.

Every name is a folder (``kgfs.tree.asked``). Its contents are computed when it is opened or when an entry in it is looked up
(``Folder.work_out``).
"""

from __future__ import annotations

import re
import time
from collections.abc import Hashable, Sequence

from kgfs.compute.deadline import Deadline
from kgfs.errors import BadInputError, MissingError, ReadOnlyError
from kgfs.knowledge.query import parse
from kgfs.stores.blocking import blocks
from kgfs.stores.catalog.facts import SearchRemoved, SearchSaved
from kgfs.tree import keys
from kgfs.tree.asked import FILES, AskedFolder, Kind, found_changed, is_question, words_in
from kgfs.tree.changes import SearchesChanged
from kgfs.tree.derived import DerivedFile, DerivedFolder
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.node import Attr, AttrChange, Caller, Folder, Handle, Node, Rendered
from kgfs.tree.searches import PASSAGES, Answer, Content
from kgfs.tree.timing import SEARCH
from kgfs.tree.tree_context import TreeContext

IS_PART = re.compile(rf"{PASSAGES}|page-[1-9][0-9]{{0,5}}")
"""Names of folders in ``search/<words>/``. Only the first is listed: no scan goes through all pages."""
IS_FILE = re.compile(r"results\..*|[0-9]{2,}~.*\.(?:md|txt)", re.DOTALL)
"""Names that files of a result have, or could have."""
NO_NESTED = re.compile(rf"{IS_FILE.pattern}|{PASSAGES}|page-[0-9]*", re.DOTALL)
"""Names that are never searches within a search."""


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
