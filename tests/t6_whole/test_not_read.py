"""What was not read is named, with the reason, by the verbs that wait and by the page of the ontology."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.running import Place


@pytest.mark.models
def test_what_was_not_read_is_named(home: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Reference counting is a form of garbage collection.")
    (tmp_path / "program.bin").write_bytes(bytes(range(256)) * 8)
    files = [tmp_path / "note.txt", tmp_path / "program.bin"]
    place = Place(home, tmp_path / "mnt")
    reported = place.run("ingest", *files, "--ontology", "Mixed")
    assert reported.stderr.startswith("Not read: Mixed/program.bin: ") and reported.stderr.count("\n") == 1
    assert reported.stderr.count("program.bin") == 1  # the parser's error names its file too
    assert place.run("wait").stderr == reported.stderr
    reason = reported.stderr.partition("program.bin: ")[2].strip()
    page = json.loads(place.run("status", "--json").stdout)
    assert [(one["path"], one["reason"]) for one in page["not_read"]] == [("Mixed/program.bin", reason)]
    assert f"not read Mixed/program.bin: {reason}" in place.run("status").stdout
