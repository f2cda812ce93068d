"""The check of graph and vectors, whether they agree with the garage and the catalog, and of the projection to Neo4j,
whether it is like the home's graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.errors import AWAY, MissingError, StoreError
from kgfs.knowledge.check.kept import documents
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.readings import later_vectors, load_reading
from kgfs.stores.run_files import home_id
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.contract import Filter, Vectors


def in_graph(stores: Stores, *, deep: bool, progress: Callable[[int, int, str], None]) -> Iterator[Damage]:
    for fault in stores.graph.faults():
        kind = Kind.STALE_WORDS if fault.what == "words" else Kind.DANGLING
        yield Damage(kind, fault.row, "" if fault.what == "words" else fault.what, fault.doc_id)
    for document in documents(stores):
        shown = stores.graph.document(document.doc_id)
        if (document.commit_id or document.text) and shown is None:
            yield Damage(Kind.NOT_IN_GRAPH, document.doc_id, doc_id=document.doc_id)
        elif document.commit_id and shown is not None and shown.reading != document.reading:
            yield Damage(Kind.NOT_IN_GRAPH, document.doc_id, f"shown as {shown.reading}", document.doc_id)
    for ontology in stores.catalog.names.ontologies():
        shown_ids = list(_shown(stores, ontology.id))
        for done, doc_id in enumerate(shown_ids, 1):
            known = stores.catalog.names.document(doc_id)
            if known is None or not (known.commit_id or known.text):
                yield Damage(Kind.NOT_IN_CATALOG, doc_id, doc_id=doc_id)
            if deep:
                yield from _spans(stores, doc_id)
            progress(done, len(shown_ids), f"documents of {ontology.name}")


def in_vectors(stores: Stores) -> Iterator[Damage]:
    """Yield documents that lack vectors, and the number of vector rows that belong to nothing shown.

    A comparison of all rows would cost as much as a rebuild. Instead, each document must have rows, and only
    documents and concepts that are shown may have rows. A surplus can arise when a server carries out a killed
    worker's request after the document was removed.
    """
    vectors = stores.vectors
    if vectors is None:
        return
    before, counted = _rows(vectors), 0
    for document in documents(stores):
        rows = vectors.count(Filter(kind="source", doc_ids=frozenset({document.doc_id})))
        if stores.graph.document(document.doc_id) is None:
            continue
        counted += rows
        if not rows and document.state is State.DONE and _embedded(stores, document.doc_id, document.reading):
            yield Damage(Kind.MISSING_VECTORS, document.doc_id, doc_id=document.doc_id)
    founded = _of_living_concepts(stores, vectors)
    # The lower of the totals before and after, so that rows added or removed during the count are not reported.
    sources, concepts = map(min, before, _rows(vectors))
    if (more := sources - counted) > 0:
        yield Damage(Kind.STALE_VECTORS, "sources", f"{more} rows of documents that are not shown")
    if (more := concepts - founded) > 0:
        yield Damage(Kind.STALE_VECTORS, "concepts", f"{more} rows of concepts that are not shown")


def _rows(vectors: Vectors) -> tuple[int, int]:
    return vectors.count(Filter(kind="source")), vectors.count(Filter(kind="concept"))


def _of_living_concepts(stores: Stores, vectors: Vectors) -> int:
    found = 0
    for ontology in stores.catalog.names.ontologies():
        after = ""
        while page := stores.graph.concept_names(ontology.id, after):
            ids = [concept_id for _, concept_id, _ in page]
            found += vectors.count(Filter(kind="concept", items=frozenset(ids)))
            after = ids[-1]
    return found


def _embedded(stores: Stores, doc_id: str, reading_id: str) -> bool:
    try:
        reading = load_reading(stores.garage.objects, doc_id, reading_id)
    except (MissingError, StoreError):
        return False  # the missing Reading is reported by the check of the garage
    if stores.vectors is None or not any(verdict.passed for verdict in reading.verdicts):
        return False
    later = later_vectors(doc_id, reading_id, stores.vectors.model)[1]
    return reading.embedding_model == stores.vectors.model or stores.garage.objects.exists(later)


def _shown(stores: Stores, ontology: str) -> Iterator[str]:
    after = ""
    while page := stores.graph.documents(ontology, after):
        yield from (row.doc_id for row in page)
        after = page[-1].doc_id


def _spans(stores: Stores, doc_id: str) -> Iterator[Damage]:
    """Yield instances and claims whose quote is not exactly the text at their span. The sources of a document make up its Text."""
    text = "".join(row.full_text for row in stores.graph.sources(doc_id, limit=1 << 40))
    for row in stores.graph.instances_of(doc_id):
        if text[row.char_start : row.char_end] != row.quote:
            yield Damage(Kind.WRONG_SPAN, f"{row.owner}/{row.n}", f"{row.char_start}:{row.char_end}", doc_id)
    for claim in stores.graph.claims.of_document(doc_id):
        if text[claim.char_start : claim.char_end] != claim.quote:
            yield Damage(Kind.WRONG_SPAN, f"claim {claim.ordinal}", f"{claim.char_start}:{claim.char_end}", doc_id)


def in_projection(config: Config, stores: Stores) -> Iterator[Damage]:
    """Compare the numbers of nodes and a sample of them, where the server is at the same epoch as the graph.

    Yields nothing where the graph is not projected. A server that is behind or cannot be reached is reported as such.
    Asks the server.
    """
    if config.graph.store != "neo4j":
        return
    from kgfs.stores.projection.endpoint import endpoint_of
    from kgfs.stores.projection.projection import Projection

    try:
        with closing(Projection(endpoint_of(config), stores.graph, home_id(config.home))) as projection:
            position = projection.position()
            if position is None or position.epoch != stores.graph.epoch():
                behind = "the whole graph" if position is None else f"{stores.graph.epoch() - position.epoch} commits"
                yield Damage(Kind.PROJECTION_BEHIND, config.graph.uri, f"lacks {behind}, and was not compared")
                return
            for what, how in projection.differences():
                yield Damage(Kind.PROJECTION_DIFFERS, what, how)
    except (StoreError, *AWAY) as error:
        yield Damage(Kind.PROJECTION_BEHIND, config.graph.uri, f"was not compared: {error}")
