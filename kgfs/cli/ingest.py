"""``kgfs ingest``: deposit files without a mount."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from kgfs.app import api
from kgfs.cli.options import as_json, count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.errors import BadInputError, KgfsError
from kgfs.settings import STRATEGIES


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
@click.option("--watch", is_flag=True, help="FILES are folders: keep the ontology in step with them until stopped.")
@click.option("--once", is_flag=True, help="With --watch: bring it in step once, and return.")
@click.option("--confirm-removals", is_flag=True, help="With --watch: remove what was held back after a loss of files.")
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
    watch: bool,
    once: bool,
    confirm_removals: bool,
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

    In place of a folder the transcripts of Claude Code and Codex below it are deposited, at their paths below the folder; without
    --ontology in the ontology Sessions.

    With --watch the files of a folder are taken as they are added and changed, renamed as they are renamed, and put into the
    trash as they are removed, until SIGINT or SIGTERM; --as names a folder below documents/ for them. Names with a dot, and what
    .gitignore and .kgfsignore name, are left out; a file that is being written is waited for. A folder that is gone, is
    empty all at once, lies on another filesystem or loses more than half of its files removes nothing until that is confirmed.
    Where no worker lives one is started. `watch.folders` in the configuration has a worker do the same.

    \b
    Example:
      kgfs ingest ~/papers/*.md --ontology Papers
      kgfs ingest notes.txt --ontology Diary --as 2026/november.txt
      kgfs ingest ~/.claude/projects ~/.codex/sessions
      kgfs ingest --watch ~/vault --ontology Notes
      find /mnt/garage/sources/Papers -name '*.md' | xargs kgfs ingest --strategy hybrid
    """
    if watch:
        _watch(config, files, ontology or "", as_path or "", as_json, once=once, confirmed=confirm_removals)
        return
    if once or confirm_removals:
        raise BadInputError("--once and --confirm-removals go with --watch.")
    asked = api.Deposit(ontology or "", as_path or "", force, strategy or "", wait=not no_wait, timeout=timeout)
    sources, asked = api.with_transcripts(files, asked)
    if refused := api.check_deposit(sources, asked):
        for why in refused:
            click.echo(f"kgfs: {why}", err=True)
        raise SystemExit(refused[0].exit_code)

    def tell(path: Path, ingested: api.Ingested | KgfsError) -> None:
        if isinstance(ingested, KgfsError):
            click.echo(f"kgfs: {ingested}", err=True)
        else:
            _print(path, ingested, as_json)

    missed: list[str] = []
    with Bar() as bar:
        failed = api.ingest(config, sources, asked, tell, bar.show, missed.append)
    for line in missed:
        click.echo(f"Not read: {line}", err=True)
    if failed:
        raise SystemExit(failed[0][1].exit_code)


def _watch(
    config: Config,
    folders: Sequence[Path],
    ontology: str,
    into: str,
    as_json: bool,
    *,
    once: bool,
    confirmed: bool,
) -> None:
    if not ontology:
        raise BadInputError("--watch wants --ontology, the body of knowledge that is kept in step.")
    watches = [api.watched(folder, ontology, into) for folder in folders]
    if confirmed:
        elsewhere = [api.confirm_removals(config, one) for one in watches]
        if all(elsewhere):
            click.echo("The process that watches it removes what was held back at its next scan.", err=True)
            return

    taken: Counter[str] = Counter()

    def tell(path: str, result: api.Ingested | KgfsError) -> None:
        if isinstance(result, KgfsError):
            click.echo(f"kgfs: {result}", err=True)
        else:
            taken[result.decision if result.decision in ("moved", "removed") else "taken"] += 1
            _print(Path(path), result, as_json)

    def on_signals(stop: Callable[[], None]) -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: stop())

    in_step = api.watch_in_foreground(
        config,
        watches,
        tell,
        lambda text: click.echo(f"kgfs: {text}", err=True),
        once=once,
        stoppable=on_signals,
    )
    if once:
        done = ", ".join(f"{count(number, 'file')} {what}" for what, number in sorted(taken.items())) or "nothing to do"
        click.echo(f"{ontology}: {done}{'' if in_step else '; it is not in step: run this again'}", err=True)
        sys.exit(not in_step)


def _print(source: Path, ingested: api.Ingested, as_json: bool) -> None:
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
