"""Documents in other languages, and program source, from the file to the graph."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kgfs.app.home import open_deposits
from kgfs.config import Config
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.knowledge.about import about
from kgfs.knowledge.document import document_page
from kgfs.knowledge.metadata import metadata
from kgfs.render.about import render as render_about
from kgfs.render.metadata import render
from kgfs.stores.readings import load_reading
from kgfs.stores.resolve import find_document
from kgfs.stores.stores import Stores
from tests.support.working import TEXT, Counting, deposit, documents, work

TIDES = """# Gezeitenkalender

Der Gezeitenkalender nennt für jeden Tag den Wasserstand im Hafen. Im Gezeitenkalender steht der Wasserstand zweimal am Tag. Die Wasserstände
sind für kleine Boote wichtig, und der Wasserstand hängt vom Mond ab. Die Gezeitenkalender werden vom Hafenamt herausgegeben.
"""
CAFE = """Le café de l'été est fermé. La marée monte vers midi, et le pilote attend la marée. Les pilotes de la capitainerie ont été formés, et la
marée dépend de la lune. Le pilote connaît la marée.
"""
CODE = '"""Keep track of tides."""\n\n\nclass TideTable:\n    """A list of the times of high water, by day."""\n'


def test_the_language_is_stated_and_its_nouns_are_concepts(config: Config, stores: Stores, tmp_path: Path) -> None:
    deposit(config, stores, tmp_path, tides=TIDES, cafe=CAFE, memory=TEXT, numbers="1 2 3\n")
    work(config, stores, Counting())
    told, candidates = {}, set()
    for document in documents(stores):
        row = stores.graph.document(document.doc_id)
        reading = load_reading(stores.garage.objects, document.doc_id, document.reading)
        page = json.loads(render(metadata(stores, document.doc_id)[0]))
        assert row is not None and row.language == reading.language == (page["language"] or "")
        candidates |= {found.label for found in reading.concepts}
        told[document.source_id.rpartition("/")[2]] = reading.language
        assert (
            document_page(stores, find_document(stores, config.run, document.doc_id))["reading"]["language"]
            == row.language
        )
    assert told == {"tides.txt": "de", "cafe.txt": "fr", "memory.txt": "en", "numbers.txt": "en"}
    [ontology] = stores.catalog.names.ontologies()
    page = render_about(about(stores, ontology)[0]).decode()
    assert re.findall(r"^- \[(\w+).txt\][^:\n]*\d(?:, (\w+))?(?::.*)?$", page, re.MULTILINE) == [
        ("numbers", ""), ("memory", ""), ("cafe", "French"), ("tides", "German"),
    ]  # fmt: skip
    concepts = {concept.label for concept in stores.graph.popular(ontology.id, 100)}
    assert {"Gezeitenkalender", "Wasserstand", "marée", "pilote"} <= candidates
    assert "Gezeitenkalender" in concepts and not {"Jeden", "Tag", "été fermé"} & candidates
    for words in ("Wasserstände", "wasserstande", "ete", "été", "cafe", "marée"):  # accents do not count
        assert stores.graph.find_text(words, ontology.id), words
    rebuild(stores)
    assert {concept.label for concept in stores.graph.popular(ontology.id, 100)} == concepts


def test_a_class_is_a_concept_with_the_first_sentence_of_its_documentation(
    config: Config, stores: Stores, tmp_path: Path
) -> None:
    (tmp_path / "tides.py").write_text(CODE)
    with open_deposits(config, stores) as (deposits, _):
        deposits.ingest_file(tmp_path / "tides.py", "Test")
    work(config, stores, Counting())
    [document] = documents(stores)
    row = stores.graph.document(document.doc_id)
    assert row is not None and (row.document_type, row.language) == ("text/x-python", "en")
    found = {concept.label: concept for concept in stores.graph.concepts_of(document.doc_id)}
    assert set(found) >= {"tides.py", "TideTable"}
    assert found["TideTable"].description == "A list of the times of high water, by day"
