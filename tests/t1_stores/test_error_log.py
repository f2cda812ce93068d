"""What is written for people to read when something fails."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kgfs.errors import NoSpaceError, TimedOutError, UnavailableError
from kgfs.stores.error_log import ErrorLog, Trouble


def test_what_fails_again_and_again_is_said_once_while_it_lasts(tmp_path: Path) -> None:
    log = ErrorLog(tmp_path / "deep" / "said.ndjson")
    trouble = Trouble(log, "chores")
    for error in (
        UnavailableError("1"),
        TimedOutError("2"),
        NoSpaceError("3"),
        NoSpaceError("4"),
        UnavailableError("5"),
    ):
        trouble.met(error)
    trouble.over()
    trouble.over()
    trouble.met(UnavailableError("6"))
    reported = [json.loads(line) for line in log.read().splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["at"]) for line in reported)
    assert [(line["where"], line["error"], line["message"]) for line in reported] == [
        ("chores", "UnavailableError", "1"),
        ("chores", "NoSpaceError", "3"),
        ("chores", "UnavailableError", "5"),
        ("chores", "UnavailableError", "6"),
    ]
