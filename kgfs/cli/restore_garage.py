"""``kgfs restore-garage``: restore originals that the garage lost."""

from __future__ import annotations

import click

from kgfs.app import api
from kgfs.cli.options import count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what could be made again, and from what.")
@with_config
def command(config: Config, dry_run: bool) -> None:
    """Make originals again that the garage lost or that rotted there: from the text in the graph, or the same bytes kept
    elsewhere. Only what its SHA-256 proves is put back; what cannot be is listed, with exit code 1.

    \b
    Example:
      kgfs restore-garage --dry-run
    """
    with Bar() as bar:
        found = api.restore_originals(config, dry_run=dry_run, progress=bar.show)
    for key, where in found:
        click.echo(f"{key}\t{where or 'cannot be made again: restore it from a backup'}")
    lost = sum(not where for _, where in found)
    made = "could be made" if dry_run else "made"
    click.echo(f"{count(len(found) - lost, 'original')} {made} again, {lost} lost.", err=True)
    if lost:
        raise SystemExit(1)
