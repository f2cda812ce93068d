"""Documents whose candidates have given odds, and what became of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from kgfs.domain.documents import INGEST_VERSION, Document
from kgfs.domain.identity import normalise_label
from kgfs.ingest.reading.choice import CONCEPT
from tests.support.library import Library, reading_of

SURE, WEAK = 5.0, -0.3
"""Log odds of a candidate that is a concept, and of one that is a term."""
CUT = math.log(CONCEPT / (1 - CONCEPT))
ABOVE, BELOW = CUT + 0.1, CUT - 0.1


def add(
    library: Library,
    name: str,
    text: str,
    odds: Mapping[str, tuple[float, str]],
    headings: tuple[str, ...] = (),
    version: int = INGEST_VERSION,
) -> Document:
    """A document with these candidates: log odds, and the sentence that is evidence."""
    path = f"Zen/documents/{name}"
    library.write(path, text.encode())
    library.settle()
    document = library.document(path)
    quotes = {label: [quote] for label, (_, quote) in odds.items()}
    reading = reading_of(document, name, text.encode(), quotes)
    by_norm = {normalise_label(label): value for label, (value, _) in odds.items()}
    concepts = tuple(replace(found, odds=by_norm[found.norm]) for found in reading.concepts)
    sections = tuple((text.index(heading), (heading,)) for heading in headings)
    reading = replace(reading, concepts=concepts, sections=sections, title="", ingest_version=version)
    library.stores.garage.objects.put(reading.key, reading.encode())
    library.pipeline.publish(document, reading, lambda: None)
    return document


def concepts(library: Library) -> list[str]:
    return [name.removesuffix(".concept") for name in library.names("Zen/concepts")]


def named(library: Library, concept: str) -> int:
    return library.read(f"Zen/concepts/{concept}.concept/mentions.tsv").count(b"\n") - 1
