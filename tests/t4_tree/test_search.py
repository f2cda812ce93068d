"""search/: known by name at once, worked out when it is looked into, kept while nothing changes, in nobody's way."""

from __future__ import annotations

import functools
import json
import os
import re
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import trio
import trio.testing

from kgfs.compute.deadline import Deadline
from kgfs.compute.questions import QuestionServer
from kgfs.domain.names import encode_name
from kgfs.errors import (
    BadInputError,
    CrowdedError,
    ExistsError,
    MissingError,
    NotEmptyError,
    RefusedError,
    TimedOutError,
)
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.knowledge.nesting import search_nested
from kgfs.knowledge.search import search
from kgfs.stores.resolve import Found, FoundKind
from kgfs.stores.thread_slots import WouldBlock, inline
from kgfs.tree import searches as searches_module
from kgfs.tree.change_feed import ChangeFeed
from kgfs.tree.node import ROOT_INODE, AttrChange, File, Folder
from kgfs.tree.threads import Threads
from kgfs.tree.vfs import Vfs, space_of
from tests.support.library import ME, Library, library_at, read
from tests.support.running import until
from tests.support.scenarios.kernel import Kernel

ZEN = "Zen is a school of Buddhism.\nIt is old.\n\nA koan is a riddle\nthat Zen teachers use.\n"
TEA = "Tea is a drink.\nMonks drink it.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        library.add("Zen/documents/on zen.txt", ZEN.encode(), {"koan": ["A koan is a riddle"]})
        library.add("Tea/documents/tea.txt", TEA.encode(), {"tea": ["Tea is a drink."]})
        yield library


def folder(library: Library, path: str) -> Folder:
    found = library.node(path)
    assert isinstance(found, Folder)
    return found


def look_into(library: Library, path: str) -> Folder:
    found = folder(library, path)
    return found.work_out(Deadline(10))


def is_ready(found: Folder) -> bool:
    """Whether nothing need be searched."""
    try:
        inline(found.work_out)
    except WouldBlock:
        return False
    return True


def files(library: Library, path: str) -> dict[str, bytes]:
    return {name: read(node) for name, node in look_into(library, path).entries() if isinstance(node, File)}


def results(library: Library, path: str) -> dict[str, object]:
    return dict(json.loads(files(library, path)["results.json"]))


def passages(library: Library, path: str) -> dict[str, object]:
    return results(library, f"{path}/passages")


# ------------------------------------------------------------------------------------------------- what is found


def test_every_name_is_a_folder_and_looking_at_it_searches_nothing(library: Library) -> None:
    for path in ("search", "Zen/search", "search/koan", "Zen/search/what do koans do?", "Zen/search/a%25b"):
        attr = folder(library, path).attr()
        assert stat.S_ISDIR(attr.mode) and attr.size == 0 and attr.mtime > 0, path
    assert folder(library, "Zen/search").entries() == [] and folder(library, "search").entries() == []
    assert folder(library, "Zen/search/koan").inode != folder(library, "search/koan").inode
    assert library.context.searches.asked == 0


@pytest.mark.parametrize(
    "name",
    (
        *(
            ".git",
            ".DS_Store",
            "._koan",
            ".Trash",
            ".Trash-1000",
            ".hidden",
            "desktop.ini",
            "Desktop.ini",
            "autorun.inf",
        ),
        *("Thumbs.db", "$RECYCLE.BIN", "System Volume Information", "lost+found", "*", "??", "%0A"),
    ),
)
def test_what_crawlers_look_for_is_no_question(library: Library, name: str) -> None:
    for path in ("search", "Zen/search"):
        found = folder(library, path)
        assert found.lookup(name) is None and found.token() is not None  # so the kernel may remember it


def test_documents_are_inside(library: Library) -> None:
    path = "Zen/search/the KOAN of teachers"
    found = files(library, path)
    assert sorted(found) == ["01~on-zen.md", "results.json", "results.md"]
    assert [name for name, _ in look_into(library, path).entries()] == [*sorted([*found, "passages"])]
    page = json.loads(found["results.json"])
    (one,) = page["results"]
    assert one["id"] == one["doc_id"] == library.document("Zen/documents/on zen.txt").doc_id
    assert (one["document"], one["ontology"], one["file"]) == ("documents/on zen.txt", "Zen", "01~on-zen.md")
    first, last = one["chunks"][0], one["chunks"][-1]
    assert one["full_content"] == ZEN[first["char_start"] : last["char_end"]]
    about = json.loads(library.read(f"Zen/archive/{one['doc_id']}/metadata.json"))
    assert one["metadata"]["ingested_at"] == about["ingested_at"] and about["ingested_at"].endswith("Z")
    scores = [chunk["score"] for chunk in one["chunks"] if chunk["matched"]]
    assert one["max_score"] == max(scores) and one["avg_score"] == round(sum(scores) / len(scores), 6)
    assert "koan" in one["concepts"] and "==koan==" in one["shown"]
    assert b"==koan==" in found["01~on-zen.md"] and b"Coverage: chunk" in found["results.md"]
    assert page["pagination"] == {
        "page": 1,
        "page_size": 10,
        "total_results": 1,
        "total_is_exact": True,
        "total_pages": 1,
        "has_next": False,
        "has_prev": False,
    }
    assert b"full text only (No worker listens" in found["results.md"]


def test_pages_have_further_documents_and_are_not_listed(library: Library) -> None:
    for number in range(12):
        library.add(f"Zen/documents/more {number}.txt", f"A koan and {number}.\n".encode(), {})
    path, seen = "Zen/search/koan", []
    for part, has_next in (("", True), ("/page-2", False)):
        page = results(library, path + part)
        assert page["pagination"]["has_next"] is has_next and page["pagination"]["total_results"] == 13  # type: ignore[index]
        seen += [one["document"] for one in page["results"]]  # type: ignore[attr-defined]
    assert len(seen) == len(set(seen)) == 13
    assert results(library, f"{path}/page-3")["results"] == []
    assert "page-2" not in dict(look_into(library, path).entries())
    assert b"page-2/results.md" in files(library, path)["results.md"]
    assert library.context.searches.asked == 1
    for name in ("page-0", "page-02", "passages/passages", "passages/koan", "page-2/koan"):
        assert library.find(f"{path}/{name}") is None


def test_passages_are_inside(library: Library) -> None:
    found = files(library, "Zen/search/the KOAN of teachers/passages")
    assert sorted(found) == ["01~on-zen.txt", "02~on-zen.txt", "results.json", "results.md"]
    page = json.loads(found["results.json"])
    first = page["hits"][0]
    assert first["document"] == "documents/on zen.txt" and first["ontology"] == "Zen" == page["ontology"]
    assert first["doc_id"] == library.document("Zen/documents/on zen.txt").doc_id
    assert ZEN[first["char_start"] : first["char_end"]] == first["text"]
    assert first["score"] >= page["hits"][1]["score"]
    (riddle,) = [hit for hit in page["hits"] if "riddle" in hit["text"]]
    assert riddle["concepts"] == ["koan"]
    assert b"==koan==" in found[riddle["file"]] and b"\n> " in found[riddle["file"]]
    assert page["by"] == ["full text"] and "No worker listens" in page["only_text"]
    assert b"full text only (No worker listens" in found["results.md"]


def test_sizes_and_times_are_exact(library: Library) -> None:
    changed = library.stores.graph.changed_at(library.ontology("Zen").id)
    for name, node in look_into(library, "Zen/search/koan zen").entries():
        attr = node.attr()
        assert attr.size == (len(read(node)) if isinstance(node, File) else 0), name
        assert attr.mtime >= changed and attr.mtime < time.time_ns()
    assert folder(library, "Zen/search/koan").attr().mtime == changed


@pytest.mark.parametrize(("part", "count"), [("", 3), ("/passages", 3), ("/page-2", 3)])
@pytest.mark.parametrize("path", ["Zen/search/koan", "search/koan", "search/koan/koan"])
def test_links_of_the_results_lead_somewhere(
    library: Library, path: str, part: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if part == "/page-2":
        library.add("Zen/documents/more.txt", b"A koan is more.\n", {"koan": ["A koan is more."]})
        one_a_page = functools.partial(searches_module.documents, limit=1)
        monkeypatch.setattr(searches_module, "documents", one_a_page)
        count += 1  # the other document, which shares the concept, unless it is on the page
    path += part
    page = files(library, path)["results.md"].decode()
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert len(links) == count
    for link in links:
        target = os.path.normpath(f"{path}/{unquote(link)}")
        if target.startswith(path):
            assert look_into(library, path).lookup(target.removeprefix(f"{path}/")) is not None
        else:
            assert library.find(target) is not None, link


def test_all_ontologies_are_searched_at_the_root(library: Library) -> None:
    documents = [hit["document"] for hit in results(library, "search/zen tea")["results"]]  # type: ignore[attr-defined]
    assert {"documents/on zen.txt", "documents/tea.txt"} == set(documents)
    assert results(library, "Zen/search/tea")["results"] == [] and passages(library, "search/nothing")["hits"] == []
    assert sorted(files(library, "search/nothing")) == ["results.json", "results.md"]


def test_words_are_taken_literally(library: Library) -> None:
    for words in (
        "NOT",
        'koan"',
        "koan OR",
        "(koan",
        "koan*",
        "NEAR(koan zen)",
        "a AND",
        '"full_text:koan"',
        "std::koan",
    ):
        results(library, f"Zen/search/{words}")
    assert results(library, "Zen/search/koan OR")["words"] == "koan OR"


def found_by(library: Library, path: str) -> list[str]:
    return [one["document"].removeprefix("documents/") for one in results(library, path)["results"]]  # type: ignore[attr-defined]


def test_phrases_and_words_to_leave_out(library: Library) -> None:
    library.add("Zen/documents/a.txt", b"The koan of old monks is short.\n", {})
    library.add("Zen/documents/b.txt", b"Old is the monk, and monks know a koan.\n", {})
    assert found_by(library, 'Zen/search/"old monks"') == ["a.txt"]
    assert found_by(library, 'Zen/search/koan "old monks" "is short"') == ["a.txt"]
    assert set(found_by(library, "Zen/search/monks -short")) >= {"b.txt"}
    assert "a.txt" not in found_by(library, "Zen/search/monks -short")
    assert "b.txt" not in found_by(library, 'Zen/search/monks -"a koan"')
    library.add("Zen/documents/c.txt", "The old ab\u00adbots\u200b walk.\n".encode(), {})
    assert found_by(library, 'Zen/search/"old abbots walk"') == ["c.txt"]
    assert found_by(library, "Zen/search/walk -abbots") == []


def test_further_documents_stand_below_the_word_that_they_lack(library: Library) -> None:
    library.add("Zen/documents/pay.txt", b"A long severance is paid to monks. The severance is paid at once.\n", {})
    for number in range(4):
        library.add(f"Zen/documents/long {number}.txt", f"Of several long walks {number} was paid.\n".encode(), {})
    page = results(library, "Zen/search/long severances paid")
    assert len(page["results"]) == 5 and page["near"] == {"without": "severances", "from_rank": 2}  # type: ignore[arg-type]
    text = files(library, "Zen/search/long severances paid")["results.md"].decode()
    line = "Without the word “severances”:\n"
    short, first = text.partition("\n## 1. ")[::2]
    assert short.partition(line)[0].count("pay.txt") and short.partition(line)[2].startswith("2. [")
    assert first.count(line) == 1 and f"\n{line}\n## 2. " in first
    assert passages(library, "Zen/search/long severances paid")["near"] == page["near"]
    assert results(library, "Zen/search/long walks")["near"] is None, "four documents have each"
    assert results(library, "Zen/search/severance")["near"] == {"without": "severance", "from_rank": 2}
    assert results(library, 'Zen/search/"long severance" paid')["near"] is None


@pytest.mark.claim("SEARCH-9")
def test_filters_narrow_a_search(library: Library) -> None:
    library.add("Zen/documents/sub/a.md", b"A koan is here.\n", {"koan": ["A koan is here."]})
    library.add("Zen/documents/b.txt", b"Here koan is said again.\n", {})
    for name, day in (("sub/a.md", 19_800), ("b.txt", 19_900)):  # 2024-03-18, 2024-06-26
        node = library.node(f"Zen/documents/{name}")
        assert isinstance(node, File)
        node.change(AttrChange(mtime=day * 86_400 * 10**9))
    assert found_by(library, "Zen/search/koan path:sub%2F") == ["sub/a.md"]
    assert found_by(library, "search/koan ontology:Zen type:md") == ["sub/a.md"]
    assert found_by(library, "Zen/search/koan after:2024-04 before:2025") == ["b.txt"]
    assert found_by(library, "Zen/search/before:2024-04") == ["sub/a.md"]
    assert set(found_by(library, "Zen/search/here concept:koan")) == {"sub/a.md"}
    assert found_by(library, "search/ontology:Tea koan") == []


def test_the_date_of_a_document_is_its_own_else_that_of_its_file(library: Library) -> None:
    said = b"---\ntitle: Koans\ndate: 1999-12-31T23:30:00-01:00  # of the talk\n---\n\nA koan is told.\n"
    library.add("Zen/documents/dated.md", said, {})
    library.add("Zen/documents/undated.md", b"A koan is told on 1999-12-31.\n", {})
    node = library.node("Zen/documents/undated.md")
    assert isinstance(node, File)
    node.change(AttrChange(mtime=10_950 * 86_400 * 10**9))  # 1999-12-25
    assert found_by(library, "Zen/search/koan type:md before:2000") == ["undated.md"]
    assert found_by(library, "Zen/search/koan after:2000 before:2000-02") == ["dated.md"]
    assert found_by(library, "Zen/search/before:2001") == ["dated.md", "undated.md"]  # the newest first


@pytest.mark.claim("SEARCH-10")
def test_a_search_within_a_search_narrows_it(library: Library) -> None:
    library.add("Zen/documents/monk.txt", b"A monk has tea and no koan.\n", {})
    library.add("Zen/documents/bell.txt", b"A bell, and a monk at it.\n", {})
    asked: list[object] = []

    def answer(question: object) -> list[object]:
        asked.append(question)
        doc_ids = [library.document(f"Zen/documents/{name}").doc_id for name in ("on zen.txt", "monk.txt", "bell.txt")]
        allowed = question.get("doc_ids") if isinstance(question, dict) else None
        return [[doc_id, 0, 0.6] for doc_id in doc_ids if allowed is None or doc_id in allowed]

    with QuestionServer(library.context.config.run, answer):  # whatever is near in meaning
        assert found_by(library, "Zen/search/koan/monks") == ["monk.txt", "on zen.txt"]
        assert found_by(library, "Zen/search/monks/koan") == ["monk.txt", "bell.txt"]
        assert found_by(library, "Zen/search/monks/koan/tea") == ["monk.txt"]
        assert found_by(library, "Zen/search/type:txt/path:b") == ["bell.txt"]
        assert found_by(library, 'search/"a bell"/ontology:Zen/monk') == ["bell.txt"]
        page = results(library, "Zen/search/koan/monks")
        assert (page["words"], page["within"]) == ("monks", ["koan"])
        assert results(library, "Zen/search/monks")["within"] == []
    assert found_by(library, "search/ontology:Tea/koan") == []
    asked_before = len(asked)
    for name in ("results.txt", "results.json.bak", "07~koan.md", "page-0", "page-", ".git", "page-2/more"):
        assert library.find(f"Zen/search/koan/{name}") is None, name
    assert len(asked) == asked_before  # no such name asks anything


@pytest.mark.claim("SEARCH-10")
def test_a_search_within_a_search_is_saved(library: Library) -> None:
    folder(library, "Zen/search/koan path:on/riddle").change(AttrChange(mtime=1))
    assert library.names("Zen/search") == ["koan path:on"]
    inside = look_into(library, "Zen/search/koan path:on")
    assert [name for name, node in inside.entries() if isinstance(node, Folder)] == ["passages", "riddle"]
    assert found_by(library, "Zen/search/koan path:on/riddle") == ["on zen.txt"]  # with its filters
    with pytest.raises(NotEmptyError):
        folder(library, "Zen/search").remove_folder("koan path:on")
    for name in ("riddle", "results.md", "page-7"):
        with pytest.raises((ExistsError, RefusedError)):
            inside.make_folder(name, 0o755, ME)
    inside.remove_folder("riddle")
    assert library.names("Zen/search") == []
    with pytest.raises(MissingError):
        inside.remove_folder("riddle")


def test_a_percent_sign_and_2f_stand_for_a_slash(library: Library) -> None:
    library.add("Zen/documents/sub/a.md", b"A koan is here.\n", {})
    name = encode_name(b"koan path:sub%2Fa")  # as the kernel gives what a person types
    assert found_by(library, f"Zen/search/{name}") == ["sub/a.md"]
    assert results(library, f"Zen/search/{name}")["words"] == "koan path:sub/a"


def test_a_filter_by_path_follows_renames(library: Library) -> None:
    library.add("Zen/documents/sub/a.md", b"A koan is here.\n", {})
    assert found_by(library, "Zen/search/koan path:sub%2F") == ["sub/a.md"]
    documents = folder(library, "Zen/documents")
    documents.move("sub", documents, "elsewhere", replace=False)
    assert found_by(library, "Zen/search/koan path:sub%2F") == []
    assert found_by(library, "Zen/search/koan path:elsewhere%2F") == ["elsewhere/a.md"]


@pytest.mark.claim("SEARCH-9")
@pytest.mark.parametrize(
    "words",
    [
        "colour:red koan",
        "after:yesterday",
        "before:2024-13",
        "ontology:Nobody koan",
        "concept:unheard koan",
        "-path:a koan",
    ],
)
def test_an_unknown_filter_or_a_bad_value_is_told(library: Library, words: str) -> None:
    with pytest.raises(BadInputError):
        look_into(library, f"search/{words}")


def test_what_is_gated_is_found_by_its_words(library: Library) -> None:
    library.write("Zen/documents/spam.txt", b"Koan: marmalade, buy now.\n")
    library.settle()
    library.publish("Zen/documents/spam.txt", {}, gated=True)
    found = [hit["document"] for hit in results(library, "Zen/search/koan")["results"]]  # type: ignore[attr-defined]
    assert sorted(found) == ["documents/on zen.txt", "documents/spam.txt"]
    found = [hit["document"] for hit in results(library, "Zen/search/marmalade")["results"]]  # type: ignore[attr-defined]
    assert found == ["documents/spam.txt"]


# ------------------------------------------------------------------------------------------------------- meaning


def test_meaning_finds_what_has_none_of_the_words(library: Library) -> None:
    doc_id = library.document("Zen/documents/on zen.txt").doc_id
    asked: list[object] = []

    def answer(question: object) -> list[object]:
        asked.append(question)
        return [[doc_id, 0, 0.8], [doc_id, 1, 0.1], [doc_id, 77, 0.9], ["gone", 0, 0.9]]

    with QuestionServer(library.context.config.run, answer):
        page = passages(library, "Zen/search/puzzles")
    assert page["by"] == ["full text", "meaning"] and page["only_text"] is None and len(asked) == 1
    hits = page["hits"]
    assert [(hit["doc_id"], hit["cosine"], hit["text_score"]) for hit in hits] == [(doc_id, 0.8, 0.0)]  # type: ignore[attr-defined]


def test_words_are_found_by_their_stems_and_parts(library: Library) -> None:
    library.add("Code/documents/code.txt", b"The function run_target starts DiffExecutors at caf\xc3\xa9s.\n", {})
    library.add("Code/documents/cjk.txt", "全文検索の索引を作る。\n".encode(), {})
    for words in ("running", "target", "executor", "run_target", "diffexecutors", "CAFE"):
        assert found_by(library, f"Code/search/{words}") == ["code.txt"], words
    assert found_by(library, "Code/search/検索") == ["cjk.txt"]
    assert found_by(library, "Code/search/索引") == ["cjk.txt"]


def test_concepts_that_are_named_are_listed_first(library: Library) -> None:
    page = results(library, "search/what is a Koan for")
    assert page["concepts"] == [{"name": "koan", "label": "koan", "path": "Zen/concepts/koan.concept/concept.md"}]
    assert page["did_you_mean"] == [] and page["words_indexed"] is True
    shown = files(library, "search/what is a Koan for")["results.md"].decode()
    assert shown.index("Concepts: [koan](../../Zen/concepts/koan.concept/concept.md)") < shown.index("## 1.")


def test_a_misspelt_concept_is_offered(library: Library) -> None:
    page = results(library, "Zen/search/kaon")
    assert page["results"] == [] == page["concepts"]
    assert [one["label"] for one in page["did_you_mean"]] == ["koan"]  # type: ignore[attr-defined]
    assert (
        b"Did you mean: [koan](../../concepts/koan.concept/concept.md)?"
        in files(library, "Zen/search/kaon")["results.md"]
    )
    assert results(library, "Zen/search/zzzzqqq")["did_you_mean"] == []


def test_a_suggestion_is_listed_once_however_many_concepts_are_called_so(library: Library) -> None:
    library.add("Tea/documents/koan.txt", b"A koan is a tea.\n", {"Koan": ["A koan is a tea."]})
    assert len(results(library, "search/koan")["concepts"]) == 2  # type: ignore[arg-type]
    assert len(results(library, "search/kaon")["did_you_mean"]) == 1  # type: ignore[arg-type]


def test_where_no_word_occurs_only_what_is_close_counts(library: Library) -> None:
    doc_id = library.document("Tea/documents/tea.txt").doc_id
    asked: list[object] = []

    def answer(question: object) -> list[object]:
        asked.append(question)
        return [[doc_id, 0, 0.29]]

    with QuestionServer(library.context.config.run, answer):
        assert results(library, "Tea/search/zzzzqqq")["results"] == []
        assert results(library, "Tea/search/dirnk")["results"] != []  # spelled nearly so
        assert results(library, "Tea/search/drnkxx")["results"] == []
        assert results(library, "Tea/search/drinks zzzzqqq")["results"] != []
    first, second = (question for question in asked[:2] if isinstance(question, dict))  # nonsense, and misspelt
    assert first["only_known"] is True and "only_known" not in second


def test_the_least_cosine_of_the_caller_spares_what_has_a_word(library: Library) -> None:
    tea, zen = (library.document(path).doc_id for path in ("Tea/documents/tea.txt", "Zen/documents/on zen.txt"))
    stores, run = library.stores, library.context.config.run
    with QuestionServer(run, lambda question: [[tea, 0, 0.1], [zen, 0, 0.4]]):
        for least, found in ((None, {tea, zen}), (0.3, {tea, zen}), (0.5, {tea})):
            order = search(stores, run, "a drink", "", Deadline(10), min_score=least).order
            assert {place[0] for place, _ in order} == found, least
        with pytest.raises(BadInputError):
            search(stores, run, "a drink", "", Deadline(10), min_score=1.5)


def test_without_meaning_it_is_asked_for_again_after_a_while(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches_module, "SEARCH_AGAIN", 0.2)
    before = look_into(library, "Zen/search/koan").lookup("results.md")
    assert before is not None
    with QuestionServer(library.context.config.run, lambda question: []):
        until(lambda: not is_ready(folder(library, "Zen/search/koan")))
        after = look_into(library, "Zen/search/koan").lookup("results.md")
    assert after is not None and after.inode != before.inode
    assert b"full text only" in read(before) and b"full text and meaning" in read(after)  # type: ignore[arg-type]


def test_a_worker_that_does_not_answer_in_time_is_not_waited_for(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgfs.knowledge.timing.SEARCH_MODEL", 0.2)
    free = threading.Event()
    with QuestionServer(library.context.config.run, lambda question: free.wait(30)):
        page = results(library, "Zen/search/koan")
        free.set()
    assert page["results"] and "No answer within 0.2 seconds" in str(page["only_text"])


# ------------------------------------------------------------------------------------------------- kept for a while


def test_it_is_searched_once_until_something_changes(library: Library) -> None:
    path = "Zen/search/koan"
    files(library, path)
    assert files(library, path) == files(library, path) and library.context.searches.asked == 1
    library.add("Zen/documents/more.txt", b"A koan is more.\n", {"koan": ["A koan is more."]})
    assert not is_ready(folder(library, path))
    assert "01~more.md" in files(library, path) or "02~more.md" in files(library, path)
    assert library.context.searches.asked == 2


def test_no_more_is_remembered_than_there_is_room_for(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches_module, "MAX_FOUND", 3)
    monkeypatch.setattr(searches_module, "MAX_BYTES", 20_000)
    first = look_into(library, "Zen/search/koan 0").lookup("results.md")
    assert first is not None and first.attr()
    for number in range(1, 60):
        files(library, f"Zen/search/koan {number}")
    held = library.context.searches
    assert len(held._answers) == 3
    assert held._held == sum(len(content.data) for content in held._contents.values()) <= 20_000
    with pytest.raises(MissingError):
        first.attr()
    assert files(library, "Zen/search/koan 0")


async def walked(library: Library) -> tuple[Vfs, ChangeFeed, Kernel, int]:
    """A mount whose kernel has looked its way down to what is found of a word, and the number of that folder."""
    vfs = Vfs(library.root, lambda: space_of("/"))
    news, kernel = ChangeFeed(library.context, vfs), Kernel(vfs)
    parent = ROOT_INODE
    for part in ("Zen", "search", "koan"):
        parent = await kernel.lookup(parent, part.encode())
    return vfs, news, kernel, parent


async def test_the_kernel_is_told_when_something_else_is_found(library: Library) -> None:
    vfs, news, kernel, parent = await walked(library)
    first = await kernel.lookup(parent, b"results.md")
    assert first and await kernel.lookup(parent, b"09~x.txt") == 0
    fh = await vfs.files.open(first, 0)
    opened = vfs.handles.file(fh).handle.read(0, 1 << 20)
    kernel.forget(news.poll())
    assert await kernel.lookup(parent, b"results.md") == first and library.context.searches.asked == 1

    library.add("Zen/documents/more.txt", b"A koan is more.\n", {"koan": ["A koan is more."]})
    assert await kernel.lookup(parent, b"results.md") == first  # up to a tenth of a second it is as it was
    kernel.forget(news.poll())
    second = await kernel.lookup(parent, b"results.md")
    assert second != first and library.context.searches.asked == 2
    assert await vfs.files.read(fh, 0, 1 << 20) == opened and (await vfs.getattr(first)).size == len(opened)

    documents = folder(library, "Zen/documents")
    documents.move("more.txt", documents, "renamed.txt", replace=True)
    kernel.forget(news.poll())
    third = await kernel.lookup(parent, b"results.md")
    assert third != second and library.context.searches.asked == 2, "only the paths are other ones"
    again = await vfs.files.open(third, 0)
    assert b"documents/renamed.txt" in await vfs.files.read(again, 0, 1 << 20)
    for each in (fh, again):
        await vfs.files.release(each)


HEARD = ("while it is searched", "when it was found")


def changed_once(library: Library, news: ChangeFeed, monkeypatch: pytest.MonkeyPatch, heard: str) -> None:
    """The next search is one in which a document is added, of which the mount hears before anybody looks at the answer."""
    work_out = searches_module.Searches.work_out

    def hear() -> None:
        library.add("Zen/documents/more.txt", b"A koan is more.\n", {"koan": ["A koan is more."]})
        trio.from_thread.run_sync(news.poll)

    def heard_while_searched(*asked: Any) -> Any:
        monkeypatch.undo()
        found = search_nested(*asked)
        hear()
        return found

    def heard_when_found(*asked: Any) -> Any:
        monkeypatch.undo()
        answer = work_out(*asked)
        hear()
        return answer

    if heard == HEARD[0]:
        monkeypatch.setattr(searches_module, "search_nested", heard_while_searched)
    else:
        monkeypatch.setattr(searches_module.Searches, "work_out", heard_when_found)


@pytest.mark.parametrize("heard", HEARD)
async def test_news_before_the_first_look_at_an_answer_hide_none_of_its_files(
    library: Library, monkeypatch: pytest.MonkeyPatch, heard: str
) -> None:
    vfs, news, kernel, parent = await walked(library)
    changed_once(library, news, monkeypatch, heard)
    first = await kernel.lookup(parent, b"results.json")
    assert first
    kernel.forget(vfs.take_stale())
    second = await kernel.lookup(parent, b"results.json")
    assert second != first and library.context.searches.asked == 2, "the kernel was to forget what was found before"
    fh = await vfs.files.open(second, 0)
    assert b"more.txt" in await vfs.files.read(fh, 0, 1 << 20)
    await vfs.files.release(fh)
    assert vfs.take_stale() == []


@pytest.mark.parametrize("heard", HEARD)
async def test_news_before_the_first_look_at_an_answer_leave_its_listing_whole(
    library: Library, monkeypatch: pytest.MonkeyPatch, heard: str
) -> None:
    vfs, news, _kernel, parent = await walked(library)
    changed_once(library, news, monkeypatch, heard)
    fh = await vfs.opendir(parent)
    listing, _ = await vfs.folders.listing(fh, 0)
    names = {entry.name for at in range(len(listing)) if (entry := listing.entry(at))}
    assert names >= {b"results.json", b"results.md"}
    vfs.releasedir(fh)


async def test_an_open_folder_lists_what_it_did_when_it_was_opened(library: Library) -> None:
    vfs = Vfs(library.root, lambda: space_of("/"))
    found = ROOT_INODE
    for part in (b"Zen", b"search", b"koan zen"):
        attr = await vfs.lookup(found, part)
        assert attr is not None
        found = attr.inode
    fh = await vfs.opendir(found)
    before, stale = await vfs.folders.listing(fh, 0)
    names = [entry.name for at in range(len(before)) if (entry := before.entry(at))]
    assert not stale and b"results.md" in names
    library.add("Zen/documents/more.txt", b"A koan is more.\n", {"koan": ["A koan is more."]})
    after, stale = await vfs.folders.listing(fh, 0)
    again = [entry.name for at in range(len(after)) if (entry := after.entry(at))]
    assert not stale and again == names
    vfs.releasedir(fh)


@pytest.mark.parametrize("since", ["nobody", "somebody"])
async def test_what_an_open_folder_lists_after_news_is_looked_up_again(library: Library, since: str) -> None:
    """Also where ``somebody`` has asked the same since, and was told what is found now."""
    vfs, news, kernel, parent = await walked(library)

    async def listed(fh: int) -> dict[bytes, int]:
        listing, _ = await vfs.folders.listing(fh, 0)
        vfs.folders.told_listed(fh, 0, len(listing))
        return {entry.name: entry.attr.inode for at in range(len(listing)) if (entry := listing.entry(at))}

    fh = await vfs.opendir(parent)
    before = await listed(fh)
    assert vfs.take_stale() == [], "they are as they were found"
    library.add("Zen/documents/more.txt", b"A koan is more.\n", {"koan": ["A koan is more."]})
    kernel.forget(news.poll())
    if since == "somebody":
        vfs.releasedir(await vfs.opendir(parent))
    assert await listed(fh) == before, "what was opened stays as it was"
    kernel.entries |= {(parent, name): inode for name, inode in before.items()}
    kernel.forget(vfs.take_stale())
    assert await kernel.lookup(parent, b"results.md") not in (0, before[b"results.md"])
    vfs.releasedir(fh)


# -------------------------------------------------------------------------------------------------------- saved


def test_the_name_of_a_file_finds_the_file(library: Library) -> None:
    library.add("Tea/documents/house/day-02.txt", b"Nothing is said of the day.\n", {"day": ["Nothing is said"]})
    library.add("Zen/documents/day-02", b"Another day.\n", {"day": ["Another day"]})
    library.write("Zen/documents/day-021.txt", b"Not that one.\n")
    tea, zen = "Tea/documents/house/day-02.txt", "Zen/documents/day-02"
    for words, files_found in (
        ("day-02", [tea, zen]),
        ("day-02.txt", [tea]),
        ("day-02 type:txt", [tea, zen]),
        ("day", []),
        ("DAY-02.txt", [tea]),
    ):
        page = files(library, f"search/{words}")
        assert [one["path"] for one in json.loads(page["results.json"])["files"]] == files_found, words
        assert (f"\nFiles: [{tea}](../../{tea})" in page["results.md"].decode()) is bool(files_found), words
    (one,) = json.loads(files(library, "Zen/search/day-02")["results.json"])["files"]
    assert one == {"doc_id": library.document(zen).doc_id, "path": "documents/day-02"}
    assert json.loads(files(library, "search/day-02/page-2")["results.json"])["files"]


def test_a_name_with_spaces_or_decomposed_letters_finds_its_file(library: Library) -> None:
    spaced, decomposed = "Tea/documents/the long walk 9.md", "Zen/documents/U\u0308bung.txt"
    library.add(spaced, b"Nothing of the kind.\n", {"kind": ["Nothing of"]})
    library.add(decomposed, "U\u0308bung makes a master.\n".encode(), {})
    library.add("Zen/documents/other.md", b"The long walk ended at nine.\n", {})
    for words, path in (
        ("the long walk 9.md", spaced),
        ("the long walk 9", spaced),
        ("Übung.txt", decomposed),
        ("U\u0308bung.txt", decomposed),
        ("the long walk", None),
    ):
        named = json.loads(files(library, f"search/{words}")["results.json"])["files"]
        assert [one["path"] for one in named] == ([path] if path else []), words
    results = json.loads(files(library, "search/Übung")["results.json"])["results"]
    assert [one["doc_id"] for one in results] == [library.document(decomposed).doc_id]
    found = json.loads(files(library, 'search/"Übung makes" path:Übung')["results.json"])["results"]
    assert len(found) == 1


def test_an_ontology_with_saved_searches_is_not_empty_but_goes_as_a_tree(library: Library) -> None:
    library.ontology("Empty")
    folder(library, "Empty/search/koan").change(AttrChange(mtime=1))
    with pytest.raises(NotEmptyError):
        library.root.remove_folder("Empty")
    folder(library, "Empty").remove_folder("documents")
    library.root.remove_folder("Empty")
    assert library.find("Empty") is None


# ------------------------------------------------------------------------------------------------- in nobody's way


async def test_so_many_at_once_and_no_more() -> None:
    threads = Threads(searches=2, seconds=30)
    free = threading.Event()

    def slow(patience: Deadline) -> str:
        while not free.is_set():
            patience.wait(0.01)
        return "found"

    answers: list[str] = []

    async def ask() -> None:
        answers.append(await threads.search(slow))

    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(CrowdedError) as crowded:
            await threads.search(slow)
        assert crowded.value.errno == 11
        free.set()
    assert answers == ["found"] * 2 and await threads.search(slow) == "found"


async def test_a_question_that_takes_too_long_ends_and_leaves_its_place() -> None:
    threads = Threads(searches=1, seconds=0.2)
    with pytest.raises(TimedOutError):
        await threads.search(lambda patience: patience.wait(60))
    deaf = threading.Event()
    with pytest.raises(TimedOutError):
        await threads.search(lambda patience: deaf.wait(60))
    with pytest.raises(CrowdedError):  # the thread is still at it
        await threads.search(lambda patience: None)
    deaf.set()
    with trio.fail_after(20):
        while True:
            try:
                await threads.search(lambda patience: None)
                break
            except CrowdedError:
                await trio.sleep(0.01)


def test_a_whole_ontology_is_forgotten_with_its_saved_searches(library: Library) -> None:
    folder(library, "Zen/search/koan").change(AttrChange(mtime=1))
    zen = library.ontology("Zen")
    planned = forget_plan.plan(library.stores, [Found(FoundKind.ONTOLOGY, zen)], "orphans", purge=False)
    forget.order(library.context.deposits, library.stores, planned)
    assert library.find("Zen") is None and library.stores.catalog.names.saved_searches(zen.id) == []
