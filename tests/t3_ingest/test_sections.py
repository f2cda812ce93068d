"""Evidence names the section of its quote, wherever the boundaries of its Source stand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgfs.app.home import open_deposits, open_home
from kgfs.config import load
from kgfs.ingest.lifecycle.rebuild import rebuild
from kgfs.knowledge.evidence import citation_json, evidence, source_txt
from kgfs.render.source import Marks
from kgfs.stores.readings import decode_reading, load_reading
from kgfs.stores.stores import Stores
from tests.support.working import Counting, documents, work

PAGE = """:Title: Tides

Tides
=====

A tide table gives the spring tide of each month. The harbour master prints the tide table.

The mill
--------

A tide mill grinds grain while the tide falls. The tide mill stands at the quay.

Gates
~~~~~

The sluice gate keeps the water of the mill pond. A miller opens the sluice gate by hand.
"""
_HEADINGS = {"Tides\n=": ("Tides",), "The mill": ("Tides", "The mill"), "Gates": ("Tides", "The mill", "Gates")}


def _expected(start: int) -> tuple[str, ...]:
    above = [path for words, path in _HEADINGS.items() if PAGE.index(words) <= start]
    return above[-1] if above else ("Tides",)


def _recall(key: object, ask: Any) -> Any:
    return ask()


def _shown(stores: Stores) -> dict[tuple[int, str], tuple[str, ...]]:
    """The section that each quote is said to stand in; ``source.txt`` and ``citation.json`` agree, and so do the sizes."""
    [document] = documents(stores)
    found = {}
    for row in stores.graph.instances_of(document.doc_id):
        seen, marks = evidence(stores, row.owner, row.n, _recall), Marks()
        page = source_txt(stores, seen, marks, _recall)
        reported = re.search("^section: (.*)$", page.decode(), re.M)
        assert reported is not None
        assert reported[1] == " > ".join(row.section_path)
        assert len(page) == seen.source_size(marks)
        assert f'"{row.section_path[-1]}"' in citation_json(stores, seen, marks, "a", _recall).decode()
        found[row.char_start, row.quote] = row.section_path
    return found


def test_evidence_has_the_section_of_its_quote(home: Path, tmp_path: Path) -> None:
    config = load(home)
    (tmp_path / "tides.rst").write_text(PAGE)
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            deposits.ingest_file(tmp_path / "tides.rst", "Test")
        work(config, stores, Counting())
        [document] = documents(stores)
        assert len(load_reading(stores.garage.objects, document.doc_id, document.reading).chunks) == 1
        shown = _shown(stores)
        assert shown == {at: _expected(at[0]) for at in shown}
        assert {("Tides",), ("Tides", "The mill")} <= set(shown.values())
        rebuild(stores)
        assert _shown(stores) == shown


def test_a_reading_from_before_has_the_section_of_the_source(home: Path, tmp_path: Path) -> None:
    config = load(home)
    (tmp_path / "tides.rst").write_text(PAGE)
    with open_home(config) as stores:
        with open_deposits(config, stores) as (deposits, _):
            deposits.ingest_file(tmp_path / "tides.rst", "Test")
        work(config, stores, Counting())
        [document] = documents(stores)
        reading = load_reading(stores.garage.objects, document.doc_id, document.reading)
    before = replace(reading, sections=())
    assert b'"sections"' not in before.encode()
    assert decode_reading(before.encode(), "key") == before
    quotes = [quote for concept in before.concepts for quote in concept.quotes]
    assert {before.section_path(quote) for quote in quotes} == {("Tides",)}
