"""The pipeline of one job: read → match → commit → index; and forgetting.

``read`` may run for several documents at once. ``publish`` and ``forget`` run one at a time and in order of deposit,
so that killed, resumed, parallel and rebuilt runs make the same graph. Each step is idempotent:

- a finished Reading is found again by its key;
- Decisions are stored before they are carried out, and found again if the graph shows that they were carried out;
- publishing is idempotent by commit id, vectors by row key, and the fact that ends the job comes last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from kgfs.compute.contract import Compute, Engine, Progress
from kgfs.config import Config
from kgfs.domain.documents import INGEST_VERSION, Document, State
from kgfs.domain.domains import Domains, domains_of
from kgfs.domain.identity import commit_id_of_text
from kgfs.domain.text import LONGEST_PROSE
from kgfs.errors import CorruptError, KgfsError, MissingError, StoreError
from kgfs.failpoints import border
from kgfs.ingest.lifecycle.backfill import give
from kgfs.ingest.lifecycle.forget import carry_out as carry_out_forgetting
from kgfs.ingest.lifecycle.purge import decided_about
from kgfs.ingest.matching import claim_marks, joinings
from kgfs.ingest.matching.candidates import kept_from, offer
from kgfs.ingest.matching.concepts import catch_up
from kgfs.ingest.matching.earlier import EarlierDocuments, look_back
from kgfs.ingest.matching.match import match
from kgfs.ingest.matching.naming import index, with_places, without_suppressed
from kgfs.ingest.matching.publication import carry_out, show_text
from kgfs.ingest.pipeline import ReadDocument, Reader, ReadText
from kgfs.ingest.reading import embeddings
from kgfs.ingest.reading.answers import Question
from kgfs.ingest.reading.as_prose import prose_only
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.reading.related_documents import first_source, related_documents
from kgfs.ingest.working.asking import Asker, Inquiry, Place
from kgfs.ingest.working.claims import found_parts
from kgfs.stores.catalog.facts import DocumentFailed, DocumentForgotten, DocumentRead, DocumentText
from kgfs.stores.catalog.rows import Job
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.graph.vocabulary import EVERYTHING, TEXT_ONLY, DocumentRow, Scope
from kgfs.stores.readings import (
    Decisions,
    Reading,
    decisions_prefix,
    decode_decisions,
    has_parts,
    load_decisions,
    load_reading,
    reading_key,
    text_of,
)
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import unindex


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Carries out the jobs of a home: reads, publishes and forgets documents."""

    config: Config
    stores: Stores
    compute: Compute
    """The models that are configured, as far as this process knows them."""
    clock: StageClock
    engine: Engine
    """Reads documents with the same models."""
    earlier: EarlierDocuments = field(default_factory=EarlierDocuments)
    asker: Asker | None = None
    """Asks the language model; None where none is configured."""

    def asks(self, job: Job) -> bool:
        """Return whether the language model is asked about the document of a job before it is read."""
        return self.asker is not None and self.asker.concerns(job)

    def ask(self, document: Document, job: Job, progress: Progress) -> None:
        """Ask the language model about a document. Each answer is durable before the next step. Any thread may call this.

        Raises the errors of ``Asker.ask`` and of ``Reader.read_text``.
        """
        assert self.asker is not None
        inquiry = self.inquiry(document, job, progress)
        with self.clock.stage("ask"):
            self.asker.ask(inquiry, lambda done, of: progress("ask", done / max(of, 1)))

    def inquiry(self, document: Document, job: Job, progress: Progress) -> Inquiry:
        """Return what is to be asked about a document. Raises the errors of ``Reader.read_text``."""
        assert self.asker is not None
        reading = self.read_text(document, progress)
        domains = self._domains(document)
        reader = Reader(self.stores.garage.objects, self.compute, self.config.pipeline, StageClock(), domains=domains)
        draft = reader.text_of(document, reading)
        asked: Mapping[Place, Question] = {}
        if not draft.is_found_by_words_only:
            words = prose_only(draft.parsed.media_type, draft.parsed.text)
            asked = self.asker.questions(draft.parsed, words, draft.asked, draft.language, domains)
        return Inquiry(document, self._kin(document), asked, self._known(document, job), job.run)

    def _known(self, document: Document, job: Job) -> tuple[str, ...]:
        """Return the labels of existing concepts that the strategy chooses."""
        settings = self.config.pipeline
        strategy = job.strategy or settings.strategy
        offered = offer(
            self.stores.graph, document.ontology, strategy, settings.known_concepts, document.sha256, _scope(job)
        )
        return tuple(concept.label for concept in offered)

    def _kin(self, document: Document) -> tuple[Document, ...]:
        names = self.stores.catalog.names
        found = (names.document(doc_id) for doc_id in related_documents(names, document))
        return tuple(one for one in found if one is not None)

    def read(self, document: Document, job: Job, progress: Progress) -> Reading:
        """Return the Reading of the document that the job asks for. Any thread may call this.

        Raises the errors of ``Reader.read``. A document that comes back to the graph gets its earlier Reading, if the
        current ingest version made it and the garage has it. A document that the graph shows is read again, and keeps
        its Reading only if a new one would be the same. A job with a run has a Reading of its own, by the extractor
        and strategy of the job.
        """
        domains = self._domains(document)
        row = self.stores.graph.document(document.doc_id)
        shown = row is not None and row.status != TEXT_ONLY
        if document.reading and document.ingest_version == INGEST_VERSION and not shown and not job.run:
            objects = self.stores.garage.objects
            if objects.exists(reading_key(document.doc_id, document.reading)):
                former = load_reading(objects, document.doc_id, document.reading)
                if former.domains == domains and has_parts(objects, former):
                    return former
        filename = self._filename(document)
        compute = self.compute.using(job.extractor) if job.extractor else self.compute
        settings = self.config.pipeline
        if job.strategy:
            settings = replace(settings, strategy=job.strategy)
        known = self._known(document, job) if compute.takes_known else ()
        least = self.config.claims.min_tokens
        work = ReadDocument(
            document, filename, self._kin(document), settings, job.extractor, job.run, known, domains, least
        )
        reading, seconds = self.engine.run(work, progress)
        self.clock.add(seconds)
        return reading

    def read_text(self, document: Document, progress: Progress) -> Reading:
        """Return the Reading of the document's text, without concepts. Any thread may call this.

        Raises the errors of ``Reader.read``.
        """
        filename = self._filename(document)
        work = ReadText(document, filename, self.config.pipeline, self._domains(document))
        reading, seconds = self.engine.run(work, progress)
        self.clock.add(seconds)
        return reading

    def _domains(self, document: Document) -> Domains:
        return domains_of(self.stores.catalog.names.settings(document.ontology))

    def _filename(self, document: Document) -> str:
        live = self.stores.catalog.names.names_of(document.doc_id)
        return live[0].name if live else document.source_id.rpartition("/")[2]

    def publish_text(self, document: Document, reading: Reading, still_ours: Callable[[], None]) -> None:
        """Make the text of a document visible, as :meth:`publish` does with the rest. Its job stays.

        Does nothing where the graph shows the document already. The texts of its predecessors are not found any more; their
        evidence stays until the document is published. When this returns, graph and catalog have the publication.
        """
        if self.stores.graph.document(document.doc_id) is not None:
            return
        still_ours()
        fact = DocumentText(
            doc_id=document.doc_id,
            reading=reading.id,
            commit_id=commit_id_of_text(document.doc_id, reading.id, document.deposit),
            hides=tuple(self.stores.catalog.names.predecessors(document.doc_id)),
            at=time.time_ns(),
            deposit=document.deposit,
            content_version=self._content_version(document),
        )
        with self.clock.stage("show"):
            show_text(
                self.stores.graph,
                document,
                reading,
                commit_id=fact.commit_id,
                text=text_of(self.stores.garage.objects, document, reading),
                content_version=fact.content_version,
                hides=fact.hides,
                at=fact.at,
            )
            border("text-published")
            self.stores.catalog.record(fact)
        border("text-noted")

    def publish(
        self, document: Document, reading: Reading, still_ours: Callable[[], None], job: Job | None = None
    ) -> None:
        """Make a Reading visible and end its ``job``. Call for one document at a time, in order of deposit.

        ``still_ours`` raises LostLeaseError when this worker does not hold the job any more; it is called last before
        the graph changes. Without a job, only complete a publication that the graph shows already. When this returns,
        graph and catalog have the publication.
        """
        catalog, graph = self.stores.catalog, self.stores.graph
        found_parts(self.config, self.stores, document, reading)
        self._embed(document, reading)
        decisions = self._carried_out(document, reading)
        if decisions is None:
            superseded = tuple(catalog.names.predecessors(document.doc_id))
        else:
            superseded = tuple(doc_id for doc_id in decisions.supersedes if graph.document(doc_id) is None)
        touched = {c.concept_id for doc in (*superseded, document.doc_id) for c in graph.concepts_of(doc)}
        if decisions is not None:  # killed after the commit: the graph does not show their concepts any more
            touched |= self._ever_had(*superseded, document.doc_id)
        if decisions is None:
            still_ours()
            joinings.part_before(self.stores, {document.doc_id, *superseded}, reading.acronyms)
            decisions = self._decide(document, reading, superseded, job)
            border("decided")
            still_ours()
            self._commit(document, reading, decisions)
            border("published")
        shown = graph.document(document.doc_id)
        if shown is None:
            raise StoreError(f"The graph has lost document {document.doc_id}, which was published. Run kgfs rebuild.")
        with self.clock.stage("index"):
            index(self.stores, document, reading, decisions, partial(self._vectors, reading), superseded, touched)
        border("indexed")
        state = State.DONE if reading.carries_knowledge else State.GATED
        catalog.record(
            DocumentRead(
                doc_id=document.doc_id,
                state=state.value,
                reading=reading.id,
                decisions=decisions.key,
                commit_id=decisions.commit_id,
                superseded=superseded,
                at=shown.ingested_at,
                deposit=shown.deposit,
                content_version=shown.content_version,
            )
        )
        border("noted")
        self._join(document, reading, job)

    def _join(self, document: Document, reading: Reading, job: Job | None) -> None:
        """Join concepts as the document, once it is published, allows."""
        with self.clock.stage("match"):
            if self.stores.graph.document(document.doc_id) is not None:
                scope = Scope(_scope(job).since) if job else joinings.scope_left(self.stores, document.ontology)
                joinings.join_new(self.stores, document.ontology, document.doc_id, reading, scope)
        border("joined")

    def look_back(self) -> bool:
        """Look for founded concepts in a batch of earlier documents; return whether there was one.

        Only the one worker that may publish may call this.
        """
        with self.clock.stage("earlier"):
            return look_back(self.stores, self.earlier)

    def _content_version(self, document: Document) -> int:
        found = self.stores.catalog.names.version_of(document.doc_id)
        return found[0].n if found else 1

    def _decide(
        self,
        document: Document,
        reading: Reading,
        superseded: tuple[str, ...],
        job: Job | None,
    ) -> Decisions:
        """Match the Reading, store the Decisions in the garage and return them.

        The graph shows nothing of the Decisions before they are stored.
        """
        names = self.stores.catalog.names
        with self.clock.stage("match"):
            text = text_of(self.stores.garage.objects, document, reading)
            decisions = match(
                self.stores.graph,
                self.stores.vectors,
                document.ontology,
                reading,
                self._vectors(reading, windows=False),
                self.config.pipeline,
                _scope(job),
                first_source(names, document),
                superseded,
                kept_from(self.stores, reading, text, superseded),
            )
            decisions = without_suppressed(names, document, reading, decisions)
            if reading.text_length <= LONGEST_PROSE:
                decisions = with_places(
                    self.stores.graph,
                    document.ontology,
                    reading,
                    decisions,
                    text,
                    lambda concept_ids: names.suppressed(concept_ids, document.doc_id),
                )
            decisions = replace(decisions, supersedes=superseded)
            self.stores.garage.objects.put(decisions.key, decisions.encode())
        return decisions

    def _commit(self, document: Document, reading: Reading, decisions: Decisions) -> None:
        with self.clock.stage("commit"):
            carry_out(
                self.stores.graph,
                document,
                reading,
                decisions,
                text=text_of(self.stores.garage.objects, document, reading),
                content_version=self._content_version(document),
                supersedes=decisions.supersedes,
                at=time.time_ns(),
                claim_vectors=embeddings.claim_vectors(self.stores.garage.objects, reading),
            )

    def forget(self, document: Document, commit_id: str) -> None:
        """Remove a document that has no name left from graph and index (cascade=orphans). May use the disk reserve."""
        DiskReserve(self.config.home).run(lambda: self._forget(document, commit_id))

    def _forget(self, document: Document, commit_id: str) -> None:
        graph = self.stores.graph
        if graph.published(commit_id) is None:
            joinings.part_before(self.stores, [document.doc_id])
        touched = {concept.concept_id for concept in graph.concepts_of(document.doc_id)}
        # killed after the commit: the graph does not show its concepts any more
        if graph.published(commit_id) is not None:
            touched |= self._ever_had(document.doc_id)
        at = time.time_ns()
        graph.forget(commit_id, [document.doc_id], at)
        unindex(self.stores, [document.doc_id], touched)
        border("forgotten")
        self.stores.catalog.record(DocumentForgotten(document.doc_id, "orphans", commit_id, at))

    def _ever_had(self, *doc_ids: str) -> set[str]:
        """Return the concepts in any Decisions about these documents.

        Lost Decisions or Readings are skipped. They may leave rows that ``kgfs check`` finds, which must not stop the
        work.
        """
        found: set[str] = set()
        for doc_id in doc_ids:
            with suppress(MissingError, CorruptError):
                found |= decided_about(self.stores, doc_id)[0]
        return found

    def fail(self, document: Document, state: State, reason: str) -> None:
        """End a job that cannot succeed. The original and its name stay."""
        failed = DocumentFailed(document.doc_id, state.value, reason, time.time_ns(), INGEST_VERSION)
        self.stores.catalog.record(failed)

    def finish_forgetting(self) -> None:
        """Carry out the orders to forget that a killed process left incomplete. Only the one worker may call this."""
        carry_out_forgetting(self.config, self.stores)
        joinings.catch_up(self.stores)

    def recover(self) -> None:
        """Complete the publications of a worker that died between a commit to the graph and its fact in the catalog.

        Names and job of the document may have changed meanwhile. For the one worker of a home, before it claims jobs. A
        publication without its fact is the last commit, or came just before
        commits of commands; where a purge is due, all documents with jobs are looked at too. Raise MissingError or
        CorruptError where objects of one of them are lost, after everything else is done.
        """
        graph, names = self.stores.graph, self.stores.catalog.names
        for commit_id in graph.staged():
            graph.abandon(commit_id)
        changes = graph.changes(max(graph.epoch() - 1, 0)) or []
        concerned = [change.name for change in changes if change.kind == "document"]
        if any(owed.purge for owed in names.forgettings()):
            concerned += [job.doc_id for job in self.stores.catalog.jobs.all() if job.doc_id not in concerned]
        lost: KgfsError | None = None
        for doc_id in concerned:
            try:
                self._make_up_for_note(doc_id)
            except (MissingError, CorruptError) as error:
                lost = error
        for doc_id in concerned:
            document = names.document(doc_id)
            left = document is not None and (document.commit_id or document.text) and graph.document(doc_id) is None
            # the job of a document without a name does this
            if document is not None and left and names.held(doc_id):
                unindex(self.stores, [doc_id], self._ever_had(doc_id))
                commit_id = f"forget-{doc_id}-{document.deposit}"
                self.stores.catalog.record(DocumentForgotten(doc_id, "orphans", commit_id, time.time_ns()))
        catch_up(self.stores)
        claim_marks.catch_up(self.stores)
        if lost is not None:
            raise lost

    def _make_up_for_note(self, doc_id: str) -> None:
        graph, document = self.stores.graph, self.stores.catalog.names.document(doc_id)
        shown = graph.document(doc_id)
        if document is None or shown is None:
            return
        if document.commit_id and graph.published(document.commit_id) == graph.epoch():
            return  # the newest commit has its fact, and the document was not published after it
        if shown.status == TEXT_ONLY:
            self._note_text(document, shown)
            return
        reading = load_reading(self.stores.garage.objects, doc_id, shown.reading)
        decisions = self._carried_out(document, reading)
        if decisions is not None and decisions.commit_id != document.commit_id:
            self.publish(document, reading, lambda: None)

    def _note_text(self, document: Document, shown: DocumentRow) -> None:
        """Record the publication of a text that the graph shows, unless it is recorded."""
        commit_id = commit_id_of_text(document.doc_id, shown.reading, shown.deposit)
        if document.text == commit_id:
            return
        self.stores.catalog.record(
            DocumentText(
                doc_id=document.doc_id,
                reading=shown.reading,
                commit_id=commit_id,
                hides=self.stores.graph.hidden_by(document.doc_id),
                at=shown.ingested_at,
                ingest_version=shown.ingest_version,
                deposit=shown.deposit,
                content_version=shown.content_version,
            )
        )

    def _carried_out(self, document: Document, reading: Reading) -> Decisions | None:
        """Return the Decisions about this Reading that the graph shows; None if it does not show this Reading.

        The graph shows them if a kill came before the end of the job. A Document that left and came back has several
        Decisions; those that were published last are shown. Raise MissingError where they are not in the garage.
        """
        shown = self.stores.graph.document(document.doc_id)
        if shown is None or shown.reading != reading.id:
            return None
        objects = self.stores.garage.objects
        published: dict[int, str] = {}
        for key, _ in objects.keys(decisions_prefix(document.doc_id, reading.id)):
            epoch = self.stores.graph.published(decode_decisions(objects.get(key), key).commit_id)
            if epoch is not None:
                published[epoch] = key
        if not published:
            raise MissingError(
                f"The match decisions of document {document.doc_id} are not in the garage. Run kgfs check."
            )
        return load_decisions(objects, published[max(published)])

    def _embed(self, document: Document, reading: Reading) -> None:
        """Ask the model for the vectors of a Reading that was made with another one than that of the vector store."""
        vectors = self.stores.vectors
        if vectors is not None and vectors.model == self.compute.embedding_model:
            give(self.stores.garage.objects, self.compute, document, reading, windows=True)

    def _vectors(self, reading: Reading, *, labels: bool = True, windows: bool = True) -> embeddings.Embeddings | None:
        """Return the Reading's vectors by the model of the vector store; None without any."""
        vectors = self.stores.vectors
        model = vectors.model if vectors is not None else ""
        return embeddings.load(self.stores.garage.objects, reading, model, labels=labels, windows=windows)


def _scope(job: Job | None) -> Scope:
    """Return what the document of a job is matched with.

    A document that is read again on request is not matched with its own former mentions, since they would only repeat
    themselves. Where the whole ontology is read anew, the document is matched only with what was read since the
    request, as if for the first time.
    """
    return Scope(job.since, job.doc_id) if job and job.run else EVERYTHING
