"""``kgfs forget``: remove documents and the knowledge derived from them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kgfs.app import api
from kgfs.cli.options import as_json, confirm, count, with_config
from kgfs.config import Config
from kgfs.errors import BadInputError, BusyError

if TYPE_CHECKING:
    from kgfs.ingest.lifecycle.forget_plan import Plan

SHOWN = 20
"""Number of concepts or documents of each kind that the printed plan names; --json has all."""


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
    written before it is carried out stays: it is named, and the exit code is 5.

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

    def agree(proposal: api.Proposal) -> bool:
        planned, waiting = proposal.plan, proposal.unsettled
        is_last = not waiting
        if dry_run or (is_last if yes else not proposal.settled or proposal.grown):
            click.echo(json.dumps(planned.plain())) if as_json else _print(planned)
        if waiting and not yes:
            number = count(waiting, "file")
            click.echo(
                f"kgfs: {number} waiting to become versions go as what they become; kgfs wait settles them.", err=True
            )
        if dry_run or planned.nothing:
            return False
        if proposal.grown and not yes:
            click.echo("kgfs: with what they became more names leave.", err=True)
        if not yes and (proposal.grown or not proposal.settled):
            confirm("Erase them for good?" if purge else "Forget them?")
        return True

    became = api.forget(config, words, cascade, purge=purge, agree=agree)
    if became is None:
        return
    done = "erased" if purge else "forgotten"
    click.echo(f"{count(len(became.forgotten), 'document')} {done}.", err=True)
    if became.standing:
        raise BusyError(
            f"Not {done}: {_some(became.standing)}. Some of it was deposited again, named or written meanwhile. Look, and try again."
        )


def _print(planned: Plan) -> None:
    parts = [leaving for leaving in planned.documents if not (leaving.paths or leaving.trashed)]
    named = [leaving for leaving in planned.documents if leaving.paths or leaving.trashed]
    for leaving in [*named, *parts[:SHOWN]]:
        amounts = [count(leaving.versions, "version")] if leaving.versions else []
        amounts.append(f"{count(leaving.evidence, 'piece')} of evidence")
        click.echo(f"document {leaving.document.doc_id}: {', '.join(amounts)}")
        for path in leaving.paths:
            click.echo(f"  {path}")
        for path in leaving.trashed:
            click.echo(f"  formerly {path}")
        for path in leaving.part_of:
            click.echo(f"  part {path}")
    if len(parts) > SHOWN:
        rest = sum(leaving.evidence for leaving in parts[SHOWN:])
        click.echo(f"and {count(len(parts) - SHOWN, 'part')} more, {count(rest, 'piece')} of evidence")
    _print_some("parts that stay, others have them", [f"{name} ({others})" for name, others in planned.staying])
    _print_some("files that go, though their documents stay as parts", planned.alone)
    others = len(planned.names) - sum(len(leaving.paths) for leaving in planned.documents) - len(planned.alone)
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
