"""``kgfs status``: what is kept, what is owed, who works."""

from __future__ import annotations

import json
from typing import Any

import click

from kgfs.app import open_stores
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.knowledge.status import status


@click.command()
@as_json
@with_config
def command(config: Config, as_json: bool) -> None:
    """Show what is kept, what is owed and who works.

    \b
    Example:
      kgfs status
      kgfs status --json | python3 -m json.tool
    """
    with open_stores(config, make=False) as stores:
        found = status(config, stores)
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"home     {found['home']}")
    click.echo(f"worker   {_worker(found['worker'])}")
    for note in found["worker"]["note"].get("notes", ()):
        click.echo(f"         {note}")
    click.echo(f"owed     {found['owed']}")
    for ontology in found["ontologies"]:
        states = ", ".join(f"{count} {state}" for state, count in ontology["documents"].items()) or "no documents"
        read = ", ".join(f"{count} {kind}" for kind, count in ontology["read"].items())
        click.echo(f"{ontology['name']}: {states}; {read}")


def _worker(worker: dict[str, Any]) -> str:
    if not worker["alive"]:
        return "none alive (start one: kgfs worker, or kgfs mount)"
    note = worker["note"]
    return f"alive, pid {note.get('pid')}, {note.get('state')}, extractor {note.get('extractor', 'not loaded yet')}"
