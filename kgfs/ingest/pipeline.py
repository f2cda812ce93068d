"""What happens to a file that is written, on one page: STAGES, in their order.

The first four make a name and its bytes durable and end with a job that is owed. The reading stages turn the original
into a Reading; they run in the worker or in a process of a cluster, for several documents at once. The text of a
small document is published (``show``) before anything is extracted from any document. The last three publish the
rest, one document at a time; the order in which the ledger has these publications is the order of matching, which
every home and rebuild follows. A crash anywhere is resumed from the catalog; each stage may run twice with the same
result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kgfs.compute.contract import Compute, Progress, WorkerSlot
from kgfs.compute.heartbeat import WithHeartbeat
from kgfs.domain.documents import INGEST_VERSION, Document
from kgfs.domain.domains import Domains
from kgfs.domain.text import Text
from kgfs.failpoints import border
from kgfs.formats.headings import section_paths
from kgfs.ingest import timing
from kgfs.ingest.matching import match, naming, publication
from kgfs.ingest.reading import stages
from kgfs.ingest.reading.chunk import METHOD
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.reading.draft import Draft
from kgfs.ingest.storing import identify, keep, settle, spool
from kgfs.settings import Pipeline
from kgfs.stores.garage.contract import Objects
from kgfs.stores.memory import give_back
from kgfs.stores.readings import LONG, Reading, decode_reading, has_parts, text_of, texts_prefix


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipeline."""

    name: str
    does: str
    run: Callable[..., Any]
    """What carries it out. That of a reading stage takes a Draft and fills in its part."""
    reads: bool = False
    """Whether it is one of the reading stages."""
    text: bool = False
    """Whether it is one of the reading stages that come before the document's text is published."""
    share: float = 0.0
    """How much of the reading is done when it begins, for progress."""


STAGES: tuple[Stage, ...] = (
    Stage("spool", "Bytes arrive in a working copy and are hashed as they come.", spool.WorkingCopy),
    Stage("keep", "Bytes and name are durable before close() returns.", keep.keep),
    Stage("settle", "A path that is quiet gets a version.", settle.Settler),
    Stage("identify", "The version is a new Document, a known one, or none.", identify.decide),
    Stage("parse", "The bytes become a Text with structure.", stages.parse, reads=True, text=True),
    Stage("chunk", "The Text is cut into Sources along its structure.", stages.chunk, reads=True, text=True),
    Stage(
        "gate",
        "Sources without knowledge are neither extracted from nor indexed.",
        stages.gate,
        reads=True,
        text=True,
    ),
    Stage("show", "A document of at most 1 MiB is found by its words.", publication.show_text),
    Stage(
        "extract", "An extractor answers for each Source; the answer is kept as a Record.", stages.extract, reads=True
    ),
    Stage(
        "validate",
        "Each quote is found in the Text, or dropped.",
        stages.validate,
        reads=True,
        share=stages.READ,
    ),
    Stage("rank", "The document's concepts and relationships are chosen.", stages.rank, reads=True, share=stages.READ),
    Stage("embed", "Sources and labels get vectors.", stages.embed, reads=True, share=stages.READ),
    Stage("match", "Concepts join known ones, or are founded; the Decisions are kept.", match.match),
    Stage("commit", "The graph shows the document in one transaction.", publication.carry_out),
    Stage("index", "Its vectors are found by search.", naming.index),
)
READING: tuple[Stage, ...] = tuple(stage for stage in STAGES if stage.reads)
TEXT: tuple[Stage, ...] = tuple(stage for stage in READING if stage.text)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """Read one document wherever there is a place for it. The result is the Reading, and seconds by stage."""

    document: Document
    filename: str
    earlier: tuple[Document, ...]
    settings: Pipeline
    extractor: str = ""
    """Instead of the configured one."""
    run: str = ""
    known: tuple[str, ...] = ()
    domains: Domains = field(default_factory=dict)
    min_tokens: int = 20
    """Fewest words of a claim."""

    @property
    def weight(self) -> int:
        """Return the bytes to be read, at least 1. Works without a weight are quick, and run at once."""
        return max(self.document.size, 1)

    def __call__(self, place: WorkerSlot, progress: Progress) -> tuple[Reading, Mapping[str, float]]:
        compute = place.compute.using(self.extractor) if self.extractor else place.compute
        clock = StageClock()
        reader = Reader(
            place.objects, compute, self.settings, clock, self.run, self.known, self.domains, self.min_tokens
        )
        return reader.read(self.document, self.filename, self.earlier, progress), clock.seconds()


@dataclass(frozen=True, slots=True)
class ReadText:
    """Read the text of one document. The result is a Reading without concepts, and seconds by stage."""

    document: Document
    filename: str
    settings: Pipeline
    domains: Domains = field(default_factory=dict)

    def __call__(self, place: WorkerSlot, progress: Progress) -> tuple[Reading, Mapping[str, float]]:
        clock = StageClock()
        reader = Reader(place.objects, place.compute, self.settings, clock, domains=self.domains)
        return reader.read_text(self.document, self.filename, progress), clock.seconds()


@dataclass(frozen=True, slots=True)
class Reader:
    """Make Readings by the reading stages. Any number of threads."""

    objects: Objects
    compute: Compute
    settings: Pipeline
    clock: StageClock
    run: str = ""
    """What the Readings are made for, where they were asked for: then none made for something else is found again."""
    known: Sequence[str] = ()
    """Labels of existing concepts, chosen by the strategy, to be shown to the extractor."""
    domains: Domains = field(default_factory=dict)
    """The domains of the document's ontology. Readings by other ones are not found again."""
    min_tokens: int = 20

    def read(self, document: Document, filename: str, earlier: Sequence[Document], progress: Progress) -> Reading:
        """Return the Reading of a document, which is kept in the garage.

        ``earlier`` are documents whose Records and vectors may answer for unchanged Sources. A complete Reading by the same
        extractor and models is found again. UnreadableTextError if no format reads the document; CorruptError or MissingError if
        the original is not what was kept; what ``progress`` raises ends the work.
        """
        finished = next(filter(self._is_finished, self._kept(f"readings/{document.doc_id}/")), None)
        if finished is not None and has_parts(self.objects, finished):
            return finished
        draft = self._draft(document, filename, earlier, progress)
        if finished is not None:  # the bytes of its parts left with them: only they are needed
            stages.parse(draft)
            return finished
        of_text = None if self.run else self._kept_text(document)
        if of_text is not None:
            self._take_text(draft, of_text)
        self._carry_out(READING if of_text is None else READING[len(TEXT) :], draft)
        reading = self._reading(draft)
        # What a long text was read with takes much memory, while its Reading is encoded and while it is published.
        draft.text = None
        if reading.text_length > LONG:
            give_back()
        return self._keep(reading)

    def read_text(self, document: Document, filename: str, progress: Progress) -> Reading:
        """Return a Reading of the text alone, which is kept in the garage: what the first stages give, without concepts.

        :meth:`read` goes on from there. Raises as :meth:`read` does.
        """
        known = self._kept_text(document)
        if known is not None:
            return known
        draft = self._draft(document, filename, (), progress)
        self._carry_out(TEXT, draft)
        return self._keep(self._reading_of_text(draft))

    def text_of(self, document: Document, reading: Reading) -> Draft:
        """Return a draft with what a Reading of the text alone has, for those who only look at it."""
        draft = self._draft(document, "", (), lambda stage, share: None)
        self._take_text(draft, reading)
        return draft

    def _draft(self, document: Document, filename: str, earlier: Sequence[Document], progress: Progress) -> Draft:
        report = _Report(progress)
        return Draft(
            document=document,
            filename=filename,
            earlier=earlier,
            objects=self.objects,
            compute=WithHeartbeat(self.compute, report.again),
            settings=self.settings,
            clock=self.clock,
            report=report,
            run=self.run,
            known=self.known,
            domains=self.domains,
            min_tokens=self.min_tokens,
        )

    def _carry_out(self, some: Sequence[Stage], draft: Draft) -> None:
        for stage in some:
            draft.report(stage.name, stage.share)
            with self.clock.stage(stage.name):
                stage.run(draft)

    def _keep(self, reading: Reading) -> Reading:
        with self.clock.stage("keep"):
            self.objects.put(reading.key, reading.encode())
        if reading.is_text:
            border("text-kept")
        else:
            border("reading-kept")
        return reading

    def _kept(self, prefix: str) -> list[Reading]:
        """Return the Readings of an interrupted run, or of an earlier life, by this ingest version and these domains."""
        found = [decode_reading(self.objects.get(key), key) for key, _ in self.objects.keys(prefix)]
        version = INGEST_VERSION, self.domains
        return [reading for reading in found if (reading.ingest_version, reading.domains) == version]

    def _kept_text(self, document: Document) -> Reading | None:
        found = self._kept(texts_prefix(document.doc_id))
        usable = (reading for reading in found if reading.chunk_method == METHOD and has_parts(self.objects, reading))
        return next(usable, None)

    def _is_finished(self, reading: Reading) -> bool:
        made_by = (reading.extractor, reading.extractor_model, reading.embedding_model, reading.chunk_method)
        wanted = (self.compute.extractor, self.compute.extractor_model, self.compute.embedding_model, METHOD)
        return made_by == wanted and reading.run == self.run

    def _take_text(self, draft: Draft, reading: Reading) -> None:
        """Fill a draft with what the stages of the text gave."""
        draft.text = Text(
            text=text_of(self.objects, draft.document, reading),
            sha256=reading.text_sha256,
            parser=reading.parser,
            media_type=reading.media_type,
            encoding=reading.encoding,
            title=reading.title,
            blocks=reading.blocks,
            places=reading.places,
            pages=reading.pages,
            note=reading.note,
            parts=reading.parts,
            about=reading.about,
            guessed_encoding=reading.guessed_encoding,
        )
        draft.text_key, draft.language = reading.text_key, reading.language
        draft.chunks, draft.verdicts = list(reading.chunks), list(reading.verdicts)

    def _reading_of_text(self, draft: Draft) -> Reading:
        text = draft.parsed
        return Reading(
            doc_id=draft.document.doc_id,
            content_hash=draft.document.sha256,
            ingest_version=INGEST_VERSION,
            parser=text.parser,
            media_type=text.media_type,
            encoding=text.encoding,
            text_key=draft.text_key,
            text_sha256=text.sha256,
            text_length=len(text.text),
            title=text.title,
            chunk_method=METHOD,
            chunks=tuple(draft.chunks),
            verdicts=tuple(draft.verdicts),
            extractor="",
            extractor_model="",
            strategy="",
            known=(),
            records=(),
            concepts=(),
            relationships=(),
            dropped={},
            embedding_model="",
            vectors_key="",
            sections=tuple(section_paths(text.blocks)),
            places=text.places,
            pages=text.pages,
            note=text.note,
            parts=text.parts,
            about=text.about,
            guessed_encoding=text.guessed_encoding,
            language=draft.language,
            blocks=text.blocks,
            domains=draft.domains,
        )

    def _reading(self, draft: Draft) -> Reading:
        compute = draft.compute
        return replace(
            self._reading_of_text(draft),
            extractor=compute.extractor,
            extractor_model=compute.extractor_model,
            strategy=draft.settings.strategy,
            known=tuple(draft.known),
            records=tuple(draft.packs),
            concepts=draft.concepts,
            relationships=draft.relationships,
            dropped=dict(draft.dropped),
            embedding_model=compute.embedding_model,
            vectors_key=draft.vectors_key,
            run=draft.run,
            acronyms=draft.acronyms,
            claims=draft.claims,
            context=draft.context,
            blocks=(),
        )


class _Report:
    """A progress that can be repeated without knowing how far the work is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ("", 0.0)
        self._at = 0.0

    def __call__(self, stage: str, share: float) -> None:
        self._last, self._at = (stage, share), time.monotonic()
        self._progress(stage, share)

    def again(self) -> None:
        """Repeat the last report, unless it was just given. Quick."""
        if time.monotonic() - self._at > timing.REPORT_EVERY:
            self(*self._last)
