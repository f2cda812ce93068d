"""Compare the projection with the graph of the home: ids and digests, a page at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.projection.connection import Connection
from kgfs.stores.projection.source import LIVING, concepts, relationships, shown_document
from kgfs.stores.projection.writing import PAGE, differences

LABELS = ("Concept", "Relationship", "Document")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Difference:
    """A node of the projection that is not as the graph of the home has it."""

    label: str
    id: str
    what: str
    """``missing``, ``left over`` or ``other``."""


def compare(connection: Connection, graph: Graph, space: str, *, ids_alone: bool = False) -> Iterator[Difference]:
    """Return the differences, concepts first, then relationships, then documents with all that hangs on them. With ``ids_alone``
    nodes that have the same id are taken for the same: for a projection of another format, which has other digests."""
    for label in LABELS:
        wanted = ((id_, "" if ids_alone else digest, {"id": id_}) for id_, digest in _wanted(graph, label, ids_alone))
        known = _known(connection, space, label, ids_alone)
        for id_, is_known, found in differences(wanted, known):
            what = "missing" if not is_known else "left over" if found is None else "other"
            yield Difference(label, id_, what)


def _wanted(graph: Graph, label: str, ids_alone: bool) -> Iterator[tuple[str, str]]:
    after = ""
    while True:
        with graph.whole() as sql:
            page = [id_ for (id_,) in sql.execute(LIVING[label], (after, _BATCH))]
            if ids_alone:
                found = [(id_, "") for id_ in page]
            elif label == "Document":
                found = []
            else:
                owners = concepts(sql, page) if label == "Concept" else relationships(sql, page)
                found = [(owner.id, owner.properties["digest"]) for owner in owners]
        yield from found
        if label == "Document" and not ids_alone:
            for doc_id in page:
                with graph.whole() as sql:
                    document = shown_document(sql, doc_id)
                    digest = document.digest() if document else ""
                if digest:
                    yield doc_id, digest
        if len(page) < _BATCH:
            return
        after = page[-1]


def _known(connection: Connection, space: str, label: str, ids_alone: bool) -> Iterator[tuple[str, str]]:
    name = "doc_id" if label == "Document" else "id"
    # One that is half written or half removed is an Edition, and no Document.
    node = "Edition" if label == "Document" and not ids_alone else label
    question = (
        f"MATCH (n:{node} {{space: $space}}) WHERE n.{name} > $after"
        f" RETURN n.{name} AS id, n.digest AS digest, n.status AS status ORDER BY id LIMIT $limit"
    )
    after = ""
    while page := connection.read(question, space=space, after=after, limit=PAGE):
        for row in page:
            if row["status"] != "superseded":
                yield row["id"], "" if ids_alone else row["digest"] or ""
        if len(page) < PAGE:
            return
        after = page[-1]["id"]
