"""``kgfs config show``: print every setting in force, as TOML."""

from __future__ import annotations

import json

import click

from kgfs.cli.options import as_json, with_config
from kgfs.config import Config


@click.group()
def command() -> None:
    """Show the configuration: defaults, then config.toml, then KGFS_* variables.

    \b
    Example:
      kgfs config show
      KGFS_PIPELINE_SETTLE=5 kgfs config show --json
    """


@command.command()
@as_json
@with_config
def show(config: Config, as_json: bool) -> None:
    """Print every setting in force.

    \b
    Example:
      kgfs config show
    """
    shown = config.shown()
    if as_json:
        click.echo(json.dumps(shown, indent=2))
        return
    click.echo(f"# home: {shown.pop('home')} (--home or KGFS_HOME)")
    click.echo(f"# file: {shown.pop('file')}")
    for section, values in shown.items():
        click.echo(f"\n[{section}]")
        for key, value in values.items():
            click.echo(f"{key} = {json.dumps(value)}")
