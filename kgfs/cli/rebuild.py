"""``kgfs rebuild``: derive graph and index anew."""

from __future__ import annotations

import click

from kgfs.app import api
from kgfs.cli.confirming import confirm
from kgfs.cli.options import count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config


@click.command()
@click.argument("ontology", required=False, default="")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_config
def command(config: Config, ontology: str, yes: bool) -> None:
    """Derive graph and index anew from originals, ledger and Readings; of one ONTOLOGY, or of all, as in any case where
    the graph was lost.

    No model is asked, and the tree comes out as it was: names of concepts, numbers of evidence, sizes and times. Works
    while mounted: readers see the former graph until the new one is complete, and a living worker waits meanwhile.
    Where a database is so damaged that it cannot be opened, unmount first.

    \b
    Example:
      kgfs rebuild
      kgfs rebuild Philosophy --yes
    """
    what = f"of {ontology}" if ontology else "of all ontologies"
    if not yes:
        confirm(f"Derive graph and index {what} anew?")
    with Bar() as bar:
        done = api.rebuild_home(config, ontology, lambda done, total: bar.show(done, total, "documents derived"))
    click.echo(f"{count(done, 'publication')} carried out again.", err=True)
