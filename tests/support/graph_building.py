"""Small graphs for tests: a document is a few Sources, the concepts it mentions and the relationships it states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgfs.domain.identity import (
    chunk_id_of,
    claim_id_of,
    concept_id_of,
    instance_id_of,
    normalise_label,
    relationship_id_of,
)
from kgfs.domain.knowledge import Mention
from kgfs.domain.names import safe_stem
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import (
    Batch,
    ClaimRow,
    ConceptRow,
    DocumentRow,
    InstanceRow,
    Publication,
    RelationshipRow,
    SourceRow,
)

ONTOLOGY = "0123456789ab"


@dataclass(frozen=True)
class Told:
    """What a document says of a concept."""

    label: str
    quotes: int = 1
    forms: tuple[str, ...] = ()
    definition: str = ""
    score: float = 0.5
    kind: str = "term"
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Doc:
    doc_id: str
    concepts: Sequence[Told] = ()
    relationships: Sequence[tuple[str, str, str, float]] = ()
    """(subject label, type, object label, confidence)."""
    texts: Sequence[str] = ("some text",)
    gated: Mapping[int, str] = field(default_factory=dict)
    deposit: int = 1
    title: str = ""
    ontology: str = ONTOLOGY
    claims: Sequence[tuple[str, str]] = ()
    """(the claim, the quote): one that begins with "!" was rejected."""


def cid(label: str, ontology: str = ONTOLOGY) -> str:
    return concept_id_of(ontology, normalise_label(label))


def rid(subject: str, type_: str, object_: str, ontology: str = ONTOLOGY) -> str:
    return relationship_id_of(cid(subject, ontology), type_, cid(object_, ontology))


def document_row(doc: Doc) -> DocumentRow:
    return DocumentRow(
        doc_id=doc.doc_id,
        ontology=doc.ontology,
        source_id=f"{doc.ontology}/{doc.doc_id}.txt",
        content_hash=doc.doc_id * 4,
        garage_key=f"sources/x/{doc.doc_id}.txt",
        original_filename=f"{doc.doc_id}.txt",
        size_bytes=sum(map(len, doc.texts)),
        chunk_count=len(doc.texts),
        ingested_at=77,
        deposit=doc.deposit,
        source_title=doc.title or doc.doc_id,
        source_uri=f"documents/{doc.doc_id}.txt",
        document_type="text/plain",
        text_sha256="f" * 64,
        content_length=sum(map(len, doc.texts)),
        reading="r" + doc.doc_id,
        ingest_version=1,
        text_md_size=123,
    )


def source_rows(doc: Doc) -> list[SourceRow]:
    rows, at = [], 0
    for index, text in enumerate(doc.texts):
        rows.append(
            SourceRow(
                doc_id=doc.doc_id,
                chunk_index=index,
                chunk_id=chunk_id_of(doc.doc_id, at, at + len(text)),
                full_text=text,
                char_start=at,
                char_end=at + len(text),
                line_start=index + 1,
                line_end=index + 1,
                byte_start=at,
                byte_end=at + len(text.encode()),
                section_path=("Top", f"Section {index}") if index else (),
                chunk_method="structure/1",
                overlap_chars=0,
                tokens=len(text.split()),
                gated=doc.gated.get(index, ""),
                embedding_text="" if doc.gated.get(index) else text,
            )
        )
        at += len(text)
    return rows


def instance_row(doc: Doc, owner: str, kind: str, n: int, start: int, confidence: float) -> InstanceRow:
    return InstanceRow(
        instance_id=instance_id_of(owner, doc.doc_id, start, start + 4),
        owner=owner,
        owner_kind=kind,
        n=n,
        doc_id=doc.doc_id,
        chunk_index=0,
        chunk_id=chunk_id_of(doc.doc_id, 0, len(doc.texts[0]) if doc.texts else 0),
        quote=f"quote {start} of {doc.doc_id}",
        char_start=start,
        char_end=start + 4,
        byte_start=start,
        byte_end=start + 4,
        line_start=1,
        line_end=2,
        section_path=(),
        page=None,
        defines=False,
        confidence=confidence,
        source_size=100 + start,
        citation_size=200 + start,
        mtime=55,
    )


def claim_row(doc: Doc, ordinal: int, claim: str, quote: str) -> ClaimRow:
    return ClaimRow(
        doc_id=doc.doc_id,
        ordinal=ordinal,
        claim_id="" if claim.startswith("!") else claim_id_of(doc.ontology, quote, "Acme", "metric"),
        claim=claim,
        role="metric",
        domain="growth",
        actor="Acme",
        actor_class="company",
        timeframe="2024",
        timeframe_class="explicit",
        time_horizon="past",
        scope="tactical",
        authority="high",
        confidence=0.9,
        added=("2024",),
        rejected="too short" if claim.startswith("!") else "",
        chunk_index=0,
        chunk_id=chunk_id_of(doc.doc_id, 0, len(doc.texts[0]) if doc.texts else 0),
        quote=quote,
        char_start=ordinal,
        char_end=ordinal + len(quote),
        byte_end=len(quote),
        line_start=1,
        line_end=1,
        section_path=("Top",),
    )


def next_n(graph: Graph, owner: str) -> int:
    return graph.next_numbers([owner])[owner]


def name_taken(graph: Graph, ontology: str, name: str) -> str | None:
    return graph.names_taken(ontology, [name]).get(name)


def prepared(
    graph: Graph, doc: Doc, commit_id: str, supersedes: Sequence[str] = (), at: int = 1000
) -> tuple[Batch, Publication]:
    """Numbers are decided as the pipeline does: a span that is evidence already keeps its number."""
    given = {(row.owner, row.char_start): row.n for row in graph.instances_of(doc.doc_id)}
    following: dict[str, int] = {}

    def number(owner: str, start: int) -> int:
        if (owner, start) not in given:
            given[owner, start] = following.get(owner) or next_n(graph, owner)
            following[owner] = given[owner, start] + 1
        return given[owner, start]

    instances: list[InstanceRow] = []
    concepts: list[ConceptRow] = []
    for position, told in enumerate(doc.concepts):
        owner = cid(told.label, doc.ontology)
        mention = Mention(
            doc.doc_id,
            doc.deposit,
            told.label,
            (told.label, *told.forms),
            told.kind,
            told.score,
            told.definition,
            told.kinds,
        )
        stem = safe_stem(told.label)
        taken = name_taken(graph, doc.ontology, stem)
        name = stem if taken in (None, owner) else f"{stem}~{owner[:8]}"
        concepts.append(ConceptRow(owner, doc.ontology, normalise_label(told.label), name, mention))
        for quote in range(told.quotes):
            start = position * 100 + quote
            instances.append(instance_row(doc, owner, "concept", number(owner, start), start, told.score))
    relationships: list[RelationshipRow] = []
    for position, (subject, type_, object_, confidence) in enumerate(doc.relationships):
        owner = rid(subject, type_, object_, doc.ontology)
        row = RelationshipRow(owner, doc.ontology, cid(subject, doc.ontology), type_, cid(object_, doc.ontology))
        relationships.append(row)
        start = 10_000 + position
        instances.append(instance_row(doc, owner, "relationship", number(owner, start), start, confidence))
    publication = Publication(commit_id, document_row(doc), concepts, relationships, supersedes, at)
    if not doc.claims:
        return Batch(source_rows(doc), {"instance": instances}), publication
    claims = [claim_row(doc, ordinal, *told) for ordinal, told in enumerate(doc.claims)]
    return Batch(source_rows(doc), {"instance": instances, "claim": claims}, publication.document), publication


def publish(graph: Graph, doc: Doc, commit_id: str = "", supersedes: Sequence[str] = (), at: int = 1000) -> int:
    commit_id = commit_id or f"commit of {doc.doc_id} at {at}"
    batch, publication = prepared(graph, doc, commit_id, supersedes, at)
    graph.stage(commit_id, doc.doc_id, batch)
    return graph.publish(publication)


def version(n: int) -> Doc:
    """Versions of one thing: each its own document, all with the same concept."""
    return Doc(f"{n:016x}", [Told("Zen", 2), Told(f"only in {n}")], texts=[f"zen {n}"], deposit=n + 1)
