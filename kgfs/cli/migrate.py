"""``kgfs migrate``: copy a home to other stores."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from kgfs.app import api
from kgfs.cli.options import as_json, count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config


@click.command()
@click.option("--to", type=Path, required=True, metavar="FILE.toml", help="The settings of the new home.")
@click.option("--into", type=Path, metavar="DIR", help="The folder of the new home.  [default: HOME-FILE, beside HOME]")
@click.option("--dry-run", is_flag=True, help="Print the plan only.")
@as_json
@with_config
def command(config: Config, to: Path, into: Path | None, dry_run: bool, as_json: bool) -> None:
    """Copy this home to the stores that FILE.toml names: files or a bucket, SQLite or Neo4j, SQLite or Qdrant, from any to
    any.

    No model is asked: what is kept is copied and proved by its SHA-256, the graph is derived there and compared row by
    row. This home stays as it is, and in use: what comes while most is copied is brought at the end, while its worker and
    its settling wait. What is written here after that is not in the copy. The new home's folder holds what stays on
    this machine (names, working copies, cache) and the settings of FILE.toml; nothing is taken from KGFS_* variables.
    Killed, it goes on where it was when it is repeated.

    \b
    Example:
      kgfs migrate --to servers.toml --dry-run
      kgfs migrate --to servers.toml --into ~/kgfs-on-servers
      kgfs mount --home ~/kgfs-on-servers ~/knowledge
    """
    goal = api.goal_of(config, to, into)
    planned = api.plan_migration(config, goal)
    changed = api.changed_settings(config, goal)
    if as_json:
        places = {"garage": goal.garage_store.store, "graph": goal.graph.store, "vectors": goal.vectors.store}
        click.echo(json.dumps({"into": str(goal.home), **places, **asdict(planned), "changed_settings": changed}))
    else:
        stores = f"garage {goal.garage_store.store}, graph {goal.graph.store}, vectors {goal.vectors.store}"
        click.echo(f"into {goal.home}: {stores}")
        click.echo(f"{count(planned.objects, 'object')} of {planned.bytes} bytes, {count(planned.facts, 'fact')}")
        click.echo(f"{count(planned.documents, 'document')} read, {count(planned.concepts, 'concept')}")
        if planned.unsettled:
            amount = f"{count(planned.unsettled, 'file')} of {planned.unsettled_bytes} bytes"
            click.echo(f"{amount} not settled yet: brought as they are")
        if changed:
            click.echo(f"settings that will be otherwise there: {', '.join(changed)}")
    if dry_run:
        return
    with Bar() as bar:
        api.migrate_home(config, goal, planned, bar.show)
    click.echo(f"Done and proved. Use it with: kgfs mount --home {goal.home} MOUNTPOINT", err=True)
    click.echo(f"{config.home} is as it was; what is written to it from now on is not in the copy.", err=True)
