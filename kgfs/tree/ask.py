"""Serve ``ask/<question>/``: the answer of the Sources to a question, in one ontology or, at the mount's root, in all.

Every name is a question, as in ``search/``, and known from the name alone. It is worked out when its folder is opened or
one of its files is looked up. A question that is longer than a name can be is split over nested folders, which are read as one
question joined by spaces. ``ask/`` is not listed, and lists the saved questions. A question is saved with ``touch``, which also
has a saved one asked anew.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

from kgfs.compute.deadline import Deadline
from kgfs.errors import BadInputError, ExistsError, MissingError, NotEmptyError, ReadOnlyError, RefusedError
from kgfs.knowledge.ask.answer import Answer, State
from kgfs.knowledge.ask.page import page
from kgfs.render.answer_files import answer_json, answer_md, context_md
from kgfs.stores import saved_answers
from kgfs.stores.blocking import blocks
from kgfs.stores.catalog.facts import QuestionRemoved, QuestionSaved
from kgfs.tree import keys
from kgfs.tree.changes import SearchesChanged
from kgfs.tree.derived import DerivedFolder, derived_attr
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.nested import below
from kgfs.tree.node import FILE_MODE, Attr, AttrChange, Caller, Folder, Handle, Node, Rendered
from kgfs.tree.search import ResultFile, is_question, words_in
from kgfs.tree.searches import Content
from kgfs.tree.timing import SEARCH
from kgfs.tree.tree_context import TreeContext

NAME = "ask"
GROUP, FOLDERS, FILES = "ask", "folders", "files"
ANSWER_MD, ANSWER_JSON, CONTEXT_MD = NAMES = ("answer.md", "answer.json", "context.md")


class AskFolder(DerivedFolder[None]):
    """Serve ``ask/``."""

    __slots__ = ("_ontology_id", "_since")

    def __init__(self, context: TreeContext, ontology_id: str, since: int) -> None:
        """Create the folder. ``ontology_id`` is '' at the mount's root; ``since`` is the time at which the parent was
        made, in nanoseconds.
        """
        super().__init__(context, keys.part(ontology_id, NAME))
        self._ontology_id = ontology_id
        self._since = since

    def mtime(self) -> int:
        saved = self.context.stores.catalog.names.saved_questions(self._ontology_id)
        return max([self._since, *(question.saved_at for question in saved)])

    def token(self) -> Hashable | None:
        # A saved question must appear in the listing before the change feed reports it.
        return self.context.stores.catalog.seq()

    def lookup(self, name: str) -> Node | None:
        return self._question(name) if is_question(name) else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        return [(name, self._question(name)) for name in saved_below(self.context, self._ontology_id, ())]

    def _question(self, name: str) -> AnswerFolder:
        return AnswerFolder(self.context, self._ontology_id, (name,), self._since)

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        return refuse_to_make(name)

    def remove_folder(self, name: str) -> None:
        """Remove a saved question from the listing. Raise MissingError if it is not saved."""
        take_out(self.context, self._ontology_id, (name,))


class AnswerFolder(DerivedFolder[None]):
    """Serve ``ask/<question>/`` or a folder nested in it, which continues the question. With an answer the folder has
    the answer's files; without one, :meth:`work_out` must be called first.
    """

    __slots__ = ("_answer", "_names", "_ontology_id", "_since")

    def __init__(
        self,
        context: TreeContext,
        ontology_id: str,
        names: tuple[str, ...],
        since: int,
        answer: Answer | None = None,
    ) -> None:
        super().__init__(context, keys.answers(ontology_id, "/".join(names)))
        self._ontology_id = ontology_id
        self._names = names
        self._since = since
        self._answer = answer

    def group(self) -> tuple[str, Hashable]:
        return GROUP, FOLDERS

    @property
    def _key(self) -> tuple[str, str]:
        return self._ontology_id, "/".join(self._names)

    @property
    def _question(self) -> str:
        return " ".join(words_in(name) for name in self._names)

    def mtime(self) -> int:
        """Return the time of the newest epoch, since its answer may differ from earlier ones; of a saved question the time at
        which it was asked last.
        """
        stores = self.context.stores
        for saved in stores.catalog.names.saved_questions(self._ontology_id):
            if saved.question == self._key[1]:
                return saved.saved_at
        asked = [self._ontology_id] if self._ontology_id else [one.id for one in stores.catalog.names.ontologies()]
        return max([self._since, *(stores.graph.changed_at(each) for each in asked)])

    def token(self) -> Hashable | None:
        # The kernel must cache neither listings nor absent names, because they belong to one answer.
        return None

    # ------------------------------------------------------------------------------------------- what is in it

    is_search = True

    def needs_work(self, name: str) -> bool:
        return name in NAMES

    def work_out(self, deadline: Deadline | None = None) -> Folder:
        questions = self.context.questions
        answer = questions.cached(self._key)
        if answer is None:
            blocks()
            try:
                answer = questions.answer(self._key, self._question, deadline or Deadline(SEARCH))
            except BadInputError as error:  # an unknown filter: errors.ndjson tells the reason that EINVAL cannot
                raise error.to_be_logged() from None
        return AnswerFolder(self.context, self._ontology_id, self._names, self._since, answer)

    def lookup(self, name: str) -> Node | None:
        if name in NAMES:
            return self._files()[name] if self._answer else None
        return self._nested(name) if is_question(name) else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        nested = saved_below(self.context, self._ontology_id, self._names)
        files = self._files() if self._answer else {}
        return [*sorted(files.items()), *((name, self._nested(name)) for name in nested)]

    def _files(self) -> dict[str, Node]:
        assert self._answer is not None
        is_saved = self.context.questions.is_saved(self._key)
        shown, changed = page(self.context.stores, self._answer, saved=is_saved)
        up = "../" * (len(self._names) + 1 + bool(self._ontology_id))
        mtime = max(changed, self.mtime())
        contents = {
            ANSWER_MD: Content(answer_md(shown, up), mtime),
            ANSWER_JSON: Content(answer_json(shown), mtime),
            CONTEXT_MD: Content(context_md(shown), mtime),
        }
        self.context.searches.hold(contents.values())
        live = self._answer.state is State.PENDING
        return {name: self._file(name, content, live) for name, content in contents.items()}

    def _file(self, name: str, content: Content, live: bool) -> AnswerFile:
        key = keys.answers(*self._key, name, content.mark)
        return AnswerFile(self.context, key, content.mark, content, live)

    def _nested(self, name: str) -> AnswerFolder:
        return AnswerFolder(self.context, self._ontology_id, (*self._names, name), self._since)

    # ----------------------------------------------------------------------------------------------- saving

    def change(self, wanted: AttrChange) -> Attr:
        if wanted.atime is None and wanted.mtime is None:
            raise ReadOnlyError("A question has no modes and owners of its own.")
        blocks()
        self.context.questions.ask_anew(self._key, self._question)  # first, so that what cannot be asked is not saved
        self.context.deposits.record(QuestionSaved(*self._key, time.time_ns()))
        self.context.questions.was_saved(self._key)
        return self.attr()

    def make_folder(self, name: str, mode: int, caller: Caller) -> Folder:
        return refuse_to_make(name)

    def remove_folder(self, name: str) -> None:
        """Remove a saved question that goes on in this folder. Raise MissingError if it is not saved."""
        take_out(self.context, self._ontology_id, (*self._names, name))


class AnswerFile(ResultFile):
    """Serve a file of one answer. The kernel caches nothing of one that is pending."""

    __slots__ = ("_live",)

    def __init__(self, context: TreeContext, key: Key, mark: str, content: Content, live: bool) -> None:
        super().__init__(context, key, mark, content)
        self._live = live

    def group(self) -> tuple[str, Hashable]:
        return GROUP, FILES

    def attr(self) -> Attr:
        size, mtime = self.measure()
        return derived_attr(self.context, self.inode, FILE_MODE, size, mtime, direct_io=self._live)

    def handle(self) -> Handle:
        return Rendered(self.content(), direct_io=self._live)


def saved_below(context: TreeContext, ontology_id: str, names: tuple[str, ...]) -> list[str]:
    """Return the names in a folder of ``ask/`` below which questions are saved, in order."""
    return below((saved.question for saved in context.stores.catalog.names.saved_questions(ontology_id)), names)


def take_out(context: TreeContext, ontology_id: str, names: tuple[str, ...]) -> None:
    """Remove a saved question, and its answer. Raise MissingError if it is not saved, and NotEmptyError where only
    questions are saved that go on below it.
    """
    question = "/".join(names)
    if all(saved.question != question for saved in context.stores.catalog.names.saved_questions(ontology_id)):
        if saved_below(context, ontology_id, names):
            raise NotEmptyError(f"'{names[-1]}' begins saved questions. Remove these first.")
        raise MissingError(f"The question '{names[-1]}' is not saved.")
    context.deposits.record(QuestionRemoved(ontology_id, question, time.time_ns()))
    saved_answers.remove(context.config, ontology_id, question)


def refuse_to_make(name: str) -> Folder:
    if not is_question(name):
        raise RefusedError(f"'{name}' is no question: it is a name that programs look for.")
    raise ExistsError(f"Every question is there already. To have '{name}' listed: touch ask/'{name}'")


def saved(fact: QuestionSaved | QuestionRemoved, stale: Invalidations) -> None:
    """Invalidate ``ask/``, and the files of answers, after a question was saved, asked anew or removed."""
    stale.key(keys.part(fact.ontology, NAME))
    answers_changed(fact, stale)


def answers_changed(change: SearchesChanged | QuestionSaved | QuestionRemoved, stale: Invalidations) -> None:
    """Invalidate the files of answers, which may be gone or have other contents: their names are looked up again."""
    for inode, _ in stale.group(GROUP, FOLDERS):
        stale.inode(inode)
    for _, known in stale.group(GROUP, FILES):
        for place in known.places():
            stale.entry(*place)
