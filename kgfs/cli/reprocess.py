"""``kgfs reprocess``: read documents again that an older ingest version read, or whose reading failed."""

from __future__ import annotations

import json

import click

from kgfs.app import api
from kgfs.cli.options import as_json, confirm, count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.domain.documents import INGEST_VERSION, INGEST_VERSIONS


@click.command()
@click.argument("ontology", required=False, default="")
@click.option("--target-version", type=int, metavar="N", help=f"What counts as current. [{INGEST_VERSION}]")
@click.option(
    "--failed",
    "only_failed",
    is_flag=True,
    help="Those whose last reading failed, or lacked a program, of any version.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be read and the history of versions only.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--no-wait", is_flag=True, help="Return when the readings are owed; a worker makes them later.")
@as_json
@with_config
def command(
    config: Config,
    ontology: str,
    target_version: int | None,
    only_failed: bool,
    dry_run: bool,
    yes: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Read again all documents, of one ONTOLOGY or of all, that an older ingest version read; with --failed, those whose
    last reading failed, or lacked a program such as tesseract.

    --dry-run shows the written history of ingest versions, how many documents each has read and which would be read
    again. Readings are always made by the newest version. What a document is known for stays until it is read again.

    \b
    Example:
      kgfs reprocess --dry-run
      kgfs reprocess Philosophy --yes
      kgfs reprocess --failed
    """

    def agree(found: api.Outdated) -> bool:
        _print(found, as_json, history=dry_run)
        if found.paths and not (dry_run or yes):
            confirm(f"Read {count(len(found.paths), 'document')} again?")
        return not dry_run

    with Bar() as bar:
        api.reprocess(
            config,
            ontology,
            target_version,
            only_failed=only_failed,
            agree=agree,
            progress=bar.show,
            wait=not no_wait,
        )


def _asked(requests: int) -> str:
    return f"a language model is sent {count(requests, 'request')}" if requests else "no language model is asked"


def _print(found: api.Outdated, as_json: bool, *, history: bool) -> None:
    if as_json:
        versions = [
            {"version": number, "description": version.description, "breaking": version.breaking}
            for number, version in INGEST_VERSIONS.items()
        ]
        page = {"target_version": found.target_version, "versions": versions, "documents": found.paths}
        cost = {"characters": found.characters, "evidence": found.evidence, "seconds": found.seconds}
        click.echo(json.dumps(page | cost | {"requests": found.requests, "embedder": found.embedder}))
        return
    if history:
        click.echo(
            f"{count(len(found.paths), 'document')} would be read again, in about {count(found.seconds, 'second')} of one processor."
            if found.paths
            else "Nothing would be read again."
        )
        for number, version in INGEST_VERSIONS.items():
            note = ", breaks earlier citations" if version.breaking else ""
            current = ", current" if number == INGEST_VERSION else ""
            again = found.read_by.get(number, 0)
            click.echo(f"version {number}{current}: {version.description}{note}; {again} to be read again")
    for path in found.paths:
        click.echo(path)
    if found.paths and history:
        click.echo(
            f"They have {count(found.characters, 'character')}, and {_asked(found.requests)}."
            f" Their {count(found.evidence, 'piece')} of evidence and what rests on them alone go where reading anew does not find"
            " them; what is found again keeps its numbers and names."
        )
    if found.embedder:
        click.echo(
            f"The worker embeds all documents again with {found.embedder}, while nothing else is to do (kgfs status says how far); until then searches go by words.",
            err=True,
        )
    if not (found.paths or history):
        click.echo("Nothing is to be read again.", err=True)
