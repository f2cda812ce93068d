"""``kgfs rebuild``: derive graph and index again."""

from __future__ import annotations

import click

from kgfs.app import api
from kgfs.cli.options import confirm, count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.errors import BadInputError


@click.command()
@click.argument("ontology", required=False, default="")
@click.option("--neo4j", is_flag=True, help="Write the projection to Neo4j anew, and nothing else.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_config
def command(config: Config, ontology: str, neo4j: bool, yes: bool) -> None:
    """Derive graph and index anew from originals, ledger and Readings; of one ONTOLOGY, or of all, as in any case where
    the graph was lost.

    No model is asked, and the tree comes out as it was: names of concepts, numbers of evidence, sizes and times. Works
    while mounted: readers see the former graph until the new one is complete, and a living worker waits meanwhile.
    Where a database is so damaged that it cannot be opened, unmount first.

    With --neo4j all of the graph is written to its Neo4j server again, over what is there.

    \b
    Example:
      kgfs rebuild
      kgfs rebuild Philosophy --yes
      kgfs rebuild --neo4j
    """
    if neo4j:
        if ontology:
            raise BadInputError("--neo4j writes the whole graph: leave the ontology out.")
        if not yes:
            confirm(f"Write the graph to {config.graph.uri} anew?")
        with Bar() as bar:
            api.rebuild_projection(config, lambda done, total: bar.show(done, total, "rows written to Neo4j"))
        return
    what = f"of {ontology}" if ontology else "of all ontologies"
    if not yes:
        confirm(f"Derive graph and index {what} anew?")
    with Bar() as bar:
        done = api.rebuild_home(config, ontology, lambda done, total: bar.show(done, total, "documents derived"))
    click.echo(f"{count(done, 'publication')} carried out again.", err=True)
