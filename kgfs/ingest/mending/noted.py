"""Whether the journal knows of all that its graph shows. It does not where whoever changed the graph ended, or gave up a server
that was too slow, before that was noted: the next worker makes up for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from kgfs.ingest.matching.concepts import last_word
from kgfs.stores.graph.contract import Graph
from kgfs.stores.journal.contract import Journal


def unnoted(journal: Journal, graph: Graph) -> str:
    """A document that only one of them shows, or each with another Reading, or a word about concepts that was not carried out,
    for people; '' where there is none. Nobody may publish meanwhile."""
    names = journal.names
    for ontology in [*names.ontologies(), *names.removed_ontologies()]:
        for shown, known in zip_longest(_shown(graph, ontology.id), _known(journal, ontology.id)):
            if shown != known:
                return f"document {min(one for one in (shown, known) if one)[0]}"
    word = last_word(journal)
    return f"word {word.commit_id}" if word and graph.published(word.commit_id) is None else ""


def _shown(graph: Graph, ontology: str) -> Iterator[tuple[str, str]]:
    """doc_id and Reading."""
    after = ""
    while page := graph.documents(ontology, after):
        yield from ((row.doc_id, row.reading) for row in page)
        after = page[-1].doc_id


def _known(journal: Journal, ontology: str) -> Iterator[tuple[str, str]]:
    """The same of those that were noted to be shown."""
    after = ""
    while page := journal.names.documents(ontology, after):
        yield from ((document.doc_id, document.reading) for document in page if document.commit_id)
        after = page[-1].doc_id
