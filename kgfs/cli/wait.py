"""``kgfs wait``: wait until the backlog is empty."""

from __future__ import annotations

import click

from kgfs.app import api
from kgfs.cli.options import with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config


@click.command()
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Give up after this long; 0 waits for ever.",
)
@with_config
def command(config: Config, timeout: float) -> None:
    """Wait until everything that was written has become knowledge, and what was forgotten has left it.

    Names the newest files that were not read since the last wait, and why (`kgfs status` names older ones). Asks for settling at once instead of after the quiet time. Says on stderr what the worker waits for while it stands still: a
    server that does not answer, with the setting to look at. Exit codes: 0 all done (unsupported formats are not a
    failure), 1 some of these failed, 8 timed out while a worker is alive, 9 work is owed and no worker is alive.

    \b
    Example:
      cp *.txt ~/knowledge/Notes/documents/ && kgfs wait --timeout 600
    """
    missed: list[str] = []
    try:
        with Bar() as bar:
            api.wait(
                config,
                timeout,
                bar.show,
                lambda reason: click.echo(f"The worker waits: {reason}", err=True),
                missed.append,
            )
    finally:
        for line in missed:
            click.echo(f"Not read: {line}", err=True)
