"""``kgfs records``: show what extractors answered about a document."""

from __future__ import annotations

import json

import click

from kgfs.app import api
from kgfs.cli.options import as_json, count, with_config
from kgfs.config import Config
from kgfs.render.words import time_of


@click.command()
@click.argument("document", metavar="FILE")
@click.option("--show", is_flag=True, help="Print the exact answers, too.")
@as_json
@with_config
def command(config: Config, document: str, show: bool, as_json: bool) -> None:
    """List the Records of a document: every answer of its extractors, exactly as it came.

    FILE is a path in a mount, ONTOLOGY/PATH or a doc_id. A Record is kept before anything reads it, and never changed. Of a
    language model refusals, empty and broken answers are kept, too.

    \b
    Example:
      kgfs records Growth/report.md
      kgfs records Growth/report.md --show
    """
    found = api.records_of(config, document)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    for one in found:
        fields = [one[name] for name in ("extractor", "model", "outcome")]
        tokens = f"{one['prompt_tokens']}+{one['completion_tokens']} tokens"
        reason = [one["reason"]] if one["reason"] else []
        click.echo("\t".join([time_of(one["created_at"]), *fields, tokens, one["key"], *reason]))
        if show:
            click.echo(one["raw_output"])
    click.echo(count(len(found), "Record"), err=True)
