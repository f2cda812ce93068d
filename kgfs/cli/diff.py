"""``kgfs diff``: show the changes between two versions of a file."""

from __future__ import annotations

import json

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.render.words import encode


@click.command()
@click.argument("path")
@click.argument("old", type=int, metavar="N")
@click.argument("new", type=int, metavar="M")
@as_json
@with_config
def command(config: Config, path: str, old: int, new: int, as_json: bool) -> None:
    """Show what changed from version N of a file to version M: its text, and the concepts gained and lost.

    Asks no model: what a version was read as is kept, also when the graph does not show it any more. kgfs history tells
    the numbers.

    \b
    Example:
      kgfs diff Notes/zen.txt 1 2
      kgfs diff Notes/zen.txt 1 2 --json
    """
    found, changed = api.difference(config, path, old, new)
    if as_json:
        concepts = {"gained": changed.gained, "lost": changed.lost, "kept": changed.kept}
        about = {"path": f"documents/{found.path}", "ontology": found.ontology.name, "from": old, "to": new}
        body = {**about, "text": changed.text, "why_no_text": changed.why_no_text or None, "concepts": concepts}
        click.echo(json.dumps({**body, "unread": changed.unread}))
        return
    _print(changed)


def _print(changed: api.Difference) -> None:
    if changed.text is None:
        click.echo(f"kgfs: no diff of the texts: {changed.why_no_text}.", err=True)
    else:
        click.echo(encode(changed.text), nl=False)
    for n in changed.unread:
        click.echo(f"kgfs: version {n} was not read, so its concepts are unknown.", err=True)
    if changed.unread:
        return
    for sign, concepts in (("+", changed.gained), ("-", changed.lost)):
        for name in concepts:
            click.echo(f"{sign} concept {name}")
    click.echo(f"concepts: {len(changed.gained)} gained, {len(changed.lost)} lost, {len(changed.kept)} kept")
