"""The stages that read one document. Each takes the draft and does one thing to it.

A draft that is begun anew comes to the same. What a stage has used up, and no later one needs, it takes out of the draft:
all of what a long document gives, held at once, would be hundreds of megabytes.

Only these stages ask models. None changes names or graph. Records and vectors are stored in the garage as they are
made, so that an interrupted document asks nothing a second time.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from kgfs.compute.contract import Compute
from kgfs.domain.documents import Document
from kgfs.domain.identity import normalise_label
from kgfs.domain.knowledge import FoundConcept, FoundRelationship
from kgfs.domain.languages import ENGLISH, language_of
from kgfs.domain.parts import Part, PartKind
from kgfs.domain.text import LONGEST_PROSE
from kgfs.errors import BadInputError, UnreadableAnswersError
from kgfs.failpoints import border
from kgfs.formats.sandbox import Limits
from kgfs.formats.table import parse as parse_file
from kgfs.ingest.reading import answers, choice, embeddings, records
from kgfs.ingest.reading.as_prose import prose_only, prose_told
from kgfs.ingest.reading.by_headings import with_headings
from kgfs.ingest.reading.chunk import chunk as chunk_text
from kgfs.ingest.reading.defined import with_definitions
from kgfs.ingest.reading.draft import Draft
from kgfs.ingest.reading.examples import without_examples
from kgfs.ingest.reading.gate import Verbs, furniture_of, judge_all
from kgfs.ingest.reading.gathered import Gathered
from kgfs.ingest.reading.joining import introductions, join
from kgfs.ingest.reading.keeping_parts import KeepingParts
from kgfs.ingest.reading.notes import with_links
from kgfs.ingest.reading.passages import language_told, passages_of
from kgfs.ingest.reading.rank import Vectors, rank_gathered, said_once
from kgfs.ingest.reading.recognised import KeptPages
from kgfs.ingest.reading.stated import grounds_of, validate_stated
from kgfs.ingest.reading.validate import validate as validate_one
from kgfs.ingest.reading.vector_reuse import former_vectors
from kgfs.models.contract import Passage
from kgfs.models.extractor.llm import CONTEXT_TOKENS, context_said
from kgfs.models.llm import ANSWER
from kgfs.stores.batched import batched
from kgfs.stores.readings import decode_reading, put_text, reading_key

TOO_LONG = (
    f"longer than {LONGEST_PROSE // 1_000_000} million characters: it is found by its words, and no concepts were looked for."
    " Split it to have them"
)
LONG = 1 << 20
"""Characters of a text whose concepts are packed before they are held on to."""
READ = 0.9
"""Share of the progress of a document that is complete when its models have answered."""


def parse(draft: Draft) -> None:
    """Parse the original into its Text, and store a Text that is no decoding of the original.

    Raise UnreadableTextError where no format reads it, ParserFailedError where its parser crashed, MissingError or CorruptError where the original is lost or
    corrupt.
    """
    settings = draft.settings
    limits = Limits(settings.parser_memory, settings.parser_cpu, settings.parser_files)
    content = [draft.objects.get(draft.document.key)]
    segments = _segments(draft, content[0])
    pages = KeptPages(draft.objects, draft.document.doc_id, draft.report)
    with KeepingParts(draft.objects, draft.document) as parts:
        draft.text = parse_file(
            draft.filename,
            content.pop(),  # only its parser has it, which gives a long one up once it is decoded
            limits,
            draft.report.again,
            pages,
            keep=parts.keep,
            segments=segments,
        )
    draft.text_key = put_text(draft.objects, draft.document.doc_id, draft.text)
    border("parsed")


def _segments(draft: Draft, content: bytes) -> list[int] | None:
    """Return the sizes of the segments of an earlier content of the path, as far as this content begins with them. None
    for a document that is a part itself, which is not read in segments."""
    if draft.document.parent:
        return None
    for earlier in draft.earlier:
        sizes = list[int]()
        at = 0
        for part in _parts_of(draft, earlier):
            if part.kind != PartKind.SEGMENT or hashlib.sha256(content[at : at + part.size]).hexdigest() != part.sha256:
                break
            sizes.append(part.size)
            at += part.size
        if sizes:
            return sizes
    return []


def _parts_of(draft: Draft, earlier: Document) -> tuple[Part, ...]:
    key = reading_key(earlier.doc_id, earlier.reading)
    if not earlier.reading or earlier.ontology != draft.document.ontology or not draft.objects.exists(key):
        return ()
    return decode_reading(draft.objects.get(key), key).parts


def chunk(draft: Draft) -> None:
    """Partition the Text into the spans of its Sources."""
    sizes = draft.settings.chunk_tokens, draft.settings.overlap_tokens
    draft.chunks = chunk_text(draft.parsed, draft.compute.tokens, *sizes, poll=draft.report.again)
    border("chunked")


def gate(draft: Draft) -> None:
    """Judge which Sources are extracted from and indexed."""
    draft.language = language_told(draft.parsed)
    verbs = draft.compute.verbs if draft.language in ("", ENGLISH) else None
    draft.verdicts = judge_all(
        draft.parsed, draft.chunks, verbs=verbs and _verbs_of_english(verbs), domains=draft.domains
    )
    border("gated")


def _verbs_of_english(verbs: Verbs) -> Verbs:
    """Return the same question, answered with yes for what is in another language."""
    return lambda piece: language_of(piece) != ENGLISH or verbs(piece)


def extract(draft: Draft) -> None:
    """Ask the extractor about each Source that no Record answers, and take a language model's answers from its Records.

    Every answer is stored as a Record before it is parsed. Nothing is asked about a Text longer than LONGEST_PROSE, whose
    note says so. Raise UnreadableAnswersError where a language model failed for all Sources.
    """
    text = draft.parsed
    if draft.is_found_by_words_only:
        draft.text = replace(text, note="; ".join(filter(None, (text.note, TOO_LONG))))
        return
    words = prose_only(text.media_type, text.text)
    for compute in draft.extractors:
        if compute.billed:
            _take_answers(draft, compute, words)
        else:
            _extract_here(draft, compute, words)


def _extract_here(draft: Draft, compute: Compute, words: str) -> None:
    text, passed = draft.parsed, draft.passed
    known = records.load(draft.objects, [document.doc_id for document in (draft.document, *draft.earlier)])
    marks: list[str] = []
    waiting: dict[str, Passage] = {}  # few at a time: all passages of a document are as long as its Text

    def ask() -> None:
        draft.report("extract", READ * len(marks) / len(passed))
        known.update(records.ask(compute, draft.objects, draft.document.doc_id, waiting, draft.known))
        waiting.clear()

    for passage in passages_of(text.title, words, passed, draft.language, furniture_of(text)):
        mark = records.fingerprint(compute, passage)
        marks.append(mark)
        if mark not in known:
            waiting[mark] = passage
            if len(waiting) == records.PACK:
                ask()
    if waiting:
        ask()
    draft.records = {chunk.index: known[mark] for chunk, mark in zip(passed, marks, strict=True)}


def _take_answers(draft: Draft, compute: Compute, words: str) -> None:
    """Take the answers of a language model from the document's Records, and note which Sources failed."""
    kept = answers.load(draft.objects, [draft.document.doc_id])
    by_mark: dict[str, list[list[answers.Asked]]] = {}
    for (mark, _), rows in sorted(kept.items()):
        by_mark.setdefault(mark, []).append(rows)
    asked = answers.questions(
        compute.extractor,
        compute.extractor_model,
        compute.prompt_hash,
        compute.tokens,
        draft.parsed,
        words,
        draft.asked,
        draft.language,
        draft.domains,
    )
    if short := len(draft.passed) - len(draft.asked):
        draft.dropped["not asked: all blocks are short"] += short
    failed: dict[int, str] = {}
    for question in asked:
        judged = [answers.judge(rows, compute.parse, draft.run) for rows in by_mark.get(question.fingerprint, ())]
        usable = [(one.key, one.extraction) for one in judged if one.extraction is not None]
        draft.answers.setdefault(question.chunk, []).extend(usable)
        if not judged or len(usable) < len(judged):
            failed[question.chunk] = next((one.failure for one in judged if one.failure), "") or "no answer"
    draft.context = _context(draft, compute, kept)
    note = answers.failures_told(failed.values(), len(draft.answers))
    if failed and len(failed) == len(draft.answers) and not any(draft.answers.values()):
        raise UnreadableAnswersError(f"{note}. Ask again with: kgfs ingest --force")
    draft.text = replace(draft.parsed, note="; ".join(filter(None, (draft.parsed.note, note))))


def _context(draft: Draft, compute: Compute, kept: Mapping[tuple[str, int], Sequence[answers.Asked]]) -> str:
    """Return the newest description of the document, unless it is too long or names what the document does not."""
    for one in reversed(answers.described(kept, draft.parsed)):
        try:
            said = context_said(one.raw_output) if one.outcome == ANSWER else ""
        except BadInputError:
            continue
        if said and compute.tokens.count(said) > CONTEXT_TOKENS:
            draft.dropped["context: too long"] += 1
            return ""
        if said and grounds_of(draft, draft.parsed.text).invented(said):
            draft.dropped["context: it names what stands nowhere in the document"] += 1
            return ""
        if said:
            return said
    return ""


def validate(draft: Draft) -> None:
    """Parse the Records and anchor every quote in the Text. Items that cannot be anchored are dropped and counted.

    What is valid is grouped as it is found, since the extractions of a long document take much memory.
    """
    draft.valid = Gathered()
    if draft.is_found_by_words_only:
        return
    packs: dict[str, None] = {}
    words = prose_only(draft.parsed.media_type, draft.parsed.text)
    local = [compute for compute in draft.extractors if not compute.billed]  # one at most
    for compute, chunk in product(local, draft.passed):
        record = draft.records.pop(chunk.index)
        packs[record.pack] = None
        try:
            valid = validate_one(compute.parse(record.raw_output), words, chunk)
        except BadInputError as error:
            draft.dropped[f"unusable output: {error}"] += 1
            draft.valid.skip()
            continue
        draft.dropped.update(valid.dropped)
        draft.valid.add(valid)
    if draft.answers:
        _validate_answers(draft, words, packs, only_typed=bool(local))
    draft.packs = list(packs)
    border("validated")


def _validate_answers(draft: Draft, words: str, packs: dict[str, None], *, only_typed: bool) -> None:
    """Add what a language model stated. With ``only_typed`` its concepts are left out: grammar gave them."""
    parsed = dict(one for found in draft.answers.values() for one in found)
    answers.keep_parsed(draft.objects, draft.document.doc_id, parsed)
    packs.update(dict.fromkeys(parsed))
    stated = {index: [extraction for _, extraction in found] for index, found in draft.answers.items()}
    valid = validate_stated(draft, words, stated, only_typed=only_typed)
    draft.dropped.update(valid.dropped)
    for one in valid.extractions:
        if only_typed:
            for relationship in one.relationships:
                draft.valid.relationships.add(relationship)
        else:
            draft.valid.add(one)
    draft.claims = tuple(valid.claims)
    draft.answers = {}


def rank(draft: Draft) -> None:
    """Choose the document's concepts, terms and relationships among all that its Sources gave.

    Computes the vectors of the Sources and of the candidates' labels, if there is an embedding model.
    """
    if draft.is_found_by_words_only:
        return
    limit = draft.settings.concepts_per_document
    compute, model = draft.compute, draft.compute.embedding_model
    if model:
        former = former_vectors(draft.objects, (draft.document, *draft.earlier), model)
        draft.labels |= former.labels
        draft.windows = embeddings.compute_windows(
            compute, draft.parsed.text, draft.chunks, draft.verdicts, former.windows, draft.context
        )

    def meaning(labels: Sequence[str]) -> tuple[Vectors, Vectors] | None:
        if not draft.windows:
            return None
        every = np.empty((len(labels), draft.windows[0][1].shape[1]), np.float32)
        for batch in batched(enumerate(labels), embeddings.BATCH):
            missing = list(dict.fromkeys(label for _, label in batch if label not in draft.labels))
            fresh = {label: rows[0] for label, rows in zip(missing, compute.embed(missing), strict=True)}
            for at, label in batch:
                every[at] = draft.labels[label] if label in draft.labels else fresh[label]
                draft.labels[label] = every[at]
        return every, embeddings.mean_of(draft.windows)

    words = prose_told(draft.parsed.media_type, draft.parsed.text)

    def could_be(concepts: Sequence[FoundConcept]) -> Collection[str]:
        found, _ = _completed(draft, words, concepts, ())
        return {normalise_label(form) for one in found if choice.may_be_concept(one) for form in one.forms}

    concepts, relationships = rank_gathered(draft.parsed.title, draft.passed, draft.valid, limit, meaning, could_be)
    draft.valid = Gathered()
    draft.acronyms = introductions(words)
    draft.concepts, draft.relationships = _completed(draft, words, concepts, relationships)
    if len(draft.parsed.text) >= LONG:
        # What is left lies between what is given up, in the same pages: taken out and put back, it fills few.
        packed = pickle.dumps((draft.concepts, draft.relationships), pickle.HIGHEST_PROTOCOL)
        draft.concepts, draft.relationships, concepts, relationships = (), (), (), ()
        draft.concepts, draft.relationships = pickle.loads(packed)
    chosen = {concept.label for concept in draft.concepts}
    draft.labels = {label: row.copy() for label, row in draft.labels.items() if label in chosen}


def _completed(
    draft: Draft, words: str, concepts: Sequence[FoundConcept], relationships: Sequence[FoundRelationship]
) -> tuple[tuple[FoundConcept, ...], tuple[FoundRelationship, ...]]:
    """Return concepts and relationships with those joined that are one thing, and with what source defines and notes link."""
    concepts, relationships = join(concepts, relationships, words)
    concepts = without_examples(draft.parsed, with_definitions(draft.parsed, draft.passed, concepts))
    concepts, relationships = with_links(draft.parsed, draft.filename, draft.passed, concepts, relationships)
    relationships = with_headings(draft.parsed, draft.passed, concepts, relationships)
    return said_once(draft.parsed.text, concepts), relationships


def embed(draft: Draft) -> None:
    """Store the vectors of Sources, labels and claims. Does nothing without an embedding model."""
    compute = draft.compute
    if not compute.embedding_model:
        return
    doc_id = draft.document.doc_id
    draft.vectors_key = embeddings.put(
        draft.objects, compute, doc_id, draft.windows, draft.concepts, draft.labels, draft.claims
    )
    draft.windows, draft.labels = [], {}
