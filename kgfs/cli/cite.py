"""``kgfs cite``: print the passage that a citation refers to."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.render.words import encode, fold, lines_of


@click.command()
@click.argument("chunk_id")
@click.option("--document", "whole", is_flag=True, help="The whole document of it; a doc_id or a path will do, too.")
@as_json
@with_config
def command(config: Config, chunk_id: str, whole: bool, as_json: bool) -> None:
    """Print the passage that CHUNK_ID was issued for, and where it stands.

    Every chunk_id that a citation.json, a search or an answer ever named is found, also of an earlier version, a forgotten document or
    one that was read anew since. Once the original was emptied from the trash, document, lines and hash stay. Of purged documents nothing
    does.

    \b
    Example:
      kgfs cite 3f2a9c01b7de
      kgfs cite 3f2a9c01b7de --json
      kgfs cite 3f2a9c01b7de --document
    """
    if whole:
        document = api.get_document(config, chunk_id)
        if as_json:
            click.echo(json.dumps(asdict(document)))
        else:
            click.echo(encode(document.content or ""), nl=False)
        return
    found = api.cite(config, chunk_id)
    if as_json:
        click.echo(json.dumps(asdict(found)))
        return
    section = f", {fold(' > '.join(found.section_path))}" if found.section_path else ""
    click.echo(f"{found.ontology}/{found.document}, {lines_of(found.line_start, found.line_end)}{section}")
    click.echo(f"sha256 {found.content_hash}, doc_id {found.doc_id}")
    if found.text is None:
        click.echo(f"The text is gone: {found.reason}.", err=True)
    else:
        click.echo(f"\n{found.text}", nl=not found.text.endswith("\n"))
