"""Check that the catalog has everything that its graph shows.

It does not where a process that changed the graph was killed, or gave up on a slow server, before it recorded the
change. The next worker completes the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from kgfs.domain.identity import commit_id_of_text
from kgfs.ingest.matching.concepts import last_word
from kgfs.stores.catalog.sqlite import Catalog
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import TEXT_ONLY, DocumentRow


def unnoted(catalog: Catalog, graph: Graph) -> str:
    """Return, for people, one difference between catalog and graph; '' where there is none.

    A difference is a document that only one of them shows or that has different Readings, or a merge or split of
    concepts that was not carried out. Nothing may publish meanwhile.
    """
    names = catalog.names
    for ontology in [*names.ontologies(), *names.removed_ontologies()]:
        for shown, known in zip_longest(_shown(graph, ontology.id), _known(catalog, ontology.id)):
            if shown != known:
                return f"document {min(one for one in (shown, known) if one)[0]}"
    word = last_word(catalog)
    return f"word {word.commit_id}" if word and graph.published(word.commit_id) is None else ""


def _shown(graph: Graph, ontology: str) -> Iterator[tuple[str, str]]:
    """Yield (``doc_id``, Reading) of the documents that the graph shows, by ``doc_id``."""
    after = ""
    while page := graph.documents(ontology, after):
        yield from ((row.doc_id, _shown_as(row)) for row in page)
        after = page[-1].doc_id


def _known(catalog: Catalog, ontology: str) -> Iterator[tuple[str, str]]:
    """Yield (``doc_id``, Reading) of the documents that the catalog records as shown, by ``doc_id``."""
    after = ""
    while page := catalog.names.documents(ontology, after):
        for document in page:
            if document.text or document.commit_id:
                yield document.doc_id, document.text or document.reading
        after = page[-1].doc_id


def _shown_as(row: DocumentRow) -> str:
    if row.status == TEXT_ONLY:
        return commit_id_of_text(row.doc_id, row.reading, row.deposit)
    return row.reading
