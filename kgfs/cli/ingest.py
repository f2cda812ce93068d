"""``kgfs ingest``: deposit files without going through a mount."""

from __future__ import annotations

import json
from pathlib import Path

import click

from kgfs.app import open_deposits, open_stores
from kgfs.cli.finishing import read_owed
from kgfs.cli.options import as_json, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.errors import BadInputError, KgfsError
from kgfs.ingest.intake import Ingested


@click.command()
@click.argument("files", nargs=-1, required=True, type=Path)
@click.option("--ontology", required=True, help="The body of knowledge they belong to; made if there is none.")
@click.option("--as", "as_path", metavar="PATH", help="Where below documents/ the (one) file is put.")
@click.option("--force", is_flag=True, help="Read again what is known already.")
@click.option("--no-wait", is_flag=True, help="Return when the bytes are kept; a worker reads them later.")
@as_json
@with_config
def command(
    config: Config,
    files: tuple[Path, ...],
    ontology: str,
    as_path: str | None,
    force: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Deposit files into an ontology and read them.

    Works with and without a mount. If a worker is alive it does the reading, else this process does. Files that cannot be
    deposited are named with the reason; the others are kept all the same, and the exit code is that of the first failure.
    A file whose bytes stand at its path already is skipped, which its line says; --force reads it again.

    \b
    Example:
      kgfs ingest ~/papers/*.md --ontology Papers
      kgfs ingest notes.txt --ontology Diary --as 2026/november.txt
    """
    if as_path and len(files) > 1:
        raise BadInputError("--as names the place of one file; several were given.")
    failures: list[KgfsError] = []
    with open_stores(config) as stores, open_deposits(config, stores) as (deposits, _):
        total = sum(_size(path) for path in files)
        kept = 0

        def progress(size: int) -> None:
            nonlocal kept
            kept += size
            bar.show(kept, total, "bytes kept")

        with Bar() as bar:
            for path in files:
                try:
                    _print(path, deposits.ingest_file(path, ontology, as_path, progress, force=force), as_json)
                except KgfsError as error:
                    failures.append(error)
                    click.echo(f"kgfs: {error}", err=True)
        if not no_wait:
            read_owed(config, stores)
    if failures:
        raise SystemExit(failures[0].exit_code)


def _size(path: Path) -> int:
    """For the progress bar alone; what is wrong with a file is found out when it is read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _print(source: Path, ingested: Ingested, as_json: bool) -> None:
    if as_json:
        shown = {
            "source": str(source),
            "path": ingested.path,
            "doc_id": ingested.doc_id,
            "decision": ingested.decision,
            "reason": ingested.reason,
        }
        click.echo(json.dumps(shown))
    else:
        click.echo(f"{ingested.path}\t{ingested.doc_id}\t{ingested.decision}\t{ingested.reason}")
