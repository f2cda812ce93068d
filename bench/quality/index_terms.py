"""How many of the terms that a careful index of a document would have are concepts, and how many can be looked up.

The lists are written by hand, before anybody looks at what kgfs shows: ``NAME.terms`` for the file ``NAME.md``, one term a
line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.quality.shown import Shown, forms_of
from kgfs.ingest.reading.joining import folded


def lists_of(folder: Path) -> dict[str, list[str]]:
    """Return the terms of each list, by the name of its document without ending."""
    return {
        file.stem: [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip()]
        for file in sorted(folder.glob("*.terms"))
    }


def found(shown: Shown, lists: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return the counts over all documents that have a list; empty where none has.

    A term is found as a concept if it is the label or an alias of a concept of its document, number, case and hyphens
    folded; as a concept or term, if it is a candidate or term of the document, too.
    """
    counts = {"index terms": 0, "as a concept": 0, "as a concept or term": 0}
    missed: list[str] = []
    for document in shown.documents:
        wanted = lists.get(Path(document.file).stem, ())
        concepts = {form for one in shown.concepts if document.doc_id in one.documents for form in forms_of(one)}
        terms = {folded(label) for label, title in shown.terms if title == document.title} | document.candidates
        counts["index terms"] += len(wanted)
        counts["as a concept"] += sum(folded(term) in concepts for term in wanted)
        counts["as a concept or term"] += sum(folded(term) in concepts | terms for term in wanted)
        missed += [f"{document.file}: {term}" for term in wanted if folded(term) not in concepts | terms]
    return {**counts, "index terms missed": missed} if counts["index terms"] else {}
