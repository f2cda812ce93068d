"""``kgfs reprocess``: read again what an older ingest version read, or what failed."""

from __future__ import annotations

import json
from collections import Counter

import click

from kgfs.app.home import open_stores
from kgfs.cli.confirming import confirm
from kgfs.cli.finishing import read_owed
from kgfs.cli.options import as_json, count, with_config
from kgfs.config import Config
from kgfs.domain.documents import INGEST_VERSION, INGEST_VERSIONS, Document
from kgfs.errors import BadInputError
from kgfs.ingest.life.regenerate import Order, failed, outdated, owe
from kgfs.stores.naming import ontology_called
from kgfs.stores.stores import Stores


@click.command()
@click.argument("ontology", required=False, default="")
@click.option("--target-version", type=int, metavar="N", help=f"What counts as current. [{INGEST_VERSION}]")
@click.option("--failed", "only_failed", is_flag=True, help="Those whose last reading failed, of any version.")
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
    """Read again all documents, of one ONTOLOGY or of all, that an older ingest version read; with --failed, those that
    could not be read.

    --dry-run shows the written history of ingest versions, how many documents each has read and which would be read
    again. Readings are always made by the newest version. What a document is known for stays until it is read again.

    \b
    Example:
      kgfs reprocess --dry-run
      kgfs reprocess Philosophy --yes
      kgfs reprocess --failed
    """
    if only_failed and target_version is not None:
        raise BadInputError("--failed and --target-version choose documents in two ways. Give one of them.")
    target = INGEST_VERSION if target_version is None else target_version
    with open_stores(config, make=False) as stores:

        def choose() -> list[Document]:
            ontologies = stores.journal.names.ontologies()
            if ontology:
                ontologies = [ontology_called(stores, ontology)]
            names = stores.journal.names
            return failed(names, ontologies) if only_failed else outdated(names, ontologies, target)

        chosen = choose()
        _print(stores, chosen, target, as_json, history=dry_run)
        if dry_run or not chosen:
            return
        if not yes:
            confirm(f"Read {count(len(chosen), 'document')} again?")
        reason = "the last reading failed" if only_failed else f"read by an ingest version before {target}"
        owe(stores.journal, choose, Order(reason))
        if not no_wait:
            read_owed(config, stores)


def _print(stores: Stores, chosen: list[Document], target: int, as_json: bool, *, history: bool) -> None:
    paths = [_path(stores, document) for document in chosen]
    if as_json:
        versions = [
            {"version": number, "description": version.description, "breaking": version.breaking}
            for number, version in INGEST_VERSIONS.items()
        ]
        click.echo(json.dumps({"target_version": target, "versions": versions, "documents": paths}))
        return
    if history:
        read = Counter(document.ingest_version for document in chosen)
        for number, version in INGEST_VERSIONS.items():
            note = ", breaks earlier citations" if version.breaking else ""
            current = ", current" if number == INGEST_VERSION else ""
            click.echo(f"version {number}{current}: {version.description}{note}; {read[number]} to be read again")
    for path in paths:
        click.echo(path)
    if not paths:
        click.echo("Nothing is to be read again.", err=True)


def _path(stores: Stores, document: Document) -> str:
    ontology = stores.journal.names.ontology(document.ontology)
    live = [stores.journal.names.path(name.id) for name in stores.journal.names.names_of(document.doc_id)]
    path = next((path for path in live if path), document.source_id.partition("/")[2])
    return f"{ontology.name if ontology else document.ontology}/{path}"
