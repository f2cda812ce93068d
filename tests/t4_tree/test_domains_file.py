"""<Ontology>/.kgfs/domains.toml, and what metadata.json says of the gate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kgfs.domain.domains import PRESETS, domains_of, to_toml
from kgfs.errors import BadInputError, FileTooLargeError, ReadOnlyError
from kgfs.formats.table import parse
from kgfs.ingest.reading.gate import judge_all
from kgfs.knowledge.document import document_page
from kgfs.stores.readings import load_reading
from kgfs.stores.resolve import find_document
from kgfs.tree.domains import LONGEST
from kgfs.tree.node import AttrChange, File
from tests.support.library import ME, Library, library_at, reading_of

PLACE = "Zen/.kgfs/domains.toml"
SEO = b'[domains]\nSEO = ["ranking", "keyword"]\n'


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        library.ontology()
        yield library


def file(library: Library) -> File:
    node = library.node(PLACE)
    assert isinstance(node, File)
    return node


def domains(library: Library) -> object:
    return domains_of(library.stores.catalog.names.settings(library.ontology().id))


def test_who_writes_the_file_sets_the_domains(library: Library) -> None:
    assert library.read(PLACE) == b"[domains]\n"
    assert ".kgfs" not in library.names("Zen")
    assert library.names("Zen/.kgfs") == ["domains.toml"]
    library.write(PLACE, SEO)
    assert domains(library) == {"SEO": ("ranking", "keyword")}
    assert library.read(PLACE) == SEO
    assert (file(library).attr().size, file(library).attr().direct_io) == (len(SEO), True)
    before = library.stores.catalog.seq()
    library.write(PLACE, SEO)
    assert library.stores.catalog.seq() == before, "nothing has changed"
    library.write(PLACE, to_toml(PRESETS["business"]).encode())
    assert domains(library) == PRESETS["business"]


def test_a_file_is_taken_when_it_is_closed(library: Library) -> None:
    library.write(PLACE, SEO)
    handle = file(library).open(read=False, write=True, truncate=True)
    handle.flush()  # as a shell's first close
    assert domains(library) == {"SEO": ("ranking", "keyword")}
    for at in range(0, len(SEO), 7):
        handle.write(at, SEO[at : at + 7])
    handle.flush()
    handle.release()
    assert library.read(PLACE) == SEO
    file(library).open(read=False, write=True, truncate=True).release()
    assert domains(library) == {}
    assert file(library).change(AttrChange(mtime=1)).size == len(b"[domains]\n")


def test_what_is_no_file_of_domains_is_refused_and_changes_nothing(library: Library) -> None:
    library.write(PLACE, SEO)
    for content, remedy in ((b"SEO: ranking", "No TOML"), (b"[domains]\nSEO = []\n", "needs a list of keywords")):
        handle = file(library).open(read=False, write=True, truncate=True)
        handle.write(0, content)
        with pytest.raises(BadInputError, match=f"{PLACE}: .*{remedy}") as refused:
            handle.flush()
        assert refused.value.logged
        handle.release()
        assert library.read(PLACE) == SEO
    with pytest.raises(FileTooLargeError):
        file(library).open(read=False, write=True, truncate=True).write(LONGEST, b"x")
    with pytest.raises(ReadOnlyError):
        file(library).change(AttrChange(mode=0o600))
    folder = library.node("Zen/.kgfs")
    with pytest.raises(ReadOnlyError):
        folder.make_file("other.toml", 0o644, ME)  # type: ignore[attr-defined]


def test_metadata_lists_the_blocks_that_the_gate_judged(library: Library) -> None:
    raw = b"# Zen\n\nTea.\n\nZen is a way to sit as if it is so, and so on.\n"
    library.write("Zen/documents/zen.md", raw)
    library.settle()
    document = library.document("Zen/documents/zen.md")
    reading = reading_of(document, "zen.md", raw, {"Zen": ["Zen is a way"]})
    reading = replace(reading, verdicts=tuple(judge_all(parse("zen.md", raw), reading.chunks)))
    library.stores.garage.objects.put(reading.key, reading.encode())
    assert load_reading(library.stores.garage.objects, document.doc_id, reading.id) == reading
    library.pipeline.publish(document, reading, lambda: None)
    page = json.loads(library.read(f"Zen/archive/{document.doc_id}/metadata.json"))
    assert page["gate"] == [
        {"line_start": 3, "line_end": 3, "verdict": "too short"},
        {"line_start": 5, "line_end": 5, "verdict": "pass"},
    ]
    assert library.node(f"Zen/archive/{document.doc_id}/metadata.json").attr().size == len(
        library.read(f"Zen/archive/{document.doc_id}/metadata.json")
    )
    found = document_page(library.stores, find_document(library.stores, library.context.config.run, document.doc_id))
    assert found["reading"]["blocks"] == {"too short": 1, "pass": 1}
