"""Columns of the graph's tables for readers that query the file: which are filled today, and why others are empty."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kgfs.app.home import open_home
from kgfs.config import load
from tests.support.working import Counting, deposit, work

TEXT = (
    "# Mills\n\n" + "\n\n".join(f"The sluice gate of the tide mill {n} is made of oak. " * 9 for n in range(9)) + "\n"
)

MAIL = "the document is no mail"
SESSION = "the document is no transcript"
MEMBER = "the document is part of no other"
NOTHING = "kgfs knows nothing that would be this"

EMPTY = {
    "document": {
        "parent_id": MEMBER,
        **dict.fromkeys(("email_subject", "email_participants", "email_initiator", "email_message_count"), MAIL),
        **dict.fromkeys(("email_date_start", "email_date_end", "message_id", "thread"), MAIL),
        **dict.fromkeys(("session_id", "interface", "entry_count", "first_entry", "first_at", "last_at"), SESSION),
        **dict.fromkeys(("entry_sizes", "conversation_size"), SESSION),
        **dict.fromkeys(("attachment_content_type", "attachment_size_bytes"), MEMBER),
        "error_message": "what cannot be read does not stand in the graph",
        "superseded_by": "what was superseded does not stand in the graph",
        "shard_origin": NOTHING,
        "dimensions": "it is no picture",
        "guessed_encoding": "it is UTF-8",
        "dated": "its first fields have no date",
        "hidden_by": "its successor's text is not shown yet",
        "project": NOTHING,
    },
    "source": {
        "page_number": "text has no pages",
        "gated": "the gate let it pass",
        "embedding_text": "the text itself was embedded",
    },
}
ZERO = {
    "document": {"depth": 0, "path": "[]", "pages": 0},
    "source": {"chunk_index": 0, "char_start": 0, "byte_start": 0, "overlap_chars": 0},
}
"""Values of a document that is part of no other, and of its first Source."""


def rows(home: Path, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(load(home).graph_db)) as graph:
        graph.row_factory = sqlite3.Row
        columns = {found["name"] for found in graph.execute(f"PRAGMA table_info({table})")}
        found = [dict(row) for row in graph.execute(f"SELECT * FROM {table} ORDER BY key")]
    assert all(row.keys() == columns for row in found)
    return found


def test_every_column_is_filled_or_has_a_reason(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGFS_PIPELINE_CHUNK_TOKENS", "120")
    config = load(home)
    with open_home(config) as stores:
        deposit(config, stores, tmp_path, mill="An earlier version.\n")
        work(config, stores, Counting())
        [ontology] = stores.catalog.names.ontologies()
        [former] = stores.graph.documents(ontology.id)
        deposit(config, stores, tmp_path, mill=TEXT)
        work(config, stores, Counting())
    [document] = rows(home, "document")
    sources = rows(home, "source")
    for table, row in (("document", document), ("source", sources[0])):
        for column, value in row.items():
            if column in EMPTY[table]:
                assert value in (None, "", "{}"), f"{table}.{column} is filled now: take it out of EMPTY"
            elif column in ZERO[table]:
                assert value == ZERO[table][column], column
            else:
                assert value, f"{table}.{column} is empty"
    doc_id = document["doc_id"]
    assert len(sources) > 2
    assert (document["file_path"], document["file_name"]) == ("documents/mill.txt", "mill.txt")
    assert (document["root_id"], document["version"], document["supersedes"]) == (doc_id, 2, former.doc_id)
    assert document["created_at"] <= document["processed_at"] <= document["updated_at"]
    assert json.loads(document["chunk_ids"]) == [source["chunk_id"] for source in sources]
    assert document["storage_type"] == ("single" if len(sources) == 1 else "chunk")
    for source in sources:
        for column in ("source_title", "source_uri", "source_id", "garage_key", "content_hash"):
            assert source[column] == document[column], column
        for column in ("archive_browse_uri", "archive_download_uri"):
            assert source[column] == document[column], column
            assert source[column].startswith(f"archive/{doc_id}/")
        before = TEXT[: source["char_start"]]
        assert source["paragraph"] == len([part for part in before.split("\n\n") if part.strip()]) + 1
