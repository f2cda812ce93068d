"""``kgfs ingest FOLDER``: the transcripts below it, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgfs.app.ingesting import ONTOLOGY, Deposit, with_transcripts
from kgfs.errors import BadInputError
from kgfs.ingest.writing.intake import check_source

CLAUDE = json.dumps({"type": "user", "sessionId": "s", "message": {"role": "user", "content": "Hello."}})
CODEX = json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "c"}})


def test_the_transcripts_below_a_folder_are_found_by_their_content(tmp_path: Path) -> None:
    for path, line in {
        "-home-me/a.jsonl": CLAUDE,
        "2026/03/rollout-c.jsonl": CODEX,
        "2026/rows.jsonl": '{"a": 1}',
        "2026/.hidden.jsonl": CLAUDE,
        "notes.txt": CLAUDE,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{line}\n")
    files, asked = with_transcripts([tmp_path], Deposit())
    assert [asked.named[path] for path in files] == ["-home-me/a.jsonl", "2026/03/rollout-c.jsonl"]
    assert asked.ontology == ONTOLOGY
    both, asked = with_transcripts([tmp_path, tmp_path / "notes.txt"], Deposit(ontology="Mine"))
    assert len(both) == 3 and asked.ontology == "Mine" and tmp_path / "notes.txt" not in asked.named


def test_a_folder_without_transcripts_and_a_place_for_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Notes.\n")
    files, asked = with_transcripts([tmp_path], Deposit(ontology="Mine"))
    assert files == [tmp_path]
    assert not asked.named
    with pytest.raises(BadInputError, match="has no transcripts"):
        check_source(tmp_path)
    with pytest.raises(BadInputError, match="--as"):
        with_transcripts([tmp_path], Deposit(ontology="Mine", as_path="a.txt"))
