"""``kgfs history``: list the versions of a file."""

from __future__ import annotations

import json

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config


@click.command()
@click.argument("path")
@as_json
@with_config
def command(config: Config, path: str, as_json: bool) -> None:
    """List the versions of a file, oldest first.

    PATH is a path in a mount, ONTOLOGY/PATH, a doc_id or a garage key; of a removed file, the path it had. The bytes of a
    version stand in versions/<path>@/<n>.<ext>; copied back over the file they are its newest version again.

    \b
    Example:
      kgfs history Notes/zen.txt
      kgfs history ~/knowledge/Notes/documents/zen.txt --json
    """
    versions = api.history(config, path)
    if as_json:
        click.echo(json.dumps(versions))
        return
    for version in versions:
        mark = "*" if version["current"] else " "
        words = (
            version["when"],
            f"{version['size']:>9}",
            version["sha256"][:12],
            version["doc_id"] or "-",
            version["state"],
        )
        why = f"  {version['decision']}: {version['reason']}" if version["decision"] else ""
        click.echo(f"{mark} {version['n']:>3}  {'  '.join(words)}{why}")
