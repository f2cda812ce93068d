"""Log files: lines with time stamps. Their words are found; they are not read as prose."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgfs.domain.text import Block
from kgfs.formats.contract import named_by_file, text_format
from kgfs.formats.lines import Line, stretches

MEDIA_TYPE = "text/x-log"
SCANNED = 200
"""Lines from the beginning that tell a log."""
FEWEST = 5
SHARE = 0.6
"""Share of lines with a time stamp from which lines are a log; lines of a stack trace have none."""

_STAMP = re.compile(
    r"""[\[(<"]?(?:\S{1,60}\s(?:\S{1,40}\s){0,2}\[)?
    (?:\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d:\d\d              # 2026-03-01 12:00:00
      |\d{1,2}/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d              # 01/Mar/2026:12:00:00, of a web server
      |[A-Z][a-z]{2}\s{1,2}\d{1,2}\s\d\d:\d\d:\d\d             # Mar  1 12:00:00, of syslog
      |\d\d:\d\d:\d\d[.,]\d{3}                                 # 12:00:00.123
      |\d{10}(?:\.\d+|\d{3})\b)                                # seconds or milliseconds since 1970
    """,
    re.VERBOSE,
)
_SPEAKER = re.compile(r"[^A-Za-z]*[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3}\s?:\s")
"""What stands behind the time in what people said to each other."""
_LEVEL = re.compile(
    r"[^A-Za-z]*(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRIT(?:ICAL)?|FATAL|[TDIWEF])\b", re.IGNORECASE
)


def log_blocks(lines: Sequence[Line]) -> list[Block]:
    """Return one code block for each stretch of lines."""
    return stretches(lines, "code")


def log_signs(start: str) -> int:
    """Return 3 for the beginning of a text most lines of which have a time stamp, and no speaker behind it; else 0."""
    lines = [line for line in start.split("\n", SCANNED)[:SCANNED] if line.strip()]
    stamped = sum(_is_entry(line[:300]) for line in lines)
    return 3 if len(lines) >= FEWEST and stamped >= SHARE * len(lines) else 0


def _is_entry(line: str) -> bool:
    stamp = _STAMP.match(line)
    if stamp is None:
        return False
    rest = line[stamp.end() :]
    return bool(_LEVEL.match(rest)) or not _SPEAKER.match(rest)


FORMAT = text_format("log/2", MEDIA_TYPE, frozenset({"log"}), log_blocks, log_signs, title=named_by_file)
