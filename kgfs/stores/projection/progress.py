"""What a home notes of its projection, and how far that is behind. Asks no server."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from kgfs.config import Config
from kgfs.render.words import time_of
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.projection.source import oldest_commit, state_of
from kgfs.stores.run_files import write_note

NOTE = "projection.json"
"""In the run folder."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the process that writes the projection knew last."""

    epoch: int = 0
    """The epoch of the home's graph that is wholly on the server."""
    redactions: int = 0
    """The purges of the home's graph that are carried out on the server."""
    at: float = 0.0
    """Unix time when that was so."""
    state: str = ""
    """``following`` or ``writing all``; empty before the first."""
    done: int = 0
    total: int = 0
    """Rows, while all are written."""
    away_since: float | None = None
    """Unix time since when the server cannot be written to; None while it can."""
    away_reason: str = ""


def noted(config: Config) -> Progress:
    """Return what was noted last; nothing where that was lost, or is another version's."""
    try:
        return Progress(**json.loads((config.run / NOTE).read_text()))
    except (OSError, ValueError, TypeError):
        return Progress()


def note(config: Config, **changes: Any) -> None:
    """Note what changed. NoSpaceError or StoreError where the disk does not take it."""
    before = noted(config)
    if (after := replace(before, **changes)) != before:
        write_note(config.run / NOTE, asdict(after))


def projection_page(config: Config, graph: Graph) -> dict[str, Any] | None:
    """Return what ``kgfs status`` says; None where the graph is not projected. Quick.

    ``commits`` are those of the home's graph that are not on the server, ``seconds`` is how long the oldest of them waits.
    ``purges`` are owed: carried out here, and not there yet.
    """
    if config.graph.store != "neo4j":
        return None
    known = noted(config)
    with graph.whole() as sql:
        state, oldest = state_of(sql), oldest_commit(sql, known.epoch)
    behind = max(0, state.epoch - known.epoch)
    return {
        **{name: value for name, value in asdict(known).items() if name not in ("epoch", "redactions", "at")},
        "away_since": time_of(int(known.away_since * 1e9)) if known.away_since is not None else None,
        "server": config.graph.uri,
        "commits": behind,
        "seconds": round(max(0.0, time.time() - max(known.at, oldest / 1e9)), 1) if behind else 0.0,
        "purges": max(0, state.redactions - known.redactions),
    }


def metrics_text(config: Config, graph: Graph) -> str:
    """Return the lines of ``.kgfs/metrics.prom``; none where the graph is not projected."""
    if (page := projection_page(config, graph)) is None:
        return ""
    gauges = {
        "behind_commits": ("Commits of the graph that are not on its Neo4j server.", page["commits"]),
        "behind_seconds": ("How long the oldest of them waits.", page["seconds"]),
        "purges_owed": ("Purges that are not carried out there.", page["purges"]),
        "away": ("Whether the server cannot be written to.", int(page["away_since"] is not None)),
    }
    lines = "# HELP kgfs_neo4j_{0} {1}\n# TYPE kgfs_neo4j_{0} gauge\nkgfs_neo4j_{0} {2}\n"
    return "".join(lines.format(name, what, value) for name, (what, value) in gauges.items())
