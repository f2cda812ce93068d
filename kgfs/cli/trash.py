"""``kgfs trash``: list, restore and delete removed files."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from kgfs.app import api
from kgfs.cli.options import as_json, confirm, count, with_config
from kgfs.config import Config
from kgfs.render.words import time_of


@click.group()
def command() -> None:
    """List what was removed, put it back, or empty the trash.

    Removed files are kept for `tree.trash_days` days, those of removed ontologies too.

    \b
    Example:
      kgfs trash list
      kgfs trash restore Notes/documents/a.txt
      kgfs trash empty --older-than 7
    """


@command.command("list")
@as_json
@with_config
def list_(config: Config, as_json: bool) -> None:
    """List removed files, the newest last: id, time, size, path.

    \b
    Example:
      kgfs trash list --json
    """
    for removed in api.removed(config):
        gone = removed.file
        if as_json:
            shown = {"id": gone.id, "path": removed.path, "size": gone.size, "removed_at": time_of(gone.at)}
            click.echo(json.dumps({**shown, "doc_id": gone.doc_id, "version": gone.version, "key": gone.key}))
        else:
            click.echo(f"{gone.id}\t{time_of(gone.at)}\t{gone.size}\t{removed.path}")


@command.command()
@click.argument("words", nargs=-1, required=True, metavar="PATH|ID...")
@click.option("--as", "as_path", default="", metavar="ONTOLOGY/PATH", help="Where the (one) file is put instead.")
@with_config
def restore(config: Config, words: tuple[str, ...], as_path: str) -> None:
    """Put removed files back, with their times, permissions and history.

    What they taught comes back from their Readings; no model is asked. A path is one in a mount, or ONTOLOGY/PATH. Of
    several files that were removed from it the last is meant; the others have ids. A folder, or an ontology, is all that
    was removed below it. What something else stands in the place of is named, and stays.

    \b
    Example:
      kgfs trash restore Notes/documents/a.txt
      kgfs trash restore Notes/documents/drafts
      kgfs trash restore 3121748550315992064 --as Notes/rescued.txt
    """
    if as_path and len(words) > 1:
        raise click.UsageError("--as names the place of one file; several were given.")
    for path in api.restore_removed(config, words, as_path):
        click.echo(path)


@command.command()
@click.option("--older-than", type=click.FloatRange(min=0), default=0.0, metavar="DAYS", help="Only what is older.")
@click.option("--dry-run", is_flag=True, help="Print what would go only.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_config
def empty(config: Config, older_than: float, dry_run: bool, yes: bool) -> None:
    """Give up removed files for good.

    Originals that no path has, now or in its versions, leave the garage. What was read of them stays until it is purged
    (kgfs forget --purge).

    \b
    Example:
      kgfs trash empty --older-than 7
      kgfs trash empty --yes
    """

    def agree(found: Sequence[api.Removed]) -> bool:
        for removed in found:
            click.echo(f"{removed.file.id}\t{removed.path}")
        if found and not (dry_run or yes):
            confirm(f"Give up {count(len(found), 'file')}?")
        return not dry_run

    if emptied := api.empty_trash(config, older_than, agree):
        click.echo(f"{count(emptied, 'file')} given up.", err=True)
