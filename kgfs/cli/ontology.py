"""``kgfs ontology``: show and set the domains of an ontology."""

from __future__ import annotations

import json

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.domain.domains import PRESETS, Domains


@click.group()
def command() -> None:
    """Show and set the domains of an ontology. Where some are set, a Source none of whose blocks names a keyword of theirs
    gives no knowledge; its words are found all the same.

    \b
    Example:
      kgfs ontology show Growth
      kgfs ontology set Growth --domain "SEO: ranking, keyword, search engine"
    """


@command.command()
@click.argument("name")
@as_json
@with_config
def show(config: Config, name: str, as_json: bool) -> None:
    """Print the domains of the ontology NAME with their keywords."""
    _print(api.domains(config, name), as_json)


@command.command("set")
@click.argument("name")
@click.option("--domain", "lines", multiple=True, metavar="'NAME: KEYWORD, …'", help="Set this domain (repeatable).")
@click.option("--no-domain", "without", multiple=True, metavar="NAME", help="Take this domain out (repeatable).")
@click.option("--preset", default="", type=click.Choice(["", *PRESETS]), help="Set the domains of a preset.")
@as_json
@with_config
def set_(
    config: Config, name: str, lines: tuple[str, ...], without: tuple[str, ...], preset: str, as_json: bool
) -> None:
    """Change the domains of the ontology NAME. Words are compared by their stems.

    \b
    Example:
      kgfs ontology set Growth --preset business
      kgfs ontology set Growth --domain "SEO: ranking, keyword, search engine" --no-domain SaaS
    """
    if not (lines or without or preset):
        raise click.UsageError("Say what to change: --domain, --no-domain or --preset.")
    _print(api.set_domains(config, name, lines, without, preset), as_json)
    click.echo(f"What was read stays as it is until it is read anew: kgfs reprocess {name}", err=True)


def _print(domains: Domains, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"domains": domains}, ensure_ascii=False))
        return
    for name, keywords in domains.items():
        click.echo(f"{name}: {', '.join(keywords)}")
    if not domains:
        click.echo("No domains are set.", err=True)
