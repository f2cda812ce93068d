"""``claims/``: one file a claim, with every quote it rests on, and the claims that belong beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgfs.cli import main
from kgfs.compute.answering import answering
from kgfs.compute.completing import Completion, Request
from kgfs.compute.deadline import Deadline
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.domain.identity import claim_id_of
from kgfs.domain.knowledge import CLAIM_ROLES
from kgfs.knowledge.ask.asking import ask
from kgfs.knowledge.claims_found import parts_of
from kgfs.settings import Llm
from kgfs.stores.graph.vocabulary import ClaimRow
from kgfs.stores.vectors.contract import Row
from kgfs.tree.node import File, Folder
from tests.fakes.vectors import MemoryVectors
from tests.support.claims import Told
from tests.support.library import Library, library_at, read

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


def test_a_search_finds_claims_with_the_parts_of_their_scores(library: Library) -> None:
    """Words alone find those that have all of them; the worker's vectors also find those that are close in meaning."""
    fill(library)
    path, run = "Zen/search/revenue grew", library.context.config.run
    found = results(library, path)
    assert found["intent"]["by"] == "rules" and found["intent"]["intent"] == ""
    assert {one["claim"] for one in found["claims"]} == {GREW.claim, OTHER.claim}
    for one in found["claims"]:
        # role metric is the last of six; nothing is known of the question's domain
        assert one["parts"] == {"cosine": 0.0, "domain": 0.1, "role": round(0.2 / 6, 6), "authority": 0.1}
        assert one["score"] == pytest.approx(sum(one["parts"].values()), abs=1e-9)
    first = next(one for one in found["claims"] if one["claim"] == GREW.claim)
    assert first["file"] == f"claims/{file_of(library, GREW)}" and library.find(f"Zen/{first['file']}") is not None
    assert (first["document"], first["line_start"], first["quote"]) == ("documents/one.txt", 3, GREW.quote)
    vectors = MemoryVectors("model")
    for doc, ordinal, vector in (("one", 0, [1.0, 0.0]), ("two", 0, [0.6, 0.8])):
        doc_id = library.document(f"Zen/documents/{doc}.txt").doc_id
        ontology = library.ontology().id
        row = Row("claim", f"{doc_id}:{ordinal}", 0, np.array(vector, np.float32), ontology, doc_id, -1, "normalized")
        vectors.upsert([row])
    embed = [np.array([[1, 0]], np.float32)]
    run.mkdir(exist_ok=True)
    with QuestionServer(run, answering(Materials(lambda texts: embed * len(texts), vectors))):
        found = results(library, "Zen/search/sales revenue")
    assert [(one["claim"], one["parts"]["cosine"]) for one in found["claims"]] == [(GREW.claim, 0.5), (SAME.claim, 0.3)]


def test_a_search_lists_claims_for_people(library: Library) -> None:
    fill(library)
    folder = library.node("search/revenue grew")
    assert isinstance(folder, Folder)
    page = dict(folder.work_out(Deadline(10)).entries())["results.md"]
    assert isinstance(page, File)
    section = read(page).decode().partition("\n## Claims\n\n")[2].partition("\n\n")[0]
    goal = section.partition(f"- [{GREW.claim}](../../")[2].partition(")")[0]
    assert goal == f"Zen/claims/{file_of(library, GREW)}" and library.find(goal) is not None
    assert ", metric, Zen/documents/one.txt:" in section


def results(library: Library, path: str) -> dict[str, Any]:
    folder = library.node(path)
    assert isinstance(folder, Folder)
    entries = dict(folder.work_out(Deadline(10)).entries())
    file = entries["results.json"]
    assert isinstance(file, File)
    return dict(json.loads(read(file)))


def test_a_claim_counts_by_meaning_domain_role_and_authority() -> None:
    row = ClaimRow("d", 0, "c", "A claim.", "definition", "SEO", "A", "", "", "", "", "", "medium", 1.0)
    assert parts_of(row, 0.8, "seo") == {"cosine": 0.4, "domain": 0.2, "role": 0.2, "authority": 0.05}
    assert parts_of(row, -0.5, "Growth") == {"cosine": 0.0, "domain": 0.0, "role": 0.2, "authority": 0.05}
    assert parts_of(row, None, "")["domain"] == 0.1
    by_role = [parts_of(replace(row, role=role), 0.5, "")["role"] for role in CLAIM_ROLES]
    assert by_role == sorted(by_role, reverse=True) and by_role[-1] == round(0.2 / 6, 6)


def test_a_language_model_is_shown_a_claim_under_the_source_that_it_stands_on(library: Library) -> None:
    fill(library)
    asked: list[Request] = []

    def complete(request: Request, seconds: float) -> Completion:
        asked.append(request)
        return Completion("answer", "Not found in sources", "", "m", tuple(range(len(request.blocks))))

    config = library.context.config
    config.run.mkdir(exist_ok=True)
    with QuestionServer(config.run, answering(Materials(None, None, complete=complete))):
        llm = Llm(base_url="http://127.0.0.1:9")
        found = ask(library.stores, config.run, "revenue grew", "", Deadline(10), llm=llm)
    assert found.state == "not_found" and found.model == "m" and found.looked
    (block,) = (one for one in asked[0].blocks if GREW.claim in one)
    header, claim, *text = block.splitlines()
    assert header.startswith("[C:") and claim == GREW.claim and "5 % this year." in text[-1]
