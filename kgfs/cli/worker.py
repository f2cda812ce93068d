"""``kgfs worker``: read the documents of the backlog."""

from __future__ import annotations

import signal
from collections.abc import Callable

import click

from kgfs.app import api
from kgfs.cli.logs import log_to_stderr
from kgfs.cli.options import with_config
from kgfs.config import Config


@click.command()
@click.option("--until-idle", is_flag=True, help="Return when nothing is owed any more.")
@click.option("--while-in-use", is_flag=True, help="End once no mount of the home lives (what a mount starts).")
@with_config
def command(config: Config, until_idle: bool, while_in_use: bool) -> None:
    """Read what is owed: parse, extract, match, commit. Runs until SIGTERM or SIGINT.

    kgfs mount starts a worker by itself; this verb is for a machine without a mount, or a unit of its own.
    One worker works on a home; a second one says so and exits with 5.

    \b
    Example:
      kgfs worker --until-idle
    """
    log_to_stderr()
    api.run_worker(config, until_idle=until_idle, while_in_use=while_in_use, stoppable=_on_signals)


def _on_signals(stop: Callable[[], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop())
