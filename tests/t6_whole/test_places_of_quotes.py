"""Answers, searches and matches name the page, slide, row or message of what they quote, not that of its Source's start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.mounting import STATISTICS
from tests.support.office import pptx, shape, xlsx
from tests.support.running import Place

DATA = Path(__file__).parents[1] / "data" / "places"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("places")
    (folder / "home").mkdir(mode=0o700)
    slides = ("The kiln is fired twice a year.", "Clay from Holme is dug in autumn.")
    (folder / "pottery.pptx").write_bytes(pptx(*(shape(words) for words in slides)))
    rows = [("Boat", "Master"), *((f"Tern {at}", "nobody") for at in range(30)), ("Gannet", "Olaf Brekke steers it")]
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    cells = "".join(f"<row>{''.join(cell.format(words) for words in row)}</row>" for row in rows)
    (folder / "fleet.xlsx").write_bytes(xlsx(cells))
    found = Place(folder / "home", folder / "mnt", dict(STATISTICS))
    found.run("ingest", *DATA.iterdir(), folder / "pottery.pptx", folder / "fleet.xlsx", "--ontology", "Mills")
    return found


@pytest.mark.parametrize(
    ("words", "locator"),
    [
        ("windmill Goring burned", {"page": 3}),
        ("brothers Hask crown", {"page": 2}),
        ("monks priory", {"page": 1}),
        ("clay Holme autumn", {"slide": 2}),
        ("Gannet Olaf Brekke", {"sheet": "Data", "row": 32}),
    ],
)
def test_a_search_names_the_place_of_the_words(place: Place, words: str, locator: dict[str, object]) -> None:
    best = json.loads(place.run("search", words, "--json").stdout)["results"][0]
    found = max((chunk for chunk in best["chunks"] if chunk["matched"]), key=lambda chunk: chunk["score"])["locator"]
    assert found.items() >= locator.items()


@pytest.mark.parametrize(
    ("question", "page"),
    [("When did the windmill at Goring burn?", 3), ("Who bought the tide mill from the crown?", 2)],
)
def test_an_answer_names_the_page_of_its_sentence(place: Place, question: str, page: int) -> None:
    answer = json.loads(place.run("ask", question, "--json").stdout)
    assert answer["quotes"][0]["page"] == page and answer["quotes"][0]["locator"] == {"page": page}
    cited = next(one for one in answer["citations"] if one["chunk_id"] == answer["quotes"][0]["chunk_id"])
    assert cited["pages"] == str(page)
    assert f"| p.{cited['pages']} |" in place.run("ask", question).stdout


def test_results_have_the_whole_text_or_where_it_stands(place: Place) -> None:
    full = json.loads(place.run("search", "windmill Goring", "--json", "--full").stdout)
    bare = json.loads(place.run("search", "windmill Goring", "--json", "--no-content").stdout)
    first, reference = full["results"][0], bare["results"][0]
    assert (full["content_included"], bare["content_included"]) == (True, False)
    assert "monks" in first["content"] and "1871" in first["content"] and first["full_token_count"] > 50
    assert "full_content" not in reference and reference["content_available"] is True
    assert reference["content_endpoint"] == f"Mills/archive/{reference['doc_id']}/text.txt"
    assert place.run("search", "windmill", "--full", expect=2).stdout == ""


def test_headers_name_the_path_of_each_document(place: Place) -> None:
    looked = json.loads(place.run("ask", "When did the windmill at Goring burn?", "--json").stdout)["citations"]
    assert looked[0]["source_uri"].startswith("documents/")
    assert "mills.pdf, page 3" in place.run("search", "windmill").stdout
