"""``claims/``: one file a claim, with every quote it rests on, and the claims that belong beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgfs.cli import main
from kgfs.domain.identity import claim_id_of
from kgfs.tree.node import File
from tests.support.claims import Told
from tests.support.library import Library, library_at

GREW = Told("Acme's revenue grew by 5 % in 2024.", "revenue grew by\n5 %")
SAME = Told("In 2024 Acme achieved 5 % growth of its sales.", "sales rose 5 %")
OTHER = Told("Acme's revenue grew by 9 % in 2024.", "or 9 %")
FELL = Told("Acme's revenue fell by 5 % in 2024.", "fell by 5 %")
WRONG = Told("It is good.", "nowhere", "It", rejected="no quote")
NEAR, FAR = [1.0, 0.1, 0.0], [0.0, 1.0, 0.0]
VECTORS = {GREW.claim: [1.0, 0.0, 0.0], SAME.claim: NEAR, OTHER.claim: NEAR, FELL.claim: NEAR}
ONE = b"Acme is a company.\n\nAcme says revenue grew by\n5 % this year.\n"
TWO = b"Of Acme it is told that sales rose 5 % or 9 %, or fell by 5 %.\n"


@pytest.fixture
def library(home: Path) -> Iterator[Library]:
    with library_at(home) as library:
        library.ontology()
        yield library


def fill(library: Library) -> None:
    library.add("Zen/documents/one.txt", ONE, {"Acme": ["Acme is a company."]}, claims=[GREW, WRONG], vectors=VECTORS)
    two = {"Acme": ["Of Acme it is told that sales rose 5 % or 9 %, or fell by 5 %."]}
    library.add("Zen/documents/two.txt", TWO, two, claims=[SAME, OTHER, FELL], vectors=VECTORS)


def file_of(library: Library, told: Told, quote: str = "") -> str:
    id_ = claim_id_of(library.ontology().id, quote or told.quote, told.actor, told.role)[:8]
    [found] = [name for name in library.names(f"Zen/claims/{told.role}") if name.endswith(f"~{id_}.md")]
    return f"{told.role}/{found}"


def test_an_ontology_without_claims_shows_no_folder_of_them(library: Library) -> None:
    library.add("Zen/documents/one.txt", ONE, {"Acme": ["Acme is a company."]})
    assert library.find("Zen/claims") is None and "claims" not in library.names("Zen")


def test_a_claim_shows_its_quotes_its_concepts_and_the_claims_beside_it(library: Library) -> None:
    fill(library)
    assert library.names("Zen/claims") == ["metric", "all.md", "rejected.ndjson"]
    file = file_of(library, GREW)
    assert file.startswith("metric/acme-s-revenue-grew-by-5-in-2024~")
    page = library.read(f"Zen/claims/{file}").decode()
    document = library.document("Zen/documents/one.txt")
    for words in (
        'actor: "Acme"',
        "confidence: 0.9",
        "evidence: 1",
        f"[S:one.txt | D:{document.doc_id[:8]} | C:",
        "> revenue grew by\n> 5 %\n",
        "[documents/one.txt](../../documents/one.txt) › Part one, lines 3-4 | [View](../../archive/",
    ):
        assert words in page, page
    alike = page.partition("## Said alike in")[2]
    assert file_of(library, SAME) in alike and "documents/two.txt, line 1" in alike
    assert file_of(library, OTHER) not in alike and file_of(library, FELL) not in alike, (
        "another figure, and the reverse"
    )
    assert "## See also" not in page, "its quote is evidence for no concept"
    page = library.read(f"Zen/claims/{file_of(library, SAME)}").decode()
    assert "Concepts: [Acme](../../concepts/acme.concept/concept.md)\n" in page
    assert f"(../{file_of(library, OTHER)}): documents/two.txt, line 1 (other figure)" in page
    assert "3 quotes" not in library.read("Zen/claims/all.md").decode()
    assert library.read("Zen/about.md").decode().count("[4 claims](claims/all.md)") == 1
    for path, node in library.walk("Zen/claims"):
        if isinstance(node, File):
            assert node.attr().size == len(library.read(path))


def test_refused_claims_have_their_reason_and_stand_nowhere_else(library: Library) -> None:
    fill(library)
    [line] = map(json.loads, library.read("Zen/claims/rejected.ndjson").splitlines())
    assert (line["path"], line["reason"], line["quote"], line["line_start"]) == (
        "documents/one.txt",
        "no quote",
        None,
        None,
    )
    assert "It is good" not in "".join(
        library.read(path).decode()
        for path, node in library.walk("Zen/claims")
        if isinstance(node, File) and not path.endswith("ndjson")
    )


def test_one_sentence_of_two_documents_is_one_claim_and_other_words_from_it_are_another(library: Library) -> None:
    library.add("Zen/documents/one.txt", ONE, {"Acme": ["Acme is a company."]}, claims=[GREW])
    second = Told("Acme had 5 % more revenue in 2024.", GREW.quote)
    library.add("Zen/documents/again.txt", ONE + b"Again.\n", {"Acme": ["Acme is a company."]}, claims=[GREW, second])
    assert len(library.names("Zen/claims/metric")) == 2
    page = library.read(f"Zen/claims/{file_of(library, GREW)}").decode()
    assert "evidence: 2" in page and "documents/again.txt" in page and "documents/one.txt" in page


def test_a_person_merges_claims_and_splits_them_again(library: Library, capsys: pytest.CaptureFixture[str]) -> None:
    fill(library)

    def run(*words: str, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["claim", *words, "-o", "Zen", "--home", str(library.context.config.home)])
        assert ended.value.code == code, capsys.readouterr().err
        return capsys.readouterr().out

    one, other = (file_of(library, told).rpartition("~")[2].removesuffix(".md") for told in (GREW, SAME))
    run("merge", one, other)
    page = library.read(f"Zen/claims/{file_of(library, SAME)}").decode()
    assert "evidence: 2" in page and "documents/one.txt" in page and len(library.names("Zen/claims/metric")) == 3
    run("merge", one, other, code=4)
    parts = json.loads(run("split", other, "--json"))
    assert len(parts) == 2 and len(library.names("Zen/claims/metric")) == 4
    run("split", parts[0]["claim_id"], code=3)
