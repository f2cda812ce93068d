"""The tree of a home as a list, so that the floor can show the same one."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from kgfs.tree.node import Folder

FILE, FOLDER, LINK = "file", "folder", "link"


@dataclass(frozen=True, slots=True)
class Planned:
    path: str
    """Below the mount, names encoded; folders stand before what is in them."""
    kind: str = FILE
    size: int = 0
    mtime: int = 0


def walk(folder: Folder, path: str, depth: int) -> Iterator[Planned]:
    """What is listed below ``folder``, down to ``depth`` levels."""
    for name, node in folder.entries():
        attr = node.attr()
        below = f"{path}/{name}" if path else name
        if stat.S_ISDIR(attr.mode):
            yield Planned(below, FOLDER, attr.size, attr.mtime)
            if isinstance(node, Folder) and depth > 1:
                yield from walk(node, below, depth - 1)
        else:
            yield Planned(below, LINK if stat.S_ISLNK(attr.mode) else FILE, attr.size, attr.mtime)


def write_plan(path: Path, plan: Sequence[Planned]) -> None:
    path.write_text("".join(json.dumps(astuple(planned)) + "\n" for planned in plan))


def read_plan(path: Path) -> list[Planned]:
    with path.open() as lines:
        return [Planned(*json.loads(line)) for line in lines]
