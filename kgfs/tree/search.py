"""Serve ``search/<words>/``: the documents that match some words, in one ontology or, at the mount's root, in all.
``page-2/`` and further pages, which are not listed, have the next documents, ``passages/`` the best passages.

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
from kgfs.errors import BadInputError, ExistsError, MissingError, ReadOnlyError, RefusedError
from kgfs.stores.blocking import blocks
from kgfs.stores.catalog.facts import SearchRemoved, SearchSaved
from kgfs.tree import keys
from kgfs.tree.changes import SearchesChanged
from kgfs.tree.derived import DerivedFile, DerivedFolder
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
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


def is_question(name: str) -> bool:
    """Return whether a name is a search. *Quick*."""
    return NO_WORDS.fullmatch(words_in(name)) is None


def words_in(name: str) -> str:
    """Return the words of a search from its encoded name."""
    return decode_name(name).decode("utf-8", "replace")


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
        return ResultsFolder(self.context, self._ontology_id, name, self._since) if is_question(name) else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        saved = self.context.stores.catalog.names.saved_searches(self._ontology_id)
        return [
            (search.words, ResultsFolder(self.context, self._ontology_id, search.words, self._since))
            for search in saved
        ]

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        if not is_question(name):
            raise RefusedError(f"'{name}' is no search: it is a name that programs look for.")
        raise ExistsError(f"Every search is there already. To have '{name}' listed: touch search/'{name}'")

    def remove_folder(self, name: str) -> None:
        """Remove a saved search from the listing. Raise MissingError if it is not saved."""
        if all(saved.words != name for saved in self.context.stores.catalog.names.saved_searches(self._ontology_id)):
            raise MissingError(f"The search '{name}' is not saved.")
        self.context.deposits.record(SearchRemoved(self._ontology_id, name, time.time_ns()))


class ResultsFolder(DerivedFolder[None]):
    """Serve ``search/<words>/`` or, with ``part``, a folder in it. With an answer the folder has the answer's files;
    without one, :meth:`work_out` must be called first.
    """

    __slots__ = ("_answer", "_name", "_ontology_id", "_part", "_since")

    def __init__(
        self,
        context: TreeContext,
        ontology_id: str,
        name: str,
        since: int,
        part: str = "",
        answer: Answer | None = None,
    ) -> None:
        super().__init__(context, keys.results(ontology_id, name, part))
        self._ontology_id = ontology_id
        self._name = name
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

    def work_out(self, deadline: Deadline | None = None) -> Folder:
        words = words_in(self._name)
        answer = self.context.searches.cached(self._ontology_id, words, self._part)
        if answer is None:
            blocks()
            try:
                answer = self.context.searches.work_out(
                    self._ontology_id, words, self._part, deadline or Deadline(SEARCH)
                )
            except BadInputError as error:  # an unknown filter: errors.ndjson tells the reason that EINVAL cannot
                raise error.to_be_logged() from None
        return ResultsFolder(self.context, self._ontology_id, self._name, self._since, self._part, answer)

    def lookup(self, name: str) -> Node | None:
        if not self._part and IS_PART.fullmatch(name):
            return self._folder(name)
        content = self._answer.files.get(name) if self._answer else None
        return self._file(name, content) if content else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        files = self._answer.files if self._answer else {}
        listed: list[tuple[str, Node]] = [(name, self._file(name, content)) for name, content in files.items()]
        if not self._part:
            listed.append((PASSAGES, self._folder(PASSAGES)))
        return sorted(listed, key=lambda entry: entry[0])

    def _folder(self, part: str) -> ResultsFolder:
        return ResultsFolder(self.context, self._ontology_id, self._name, self._since, part)

    def _file(self, name: str, content: Content) -> ResultFile:
        mark = content.mark
        return ResultFile(
            self.context, keys.results(self._ontology_id, self._name, self._part, name, mark), mark, content
        )

    # ----------------------------------------------------------------------------------------------- saving

    def change(self, wanted: AttrChange) -> Attr:
        if self._part or (wanted.atime is None and wanted.mtime is None):
            raise ReadOnlyError("A search has no modes and owners of its own.")
        names = self.context.stores.catalog.names
        if all(saved.words != self._name for saved in names.saved_searches(self._ontology_id)):
            self.context.deposits.record(SearchSaved(self._ontology_id, self._name, time.time_ns()))
        return self.attr()


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

    def look(self) -> tuple[int, int]:
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
