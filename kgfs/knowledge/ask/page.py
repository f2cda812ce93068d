"""Show an answer with the present places of its documents, and its citations checked."""

from __future__ import annotations

from collections.abc import Iterable

from kgfs.knowledge.answer_citations import validate
from kgfs.knowledge.archived import download_name, readable_name
from kgfs.knowledge.ask.answer import Answer, Looked, Quote, State
from kgfs.knowledge.document_location import standing_of
from kgfs.render.answer_context import NOT_FOUND, AnswerSource
from kgfs.render.answer_files import AnswerPage, ShownQuote, ShownStatement, response_of, response_written
from kgfs.stores.stores import Stores


def page(stores: Stores, answer: Answer, *, saved: bool = False) -> tuple[AnswerPage, int]:
    """Return the answer as its files show it, and the time when it last changed (nanoseconds). Quick.

    Quotes of purged documents are left out.
    """
    names = stores.catalog.names
    places = [_Placed(stores, doc_id) for doc_id in sorted(answer.doc_ids)]
    known = {placed.doc_id: placed for placed in places if placed.is_known}
    held = {one.place.chunk_id for one in answer.looked if one.place.doc_id in known}
    quotes = [quote for quote in answer.quotes if quote.place.chunk_id in held]
    sources = [known[one.place.doc_id].source(one, quotes) for one in answer.looked if one.place.doc_id in known]
    shown = {source.chunk_id: source for source in sources}
    response = response_of([(one.place.doc_id, one.place.chunk_id, one.text) for one in quotes])
    statements = tuple(
        ShownStatement(
            one.text,
            one.chunk_ids,
            tuple(answer.quotes[at].text for at in one.quotes if at < len(answer.quotes)),
            one.line,
        )
        for one in answer.statements
        if held.issuperset(one.chunk_ids)
    )
    if answer.statements:
        response = response_written(statements)
    if answer.state is State.NOT_FOUND:
        response = NOT_FOUND
    checked = validate(response, shown, lambda uri: any(placed.has(uri) for placed in known.values()))
    numbers = {citation.chunk_id: citation.index for citation in checked.citations}
    ontology = names.ontology(answer.ontology) if answer.ontology else None
    changed = max((placed.changed_at for placed in known.values()), default=0)
    return AnswerPage(
        question=answer.question,
        ontology=ontology.name if ontology else "",
        state=answer.state.value,
        response=checked.response,
        quotes=tuple(
            known[one.place.doc_id].quote(one, numbers[one.place.chunk_id])
            for one in quotes
            if one.place.chunk_id in numbers
        ),
        citations=checked.citations,
        invalid_citations=tuple(dict.fromkeys((*answer.invalid, *checked.invalid_citations))),
        missing_archives=checked.missing_archives,
        needs_retry=checked.needs_retry,
        looked=tuple(sources),
        epoch=answer.epoch,
        asked_at=answer.asked_at,
        only_text=answer.only_text,
        surety=answer.surety,
        missing=answer.missing,
        reason=answer.reason,
        statements=statements,
        model=answer.model,
        trouble=answer.trouble,
        intent=answer.intent,
        saved=saved,
    ), max(changed, answer.asked_at)


class _Placed:
    """A document where it stands now."""

    def __init__(self, stores: Stores, doc_id: str) -> None:
        names = stores.catalog.names
        document = names.document(doc_id)
        self.doc_id = doc_id
        self.is_known = document is not None
        if document is None:
            return
        row = stores.graph.document(doc_id)
        ontology = names.ontology(document.ontology)
        self.ontology = ontology.name if ontology else ""
        self.title = row.source_title if row else ""
        self.source_id = row.source_id if row else ""
        standing = standing_of(names, doc_id)
        self.path, self.changed_at = standing.origin.path, standing.changed_at
        folder = f"{self.ontology}/archive/{doc_id}/"
        readable = readable_name(stores, doc_id) if ontology else ""
        original = download_name(stores, document) if ontology else ""
        self.text = f"{folder}{readable or 'text.txt'}"
        self.original = f"{folder}{original}" if original else None
        self._archived = {self.text} if readable else set()

    def has(self, uri: str) -> bool:
        """Return whether a file of the document's folder in the archive exists."""
        return uri in self._archived

    def source(self, one: Looked, quotes: Iterable[Quote]) -> AnswerSource:
        quoted = [quote.place for quote in quotes if quote.place.chunk_id == one.place.chunk_id] or [one.place]
        best = quoted[0]
        return AnswerSource(
            text=one.text,
            score=one.score,
            chunk_id=one.place.chunk_id,
            doc_id=self.doc_id,
            source_id=self.source_id,
            source_uri=self.path,
            source_title=self.title,
            section_path=one.place.section_path,
            page=best.page,
            locator=best.first,
            last=best.last,
            lines=(min(place.line_start for place in quoted), max(place.line_end for place in quoted)),
            archive_uri=self.text,
            download_uri=self.original,
        )

    def quote(self, one: Quote, index: int) -> ShownQuote:
        place = one.place
        return ShownQuote(
            index=index,
            chunk_id=place.chunk_id,
            doc_id=self.doc_id,
            ontology=self.ontology,
            document=self.path,
            title=self.title,
            text=one.text,
            char_start=place.char_start,
            char_end=place.char_end,
            line_start=place.line_start,
            line_end=place.line_end,
            page=place.page,
            locator=place.first,
            section_path=place.section_path,
            score=one.score,
        )
