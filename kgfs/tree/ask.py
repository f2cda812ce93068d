"""Serve ``ask/<question>/``: the answer of the Sources to a question, in one ontology or, at the mount's root, in all.

Every name is a question, as in ``search/`` (``kgfs.tree.search``). It is worked out when its folder is opened or one
of its files is looked up. A question that is longer than a name can be is split over nested folders, which are read
as one question joined by spaces. ``touch`` also has a saved question asked anew.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence

from kgfs.compute.deadline import Deadline
from kgfs.errors import BadInputError, ReadOnlyError
from kgfs.knowledge.ask.answer import Answer, State
from kgfs.knowledge.ask.page import page
from kgfs.render.answer_files import answer_json, answer_md, context_md
from kgfs.stores import saved_answers
from kgfs.stores.catalog.facts import QuestionRemoved, QuestionSaved
from kgfs.stores.thread_slots import blocks
from kgfs.tree import keys
from kgfs.tree.changes import SearchesChanged
from kgfs.tree.derived import derived_attr
from kgfs.tree.invalidation import Invalidations
from kgfs.tree.keys import Key
from kgfs.tree.node import FILE_MODE, Attr, AttrChange, Folder, Handle, Node, Rendered
from kgfs.tree.search import FILES, AskedFolder, Kind, ResultFile, found_changed, is_question, words_in
from kgfs.tree.searches import Content
from kgfs.tree.timing import SEARCH
from kgfs.tree.tree_context import TreeContext

ANSWER_MD, ANSWER_JSON, CONTEXT_MD = NAMES = ("answer.md", "answer.json", "context.md")


class AnswerFolder(AskedFolder):
    """Serve ``ask/<question>/`` or a folder nested in it, which continues the question. With an answer the folder has
    the answer's files; without one, :meth:`work_out` must be called first.
    """

    __slots__ = ("_answer",)

    def __init__(
        self,
        context: TreeContext,
        ontology_id: str,
        names: tuple[str, ...],
        since: int,
        answer: Answer | None = None,
    ) -> None:
        super().__init__(context, keys.answers(ontology_id, "/".join(names)), KIND, ontology_id, names, since)
        self._answer = answer

    @property
    def _key(self) -> tuple[str, str]:
        return self._ontology_id, "/".join(self._names)

    @property
    def _question(self) -> str:
        return " ".join(words_in(name) for name in self._names)

    def mtime(self) -> int:
        """Return the time at which a saved question was asked last; of another one that of the newest epoch."""
        return self._saved().get(self._key[1]) or super().mtime()

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
        return self.nested(name) if is_question(name) else None

    def entries(self) -> Sequence[tuple[str, Node]]:
        files = self._files() if self._answer else {}
        return [*sorted(files.items()), *self.listed()]

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

    # ----------------------------------------------------------------------------------------------- saving

    def change(self, wanted: AttrChange) -> Attr:
        if wanted.atime is None and wanted.mtime is None:
            raise ReadOnlyError("A question has no modes and owners of its own.")
        blocks()
        self.context.questions.ask_anew(self._key, self._question)  # first, so that what cannot be asked is not saved
        self.context.deposits.record(QuestionSaved(*self._key, time.time_ns()))
        self.context.questions.was_saved(self._key)
        return self.attr()


class AnswerFile(ResultFile):
    """Serve a file of one answer. The kernel caches nothing of one that is pending."""

    __slots__ = ("_live",)

    def __init__(self, context: TreeContext, key: Key, mark: str, content: Content, live: bool) -> None:
        super().__init__(context, key, mark, content)
        self._live = live

    def group(self) -> tuple[str, Hashable]:
        return KIND.name, FILES

    def attr(self) -> Attr:
        size, mtime = self.measure()
        return derived_attr(self.context, self.inode, FILE_MODE, size, mtime, direct_io=self._live)

    def handle(self) -> Handle:
        return Rendered(self.content(), direct_io=self._live)


def _saved(context: TreeContext, ontology_id: str) -> dict[str, int]:
    return {one.question: one.saved_at for one in context.stores.catalog.names.saved_questions(ontology_id)}


def _remove(context: TreeContext, ontology_id: str, question: str) -> None:
    context.deposits.record(QuestionRemoved(ontology_id, question, time.time_ns()))
    saved_answers.remove(context.config, ontology_id, question)


KIND = Kind("ask", "question", AnswerFolder, _saved, _remove)


def saved(fact: QuestionSaved | QuestionRemoved, stale: Invalidations) -> None:
    """Invalidate ``ask/``, and the files of answers, after a question was saved, asked anew or removed."""
    stale.key(keys.part(fact.ontology, KIND.name))
    found_changed(KIND, stale)


def answers_changed(change: SearchesChanged, stale: Invalidations) -> None:
    """Invalidate the files of answers."""
    found_changed(KIND, stale)
