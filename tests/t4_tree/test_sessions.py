"""Sessions: transcripts of Claude Code and Codex, entry by entry, and what an append costs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kgfs.compute.contract import LocalEngine
from kgfs.compute.deadline import Deadline
from kgfs.domain.documents import State
from kgfs.ingest.reading.clock import StageClock
from kgfs.ingest.working.pipeline import Pipeline
from kgfs.knowledge.ask import gathering
from kgfs.knowledge.ask.asking import ask
from kgfs.knowledge.by_document import Shape, documents
from kgfs.knowledge.query import Query
from kgfs.knowledge.search import Found, search
from kgfs.render.merged import full_content
from kgfs.tree.node import File, Folder
from tests.support.library import Library, library_at, read
from tests.support.working import Counting, work

BRANCHES = Path(__file__).parents[1] / "data/sessions/branches.jsonl"
CLAUDE = "5f0c1d2e-0000-4000-8000-000000000001"
MILL = "The sluice gate of the tide mill is made of oak. The sluice gate is lifted by the tide."


def claude(n: int, content: Any, role: str = "user") -> str:
    message = {"role": role, "content": content}
    stamp = f"2026-03-01T{n // 60 % 24:02}:{n % 60:02}:00.000Z"
    return json.dumps({"type": role, "uuid": f"u{n}", "sessionId": CLAUDE, "timestamp": stamp, "message": message})


def codex(n: int, type_: str, **payload: Any) -> str:
    outer = {"session_meta": "session_meta"}.get(type_, payload.pop("outer", "response_item"))
    return json.dumps({"timestamp": f"2026-03-02T10:{n:02}:00Z", "type": outer, "payload": {"type": type_, **payload}})


LONG = [claude(n, f"{n}. {MILL} Number {n} of the lantern pinions turns wheel {n}.") for n in range(1, 1001)]
TOOLS = [
    claude(1, f"Look at the mill. {MILL}"),
    claude(2, [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}], "assistant"),
    claude(3, [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "gate.txt"}]}]),
    json.dumps({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}),
    "{broken",
    claude(6, {"type": "text", "text": "An object alone. \ud800\x00\x0c"}, "assistant"),
    claude(7, "half written")[:40],
]
CODEX = [
    codex(0, "session_meta", id="0199-codex"),
    codex(1, "message", role="user", content=[{"type": "input_text", "text": f"What is a gate? {MILL}"}]),
    codex(2, "agent_message", message="A gate shuts.", outer="event_msg"),
    codex(3, "message", role="assistant", content=[{"type": "output_text", "text": "A gate shuts."}]),
    codex(4, "function_call", name="shell", arguments="{}", call_id="c1"),
    codex(5, "exec_command_end", call_id="c1", stdout="oak and tide", outer="event_msg"),
    codex(6, "function_call_output", call_id="c1", output="oak and tide"),
]


def dict_of(folder: Folder) -> dict[str, bytes]:
    return {name: read(node) for name, node in folder.work_out(Deadline(30)).entries() if isinstance(node, File)}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with library_at(tmp_path_factory.mktemp("sessions") / "home") as library:
        library.ontology()
        library.write("Zen/documents/tools.jsonl", "\n".join(TOOLS).encode())
        library.write("Zen/documents/rollout-codex.jsonl", ("\n".join(CODEX) + "\n").encode())
        long = [line.replace(CLAUDE, "long-session") for line in LONG]
        library.write("Zen/documents/long.jsonl", ("\n".join(long) + "\n").encode())
        library.settle()
        work(library.context.config, library.stores, Counting())
        yield library


@pytest.mark.claim("PART-3")
def test_every_line_is_an_entry_with_its_raw_line(library: Library) -> None:
    folder = f"Zen/sessions/{CLAUDE}"
    assert library.names("Zen/sessions") == ["0199-codex", CLAUDE, "long-session"]
    assert library.names(f"{folder}/entries") == [f"{n}.md" for n in range(1, len(TOOLS) + 1)]
    assert library.read(f"{folder}/raw.jsonl") == "\n".join(TOOLS).encode()
    for n, raw in enumerate(TOOLS, 1):
        page = library.read(f"{folder}/entries/{n}.md").decode()
        assert f"```json\n{raw}\n```" in page, n
    page = json.loads(library.read(f"{folder}/metadata.json"))
    assert (page["session_id"], page["interface"], page["entry_count"]) == (CLAUDE, "claude_code", len(TOOLS))
    assert page["total_bytes"] == len("\n".join(TOOLS)) and page["first_at"] == "2026-03-01T00:01:00.000Z"
    shown = library.read(f"{folder}/session.md").decode()
    assert "<details><summary>Tool: Bash</summary>" in shown and "An object alone." in shown


def test_doubled_results_are_shown_once(library: Library) -> None:
    folder = "Zen/sessions/0199-codex"
    assert len(library.names(f"{folder}/entries")) == len(CODEX)
    shown = library.read(f"{folder}/session.md").decode()
    assert shown.count("oak and tide") == 1 and shown.count("A gate shuts.") == 1


def test_a_long_transcript_is_read_in_segments(library: Library) -> None:
    document = library.document("Zen/documents/long.jsonl")
    parts = library.stores.catalog.names.parts(document.doc_id)
    assert len(parts) > 2 and {part.kind for part in parts} == {"segment"}
    raw = library.read("Zen/sessions/long-session/raw.jsonl")
    assert b"".join(library.read(f"Zen/archive/{part.child}/original") for part in parts) == raw
    assert len(library.names("Zen/sessions/long-session/entries")) == len(LONG)
    assert f"Number {len(LONG)} of" in library.read(f"Zen/sessions/long-session/entries/{len(LONG)}.md").decode()
    texts = [library.read(f"Zen/archive/{part.child}/text.txt") for part in parts]
    assert library.read(f"Zen/archive/{document.doc_id}/text.txt") == b"\n".join(texts)
    assert document.state is State.QUEUED or json.loads(library.read(f"Zen/archive/{document.doc_id}/metadata.json"))


def test_a_search_finds_a_transcript_as_one_document(library: Library) -> None:
    folder = library.node("Zen/search/lantern pinions type:jsonl path:long")
    assert isinstance(folder, Folder)
    page = json.loads(dict_of(folder)["results.json"])
    (one,) = page["results"]
    document = library.document("Zen/documents/long.jsonl")
    parts = [part.child for part in library.stores.catalog.names.parts(document.doc_id)]
    counts = [row.chunk_count for part in parts if (row := library.stores.graph.document(part))]
    assert (one["id"], one["document"], one["title"][:2]) == (document.doc_id, "documents/long.jsonl", "1.")
    assert page["pagination"]["total_results"] == 1
    assert one["chunk_coverage"].endswith(f" of {sum(counts)}") and one["metadata"]["chunk_count"] == sum(counts)
    texts = {part: library.read(f"Zen/archive/{part}/text.txt").decode() for part in parts}
    whole = library.read(f"Zen/archive/{document.doc_id}/text.txt").decode()
    assert one["content_location"] == f"Zen/archive/{document.doc_id}/text.txt"
    assert one["metadata"]["content_length"] == len(whole)
    for chunk in one["chunks"]:
        assert texts[chunk["doc_id"]][chunk["char_start"] : chunk["char_end"]] == chunk["content"]
        before = sum(counts[: parts.index(chunk["doc_id"])])
        assert before <= chunk["index"] < before + counts[parts.index(chunk["doc_id"])]
        if chunk["matched"]:
            assert f"Number {chunk['entry']} of the lantern" in chunk["content"]
    assert [chunk["index"] for chunk in one["chunks"]] == sorted({chunk["index"] for chunk in one["chunks"]})
    for piece in re.split(r"\n\[\.\.\. chunks? [\d-]+ omitted \.\.\.\]\n", one["full_content"]):
        assert piece in whole


def test_neighbours_go_over_the_borders_of_segments(library: Library) -> None:
    document = library.document("Zen/documents/long.jsonl")
    second = library.stores.catalog.names.parts(document.doc_id)[1].child
    first_of_second = library.stores.graph.source(second, 0)
    assert first_of_second is not None
    found = Found("x", Query("lantern"), "", None, (((second, 0), 1.0),), {}, True, 0, "")
    (one,) = documents(library.stores, found)[0].documents
    indices = [chunk.piece.index for chunk in one.chunks]
    assert len(indices) == 3 and indices == list(range(indices[0], indices[0] + 3))
    assert [chunk.doc_id == second for chunk in one.chunks] == [False, True, True]
    whole = library.read(f"Zen/archive/{document.doc_id}/text.txt").decode()
    joined = full_content(one.pieces)
    assert joined in whole and len(joined) == sum(len(piece.text) for piece in one.pieces) + 1
    (alone,) = documents(library.stores, found, shape=Shape(adjacent=False))[0].documents
    assert [chunk.piece.index for chunk in alone.chunks] == indices[1:2]


def test_citations_name_the_transcript_and_the_entry(library: Library) -> None:
    graph, ontology = library.stores.graph, library.ontology()
    places = set()
    for concept in graph.concepts(ontology.id):
        for instance in graph.instances(concept.concept_id):
            at = f"Zen/concepts/{concept.name}.concept/evidence/{instance.n}"
            cited = json.loads(library.read(f"{at}/citation.json"))
            assert cited["document"].startswith("documents/") and cited["locator"]["entry"] > 0
            places.add((cited["document"], cited["locator"]["entry"]))
            if cited["document"] == "documents/long.jsonl":
                entry = library.read(f"Zen/sessions/long-session/entries/{cited['locator']['entry']}.md").decode()
                assert cited["quote"] in entry
    assert any(document == "documents/long.jsonl" and entry > 500 for document, entry in places)


def test_everything_listed_is_found_and_sized_exactly(library: Library) -> None:
    for path, node in library.walk("Zen/sessions"):
        found = library.find(path)
        assert found is not None and found.attr() == node.attr(), path
        if isinstance(node, File) and ("long" not in path or path.endswith(("0.md", "session.md", ".json"))):
            assert len(read(node)) == node.attr().size, path


@pytest.mark.claim("PART-3")
def test_an_append_works_out_only_what_is_new(tmp_path: Path) -> None:
    with library_at(tmp_path / "home") as library:
        library.ontology()
        content, before = "\n".join(LONG[:600]) + "\n", list[str]()
        for n in range(4):
            library.write("Zen/documents/s.jsonl", content.encode())
            library.settle()
            compute = Counting()
            work(library.context.config, library.stores, compute)
            document = library.document("Zen/documents/s.jsonl")
            parts = library.stores.catalog.names.parts(document.doc_id)
            if n:
                assert [part.child for part in parts][: len(before) - 1] == before[:-1], "closed segments stay"
                assert sum(map(len, compute.asked)) < 20_000
            assert len(library.names(f"Zen/sessions/{CLAUDE}/entries")) == content.count("\n")
            shown = {row.doc_id for row in library.stores.graph.documents(library.ontology().id)}
            assert shown == {document.doc_id, *(part.child for part in parts)}, "what was replaced has left"
            before = [part.child for part in parts]
            content += "\n".join(LONG[600 + 4 * n : 604 + 4 * n]) + "\n"


@pytest.mark.claim("PART-3")
def test_the_last_segment_stays_until_its_successor_is_read(tmp_path: Path) -> None:
    with library_at(tmp_path / "home") as library:
        library.ontology()
        names, graph = library.stores.catalog.names, library.stores.graph
        bell = "The abbey bell is cast of bronze. The abbey bell rings at noon. An abbey bell is hung in a tower."
        only_here = "\n".join(claude(600 + n, f"{n}. {bell} The abbey bell of tower {n} is old.") for n in range(8))

        def append(content: str) -> None:
            library.write("Zen/documents/s.jsonl", ("\n".join([*LONG[:300], content]) + "\n").encode())
            library.settle()

        def publish_transcript() -> None:
            """Publish the transcript alone, as if the worker ended then."""
            document = library.document("Zen/documents/s.jsonl")
            compute, stores = Counting(), library.stores
            pipeline = Pipeline(
                library.context.config, stores, compute, StageClock(), LocalEngine(compute, stores.garage.objects)
            )
            (job,) = [job for job in library.stores.catalog.jobs.all() if job.doc_id == document.doc_id]
            pipeline.publish(document, pipeline.read(document, job, lambda stage, share: None), lambda: None)

        def tail() -> str:
            return names.parts(library.document("Zen/documents/s.jsonl").doc_id)[-1].child

        def state_of(doc_id: str) -> State:
            found = names.document(doc_id)
            assert found is not None
            return found.state

        def owed() -> list[tuple[str, str]]:
            return [(job.kind, job.doc_id) for job in library.stores.catalog.jobs.all()]

        append(only_here)
        work(library.context.config, library.stores, Counting())
        first, concepts = tail(), {concept.name for concept in graph.concepts(library.ontology().id)}
        assert "abbey-bell" in {concept.name for concept in graph.concepts_of(first)}
        append(only_here + "\n" + LONG[301])
        publish_transcript()
        second = tail()
        assert second != first and owed() == [("read", second)] and names.predecessors(second) == [first]
        assert state_of(first) is State.STALE
        folder = library.node("Zen/search/abbey bell")
        assert isinstance(folder, Folder)
        assert "The abbey bell rings" in json.dumps(json.loads(dict_of(folder)["results.json"])["results"])
        assert concepts <= {concept.name for concept in graph.concepts(library.ontology().id)}
        # The transcript grows again before its last segment was read: what is shown waits for the newest one.
        append(only_here + "\n" + LONG[301] + "\n" + LONG[302])
        assert state_of(first) is State.STALE
        publish_transcript()
        third = tail()
        assert owed() == [("read", third)] and names.predecessors(third) == [first]
        shown = graph.epoch()
        work(library.context.config, library.stores, Counting())
        assert graph.document(first) is None
        assert "abbey-bell" in {concept.name for concept in graph.concepts_of(third)}
        assert graph.epoch() > shown and owed() == []
        # What is removed while its successor waits is forgotten.
        append(only_here + "\n" + LONG[303])
        publish_transcript()
        folder = library.node("Zen/documents")
        assert isinstance(folder, Folder)
        folder.remove_file("s.jsonl")
        assert ("forget", third) in owed()


def test_two_files_of_one_session_keep_their_folders_whatever_is_appended(tmp_path: Path) -> None:
    with library_at(tmp_path / "home") as library:
        library.ontology()
        library.write("Zen/documents/z.jsonl", (LONG[0] + "\n").encode())
        library.settle()
        library.write("Zen/documents/a.jsonl", (LONG[1] + "\n").encode())
        library.settle()
        work(library.context.config, library.stores, Counting())
        first, further = library.names("Zen/sessions")
        assert first == CLAUDE and further.startswith(f"{CLAUDE}~")
        raw = {name: library.read(f"Zen/sessions/{name}/raw.jsonl") for name in (first, further)}
        assert raw == {first: (LONG[0] + "\n").encode(), further: (LONG[1] + "\n").encode()}
        for name, path in ((first, "z.jsonl"), (further, "a.jsonl"), (first, "z.jsonl")):
            raw[name] += (LONG[2] + "\n").encode()
            library.write(f"Zen/documents/{path}", raw[name])
            library.settle()
            work(library.context.config, library.stores, Counting())
            assert {one: library.read(f"Zen/sessions/{one}/raw.jsonl") for one in library.names("Zen/sessions")} == raw


@pytest.mark.claim("PART-4")
def test_session_md_follows_the_branch_that_lived(tmp_path: Path) -> None:
    with library_at(tmp_path / "home") as library:
        library.ontology()
        content = BRANCHES.read_bytes()
        library.write("Zen/documents/b.jsonl", content)
        library.settle()
        library.write("Zen/documents/resumed.jsonl", content.replace(b"11111111-", b"22222222-"))
        library.settle()
        work(library.context.config, library.stores, Counting())
        first, copy = library.names("Zen/sessions")
        page = library.read(f"Zen/sessions/{first}/session.md").decode()
        folded = re.findall(
            r"<summary>((?:Abandoned|Sub-agent).*?)</summary>\n\n(.*?)\n</details>\n\n## ", page, re.DOTALL
        )
        assert [head for head, _ in folded] == ["Abandoned branch: entries 5 to 6", "Sub-agent: entries 10 to 11"]
        assert "pine rots quickly" in folded[0][1] and "Nuthatch Timber" in folded[1][1]
        assert page.count("Larch lasts long in water") == 1 and page.count("[image: png, 30 kB]") == 1
        assert "· summary, written by the program ·" in page and "· meta, written by the program ·" in page
        kinds = {1: "summary", 5: "abandoned branch", 6: "abandoned branch", 10: "sub-agent", 11: "sub-agent"}
        kinds |= {12: "repeated", 14: "summary", 15: "meta"}
        for n in range(1, 19):
            entry = library.read(f"Zen/sessions/{first}/entries/{n}.md").decode()
            told = re.findall(r"^\*\*Kind:\*\* (.*)$", entry, re.MULTILINE)
            assert told == ([kinds[n]] if n in kinds else []), n
        assert "resumed_copy_of" not in json.loads(library.read(f"Zen/sessions/{first}/metadata.json"))
        assert json.loads(library.read(f"Zen/sessions/{copy}/metadata.json"))["resumed_copy_of"] == first
        assert f"](../{first}/session.md)" in library.read(f"Zen/sessions/{copy}/session.md").decode()
        for path, node in library.walk("Zen/sessions"):
            assert not isinstance(node, File) or len(read(node)) == node.attr().size, path


@pytest.mark.claim("PART-4")
def test_a_branch_is_abandoned_although_its_segment_is_closed(tmp_path: Path) -> None:
    def linked(n: int, parent: int) -> str:
        return json.dumps(json.loads(LONG[n]) | {"parentUuid": f"u{parent + 1}" if n else None})

    with library_at(tmp_path / "home") as library:
        library.ontology()
        lines = [linked(n, n - 1) for n in range(400)]
        for more in ([], [linked(400, 99), linked(401, 400)]):
            lines += more
            library.write("Zen/documents/s.jsonl", ("\n".join(lines) + "\n").encode())
            library.settle()
            work(library.context.config, library.stores, Counting())
            page = library.read(f"Zen/sessions/{CLAUDE}/session.md").decode()
            folds = re.findall(r"<summary>Abandoned branch: entries (\d+) to (\d+)</summary>", page)
            assert bool(folds) == bool(more)
        assert (folds[0][0], folds[-1][1]) == ("101", "400") and len(folds) > 1, "one in each segment"
        assert "**Kind:** abandoned branch" in library.read(f"Zen/sessions/{CLAUDE}/entries/101.md").decode()
        assert "**Kind:**" not in library.read(f"Zen/sessions/{CLAUDE}/entries/100.md").decode()
        for path, node in library.walk("Zen/sessions"):
            assert not isinstance(node, File) or len(read(node)) == node.attr().size, path
        pinions = "Which wheel does number {} of the lantern pinions turn?"
        assert any(" 50." in quote for quote in quoted(library, pinions.format(50)))
        assert entries_found(library, "lantern pinions 300") & set(range(300, 302))
        later = "|".join(map(str, range(101, 401)))
        for n in (150, 300):
            assert not any(re.search(rf"\b({later})\b", quote) for quote in quoted(library, pinions.format(n)))


def entries_found(library: Library, words: str) -> set[int | None]:
    page, _ = documents(library.stores, search(library.stores, Path("/nowhere"), words, "", Deadline(10)))
    return {chunk.entry for one in page.documents for chunk in one.matched}


def quoted(library: Library, question: str) -> list[str]:
    return [one.text for one in ask(library.stores, Path("/nowhere"), question, "", Deadline(10)).quotes]


@pytest.mark.parametrize("whole", (gathering.WHOLE, 1))
def test_abandoned_entries_are_found_by_their_words_and_quoted_by_no_answer(
    tmp_path: Path, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "WHOLE", whole)  # 1: a document is read around what was found alone

    def about(wheel: str) -> str:
        made = (
            "The {0} number {1} was carved in {2} by the miller of Bro{0} {1}, and the duke bought it for {1} crowns."
        )
        return "\n\n".join(made.format(wheel, n, 1600 + n) for n in range(20))

    said = (
        *(("user", 0, about("spindle")), ("assistant", 1, about("paddle")), ("user", 2, about("pinion"))),
        *(("user", 1, "The wheel is made of elm."), ("assistant", 4, about("hopper"))),
    )
    lines = [
        json.dumps(json.loads(claude(n, words, role)) | {"parentUuid": f"u{parent}" if parent else None})
        for n, (role, parent, words) in enumerate(said, 1)
    ]
    with library_at(tmp_path / "home") as library:
        library.ontology()
        library.write("Zen/documents/s.jsonl", ("\n".join(lines) + "\n").encode())
        library.settle()
        work(library.context.config, library.stores, Counting())
        assert "**Kind:** abandoned branch" in library.read(f"Zen/sessions/{CLAUDE}/entries/3.md").decode()
        sources = library.stores.graph.sources(library.stores.graph.documents(library.ontology().id)[0].doc_id)
        assert any(one.gated and "wheel is made of elm" in other.full_text for one, other in pairwise(sources)), (
            "what is quoted begins within an abandoned entry"
        )
        for n, wheel in ((1, "spindle"), (2, "paddle"), (3, "pinion"), (5, "hopper")):
            assert n in entries_found(library, f"Bro{wheel}")
            for number in (0, 10, 19):
                quotes = quoted(library, f"Who carved the {wheel} number {number}?")
                assert not any("paddle" in one or "pinion" in one for one in quotes)
                assert any(f"{wheel} number {number} " in one for one in quotes) is (n in (1, 5)), (wheel, number)
