"""The graph of a transcript: which entries were abandoned, which repeat others, and what is left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kgfs.domain.branches import folds_of
from kgfs.domain.transcripts import as_before, entries_of, entry_of, kinds_of
from kgfs.formats.transcript import title_of
from kgfs.render.session import conversation, entry_page

BRANCHES = Path(__file__).parents[1] / "data/sessions/branches.jsonl"

PAGES_BEFORE = [179, 271, 518, 822, 518, 676, 40618, 930, 8746, 555, 693, 931, 477, 753, 507, 705, 267, 109]
CONVERSATION_BEFORE = 2125
"""Bytes of the pages of BRANCHES as the first parser of transcripts made them."""


def line(uuid: str, parent: str | None, content: Any, role: str = "user", **more: Any) -> str:
    message = {"role": role, "content": content, **({"id": more.pop("id")} if "id" in more else {})}
    return json.dumps(
        {"parentUuid": parent, "type": role, "uuid": uuid, "sessionId": "s", "isSidechain": False, "message": message}
        | more
    )


def call(name: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": name, "name": "Bash", "input": {}}]


def result(name: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": name, "content": f"{name} is done"}]


FIRST = [line("u1", None, "Build a kiln."), line("a1", "u1", "It is built.", "assistant")]
PARALLEL = [
    *FIRST,
    line("a2", "a1", call("t1"), "assistant", id="m2"),
    line("a3", "a2", call("t2"), "assistant", id="m2"),
    line("r1", "a2", result("t1")),
    line("r2", "a3", result("t2")),
    line("a4", "r2", "Both are done.", "assistant"),
    line("n1", "a1", "A hook ran.", type="system"),
]
COMPACTED = [*FIRST, line("c1", None, "Earlier: a kiln.", isCompactSummary=True), line("u2", "c1", "Fire it.")]


@pytest.mark.parametrize(
    ("lines", "abandoned"),
    [
        (PARALLEL, []),
        (COMPACTED, []),
        ([*FIRST, line("u2", "lost", "Fire it."), line("a2", "u2", "It burns.", "assistant")], []),
        ([*FIRST, line("u2", None, "Build an oven."), line("a2", "u2", "It stands.", "assistant")], [(1, 2)]),
        ([*FIRST, line("u2", "a1", "Wrong."), "{}", line("x", "u2", "So.", "assistant"), line("u3", "a1", "Right.")], [(3, 5)]),
        ([*FIRST, line("a2", "u1", "Another answer.", "assistant")], [(2, 2)]),
        ([*FIRST, line("u2", "u2", "A ring."), line("u3", "u3", "Another ring.")], []),
        ([one.replace('"parentUuid"', '"parent"') for one in PARALLEL], []),
    ],
    ids=["tools at once", "summary", "lost entry", "first prompt", "a prompt", "an answer", "rings", "no graph"],
)  # fmt: skip
def test_what_was_taken_back_is_abandoned(lines: list[str], abandoned: list[tuple[int, int]]) -> None:
    folds = folds_of(entries_of("\n".join(lines).encode()))
    assert [(each.first, each.last) for each in folds] == abandoned
    assert {each.kind for each in folds} <= {"abandoned branch"}


def test_no_fold_goes_over_a_border_and_entries_of_earlier_segments_are_repeated() -> None:
    lines = [
        *FIRST,
        line("u2", "a1", "One."),
        line("a2", "u2", "Two.", "assistant"),
        line("u3", "a1", "Three."),
        FIRST[1],
    ]
    folds = folds_of(entries_of("\n".join(lines).encode()), (1, 4, 6))
    assert [(each.kind, each.first, each.last) for each in folds] == [
        ("abandoned branch", 3, 3), ("abandoned branch", 4, 4), ("repeated", 6, 6),
    ]  # fmt: skip


def test_lines_of_one_message_are_no_repeats_and_what_the_program_says_is_not_the_users() -> None:
    lines = [
        line("a", None, "One.", "assistant", id="m"),
        line("b", "a", "Two.", "assistant", id="m"),
        line("c", "b", "Two.", "assistant", id="m"),
        line("d", "c", "<local-command-stdout>42</local-command-stdout>"),
        line("e", "d", "<b>Bold</b>"),
        line("f", "e", result("t")),
        line("g", "f", "A quick search.", isSidechain=True),
    ]
    found = list(entries_of("\n".join(lines).encode()))
    assert kinds_of(found) == {3: "repeated", 4: "meta", 7: "sub-agent"}
    assert [entry.who for entry in found] == [
        "assistant",
        "assistant",
        "assistant",
        "meta",
        "user",
        "tool",
        "sub-agent",
    ]
    assert title_of("\n".join([*lines[5:], line("h", "g", "Sweep the floor.")]).encode()) == "Sweep the floor."


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 16_000}}, "[image: png, 12 kB]"),
        ({"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}, "[image: https://x.test/a.png]"),
        ({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}}, "[document: pdf, 3 bytes]"),
        ({"type": "input_image", "image_url": "data:image/jpeg;base64,QUI="}, "[image: jpeg, 2 bytes]"),
        ({"type": "image"}, "[image]"),
    ],
)  # fmt: skip
def test_an_image_is_told_by_type_and_size(part: dict[str, Any], shown: str) -> None:
    nested = [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "Look."}, part]}]
    alone, answered = (entry_of(1, line("u", None, content).encode()) for content in ([part], nested))
    assert alone.content == shown and answered.content == f"Look.\n\n{shown}"


def test_pages_of_an_earlier_kgfs_keep_their_sizes() -> None:
    found = list(entries_of(BRANCHES.read_bytes()))
    assert [len(entry_page(as_before(entry))) for entry in found] == PAGES_BEFORE
    assert len(conversation(found, first_form=True)) == CONVERSATION_BEFORE
