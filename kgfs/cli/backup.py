"""``kgfs backup``: make a verified copy of a home, which may be in use."""

from __future__ import annotations

from pathlib import Path

import click

from kgfs.app import api
from kgfs.cli.options import count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config


@click.command()
@click.argument("folder", metavar="DIR", type=Path)
@click.option(
    "--keep", type=click.IntRange(min=1), default=7, show_default=True, help="How many snapshots stay in DIR."
)
@with_config
def command(config: Config, folder: Path, keep: int) -> None:
    """Back a home up to DIR, which may be on another disk; works while mounted and reading.

    The first time copies everything, later ones what is new; each makes a snapshot that kgfs restore can bring back.
    Everything copied is verified by its hash. Graph and index are not copied: a restore derives them. What was purged
    from the home stays in older snapshots; --keep 1 drops those.

    \b
    Example:
      kgfs backup /media/disk/kgfs
    """
    with Bar() as bar:
        done = api.back_up_home(config, folder, keep, lambda done, total: bar.show(done, total, "objects"))
    click.echo(done.name)
    click.echo(f"{count(done.objects, 'object')}, {done.copied} of them new.", err=True)
    for key in done.rotten:
        click.echo(f"kgfs: {key} is not what was kept, so it was not backed up. Run kgfs check --deep.", err=True)
    if done.rotten:
        raise SystemExit(7)
