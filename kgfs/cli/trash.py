"""``kgfs trash``: what was removed, put back or emptied."""

from __future__ import annotations

import json
import time

import click

from kgfs.app.home import open_deposits, open_stores
from kgfs.cli.confirming import confirm
from kgfs.cli.options import as_json, count, with_config
from kgfs.config import Config
from kgfs.ingest.depositing import trash


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
    with open_stores(config, make=False, later=True) as stores:
        for gone in sorted(trash.listed(stores), key=lambda gone: (gone.at, gone.path, gone.id)):
            path = f"{trash.ontology_shown(stores, gone)}/documents/{gone.path}"
            if as_json:
                shown = {"id": gone.id, "path": path, "size": gone.size, "removed_at": gone.at / 1e9}
                click.echo(json.dumps({**shown, "doc_id": gone.doc_id, "version": gone.version, "key": gone.key}))
            else:
                removed = time.strftime("%Y-%m-%d %H:%M", time.localtime(gone.at / 1e9))
                click.echo(f"{gone.id}\t{removed}\t{gone.size}\t{path}")


@command.command()
@click.argument("words", nargs=-1, required=True, metavar="PATH|ID...")
@click.option("--as", "as_path", default="", metavar="ONTOLOGY/PATH", help="Where the (one) file is put instead.")
@with_config
def restore(config: Config, words: tuple[str, ...], as_path: str) -> None:
    """Put removed files back, with their times, permissions and history.

    What they taught comes back from their Readings; no model is asked. A path is one in a mount, or ONTOLOGY/PATH. Of
    several files that were removed from it the last is meant; the others have ids.

    \b
    Example:
      kgfs trash restore Notes/documents/a.txt
      kgfs trash restore 3121748550315992064 --as Notes/rescued.txt
    """
    if as_path and len(words) > 1:
        raise click.UsageError("--as names the place of one file; several were given.")
    with open_stores(config, make=False) as stores, open_deposits(config, stores) as (deposits, _):
        for each in words:
            click.echo(trash.restore(deposits, stores, trash.find(stores, config.run, each), as_path))


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
    before = time.time_ns() - int(older_than * trash.DAY)
    with open_stores(config, make=False) as stores, open_deposits(config, stores) as (deposits, _):
        found = list(trash.listed(stores, before))
        for gone in found:
            click.echo(f"{gone.id}\t{trash.ontology_shown(stores, gone)}/documents/{gone.path}")
        if dry_run or not found:
            return
        if not yes:
            confirm(f"Give up {count(len(found), 'file')}?")
        emptied = trash.empty(stores, deposits.settler, before)
        click.echo(f"{count(emptied, 'file')} given up.", err=True)
