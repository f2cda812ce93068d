"""Serve ``search/<words>/``: the documents that match some words, in one ontology or, at the mount's root, in all.
``page-2/`` and further pages, which are not listed, have the next documents, ``passages/`` the best passages. Any other name
in it that none of its files could have is a search within the documents of this one.

Every name is a folder, which is known from the name alone. Its contents are computed when it is opened or when an
entry in it is looked up (``Folder.work_out``). ``search/`` itself is not listed, so that no program that walks the
tree enters it. It lists the saved searches. A search is saved with ``touch``: since every name exists already, the
kernel itself answers ``mkdir`` with EEXIST. ``rmdir`` removes a saved search.
"""

from __future__ import annotations

import re
import time
from collections.abc import Hashable, Sequence

from kgfs.compute.deadline import Deadline
from kgfs.domain.names import decode_name
from kgfs.errors import BadInputError, ExistsError, MissingError, NotEmptyError, ReadOnlyError, RefusedError
from kgfs.knowledge.query import parse
from kgfs.stores.blocking import blocks
from kgfs.stores.catalog.facts import SearchRemoved, SearchSaved
from kgfs.tree import keys
from kgfs.tree.changes import SearchesChanged
from kgfs.tree.derived import DerivedFile, DerivedFolder
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.nested import below
from kgfs.tree.node import Attr, AttrChange, Caller, Folder, Handle, Node, Rendered
from kgfs.tree.searches import PASSAGES, Answer, Content
from kgfs.tree.timing import SEARCH
from kgfs.tree.tree_context import TreeContext

NAME = "search"
GROUP, FOLDERS, FILES = "search", "folders", "files"

NO_WORDS = re.compile(
    r"\..*|desktop\.ini|autorun\.inf|thumbs\.db|ehthumbs\.db|folder\.jpg|lost\+found|system volume information"
    r"|\$recycle\.bin|recycler|__macosx|node_modules|cvs|rcs|audio_ts|video_ts|bdmv|aacs|icon\r|\W*",
    re.IGNORECASE,
)
"""Names that programs look for in every folder. They are never searches, and no entry has such a name."""


IS_PART = re.compile(rf"{PASSAGES}|page-[1-9][0-9]{{0,5}}")
"""Names of folders in ``search/<words>/``. Only the first is listed: no scan goes through all pages."""
IS_FILE = re.compile(r"results\..*|[0-9]{2,}~.*\.(?:md|txt)", re.DOTALL)
"""Names that files of a result have, or could have."""
NO_NESTED = re.compile(rf"{IS_FILE.pattern}|{PASSAGES}|page-[0-9]*", re.DOTALL)
"""Names that are never searches within a search."""


def is_question(name: str) -> bool:
    """Return whether a name is a search. *Quick*."""
    return NO_WORDS.fullmatch(words_in(name)) is None


def words_in(name: str) -> str:
    """Return the words of a search from its encoded name, in which ``%2F`` stands for a slash."""
    return decode_name(name).decode("utf-8", "replace").replace("%2F", "/").replace("%2f", "/")


class SearchFolder(DerivedFolder[None]):
    """Serve ``search/``."""

    __slots__ = ("_ontology_id", "_since")

    def __init__(self, context: TreeContext, ontology_id: str, since: int) -> None:
        """Create the folder. ``ontology_id`` is '' at the mount's root; ``since`` is the time at which the parent was
        made, in nanoseconds.
        """
        super().__init__(context, keys.part(ontology_id, NAME))
        self._ontology_id = ontology_id
        self._since = since

    def mtime(self) -> int:
        saved = self.context.stores.catalog.names.saved_searches(self._ontology_id)
        return max([self._since, *(search.saved_at for search in saved)])

    def token(self) -> Hashable | None:
        # A saved search must appear in the listing before the change feed reports it.
        return self.context.stores.catalog.seq()

    def lookup(self, name: str) -> Node | None:
        return self._search(name) if is_question(name) else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        return [(name, self._search(name)) for name in saved_below(self.context, self._ontology_id, ())]

    def _search(self, name: str) -> ResultsFolder:
        return ResultsFolder(self.context, self._ontology_id, (name,), self._since)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        return refuse_to_make(name, is_question(name))

    def remove_folder(self, name: str) -> None:
        """Remove a saved search from the listing. Raise MissingError if it is not saved, and NotEmptyError where only
        searches within it are.
        """
        take_out(self.context, self._ontology_id, (name,))


class ResultsFolder(DerivedFolder[None]):
    """Serve ``search/<words>/``, a search nested in it or, with ``part``, a folder in one of them. With an answer the folder
    has the answer's files; without one, :meth:`work_out` must be called first.
    """

    __slots__ = ("_answer", "_names", "_ontology_id", "_part", "_since")

    def __init__(
        self,
        context: TreeContext,
        ontology_id: str,
        names: tuple[str, ...],
        since: int,
        part: str = "",
        answer: Answer | None = None,
    ) -> None:
        super().__init__(context, keys.results(ontology_id, "/".join(names), part))
        self._ontology_id = ontology_id
        self._names = names
        self._since = since
        self._part = part
        self._answer = answer

    def group(self) -> tuple[str, Hashable]:
        return GROUP, FOLDERS

    def mtime(self) -> int:
        """Return the time of the newest epoch, since its results may differ from earlier results."""
        stores = self.context.stores
        searched = [self._ontology_id] if self._ontology_id else [one.id for one in stores.catalog.names.ontologies()]
        return max([self._since, *(stores.graph.changed_at(each) for each in searched)])

    def token(self) -> Hashable | None:
        # The kernel must cache neither listings nor absent names, because they belong to one answer.
        return None

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
        return self._nested(name) if self._is_nested(name) else None

    @staticmethod
    def _is_nested(name: str) -> bool:
        return is_question(name) and NO_NESTED.fullmatch(name) is None

    def entries(self) -> Sequence[tuple[str, Node]]:
        files = self._answer.files if self._answer else {}
        listed: list[tuple[str, Node]] = [(name, self._file(name, content)) for name, content in files.items()]
        if not self._part:
            listed.append((PASSAGES, self._folder(PASSAGES)))
            nested = saved_below(self.context, self._ontology_id, self._names)
            listed += [(name, self._nested(name)) for name in nested]
        return sorted(listed, key=lambda entry: entry[0])

    def _folder(self, part: str) -> ResultsFolder:
        return ResultsFolder(self.context, self._ontology_id, self._names, self._since, part)

    def _nested(self, name: str) -> ResultsFolder:
        return ResultsFolder(self.context, self._ontology_id, (*self._names, name), self._since)

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
        names = self.context.stores.catalog.names
        if all(saved.words != self._saved_as for saved in names.saved_searches(self._ontology_id)):
            self.context.deposits.record(SearchSaved(self._ontology_id, self._saved_as, time.time_ns()))
        return self.attr()

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        if self._part:
            return super().make_folder(name, mode, caller)
        return refuse_to_make(name, self._is_nested(name) or IS_PART.fullmatch(name) is not None)

    def remove_folder(self, name: str) -> None:
        """Remove a saved search within this one from the listing, as :meth:`SearchFolder.remove_folder` does."""
        if self._part:
            super().remove_folder(name)
        take_out(self.context, self._ontology_id, (*self._names, name))


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
        return GROUP, FILES

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


def saved_below(context: TreeContext, ontology_id: str, names: tuple[str, ...]) -> list[str]:
    """Return the names in a folder of ``search/`` below which searches are saved, in order."""
    return below((saved.words for saved in context.stores.catalog.names.saved_searches(ontology_id)), names)


def take_out(context: TreeContext, ontology_id: str, names: tuple[str, ...]) -> None:
    """Remove a saved search. Raise MissingError if it is not saved, and NotEmptyError where only searches within it are."""
    words = "/".join(names)
    if all(saved.words != words for saved in context.stores.catalog.names.saved_searches(ontology_id)):
        if saved_below(context, ontology_id, names):
            raise NotEmptyError(f"Searches within '{names[-1]}' are saved. Remove these first.")
        raise MissingError(f"The search '{names[-1]}' is not saved.")
    context.deposits.record(SearchRemoved(ontology_id, words, time.time_ns()))


def refuse_to_make(name: str, is_there: bool) -> Folder:
    if not is_there:
        raise RefusedError(f"'{name}' is no search: it is a name that programs look for, or of a file of results.")
    raise ExistsError(f"Every search is there already. To have '{name}' listed: touch it")


def saved(fact: SearchSaved | SearchRemoved, stale: Invalidations) -> None:
    """Invalidate ``search/`` after a search was saved or removed."""
    stale.key(keys.part(fact.ontology, NAME))


def results_changed(change: SearchesChanged, stale: Invalidations) -> None:
    """Invalidate the results of searches, which may be gone or have other paths: their names are looked up again."""
    for inode, _ in stale.group(GROUP, FOLDERS):
        stale.inode(inode)
    for _, known in stale.group(GROUP, FILES):
        for place in known.places():
            stale.entry(*place)
