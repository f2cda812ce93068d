"""Logs and tables are found by their words, and not read as prose."""

from __future__ import annotations

import pytest

from kgfs.formats.table import parse
from kgfs.ingest.reading.as_prose import prose_only, prose_told
from kgfs.ingest.reading.passages import language_told

LINES = [
    "2026-03-01 12:00:00,123 INFO [db.pool] The connection pool is exhausted and requests must wait.",
    "2026-03-01T12:00:01Z Connection to database lost, retrying",
    "Mar  1 12:00:02 harbour sshd[17]: Accepted publickey for ada",
    '10.0.0.1 - ada [01/Mar/2026:12:00:03 +0000] "GET / HTTP/1.1" 200 17',
    "[01/Mar/2026:12:00:04 +0000] http.server: Request took 17 ms",
    "12:00:05.123 W/Tide: high water is late",
    "1772366400.5 worker started",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("name", ["server.txt", "output", "tides.log"])
def test_lines_with_time_stamps_are_a_log(line: str, name: str) -> None:
    text = parse(name, f"{line}\n".encode() * 8 + b"Traceback:\n  at f\n")
    assert (text.parser, text.media_type, text.title) == ("log/2", "text/x-log", name)
    assert language_told(text) == "" and prose_told(text.media_type, text.text) == ""
    words = prose_only(text.media_type, text.text)
    assert not words.strip() and len(words) == len(text.text)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-03-01 12:00:00] Ada Lovelace: The engine weaves patterns.",
        "12:00 Ada: The engine weaves patterns.",
        "2026-03-01: the engine arrived.",
        "Ada: The engine weaves patterns.",
    ],
)
def test_what_people_said_at_some_time_is_no_log(line: str) -> None:
    text = parse("talk.txt", f"{line}\n".encode() * 8)
    assert text.media_type == "text/plain"
    assert prose_only(text.media_type, text.text) == text.text


def test_a_table_is_not_read_and_has_the_name_of_its_file() -> None:
    text = parse("sub/people.csv", b"name,remark\nAda,The engine weaves patterns of algebra.\n")
    assert (text.title, language_told(text)) == ("people.csv", "")
    assert not prose_only(text.media_type, text.text).strip()
