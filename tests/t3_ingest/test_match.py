"""match_chunks, get_document, get_chunk: all fields, all filters, exact, asked of a worker as it answers.

What a document's forms join in other documents, and a title that other notes link to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from kgfs.app import api
from kgfs.cli import main
from kgfs.compute import matching
from kgfs.compute.answering import answering
from kgfs.compute.deadline import Deadline
from kgfs.compute.likeness import likeness
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.domain.documents import Document
from kgfs.errors import BadInputError, KgfsError, MissingError, NoWorkerError, StoreError
from kgfs.ingest.matching.match import match
from kgfs.ingest.reading.embeddings import Embeddings, claim_rows
from kgfs.knowledge.match import MatchFilters
from kgfs.settings import Pipeline
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.graph.vocabulary import DocumentRow
from kgfs.stores.readings import load_reading
from kgfs.stores.vectors.contract import Row
from kgfs.stores.vectors.sqlite import SqliteVectors
from tests.support import claims
from tests.support.graph_building import ONTOLOGY, Doc, Told, cid, publish
from tests.support.library import Library, library_at
from tests.support.readings import document_of, reading_of

NOTHING = Embeddings(
    np.zeros((0, 0), np.float32), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros((0, 0), np.float32)
)
WORDS = ("zen", "koan", "tea", "monk")
TEXTS = {
    "Zen/documents/one/koan.md": "A koan is a riddle.\n\nZen has many a koan.\n",
    "Zen/documents/two/tea.txt": "Tea for a monk.\n",
    "Tea/documents/tea.txt": "Tea, and tea, and tea.\n",
}


def embed(texts: Sequence[str]) -> list[npt.NDArray[np.float32]]:
    """Counts of four words: a model whose cosines can be told by hand."""
    rows = []
    for text in texts:
        counts = np.array([text.lower().count(word) for word in WORDS], np.float32) + 1e-3
        rows.append((counts / np.linalg.norm(counts))[None, :])
    return rows


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        config = library.context.config
        vectors = SqliteVectors(config.vectors_db, "toy")
        for path, text in TEXTS.items():
            library.add(path, text.encode(), {})
            document = library.document(path)
            for source in library.stores.graph.sources(document.doc_id):
                at, vector = (document.doc_id, source.chunk_index), embed([source.full_text])[0][0]
                vectors.upsert([Row("source", f"{at[0]}:{at[1]}", 0, vector, document.ontology, *at)])
        materials = Materials(embed, vectors, lambda text: "is" in text.split())
        with QuestionServer(config.run, answering(materials)):
            yield library
        vectors.close()


def found(
    library: Library, wanted: str | Sequence[float], threshold: float = 0.0, count: int = 10, **filters: object
) -> list[str]:
    chosen = MatchFilters(**filters)  # type: ignore[arg-type]
    return [one.document for one in api.match_chunks(library.context.config, wanted, threshold, count, chosen)]


def test_all_fields_of_a_chunk_are_there(library: Library) -> None:
    config, document = library.context.config, library.document("Zen/documents/two/tea.txt")
    (one, *_) = api.match_chunks(config, "tea monk", 0.9)
    row = library.stores.graph.document(document.doc_id)
    assert row is not None and one.similarity == pytest.approx(1.0, abs=1e-3)
    assert (one.doc_id, one.source_id, one.source_uri) == (document.doc_id, row.source_id, "documents/two/tea.txt")
    assert (one.document, one.ontology, one.content) == ("documents/two/tea.txt", "Zen", "Tea for a monk.\n")
    assert (one.line_from, one.line_to, one.page_number, one.document_type) == (1, 1, None, row.document_type)
    assert set(asdict(one)) >= {"chunk_id", "source_title", "section_path"}
    chunk = api.get_chunk(config, one.chunk_id)
    assert (chunk.text, chunk.doc_id) == (one.content, one.doc_id)


def test_words_or_a_vector_a_threshold_and_a_count(library: Library) -> None:
    assert found(library, "tea", 0.99) == ["documents/tea.txt"]
    assert found(library, [0, 0, 5, 0], 0.99) == ["documents/tea.txt"]
    assert len(found(library, "koan", 0.0)) == 3 and len(found(library, "koan", 0.0, 2)) == 2
    assert found(library, "koan", 0.8)[0] == "documents/one/koan.md"
    similar = [one.similarity for one in api.match_chunks(library.context.config, "koan", 0.0)]
    assert similar == sorted(similar, reverse=True)


def test_every_filter_narrows(library: Library) -> None:
    document = library.document("Zen/documents/two/tea.txt")
    row = library.stores.graph.document(document.doc_id)
    assert row is not None
    only = ["documents/two/tea.txt"]
    assert set(found(library, "tea", ontology="Zen")) == {"documents/one/koan.md", "documents/two/tea.txt"}
    assert found(library, "tea", doc_id=document.doc_id) == only
    assert found(library, "tea", source_id=row.source_id) == only
    assert found(library, "tea", path="two/") == found(library, "tea", path="documents/two/") == only
    assert set(found(library, "tea", type="md")) == {"documents/one/koan.md"}
    assert found(library, "tea", ingest_version=row.ingest_version, ontology="Zen", type="txt") == only
    assert (
        found(library, "tea", ingest_version=99) == [] == found(library, "tea", doc_id=document.doc_id, ontology="Tea")
    )
    assert found(library, "tea", after="2100") == [] and len(found(library, "tea", before="2100")) == 3
    assert found(library, "tea", role="metric") == [] == found(library, "tea", source_variant="normalized")
    assert found(library, "tea", domain="x") == [] == found(library, "tea", authority="high")


def test_claims_are_found_by_their_variant_each_once_at_the_place_of_a_quote(library: Library) -> None:
    config = library.context.config
    told = claims.Told("In 2024 the monk drank tea.", "tea, and tea", "monk", "heuristic")
    refused = claims.Told("Tea is tea.", "nowhere", "tea", rejected="no quote")
    with closing(SqliteVectors(config.vectors_db, "toy")) as vectors:
        for name in ("tea.txt", "again.txt"):
            text = f"Of {name}.\n\nTea, and tea, and tea.\n"
            document = library.add(f"Tea/documents/{name}", text.encode(), {}, claims=[refused, told])
            [row] = [row for row in library.stores.graph.claims.of_document(document.doc_id) if row.claim_id]
            reading = load_reading(library.stores.garage.objects, document.doc_id, row_of(library, document).reading)
            rows = np.stack([embed([told.claim])[0][0]])
            vectors.upsert(claim_rows(document.ontology, reading, replace(NOTHING, claims=rows)))
    [one] = api.match_chunks(config, "monk tea", 0.5, filters=MatchFilters(source_variant="normalized"))
    assert (one.content, one.claim_id, one.line_from) == (told.claim, row.claim_id, 3)
    assert one.document in ("documents/tea.txt", "documents/again.txt") and one.similarity > 0.99
    for filters in ({"role": "heuristic"}, {"domain": "growth"}, {"authority": "high"}, {"ontology": "Tea"}):
        assert len(found(library, "tea", source_variant="normalized", **filters)) == 1
    for filters in ({"role": "metric"}, {"domain": "x"}, {"authority": "low"}, {"ontology": "Zen"}):
        assert found(library, "tea", source_variant="normalized", **filters) == []
    assert not any(one.claim_id for one in api.match_chunks(config, "tea", 0.0))
    library.stores.graph.forget("gone", [document.doc_id], 1)
    [one] = api.match_chunks(config, "monk tea", 0.5, filters=MatchFilters(source_variant="normalized"))
    assert one.doc_id != document.doc_id


def row_of(library: Library, document: Document) -> DocumentRow:
    row = library.stores.graph.document(document.doc_id)
    assert row is not None
    return row


def test_many_documents_are_asked_in_parts_and_the_result_is_the_same(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found(library, "tea", 0.0, before="2100")
    monkeypatch.setattr(matching, "DOCUMENTS", 1)
    assert found(library, "tea", 0.0, before="2100") == whole and len(whole) == 3


def test_what_is_no_match_is_refused(library: Library) -> None:
    wrong: list[tuple[str | list[float], float, int, dict[str, object], type[KgfsError]]] = [
        ("tea", 2.0, 1, {}, BadInputError),
        ("tea", 0.5, 0, {}, BadInputError),
        ("tea", 0.5, 1, {"source_variant": "cooked"}, BadInputError),
        ("tea", 0.5, 1, {"after": "soon"}, BadInputError),
        ("tea", 0.5, 1, {"ontology": "Nobody"}, MissingError),
        ([0.0, 0.0, 0.0, 0.0], 0.5, 1, {}, StoreError),
        ([1.0, 2.0], 0.5, 1, {}, StoreError),
    ]
    for wanted, threshold, count, filters, error in wrong:
        with pytest.raises(error):
            found(library, wanted, threshold, count, **filters)


def test_without_a_worker_it_says_so(tmp_path: Path) -> None:
    with library_at(tmp_path / "home") as library:
        library.add("Zen/documents/a.txt", b"A koan.\n", {})
        with pytest.raises(NoWorkerError):
            found(library, "koan")


def test_a_document_is_whole_by_its_id_its_path_or_one_of_its_chunks(library: Library) -> None:
    config, path = library.context.config, "Zen/documents/one/koan.md"
    document = library.document(path)
    chunk_id = library.stores.graph.sources(document.doc_id)[-1].chunk_id
    for named in (document.doc_id, chunk_id, "Zen/one/koan.md"):
        whole = api.get_document(config, named)
        assert (whole.id, whole.content) == (document.doc_id, TEXTS[path])
        assert whole.metadata["document"] == "documents/one/koan.md" and whole.metadata["ontology"] == "Zen"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(whole.metadata["created_at"]))
    listed = api.get_document(config, document.doc_id, content=False)
    assert listed.content is None and listed.content_available
    assert library.read(listed.content_location) == TEXTS[path].encode()
    with pytest.raises(MissingError):
        api.get_document(config, "ffffffffffff")


def test_the_verbs(library: Library, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    def run(*words: str) -> bytes:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--home", str(library.context.config.home)])
        assert not ended.value.code, words
        return bytes(capsysbinary.readouterr().out)

    (one,) = json.loads(run("match", "tea", "monk", "--threshold", "0.99", "--json"))
    assert one["document"] == "documents/two/tea.txt" and one["similarity"] > 0.99
    (tmp_path / "vector").write_text("[0, 0, 1, 1]")
    assert b"documents/two/tea.txt:1-1" in run(
        "match", "--vector", str(tmp_path / "vector"), "--ontology", "Zen", "--count", "1"
    )
    assert run("cite", one["chunk_id"], "--document") == b"Tea for a monk.\n"
    assert json.loads(run("cite", one["chunk_id"], "--document", "--json"))["id"] == one["doc_id"]


def test_how_alike_texts_are_and_which_have_a_verb(library: Library) -> None:
    run = library.context.config.run
    reported = likeness(run, "tea", ["tea", "koan"], ["it is so", "a cup"], Deadline(5))
    assert reported.cosines[0] > 0.99 > 0.1 > reported.cosines[1] and reported.verbs == (True, False)
    with pytest.raises(StoreError, match="too large"):
        likeness(run, "tea", ["tea"] * 601, [], Deadline(5))


@pytest.fixture
def graph() -> Iterator[Graph]:
    with closing(Graph()) as found:
        yield found


@pytest.mark.parametrize(
    ("known", "reported", "joins"),
    [
        ("event-loops", "Event loop", True),
        ("asyncio.Task", "asyncio.Task objects", True),
        ("asyncio.Task object", "asyncio.Task", True),
        ("gather_all", "gather_alls", False),
        ("Python 2", "Python 3", False),
        ("native coroutine", "coroutine", False),
    ],
)
def test_forms_of_one_thing_join_across_documents(graph: Graph, known: str, reported: str, joins: bool) -> None:
    publish(graph, Doc("a" * 16, [Told(known)]))
    [decided] = match(
        graph, None, ONTOLOGY, reading_of(document_of(reported), reported, {reported: [reported]}), None, Pipeline()
    ).concepts
    assert (decided.concept_id == cid(known)) == joins


def test_the_title_of_a_note_that_others_link_to_is_a_concept(graph: Graph) -> None:
    text = "Greenhouse keeps warm."
    reading = reading_of(document_of(text), text, {"Greenhouse": [text], "warm": [text]})
    weak = tuple(replace(found, odds=-0.5) for found in reading.concepts)
    reading = replace(reading, title="Greenhouse", concepts=weak)
    assert match(graph, None, ONTOLOGY, reading, None, Pipeline()).concepts == ()
    told = [Told("Whitefly"), Told("Greenhouse")]
    publish(graph, Doc("a" * 16, told, [("Whitefly", "LINKS_TO", "Greenhouse", 1.0)]))
    [decided] = match(graph, None, ONTOLOGY, reading, None, Pipeline()).concepts
    assert decided.concept_id == cid("Greenhouse")
