"""What happens to a file that is written, on one page: STAGES, in their order.

The first four make a name and its bytes durable and end with a job that is owed. The reading stages turn the original into a Reading;
they run in the worker or in a process of a cluster, for several documents at once. The last three publish it, one document at a
time and in the recorded order. A crash anywhere is resumed from the catalog; each stage may run twice with the same result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgfs.compute.contract import Compute
from kgfs.compute.engine import Progress, WorkerSlot
from kgfs.compute.heartbeat import WithHeartbeat
from kgfs.domain.documents import INGEST_VERSION, Document
from kgfs.failpoints import border
from kgfs.formats.headings import section_paths
from kgfs.ingest import timing
from kgfs.ingest.matching import index, match, publication
from kgfs.ingest.reading import stages
from kgfs.ingest.reading.chunk import METHOD
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.reading.draft import Draft
from kgfs.ingest.storing import identify, keep, settle, spool
from kgfs.settings import Pipeline
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading, decode_reading, has_parts


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the pipeline."""

    name: str
    does: str
    run: Callable[..., Any]
    """What carries it out. That of a reading stage takes a Draft and fills in its part."""
    reads: bool = False
    """Whether it is one of the reading stages."""
    share: float = 0.0
    """How much of the reading is done when it begins, for progress."""


STAGES: tuple[Stage, ...] = (
    Stage("spool", "Bytes arrive in a working copy and are hashed as they come.", spool.WorkingCopy),
    Stage("keep", "Bytes and name are durable before close() returns.", keep.keep),
    Stage("settle", "A path that is quiet gets a version.", settle.Settler),
    Stage("identify", "The version is a new Document, a known one, or none.", identify.decide),
    Stage("parse", "The bytes become a Text with structure.", stages.parse, reads=True),
    Stage("chunk", "The Text is cut into Sources along its structure.", stages.chunk, reads=True),
    Stage(
        "gate",
        "Sources without knowledge are neither extracted from nor indexed.",
        stages.gate,
        reads=True,
    ),
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
    Stage("index", "Its vectors are found by search.", index.index),
)
READING: tuple[Stage, ...] = tuple(stage for stage in STAGES if stage.reads)


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

    def __call__(self, place: WorkerSlot, progress: Progress) -> tuple[Reading, Mapping[str, float]]:
        compute = place.compute.using(self.extractor) if self.extractor else place.compute
        clock = StageClock()
        reader = Reader(place.objects, compute, self.settings, clock, self.run, self.known)
        return reader.read(self.document, self.filename, self.earlier, progress), clock.seconds()


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

    def read(self, document: Document, filename: str, earlier: Sequence[Document], progress: Progress) -> Reading:
        """Return the Reading of a document, which is kept in the garage.

        ``earlier`` are documents whose Records and vectors may answer for unchanged Sources. A complete Reading by the same
        extractor and models is found again. UnreadableTextError if no format reads the document; CorruptError or MissingError if
        the original is not what was kept; what ``progress`` raises ends the work.
        """
        finished = self._finished(document)
        if finished is not None and has_parts(self.objects, finished):
            return finished
        report = _Report(progress)
        draft = Draft(
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
        )
        if finished is not None:  # the bytes of its parts left with them: only they are needed
            stages.parse(draft)
            return finished
        for stage in READING:
            report(stage.name, stage.share)
            with self.clock.stage(stage.name):
                stage.run(draft)
        reading = self._reading(draft)
        with self.clock.stage("keep"):
            self.objects.put(reading.key, reading.encode())
        border("reading-kept")
        return reading

    def _finished(self, document: Document) -> Reading | None:
        """Return a complete Reading of an interrupted run or of an earlier life."""
        for key, _ in self.objects.keys(f"readings/{document.doc_id}/"):
            reading = decode_reading(self.objects.get(key), key)
            made_by = (reading.extractor, reading.extractor_model, reading.embedding_model, reading.chunk_method)
            wanted = (self.compute.extractor, self.compute.extractor_model, self.compute.embedding_model, METHOD)
            if reading.ingest_version == INGEST_VERSION and made_by == wanted and reading.run == self.run:
                return reading
        return None

    def _reading(self, draft: Draft) -> Reading:
        text, compute = draft.parsed, draft.compute
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
            extractor=compute.extractor,
            extractor_model=compute.extractor_model,
            strategy=draft.settings.strategy,
            known=tuple(draft.known),
            records=tuple(draft.packs),
            concepts=draft.concepts,
            relationships=draft.relationships,
            dropped=draft.dropped,
            embedding_model=compute.embedding_model,
            vectors_key=draft.vectors_key,
            run=draft.run,
            sections=tuple(section_paths(text.blocks)),
            places=text.places,
            pages=text.pages,
            note=text.note,
            acronyms=draft.acronyms,
            parts=text.parts,
            about=text.about,
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
