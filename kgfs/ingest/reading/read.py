"""From a kept original to its Reading: parse, chunk, gate, extract, validate, rank, embed.

The only stages that ask models. Nothing here changes names or graph; running it again gives the same Reading, and the
Records kept by an interrupted run are used, not asked for again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgfs.compute.attended import Attended
from kgfs.compute.contract import Compute
from kgfs.compute.engine import Place, Progress
from kgfs.domain.documents import INGEST_VERSION, Document
from kgfs.domain.text import Chunk, Text, Verdict
from kgfs.errors import BadInputError
from kgfs.failpoints import border
from kgfs.formats.table import parse
from kgfs.ingest.reading import embeddings, records
from kgfs.ingest.reading.chunk import METHOD, chunk
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.reading.former import former_vectors
from kgfs.ingest.reading.gate import judge_all
from kgfs.ingest.reading.rank import rank
from kgfs.ingest.reading.validate import ValidExtraction, validate
from kgfs.models.contract import Passage
from kgfs.settings import Pipeline
from kgfs.stores.garage.contract import Objects
from kgfs.stores.readings import Reading, decode_reading, put_text

LOOK = 0.25
"""Seconds after which it is called again while a stage goes on."""


class _Said:
    """A progress that can be said again without knowing how far the work is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ("", 0.0)
        self._at = 0.0

    def __call__(self, stage: str, share: float) -> None:
        self._last, self._at = (stage, share), time.monotonic()
        self._progress(stage, share)

    def again(self) -> None:
        """Quick, unless it was long ago."""
        if time.monotonic() - self._at > LOOK:
            self(*self._last)


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """The work of reading one document, wherever there is a place for it: the Reading, and seconds by stage."""

    document: Document
    filename: str
    earlier: tuple[Document, ...]
    settings: Pipeline
    extractor: str = ""
    """Instead of the configured one."""
    run: str = ""
    known: tuple[str, ...] = ()

    def __call__(self, place: Place, progress: Progress) -> tuple[Reading, Mapping[str, float]]:
        compute = place.compute.using(self.extractor) if self.extractor else place.compute
        clock = StageClock()
        reader = Reader(place.objects, compute, self.settings, clock, self.run, self.known)
        return reader.read(self.document, self.filename, self.earlier, progress), clock.seconds()


@dataclass(frozen=True, slots=True)
class Reader:
    """Makes Readings. Any number of threads."""

    objects: Objects
    compute: Compute
    settings: Pipeline
    clock: StageClock
    run: str = ""
    """What the Readings are made for, where they were asked for: then none made for something else is found again."""
    known: Sequence[str] = ()
    """Labels of existing concepts, chosen by the strategy, to be shown to the extractor."""

    def read(self, document: Document, filename: str, earlier: Sequence[Document], progress: Progress) -> Reading:
        """The Reading of a document, kept in the garage.

        ``earlier`` are those whose Records and vectors may answer for unchanged Sources. UnreadableTextError if this is
        no text kgfs reads; RotError or MissingError if the original is not what was kept.
        """
        finished = self._finished(document)
        if finished is not None:
            return finished
        said = _Said(progress)
        attended = replace(self, compute=Attended(self.compute, said.again))
        return attended._read(document, filename, earlier, said)

    def _read(self, document: Document, filename: str, earlier: Sequence[Document], progress: _Said) -> Reading:
        progress("parse", 0.0)
        with self.clock.stage("parse"):
            text = parse(filename, self.objects.get(document.key))
        border("parsed")
        progress("chunk", 0.0)
        with self.clock.stage("chunk"):
            sizes = self.settings.chunk_tokens, self.settings.overlap_tokens
            chunks = chunk(text, self.compute.tokens, *sizes, look=progress.again)
        border("chunked")
        progress("gate", 0.0)
        with self.clock.stage("gate"):
            verdicts = judge_all(text, chunks, verbs=self.compute.verbs)
        border("gated")
        validated, packs, dropped = self._extract((document, *earlier), text, chunks, verdicts, progress)
        border("validated")
        with self.clock.stage("rank"):
            kept = [chunk for chunk, verdict in zip(chunks, verdicts, strict=True) if verdict.passed]
            concepts, relationships = rank(text.title, kept, validated, self.settings.concepts_per_document)
        with self.clock.stage("keep"):
            text_key = put_text(self.objects, document.doc_id, text)
        vectors_key = ""
        if self.compute.embedding_model:
            progress("embed", 0.9)
            with self.clock.stage("embed"):
                former = former_vectors(self.objects, (document, *earlier), self.compute.embedding_model)
                windows = embeddings.compute_windows(self.compute, text.text, chunks, verdicts, former.windows)
                encoded = embeddings.assemble(self.compute, windows, concepts, former.labels).encode()
            with self.clock.stage("keep"):
                vectors_key = embeddings.key_of(document.doc_id, encoded)
                self.objects.put(vectors_key, encoded)
        reading = Reading(
            doc_id=document.doc_id,
            content_hash=document.sha256,
            ingest_version=INGEST_VERSION,
            parser=text.parser,
            media_type=text.media_type,
            encoding=text.encoding,
            text_key=text_key,
            text_sha256=text.sha256,
            text_length=len(text.text),
            title=text.title,
            chunk_method=METHOD,
            chunks=tuple(chunks),
            verdicts=tuple(verdicts),
            extractor=self.compute.extractor,
            extractor_model=self.compute.extractor_model,
            strategy=self.settings.strategy,
            known=tuple(self.known),
            records=tuple(packs),
            concepts=concepts,
            relationships=relationships,
            dropped=dropped,
            embedding_model=self.compute.embedding_model,
            vectors_key=vectors_key,
            run=self.run,
        )
        with self.clock.stage("keep"):
            self.objects.put(reading.key, reading.encode())
        border("reading-kept")
        return reading

    def _finished(self, document: Document) -> Reading | None:
        """A complete Reading by the same extractor and models, of an interrupted run or of an earlier life."""
        for key, _ in self.objects.keys(f"readings/{document.doc_id}/"):
            reading = decode_reading(self.objects.get(key), key)
            made_by = (reading.extractor, reading.extractor_model, reading.embedding_model, reading.chunk_method)
            wanted = (self.compute.extractor, self.compute.extractor_model, self.compute.embedding_model, METHOD)
            if reading.ingest_version == INGEST_VERSION and made_by == wanted and reading.run == self.run:
                return reading
        return None

    def _extract(
        self,
        documents: Sequence[Document],
        text: Text,
        chunks: Sequence[Chunk],
        verdicts: Sequence[Verdict],
        progress: Progress,
    ) -> tuple[list[ValidExtraction], list[str], dict[str, int]]:
        """Validated extractions of the Sources that passed, the packs their Records lie in, and what was refused. The
        first of ``documents`` is the one that is read; Records of any of them answer."""
        passed = [chunk for chunk, verdict in zip(chunks, verdicts, strict=True) if verdict.passed]
        passages = {
            chunk.index: Passage(
                title=text.title,
                section_path=chunk.section_path,
                text=text.text[chunk.start : chunk.end],
                context=text.text[chunk.context_start : chunk.start],
            )
            for chunk in passed
        }
        marks = {index: records.fingerprint(self.compute, passage) for index, passage in passages.items()}
        doc_ids = [document.doc_id for document in documents]
        known = records.load(self.objects, doc_ids)
        missing = {marks[i]: passage for i, passage in passages.items() if marks[i] not in known}
        waiting = list(missing.items())
        for at in range(0, len(waiting), records.PACK):
            progress("extract", 0.9 * at / len(waiting))
            with self.clock.stage("extract"):
                batch = dict(waiting[at : at + records.PACK])
                known |= records.ask(self.compute, self.objects, doc_ids[0], batch, self.known)
        progress("validate", 0.9)
        validated: list[ValidExtraction] = []
        packs: dict[str, None] = {}
        dropped: dict[str, int] = {}
        with self.clock.stage("validate"):
            for chunk in passed:
                record = known[marks[chunk.index]]
                packs[record.pack] = None
                try:
                    extraction = self.compute.parse(record.raw_output)
                except BadInputError as error:
                    reason = f"unusable output: {error}"
                    dropped[reason] = dropped.get(reason, 0) + 1
                    validated.append(ValidExtraction((), (), {}))
                    continue
                valid = validate(extraction, text.text, chunk)
                for reason, count in valid.dropped.items():
                    dropped[reason] = dropped.get(reason, 0) + count
                validated.append(valid)
        return validated, list(packs), dropped
