"""Find the transcripts below a folder, such as ``~/.claude/projects`` or ``~/.codex/sessions``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kgfs.app.ingesting import Deposit
from kgfs.domain.names import encode_name
from kgfs.errors import BadInputError
from kgfs.formats.table import format_of

ONTOLOGY = "Sessions"
"""Where the transcripts of a folder go if nothing else is said."""
SAMPLED = 1 << 20
"""Bytes of a file that are read to tell whether it is a transcript."""


def with_transcripts(files: Sequence[Path], asked: Deposit) -> tuple[list[Path], Deposit]:
    """Return the files to deposit, and how: in place of each folder the transcripts below it, at their paths below the
    folder. Folders alone need no ontology: theirs is :data:`ONTOLOGY`.

    A folder without transcripts stays, and its deposit is refused. Raise BadInputError for ``as_path`` with a folder.
    """
    if not any(map(os.path.isdir, files)):  # False where it cannot be told: the deposit says why
        return list(files), asked
    if asked.as_path:
        raise BadInputError("--as names the place of one file; a folder was given.")
    found: list[Path] = []
    named: dict[Path, str] = {}
    for path in files:
        below = list(_below(path)) if os.path.isdir(path) else []  # noqa: PTH112 - False where it cannot be told
        if not below:
            found.append(path)  # the deposit of a folder is refused, and the others go on
            continue
        found += below
        named |= {one: encode_name(os.fsencode(one.relative_to(path))) for one in below}
    only_folders = len(named) == len(found)
    return found, replace(asked, named=named, ontology=asked.ontology or (ONTOLOGY if only_folders else ""))


def _below(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(top) / name
            if name.endswith(".jsonl") and not name.startswith(".") and _is_transcript(path):
                yield path


def _is_transcript(path: Path) -> bool:
    """Return whether a file is one by its content. One that cannot be read is taken for one: its deposit says why."""
    try:
        with path.open("rb") as file:
            start = file.read(SAMPLED)
    except OSError:
        return True
    return format_of(path.name, start).segments is not None
