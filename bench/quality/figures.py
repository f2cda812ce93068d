"""Figures of a home: duplicates, headings and title words found, relationships, types, junk by rules, terms of careful indexes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.quality.shown import Shown, ShownDocument, forms_of
from kgfs.ingest.reading.joining import folded
from kgfs.models.extractor import junk
from kgfs.models.extractor.candidates import phrases
from kgfs.models.grammar import English

if TYPE_CHECKING:
    from spacy.tokens import Doc

STRUCTURE = 4
"""A heading that stands in so many documents is structure, and no term."""


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def figures(shown: Shown, english: English) -> dict[str, object]:
    """Return the figures by name."""
    concepts = shown.concepts
    words = sum(document.words for document in shown.documents)
    doubles = Counter(key for one in concepts for key in {folded(one.concept.label)})
    in_groups = sum(count for count in doubles.values() if count > 1)
    rubbish = Counter(why for one in concepts if (why := junk.reason(one.concept.label)))
    often = [one for one in concepts if one.concept.evidence > 1]
    found: dict[str, object] = {
        "documents": len(shown.documents),
        "words": words,
        "concepts": len(concepts),
        "concepts in 1,000 words": round(1000 * sum(len(c.documents) for c in concepts) / max(words, 1), 2),
        "in groups that are equal after folding, %": percent(in_groups, len(concepts)),
        "junk by rules, %": percent(sum(rubbish.values()), len(concepts)),
        "with a description, %": percent(sum(bool(one.concept.description) for one in concepts), len(concepts)),
        "pieces of evidence": sum(one.concept.evidence for one in concepts),
        "with a relationship that is not by name, %": percent(sum(one.is_related for one in concepts), len(concepts)),
        "with two or more pieces of evidence": len(often),
        "of these with a relationship that is not by name, %": percent(
            sum(one.is_related for one in often), len(often)
        ),
        "relationships": len(shown.relationships),
        "relationships by type": dict(Counter(reported.type for reported in shown.relationships).most_common()),
    }
    return found | _headings(shown, english)


def _headings(shown: Shown, english: English) -> dict[str, object]:
    held: dict[str, set[str]] = {document.doc_id: set(document.candidates) for document in shown.documents}
    labels: dict[str, set[str]] = {document.doc_id: set() for document in shown.documents}
    for one in shown.concepts:
        for doc_id in one.documents:
            labels[doc_id] |= forms_of(one)
    stands = Counter(heading for document in shown.documents for heading in {h.lower() for h in document.headings})
    documents = [
        (document, [h for h in dict.fromkeys(document.headings) if stands[h.lower()] < STRUCTURE])
        for document in shown.documents
    ]
    spoken = [_noun_phrases(headings, english) for _, headings in documents]
    titles = _nouns([document.title for document in shown.documents], english)
    result: dict[str, object] = {}
    for name, known in (("as a concept", labels), ("as a concept or term", {d: held[d] | labels[d] for d in held})):
        wanted = [(document, key) for (document, _), keys in zip(documents, spoken, strict=True) for key in keys]
        found = sum(key in known[document.doc_id] for document, key in wanted)
        result[f"noun phrases of headings found {name}, %"] = percent(found, len(wanted))
        result[f"nouns of titles found {name}, %"] = _titles(shown.documents, titles, known)
    return result


def _titles(documents: Sequence[ShownDocument], titles: Sequence[set[str]], known: dict[str, set[str]]) -> float:
    found = count = 0
    for document, nouns in zip(documents, titles, strict=True):
        words = {junk.fold(word) for form in known[document.doc_id] for word in form.split()}
        found += len(nouns & words)
        count += len(nouns)
    return percent(found, count)


def _noun_phrases(headings: Sequence[str], english: English) -> set[str]:
    keys: set[str] = set()
    for doc in _docs(headings, english):
        whole = [phrase for phrase in phrases(doc) if phrase.whole]
        inside = {
            (a.start, a.end) for a in whole for b in whole if a is not b and b.start <= a.start and a.end <= b.end
        }
        spans = [(phrase.start, phrase.end) for phrase in whole if (phrase.start, phrase.end) not in inside]
        keys |= {folded(doc[a:b].text) for a, b in spans if not junk.reason(doc[a:b].text)}
    return keys


def _nouns(titles: Iterable[str], english: English) -> list[set[str]]:
    return [
        {junk.fold(word.lower_) for word in doc if word.pos_ in ("NOUN", "PROPN") and not junk.reason(word.text)}
        for doc in _docs(list(titles), english)
    ]


def _docs(texts: Sequence[str], english: English) -> list[Doc]:
    return [doc for pieces in english.read(texts) for _, doc in pieces[:1]]


def index_lists(folder: Path) -> dict[str, list[str]]:
    """Return the terms of each hand-written list ``NAME.terms``, one a line, by the name of its document without ending."""
    return {
        file.stem: [line.strip() for line in file.read_text("utf-8").splitlines() if line.strip()]
        for file in sorted(folder.glob("*.terms"))
    }


def index_terms(shown: Shown, lists: Mapping[str, Sequence[str]]) -> dict[str, object]:
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
