"""What a home notes of its projection, and how far that is behind. Asks no server."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kgfs.config import Config
from kgfs.stores.graph.sqlite import Graph
from kgfs.stores.projection.source import oldest_commit, state_of
from kgfs.stores.run_files import write_note

NOTE = "projection.json"
"""In the run folder."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What the process that writes the projection, or looks at how far another home is with it, knew last."""

    epoch: int = 0
    """The epoch of the home's graph that is wholly on the server."""
    redactions: int = 0
    """The purges of the home's graph that are carried out on the server."""
    at: float = 0.0
    """Unix time when that was so."""
    state: str = ""
    """``following``, ``writing all``, or ``another home writes it``; empty before the first."""
    done: int = 0
    total: int = 0
    """Rows, while all are written."""
    away_since: float | None = None
    """Unix time since when the server cannot be written to; None while it can."""
    away_reason: str = ""


def noted(config: Config) -> Progress:
    """Return what was noted last; nothing where that was lost, or is another version's."""
    try:
        return Progress(**json.loads(_note(config).read_text()))
    except (OSError, ValueError, TypeError):
        return Progress()


def note(config: Config, **changes: Any) -> None:
    """Note what changed. NoSpaceError or StoreError where the disk does not take it."""
    before = noted(config)
    if (after := replace(before, **changes)) != before:
        write_note(_note(config), asdict(after))


def projection_page(config: Config, graph: Graph) -> dict[str, Any] | None:
    """Return what ``kgfs status`` says; None where the graph is not projected. Quick.

    ``commits`` are those of the home's graph that are not on the server, ``seconds`` is how long the oldest of them waits.
    ``purges`` are owed: carried out here, and not there yet.
    """
    if config.graph.store != "neo4j":
        return None
    known = noted(config)
    with graph.whole() as sql:
        state = state_of(sql)
        oldest = oldest_commit(sql, known.epoch)
    behind = max(0, state.epoch - known.epoch)
    waiting_since = max(known.at, oldest / 1e9) if oldest else known.at
    return {
        "server": config.graph.uri,
        "state": known.state,
        "commits": behind,
        "seconds": round(max(0.0, time.time() - waiting_since), 1) if behind else 0.0,
        "purges": max(0, state.redactions - known.redactions),
        "done": known.done,
        "total": known.total,
        "away_since": known.away_since,
        "away_reason": known.away_reason,
    }


def metrics_text(config: Config, graph: Graph) -> str:
    """Return the lines of ``.kgfs/metrics.prom``; none where the graph is not projected."""
    page = projection_page(config, graph)
    if page is None:
        return ""
    gauges = {
        "kgfs_neo4j_behind_commits": ("Commits of the graph that are not on its Neo4j server.", page["commits"]),
        "kgfs_neo4j_behind_seconds": ("How long the oldest of them waits.", page["seconds"]),
        "kgfs_neo4j_purges_owed": ("Purges that are not carried out there.", page["purges"]),
        "kgfs_neo4j_away": ("Whether the server cannot be written to.", int(page["away_since"] is not None)),
    }
    lines = [
        (f"# HELP {name} {what}", f"# TYPE {name} gauge", f"{name} {value}") for name, (what, value) in gauges.items()
    ]
    return "".join(f"{line}\n" for some in lines for line in some)


def _note(config: Config) -> Path:
    return config.run / NOTE
