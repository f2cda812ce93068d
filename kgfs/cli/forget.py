"""``kgfs forget``: take documents and what they taught out again."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from kgfs.app.deciding import carry_out_forgetting
from kgfs.app.home import open_deposits, open_stores
from kgfs.cli.confirming import confirm
from kgfs.cli.options import as_json, count, with_config
from kgfs.config import Config
from kgfs.domain.documents import Name
from kgfs.errors import BadInputError, BusyError, KgfsError
from kgfs.ingest.life.forget import Plan, order, plan, unsettled
from kgfs.stores.naming import Found, find_document
from kgfs.stores.stores import Stores

SHOWN = 20
"""Concepts of each kind that the plan names; --json has all."""
NOTED = (
    "What was asked is noted all the same: the files have left, and the rest is done by a mount or kgfs worker once that is over;"
    " kgfs wait waits for it."
)


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="PATH|KEY|ONTOLOGY...")
@click.option("--cascade", type=click.Choice(["none", "orphans", "all"]), default="orphans", show_default=True)
@click.option("--purge", is_flag=True, help="Erase: nothing of the documents is left under the home but their names.")
@click.option("--dry-run", is_flag=True, help="Print the plan only.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
@with_config
def command(
    config: Config, words: tuple[str, ...], cascade: str, purge: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Forget documents: a file, a folder, a whole ontology, a key or a doc_id; several, or - for a list on stdin; with
    --purge also what was removed before, by the path it had.

    A plan is printed first, with all names of each document, since all of them leave. --cascade says what goes with it:
    orphans takes the evidence it gave, and concepts nothing else speaks of; none leaves all knowledge in place, headed
    'original removed'; all takes every concept it speaks of, with the evidence other documents gave, and keeps these
    documents from bringing them back until they are deposited anew. Files go to the trash (kgfs trash); with --purge
    nothing does: all versions of the paths, originals, readings and index entries are erased, which cannot be undone.
    Blocks of the disk are given back, not overwritten, and backups are not touched. What is deposited again, named or
    written before it is carried out, on this machine or another, stays: it is named, and the exit code is 5.

    \b
    Example:
      kgfs forget ~/knowledge/Notes/documents/old.txt
      kgfs forget Notes/drafts --cascade none --dry-run
      find ~/knowledge/Mail -name '*spam*' | xargs kgfs forget --yes
      kgfs forget Notes/documents/letter.txt --purge
    """
    asked_on_stdin = words == ("-",)
    if asked_on_stdin:
        words = tuple(line for line in sys.stdin.read().splitlines() if line)
        if not (yes or dry_run):
            raise BadInputError(
                "With - the list comes from stdin, so nobody can be asked there. Give --yes or --dry-run."
            )
    with open_stores(config, make=False) as stores, open_deposits(config, stores) as (deposits, _):

        def planned_now() -> tuple[Plan, list[Name]]:
            targets = _targets(config, stores, words, purge)
            return plan(stores, targets, cascade, purge=purge), unsettled(stores, targets)

        def told(planned: Plan) -> None:
            if as_json:
                click.echo(json.dumps(_data(planned)))
            else:
                _print(stores, planned)

        def ask() -> None:
            confirm("Erase them for good?" if purge else "Forget them?")

        planned, waiting = planned_now()
        if not (yes and waiting):
            told(planned)
        if waiting and not yes:
            number = count(len(waiting), "file")
            click.echo(
                f"kgfs: {number} waiting to become versions go as what they become; kgfs wait settles them.", err=True
            )
        if dry_run or planned.nothing:
            return
        if not yes:
            ask()
        if waiting:  # nothing is changed before the answer, what a file becomes least of all
            deposits.settler.settle(waiting)
            seen = {name.id for name in planned.names}
            planned, _ = planned_now()
            more = any(name.id not in seen for name in planned.names)
            if yes or more:
                told(planned)
            if more and not yes:
                click.echo("kgfs: with what they became more names leave.", err=True)
                ask()
        ordered = order(deposits, stores, planned)
    try:
        became = carry_out_forgetting(config, ordered, planned)
    except KgfsError as error:
        raise type(error)(f"{error} {NOTED}") from error
    done = "erased" if purge else "forgotten"
    click.echo(f"{count(len(became.forgotten), 'document')} {done}.", err=True)
    if became.standing:
        raise BusyError(
            f"Not {done}: {_some(became.standing)}. Some of it was deposited again, named or written meanwhile. Look, and try again."
        )


def _targets(config: Config, stores: Stores, words: Sequence[str], trashed: bool) -> list[Found]:
    return [find_document(stores, config.run, each, trashed=trashed) for each in words]


def _print(stores: Stores, planned: Plan) -> None:
    for leaving in planned.documents:
        told = f"{count(leaving.versions, 'version')}, {count(leaving.evidence, 'piece')} of evidence"
        click.echo(f"document {leaving.document.doc_id}: {told}")
        for path in leaving.paths:
            click.echo(f"  {path}")
        for path in leaving.trashed:
            click.echo(f"  formerly {path}")
    others = len(planned.names) - sum(len(leaving.paths) for leaving in planned.documents)
    if others > 0:
        click.echo(f"and {count(others, 'name')} that stand for no document (folders, links, empty files)")
    for ontology in planned.ontologies:
        click.echo(f"ontology {ontology.name}")
    if planned.cascade == "none":
        click.echo("their knowledge stays, headed 'original removed'")
    _print_some("concepts that go", [concept.name for concept in planned.gone])
    _print_some("concepts that lose evidence", [f"{concept.name} (-{lost})" for concept, lost in planned.lessened])
    _print_some("documents that lose evidence", [f"{doc_id} (-{lost})" for doc_id, lost in planned.others])
    if planned.nothing:
        click.echo("Nothing to forget.", err=True)


def _print_some(what: str, found: Sequence[str]) -> None:
    if found:
        click.echo(f"{what} ({len(found)}): {_some(found)}")


def _some(found: Sequence[str]) -> str:
    return ", ".join(found[:SHOWN]) + (f", and {len(found) - SHOWN} more" if len(found) > SHOWN else "")


def _data(planned: Plan) -> dict[str, Any]:
    return {
        "cascade": planned.cascade,
        "purge": planned.purge,
        "documents": [
            {
                "doc_id": leaving.document.doc_id,
                "key": leaving.document.key,
                "paths": leaving.paths,
                "trashed": leaving.trashed,
                "versions": leaving.versions,
                "evidence": leaving.evidence,
            }
            for leaving in planned.documents
        ],
        "names": len(planned.names),
        "ontologies": [ontology.name for ontology in planned.ontologies],
        "concepts_gone": [concept.name for concept in planned.gone],
        "concepts_lessened": {concept.name: lost for concept, lost in planned.lessened},
        "other_documents": dict(planned.others),
    }
