"""ask/: a question is known by its name, worked out once an epoch when it is looked into, and saved by touch."""

from __future__ import annotations

import errno
import json
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from kgfs.app.answers import ask as ask_by_api
from kgfs.compute.answering import answering
from kgfs.compute.completing import Completion, Request
from kgfs.compute.deadline import Deadline
from kgfs.compute.questions import Materials, QuestionServer
from kgfs.errors import (
    BadInputError,
    ExistsError,
    KgfsError,
    NotEmptyError,
    ReadOnlyError,
    StoreError,
)
from kgfs.ingest.lifecycle import forget, forget_plan
from kgfs.knowledge.ask import asking
from kgfs.settings import Llm
from kgfs.stores.resolve import Found, FoundKind, find_document
from kgfs.stores.thread_slots import WouldBlock, inline
from kgfs.tree import questions as questions_module
from kgfs.tree.change_feed import ChangeFeed
from kgfs.tree.node import ROOT_INODE, AttrChange, File, Folder
from kgfs.tree.vfs import Vfs, space_of
from tests.support.library import ME, Library, library_at, read, reading_of
from tests.support.running import until
from tests.support.scenarios.kernel import Kernel

ZEN = "# Koans\n\nA koan is a riddle that Zen teachers use.\nKoans were first collected in China in 1125.\n"
TEA = "Tea is a drink.\nMonks drink it at dawn because it keeps them awake.\n"
QUESTION = "When were koans collected?"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with library_at(tmp_path / "home") as library:
        library.add("Zen/documents/on zen.md", ZEN.encode(), {"koan": ["A koan is a riddle"]})
        library.add("Tea/documents/tea.txt", TEA.encode(), {"tea": ["Tea is a drink."]})
        yield library


def folder(library: Library, path: str) -> Folder:
    found = library.node(path)
    assert isinstance(found, Folder)
    return found


def files(library: Library, path: str, seconds: float = 10) -> dict[str, bytes]:
    entries = folder(library, path).work_out(Deadline(seconds)).entries()
    return {name: read(node) for name, node in entries if isinstance(node, File)}


def answer(library: Library, path: str, seconds: float = 10) -> dict[str, Any]:
    return dict(json.loads(files(library, path, seconds)["answer.json"]))


def test_a_question_is_answered_by_exact_sentences_with_links_that_open(library: Library) -> None:
    for path in (f"Zen/ask/{QUESTION}", f"ask/{QUESTION}"):
        found = files(library, path)
        assert sorted(found) == ["answer.json", "answer.md", "context.md"]
        data = json.loads(found["answer.json"])
        assert data["state"] == "done" and data["citations"][0]["archive_verified"], data
        first = data["quotes"][0]
        assert (
            first["text"]
            == "Koans were first collected in China in 1125."
            == ZEN[first["char_start"] : first["char_end"]]
        )
        assert (first["line_start"], first["section_path"], first["document"]) == (
            4,
            ["Part one"],
            "documents/on zen.md",
        )
        assert f"[C:{first['chunk_id']}]" in data["response"]
        md = found["answer.md"].decode()
        assert "[C:" not in md and "in 1125. [1]" in md and f"C:{first['chunk_id']}" in found["context.md"].decode()
        links = re.findall(r"\]\(([^)]*)\)", md)
        assert len(links) == 3
        for link in links[:2]:
            assert library.find(os.path.normpath(f"{path}/{unquote(link)}")) is not None, link
    assert library.context.questions.asked == 2


def test_what_no_source_says_is_refused(library: Library) -> None:
    for question in ("What is the capital of Mongolia?", "Who wrote Hamlet?"):
        found = files(library, f"ask/{question}")
        data = json.loads(found["answer.json"])
        assert (data["state"], data["response"], data["quotes"]) == ("not_found", "Not found in sources", [])
        assert b"Not found in sources." in found["answer.md"] and data["missing"]
    with library_at(library.context.config.home.parent / "empty") as empty:
        empty.ontology("Zen")
        assert answer(empty, "Zen/ask/why")["state"] == "not_found"


def test_one_question_is_asked_once_an_epoch(library: Library) -> None:
    path = f"Zen/ask/{QUESTION}"
    assert library.context.questions.asked == 0 and folder(library, path).attr().size == 0
    with pytest.raises(WouldBlock):
        inline(folder(library, path).work_out)
    for _ in range(3):
        files(library, path)
    assert library.context.questions.asked == 1
    library.add("Zen/documents/more.md", b"More koans were collected in 1228.\n", {})
    assert "1228" in answer(library, path)["response"] and library.context.questions.asked == 2


def test_sizes_are_exact_and_renames_are_followed(library: Library) -> None:
    path = f"Zen/ask/{QUESTION}"
    for _, node in folder(library, path).work_out(Deadline(10)).entries():
        assert isinstance(node, File) and node.attr().size == len(read(node))
    documents = folder(library, "Zen/documents")
    documents.move("on zen.md", documents, "koans.md", replace=False)
    assert answer(library, path)["quotes"][0]["document"] == "documents/koans.md"


def test_a_long_question_is_split_over_folders(library: Library) -> None:
    assert answer(library, "Zen/ask/When were/koans collected?")["question"] == QUESTION
    assert library.context.questions.asked == 1, "the folders on the way were not asked"
    assert answer(library, "Zen/ask/what%2Fwhy koan")["question"] == "what/why koan"


def test_an_unknown_filter_is_refused_with_a_reason(library: Library) -> None:
    with pytest.raises(BadInputError) as refused:
        files(library, "Zen/ask/koan colour:red")
    assert refused.value.errno == errno.EINVAL
    with pytest.raises(BadInputError, match="has words"):
        files(library, "Zen/ask/path:on")


# ------------------------------------------------------------------------------------------------ slow and many


@pytest.mark.logs("ask StoreError: no disk")
def test_a_question_that_fails_after_it_was_pending_says_so(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any, **named: Any) -> Any:
        free.wait(30)
        raise StoreError("no disk")

    free, path = threading.Event(), f"Zen/ask/{QUESTION}"
    monkeypatch.setattr(questions_module, "ask", fail)
    assert answer(library, path, 0.6)["state"] == "pending"
    free.set()
    until(lambda: answer(library, path, 0.6)["state"] == "failed")
    assert answer(library, path)["reason"] == "no disk"
    monkeypatch.setattr(questions_module, "SEARCH_AGAIN", 0.0)
    with pytest.raises(StoreError):  # who waits for it is told at once
        answer(library, path)


# -------------------------------------------------------------------------------------------------------- saved


def touch(library: Library, path: str) -> None:
    folder(library, path).change(AttrChange(mtime=1, atime=1))


def settled(library: Library) -> None:
    until(lambda: not library.context.questions._running)


def test_the_verb_asks_a_saved_question_anew(library: Library) -> None:
    path = "Zen/ask/When were/koans collected?"
    touch(library, path)
    settled(library)
    library.add("Zen/documents/more.md", b"More koans were collected in 1228.\n", {})
    shown = ask_by_api(library.context.config, QUESTION, "Zen")
    assert shown.state == "done" and answer(library, path)["epoch"] == shown.epoch == 3
    assert library.names("Zen/ask") == ["When were"] and "koans collected?" in library.names("Zen/ask/When were")
    with pytest.raises(NotEmptyError):
        folder(library, "Zen/ask").remove_folder("When were")
    folder(library, "Zen/ask/When were").remove_folder("koans collected?")
    assert library.names("Zen/ask") == []


async def test_the_kernel_is_told_of_a_new_answer(library: Library) -> None:
    path = f"Zen/ask/{QUESTION}"
    touch(library, path)
    settled(library)
    vfs = Vfs(library.root, lambda: space_of(library.context.config.home))
    news, kernel = ChangeFeed(library.context, vfs), Kernel(vfs)
    parent = ROOT_INODE
    for name in path.split("/"):
        parent = await kernel.lookup(parent, name.encode())
    first = await kernel.lookup(parent, b"answer.md")
    library.add("Zen/documents/more.md", b"More koans were collected in 1228.\n", {})
    kernel.forget(news.poll())
    assert first and await kernel.lookup(parent, b"answer.md") == first, "only who asks anew has another answer"
    touch(library, path)
    settled(library)
    kernel.forget(news.poll())
    second = await kernel.lookup(parent, b"answer.md")
    assert second != first
    fh = await vfs.files.open(second, 0)
    assert b"1228" in await vfs.files.read(fh, 0, 1 << 20)
    await vfs.files.release(fh)


def test_a_language_model_answers_beside_what_is_read(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    path, free, asked = f"Zen/ask/{QUESTION}", threading.Event(), list[Request]()

    def complete(request: Request, seconds: float) -> Completion:
        asked.append(request)
        free.wait(30)
        (shown,) = (one[: one.index(" |")] for one in request.blocks if "in 1125" in one)
        return Completion("answer", f"China had koans in 1125 {shown}].", "", "m", tuple(range(len(request.blocks))))

    config = replace(library.context.config, llm=Llm(base_url="http://127.0.0.1:9"))
    monkeypatch.setattr(library.context.questions, "_config", config)
    config.run.mkdir(exist_ok=True)
    with QuestionServer(config.run, answering(Materials(None, None, complete=complete))):
        assert library.names("Zen/ask") == [] and not asked
        touch(library, path)
        assert answer(library, path, 0.6)["state"] == "pending"
        free.set()
        settled(library)
    data = answer(library, path)
    assert data["model"] == "m" and [one["text"] for one in data["sentences"]] == ["China had koans in 1125."]
    (quote,) = data["sentences"][0]["quotes"]
    assert quote == data["quotes"][0]["text"] and quote in ZEN and "1125" in quote and len(asked) == 1
    assert b"China had koans in 1125. [1]" in files(library, path)["answer.md"]
    (kept,) = (config.home / "answers").iterdir()
    assert b"China had koans" in kept.read_bytes() and library.names("Zen/ask") == [QUESTION]


def test_what_only_looks_is_refused_to_change(library: Library) -> None:
    with pytest.raises(ReadOnlyError):
        folder(library, "Zen/ask/koan").change(AttrChange(mode=0o700))
    with pytest.raises(ExistsError):
        folder(library, "Zen/ask").make_folder("koan", 0o755, ME)
    with pytest.raises(KgfsError):
        folder(library, "Zen/ask").make_folder(".git", 0o755, ME)


def test_an_ontology_goes_with_its_questions(library: Library) -> None:
    library.ontology("Empty")
    touch(library, "Empty/ask/koan")
    settled(library)
    with pytest.raises(NotEmptyError):
        library.root.remove_folder("Empty")
    folder(library, "Empty").remove_folder("documents")
    library.root.remove_folder("Empty")
    touch(library, "Zen/ask/koan")
    settled(library)
    zen = library.ontology("Zen")
    planned = forget_plan.plan(library.stores, [Found(FoundKind.ONTOLOGY, zen)], "orphans", purge=False)
    forget.order(library.context.deposits, library.stores, planned)
    assert library.find("Zen") is None and library.stores.catalog.names.saved_questions(zen.id) == []


def test_a_purge_takes_saved_answers_along(library: Library) -> None:
    path, config = f"Zen/ask/{QUESTION}", library.context.config
    touch(library, path)
    settled(library)
    assert [b"1125" in one.read_bytes() for one in (config.home / "answers").iterdir()] == [True]
    found = find_document(library.stores, config.run, "Zen/documents/on zen.md")
    forget.order(
        library.context.deposits, library.stores, forget_plan.plan(library.stores, [found], "orphans", purge=True)
    )
    forget.carry_out(config, library.stores)
    assert not list((config.home / "answers").iterdir())
    assert answer(library, path)["state"] == "not_found"


def test_another_name_of_a_concept_stands_for_its_words(library: Library) -> None:
    text = "A kouan puzzle was written in 1228 by a monk.\n"
    library.write("Zen/documents/more.txt", text.encode())
    library.settle()
    document = library.document("Zen/documents/more.txt")
    reading = reading_of(document, "more.txt", text.encode(), {"kouan puzzle": ["A kouan puzzle was written"]}, ())
    concepts = tuple(replace(one, forms=("kouan puzzle", "public case")) for one in reading.concepts)
    reading = replace(reading, concepts=concepts)
    library.stores.garage.objects.put(reading.key, reading.encode())
    library.pipeline.publish(document, reading, lambda: None)
    assert "public case" in next(one for one in library.stores.graph.concepts_of(document.doc_id)).aliases
    weighing = asking.weigh(library.stores, library.context.config.run, "public case monk", "", Deadline(10))
    assert asking._missing(weighing.question, weighing.candidates, weighing.scored.order) == ()
    assert weighing.scored.answerable > 0


def test_what_a_thing_is_is_answered_by_the_sentence_that_says_it(library: Library) -> None:
    notes = (
        "# Practice\n\nWhat a koan is, what it is for and what a koan is not: people ask about the koan every day.\n"
        "It is hard.\n\n## Sitting\n\nTo sit is to wait for nothing at all.\n\n# Bowls\n\nThe oryoki (a bowl) is old.\n"
    )
    library.add("Zen/documents/notes.md", notes.encode(), {"sitting": ["To sit is to wait for nothing at all."]})
    found = answer(library, "Zen/ask/What is a koan?")
    assert found["quotes"][0]["text"] == "A koan is a riddle that Zen teachers use."
    titled = answer(library, "ask/What is sitting?")
    assert titled["state"] == "done" and titled["quotes"][0]["text"] == "To sit is to wait for nothing at all."
    assert answer(library, "Zen/ask/What is a bowl in Mongolia?")["state"] == "not_found"


def test_a_sentence_that_points_back_is_quoted_with_the_one_before_it(library: Library) -> None:
    found = answer(library, "Tea/ask/Why do monks drink tea at dawn?")
    assert found["quotes"][0]["text"] == "Monks drink it at dawn because it keeps them awake."
    text = "Tea is hot. Therefore Gyokuro stays green.\n"
    library.add("Tea/documents/green.txt", text.encode(), {})
    quote = answer(library, "Tea/ask/Why does Gyokuro stay green?")["quotes"][0]
    assert quote["text"] == text.strip() == text[quote["char_start"] : quote["char_end"]]
    assert (quote["line_start"], quote["line_end"]) == (1, 1)


SEVERANCE = "# Severance\n\nSeverance is paid to staff whose post is closed. It lasts for three months.\n"
CHAT = "How long does it take, and how long does the cache last? It does not last long, and it does last as long as it does.\n"
HASHES = "How long a hash algorithm lasts does depend on machines. SHA-1 lasted as long as it did for long years.\n"


def test_function_words_decide_neither_a_search_nor_an_answer(library: Library) -> None:
    library.add("Tea/documents/chat.txt", CHAT.encode(), {})
    library.add("Tea/documents/hashes.txt", HASHES.encode(), {})
    question = "How long does severance last?"
    assert answer(library, f"Tea/ask/{question}")["state"] == "not_found"
    library.add("Tea/documents/severance.md", SEVERANCE.encode(), {})
    for words in (question, "how long does severance", "does severance"):
        found = json.loads(files(library, f"Tea/search/{words}")["results.json"])["results"]
        assert found[0]["doc_id"] == library.document("Tea/documents/severance.md").doc_id, words
    found = answer(library, f"Tea/ask/{question}")
    assert {one["document"] for one in found["quotes"]} == {"documents/severance.md"} and found["only_text"]
    assert "three months" in found["quotes"][0]["text"]


def test_a_document_is_known_by_the_number_in_its_name(library: Library) -> None:
    assert answer(library, "Tea/ask/Why was TEP 416 rejected?")["state"] == "not_found"
    library.add("Tea/documents/tep-0416.txt", b"This proposal was rejected because nobody drinks cold tea.\n", {})
    found = answer(library, "Tea/ask/Why was TEP 416 rejected?")
    assert found["state"] == "done" and "nobody drinks cold tea" in found["response"]
