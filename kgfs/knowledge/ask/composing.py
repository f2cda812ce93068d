"""Have the language model of the worker answer a question from Sources, and keep what they bear out.

The model is shown the Sources of the best sentences, each below a short header, and asked again where it cites what it was not
shown. What it wrote is checked here (:mod:`.stated`), so that every sentence of an answer cites a Source that it stands on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgfs.compute.completing import ANSWERED, Request, complete
from kgfs.compute.deadline import Deadline
from kgfs.domain.dates import own_day
from kgfs.domain.invented import Grounds
from kgfs.domain.word_forms import forms_in
from kgfs.errors import GivenUpError, KgfsError, TimedOutError
from kgfs.knowledge.answer_citations import ask_again, validate
from kgfs.knowledge.ask.gathering import WHOLE
from kgfs.knowledge.ask.question import Question, share_of
from kgfs.knowledge.ask.stated import Sentence, borne_out, says_not_found, sentences_in, tidied
from kgfs.render.answer_context import AnswerSource, as_data, hint, short_header
from kgfs.stores.graph.vocabulary import DocumentRow, SourceRow
from kgfs.stores.stores import Stores

SHOWN = 10
"""The number of Sources that the model is shown at most."""
BORNE = 0.5
"""The share of the question that a cited Source must have, with its title and path, where the model is not trusted."""
IN_TIME = 0.06
"""The share of the time of a question that is left for what follows the model."""
BEARS_NOTHING = "no source that was shown bears out what the language model wrote"


@dataclass(frozen=True, slots=True)
class Written:
    """What a model answered, checked."""

    model: str = ""
    sentences: tuple[Sentence, ...] = ()
    """None where the Sources do not say it."""
    shown: tuple[SourceRow, ...] = ()
    invalid: tuple[str, ...] = ()
    """Ids that it cited and was not shown."""
    reason: str = ""
    """Why nothing is left of what it wrote."""
    trouble: str = ""
    """Why it did not answer; then all else is empty."""


@dataclass(frozen=True, slots=True)
class Material:
    """What the model answers from."""

    question: Question
    sources: Sequence[SourceRow]
    """The Sources, the best first."""
    claims: Mapping[str, Sequence[str]]
    """Statements that stand on a Source, by ``chunk_id``."""
    is_trusted: bool
    common: Callable[[str], bool]
    """Whether a word is an ordinary one and no name."""


def write(stores: Stores, run: Path, material: Material, patience: Deadline) -> Written:
    """Return what the worker's model answers. Blocks; raises GivenUpError alone, and says in ``trouble`` why it did not answer."""
    documents = {doc_id: stores.graph.document(doc_id) for doc_id in {one.doc_id for one in material.sources}}
    rows = [one for one in material.sources if documents[one.doc_id] is not None][:SHOWN]
    known = {doc_id: row for doc_id, row in documents.items() if row is not None}
    sources = [_source(row, known[row.doc_id]) for row in rows]
    blocks = tuple(_block(one, material.claims.get(one.chunk_id, ())) for one in sources)
    doc_ids = tuple(dict.fromkeys(one.doc_id for one in sources))
    claims = tuple((one.chunk_id, len(material.claims.get(one.chunk_id, ()))) for one in sources)
    in_time = patience.within(patience.left * (1 - IN_TIME))
    invalid: dict[str, None] = {}
    added, calls = "", 0
    while True:
        try:
            said = complete(run, Request("answer", material.question.text, blocks, added, doc_ids, claims), in_time)
        except GivenUpError:
            raise
        except TimedOutError:
            patience.check()
            return Written(trouble="it did not answer in time. Ask again, or give it longer with kgfs ask --timeout.")
        except KgfsError as error:
            patience.check()
            return Written(trouble=str(error))
        if said.outcome != ANSWERED:
            return Written(trouble=f"{said.model} gave no answer ({said.reason or said.outcome}).")
        calls += 1
        shown = {sources[at].chunk_id: sources[at] for at in said.shown if at < len(sources)}
        text = tidied(said.text)
        checked = validate(text, shown, lambda uri: True)
        invalid |= dict.fromkeys(checked.invalid_citations)
        if says_not_found(text) or not ask_again(checked, calls - 1):
            break
        added = hint(list(shown))
    judge = _Judge(stores, material, shown, known)
    kept = tuple(filter(None, (borne_out(one, shown, judge.invents, judge.concerns) for one in sentences_in(text))))
    reason = "" if kept or says_not_found(text) else BEARS_NOTHING
    return Written(said.model, kept, tuple(row for row in rows if row.chunk_id in shown), tuple(invalid), reason)


def _source(row: SourceRow, document: DocumentRow) -> AnswerSource:
    return AnswerSource(
        text=row.full_text,
        score=0.0,
        chunk_id=row.chunk_id,
        doc_id=row.doc_id,
        source_id=document.source_id,
        source_uri=document.original_filename,
        source_title=document.source_title,
        section_path=row.section_path,
        page=row.page_number,
        lines=None,
        archive_uri=None,
        download_uri=None,
    )


def _block(source: AnswerSource, claims: Sequence[str]) -> str:
    said = "".join(f"{as_data(claim)}\n" for claim in claims)
    return f"{short_header(source)}\n{said}{as_data(source.text.strip())}"


class _Judge:
    """What the sentences of one answer are held against."""

    def __init__(
        self,
        stores: Stores,
        material: Material,
        shown: Mapping[str, AnswerSource],
        documents: Mapping[str, DocumentRow],
    ) -> None:
        self._stores, self._material, self._shown, self._documents = stores, material, shown, documents
        self._rows = {row.chunk_id: row for row in material.sources}
        self._grounds: dict[tuple[str, ...], Grounds] = {}

    def concerns(self, chunk_id: str) -> bool:
        """Return whether a Source has enough of the question to answer it."""
        if self._material.is_trusted:
            return True
        source = self._shown[chunk_id]
        around = " ".join((source.source_title, source.source_uri, *source.section_path))
        return share_of(self._material.question, frozenset(forms_in(f"{around} {source.text}"))) >= BORNE

    def invents(self, sentence: str, chunk_ids: Sequence[str]) -> bool:
        """Return whether a sentence has numbers or names that the documents of these Sources have nowhere."""
        key = tuple(sorted(chunk_ids))
        if key not in self._grounds:
            self._grounds[key] = self._made(key)
        return bool(self._grounds[key].invented(sentence))

    def _made(self, chunk_ids: Sequence[str]) -> Grounds:
        pieces: list[str] = []
        day = ""
        for doc_id in dict.fromkeys(self._rows[one].doc_id for one in chunk_ids):
            document = self._documents[doc_id]
            text = self._text(document, [self._rows[one] for one in chunk_ids if self._rows[one].doc_id == doc_id])
            day = day or own_day(text)
            pieces += [text, document.source_title, document.source_id, document.original_filename]
        return Grounds(*pieces, date=day, common=self._material.common)

    def _text(self, document: DocumentRow, cited: Sequence[SourceRow]) -> str:
        """Return the text of a document; of a large one that around the cited Sources."""
        graph, half = self._stores.graph, WHOLE // 2
        if document.chunk_count <= WHOLE:
            rows = graph.sources(document.doc_id, limit=WHOLE)
        else:
            near = {at for row in cited for at in range(row.chunk_index - half, row.chunk_index + half) if at >= 0}
            rows = list(graph.sources_at([(document.doc_id, at) for at in near | {0}]).values())
        return "".join(row.full_text for row in sorted(rows, key=lambda row: row.chunk_index))
