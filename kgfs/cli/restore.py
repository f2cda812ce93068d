"""``kgfs restore``: create a home from a backup."""

from __future__ import annotations

from pathlib import Path

import click

from kgfs.app import api
from kgfs.cli.options import with_own_config
from kgfs.cli.progress import Bar
from kgfs.config import Config


@click.command()
@click.argument("folder", metavar="DIR", type=Path)
@click.option("--snapshot", default="", help="The one to restore, by its name; without it the newest.")
@with_own_config
def command(config: Config, folder: Path, snapshot: str) -> None:
    """Make the home anew from the backup in DIR; the home must be empty or not there yet.

    Every byte is verified, then graph and index are derived (no model is asked). The tree comes out as it was.

    \b
    Example:
      kgfs restore /media/disk/kgfs --home ~/restored
      ls /media/disk/kgfs/snapshots
    """
    with Bar() as bar:
        manifest = api.restore_home(config, folder, snapshot, bar.show)
    click.echo(f"{config.home} is as it was at {manifest.name}.", err=True)
