"""Precision and recall of joining, on pairs of forms that a person called one thing or two.

``joining_pairs.tsv`` has 400 pairs, drawn at random (seed 7) from the candidates of 40 of the PEPs (each sixth) and from the
parentheses of all of them: pairs with one key, run together, with other digits, with a modifier, with the kind of a thing
behind it, with other words behind it, of similar spelling, and acronyms with what stands before them. Each line is: ``same``
or ``apart`` as one reader judged, how it was drawn, the two forms, and the text that introduces an acronym. PEPs are in
the public domain. ``apart`` are also a name in code and the word it is made of (``__exit__``, exit), and a constant or
token and the word (False, false).
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from kgfs.domain.forms import form_key
from kgfs.domain.identity import normalise_label
from kgfs.ingest.matching.match import match
from kgfs.ingest.reading.joining import introductions, join
from kgfs.settings import Pipeline
from kgfs.stores.graph.sqlite import Graph
from tests.support.graph_building import Doc, Told, publish
from tests.support.readings import document_of, reading_of

PAIRS = Path(__file__).with_name("joining_pairs.tsv")


def _joined(graph: Graph, number: int, one: str, other: str, text: str) -> bool:
    """Return whether a document that calls something ``other`` joins the concept that another document calls ``one``."""
    if text:
        return tuple(map(form_key, (one, other))) in introductions(text)
    ontology = f"{number:012x}"
    publish(graph, Doc(f"{number:016x}", [Told(one)], ontology=ontology))
    reading = reading_of(document_of(ontology), other, {other: [other]})
    decided = match(graph, None, ontology, reading, None, Pipeline())
    return decided.concepts[0].how != "new"


def _joined_within(one: str, other: str, text: str) -> bool:
    """Return whether a document that calls something both is read as one concept."""
    if normalise_label(one) == normalise_label(other):
        return True
    spoken = f"{one}\n\n{other}"
    reading = reading_of(document_of(spoken), spoken, {one: [one], other: [other]})
    return len(join(reading.concepts, (), text)[0]) == 1


def test_precision_and_recall_of_joining() -> None:
    rows = [line.split("\t") for line in PAIRS.read_text().splitlines()]
    assert len(rows) == 400
    with closing(Graph()) as graph:
        across = [_joined(graph, n, row[2], row[3], row[4].replace("\\n", "\n")) for n, row in enumerate(rows)]
    within = [_joined_within(row[2], row[3], row[4].replace("\\n", "\n")) for row in rows]
    for where, joined in (("across documents", across), ("within one", within)):
        same = [row[0] == "same" for row in rows]
        right = sum(a and b for a, b in zip(same, joined, strict=True))
        precision, recall = right / sum(joined), right / sum(same)
        print(f"{where}: precision {precision:.3f}, recall {recall:.3f}")
        for row, judged, found in zip(rows, same, joined, strict=True):
            if judged != found:
                print("   wrong" if found else "   missed", *row[1:4], sep=" | ")
        assert precision >= 0.93 and recall >= 0.84, where
