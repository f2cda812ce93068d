"""Decide which files below a folder are ignored, by ``.gitignore`` and ``.kgfsignore`` as git reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".kgfsignore")
"""The files with patterns. Where both match, the later one decides."""


class Ignoring:
    """The patterns of one folder and of all folders above it, up to the watched one. Never changed.

    A pattern of a deeper folder decides before one above it, and the last matching pattern of a folder before the
    others, as in git. What lies in an ignored folder is ignored.
    """

    def __init__(self, levels: Sequence[tuple[str, GitIgnoreSpec]] = ()) -> None:
        """``levels`` are pairs of a folder (relative, ``''`` or with a slash at its end) and its patterns."""
        self._levels = tuple(levels)

    def below(self, folder: Path, relative: str, names: Sequence[str]) -> Ignoring:
        """Return the patterns that hold in ``folder``, whose path below the watched folder is ``relative`` (``''`` or
        with a slash at its end) and which has the entries ``names``. An unreadable file of patterns has none.
        """
        lines = [line for name in IGNORE_FILES if name in names for line in _lines(folder / name)]
        if not lines:
            return self
        return Ignoring((*self._levels, (relative, GitIgnoreSpec.from_lines(lines))))

    def ignores(self, relative: str) -> bool:
        """Tell whether an entry is ignored. ``relative`` is its path below the watched folder, that of a folder with
        a slash at its end."""
        for folder, patterns in reversed(self._levels):
            decided = patterns.check_file(relative[len(folder) :]).include
            if decided is not None:
                return decided
        return False


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return []
