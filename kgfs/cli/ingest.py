"""``kgfs ingest``: deposit files without going through a mount."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from kgfs.app.home import open_deposits, open_stores
from kgfs.cli.finishing import read_owed
from kgfs.cli.options import as_json, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.errors import AWAY, BadInputError, KgfsError
from kgfs.ingest.depositing.deposit import Deposits
from kgfs.ingest.depositing.intake import Ingested, check_source
from kgfs.ingest.depositing.rules import check_path
from kgfs.ingest.keeping.identify import Action
from kgfs.ingest.life.again import owe_again, recognise
from kgfs.settings import STRATEGIES
from kgfs.stores.stores import Stores

ASKED = "reading again was asked for"


@click.command()
@click.argument("files", nargs=-1, required=True, type=Path)
@click.option("--ontology", help="The body of knowledge they belong to; made if there is none.")
@click.option("--as", "as_path", metavar="PATH", help="Where below documents/ the (one) file is put.")
@click.option("--force", is_flag=True, help="Read again what is known already.")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="Read with this strategy, also what is known already.")
@click.option("--no-wait", is_flag=True, help="Return when the bytes are kept; a worker reads them later.")
@click.option(
    "--timeout", type=float, default=0.0, metavar="SECONDS", help="Wait no longer than this; 0 until all is read."
)
@as_json
@with_config
def command(
    config: Config,
    files: tuple[Path, ...],
    ontology: str | None,
    as_path: str | None,
    force: bool,
    strategy: str | None,
    no_wait: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Deposit files into an ontology and read them.

    Works with and without a mount. If a worker is alive it does the reading, else this process does. Files that cannot be
    deposited are named with the reason; the others are kept all the same, and the exit code is that of the first failure.
    Where none can be, nothing is made for them, no ontology and no home either.
    A file whose bytes stand at its path already is skipped, which its line says; --force reads it again.
    While a server is away what was deposited is kept here: after some attempts that ends with 7 or 8, and it is delivered and
    read when the server is back, by a mount or worker. --timeout gives up before, with 8.
    Without --ontology each file must be a document of this home already: a path in a mount, of the garage's view too. With
    --strategy it is read again by that strategy (`kgfs regenerate --help` says what they do); all documents of an
    ontology given at once are read as if for the first time.

    \b
    Example:
      kgfs ingest ~/papers/*.md --ontology Papers
      kgfs ingest notes.txt --ontology Diary --as 2026/november.txt
      find /mnt/garage/sources/Papers -name '*.md' | xargs kgfs ingest --strategy hybrid
    """
    if as_path and len(files) > 1:
        raise BadInputError("--as names the place of one file; several were given.")
    if as_path and not ontology:
        raise BadInputError("--as names a place in an ontology. Say with --ontology in which.")
    if ontology:
        _check(files, as_path)
    with open_stores(config, make=bool(ontology)) as stores, open_deposits(config, stores) as (deposits, _):

        def done(paths: Sequence[Path], progress: Callable[[int], None]) -> Iterable[tuple[Path, Ingested | KgfsError]]:
            if not ontology:
                return _all_known(config, stores, paths, again=force or strategy is not None)
            if as_path:
                return _one_as(deposits, paths[0], ontology, as_path, progress, force=force)
            return deposits.ingest_files(paths, ontology, progress, force=force)

        def ingest(paths: Sequence[Path]) -> list[tuple[Path, KgfsError]]:
            """Deposit, tell of each, and owe its reading; what failed."""
            failed: list[tuple[Path, KgfsError]] = []
            again: list[str] = []
            total = sum(_size(path) for path in paths)
            kept = 0

            def progress(size: int) -> None:
                nonlocal kept
                kept += size
                bar.show(kept, total, "bytes kept")

            with Bar() as bar:
                for path, ingested in done(paths, progress):
                    if isinstance(ingested, KgfsError):
                        failed.append((path, ingested))
                        click.echo(f"kgfs: {ingested}", err=True)
                        continue
                    if ontology and strategy and ingested.doc_id and ingested.decision == Action.SKIP:
                        ingested = replace(ingested, decision=Action.REPROCESS.value, reason=ASKED)
                    _print(path, ingested, as_json)
                    if ingested.doc_id and (strategy or (force and not ontology)):
                        again.append(ingested.doc_id)
            owe_again(stores, again, strategy or "")
            return failed

        failed = ingest(files)
        read = partial(read_owed, config, stores, deposits.settler, timeout, begun=time.monotonic())
        refused = [(path, error) for path, error in failed if not isinstance(error, AWAY)]
        if not no_wait and len(refused) < len(files):  # who gave nothing waits for nobody else's documents
            read()
            if waiting := [path for path, error in failed if isinstance(error, AWAY)]:
                # Their bytes may be read by now; what else was asked nobody knows but this process.
                refused += ingest(waiting)
                read()
            failed = refused
    if failed:
        raise SystemExit(failed[0][1].exit_code)


def _check(files: Sequence[Path], as_path: str | None) -> None:
    """Before a home, or an ontology, is made for them: SystemExit where not one of the files can be deposited."""
    if as_path is not None:
        check_path(as_path)
    refused: list[KgfsError] = []
    for path in files:
        try:
            check_source(path)
        except KgfsError as error:
            refused.append(error)
        else:
            return
    for why in refused:
        click.echo(f"kgfs: {why}", err=True)
    raise SystemExit(refused[0].exit_code)


def _one_as(
    deposits: Deposits, source: Path, ontology: str, as_path: str, progress: Callable[[int], None], *, force: bool
) -> Iterator[tuple[Path, Ingested | KgfsError]]:
    try:
        yield source, deposits.ingest_file(source, ontology, as_path, progress, force=force)
    except KgfsError as error:
        yield source, error


def _all_known(
    config: Config, stores: Stores, files: Iterable[Path], *, again: bool
) -> Iterator[tuple[Path, Ingested | KgfsError]]:
    for path in files:
        try:
            yield path, _known(config, stores, path, again=again)
        except KgfsError as error:
            yield path, error


def _known(config: Config, stores: Stores, path: Path, *, again: bool) -> Ingested:
    """What is said of a file that needs no deposit, since this home has it."""
    found = recognise(config, stores, path)
    if found is None or found.document is None:
        raise BadInputError(f"{path} is no document of this home. Say with --ontology where it belongs.")
    if not stores.journal.names.names_of(found.doc_id):
        return Ingested(found.path, "", Action.SKIP.value, "no path has these bytes any more")
    if found.document.state is State.UNSUPPORTED:
        return Ingested(found.path, "", Action.SKIP.value, f"not read: {found.document.reason}")
    if not again:
        return Ingested(
            found.path, found.doc_id, Action.SKIP.value, "known already; --force or --strategy reads it again"
        )
    return Ingested(found.path, found.doc_id, Action.REPROCESS.value, ASKED)


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
