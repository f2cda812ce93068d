"""``kgfs concept``: merge concepts, or split a concept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from kgfs.app import api
from kgfs.cli.options import as_json, confirm, count, with_config
from kgfs.config import Config

if TYPE_CHECKING:
    from kgfs.ingest.matching.concepts import Plan


@click.group()
def command() -> None:
    """Merge concepts that are one, split one that is two; what you say is recorded, and matching keeps to it.

    Names are those of directories, as ls concepts shows them. Each is undone by the other. A rebuild gives the same.

    \b
    Example:
      kgfs concept merge Philosophy zen zen-buddhism
      kgfs concept show Philosophy zen
      kgfs concept split Philosophy zen --label "zen garden"
    """


_dry_run = click.option("--dry-run", is_flag=True, help="Print the plan only.")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@command.command()
@click.argument("ontology")
@click.argument("into")
@click.argument("others", nargs=-1, required=True, metavar="OTHER...")
@_dry_run
@_yes
@as_json
@with_config
def merge(
    config: Config, ontology: str, into: str, others: tuple[str, ...], dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Make all that is said of OTHER be said of INTO: mentions, evidence (under new numbers), relationships.

    The directories of the others leave; their names are never given to anything else. From now on their labels mean INTO,
    in documents to come and in those that are read again.

    \b
    Example:
      kgfs concept merge Philosophy zen zen-buddhism zen-school
    """

    def decide(agree: Callable[[Plan], bool]) -> Plan | None:
        return api.merge_concepts(config, ontology, into, others, agree)

    gone = ", ".join(dict.fromkeys(map(_folder, others)))
    question = f"Merge {gone} into {_folder(into)}, so that {gone} goes and {_folder(into)} stays?"
    done = f"Merged into {_folder(into)}: {gone}."
    _decide(decide, lambda _: question, lambda _: done, dry_run=dry_run, yes=yes, as_json=as_json)


@command.command()
@click.argument("ontology")
@click.argument("concept")
@click.option("--label", "labels", multiple=True, help="What documents call it that is another thing. Repeatable.")
@click.option("--document", "documents", multiple=True, help="Whose mentions leave: a path, doc_id or key. Repeatable.")
@click.option("--name", default="", help="The new directory's name, if it is not to be made of the label.")
@_dry_run
@_yes
@as_json
@with_config
def split(
    config: Config,
    ontology: str,
    concept: str,
    labels: tuple[str, ...],
    documents: tuple[str, ...],
    name: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Let mentions leave CONCEPT: those under a label, those of a document, or, with both, those under it there.

    They become the concept that their label stands for, the former one if they were merged, else a new one. With --label
    later mentions of that label follow; with --document those of that document, also in its later versions.

    \b
    Example:
      kgfs concept split Philosophy zen --label "zen garden"
      kgfs concept split Animals python --document Animals/code.txt --name python-language
    """

    def decide(agree: Callable[[Plan], bool]) -> Plan | None:
        return api.split_concept(config, ontology, concept, labels, documents, name, agree)

    def question(planned: Plan) -> str:
        return f"Split that off {_folder(concept)}, which stays, into {_folder(planned.name)}?"

    def done(planned: Plan) -> str:
        return f"Split off {_folder(concept)}: {_folder(planned.name)}."

    _decide(decide, question, done, dry_run=dry_run, yes=yes, as_json=as_json)


@command.command()
@click.argument("ontology")
@click.argument("concept")
@as_json
@with_config
def show(config: Config, ontology: str, concept: str, as_json: bool) -> None:
    """Show which documents speak of CONCEPT, and what they call it.

    \b
    Example:
      kgfs concept show Philosophy zen
    """
    found = api.documents_of_concept(config, ontology, concept)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found]))
        return
    for one in found:
        click.echo(f"{one.label}\t{one.quotes}\t{one.doc_id}\t{', '.join(one.paths)}")


def _folder(name: str) -> str:
    """Return the concept's directory name as ``ls concepts`` shows it."""
    return f"{name.removesuffix('/').removesuffix('.concept')}.concept"


def _decide(
    decide: Callable[[Callable[[Plan], bool]], Plan | None],
    question: Callable[[Plan], str],
    done: Callable[[Plan], str],
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    shown: list[Plan] = []

    def agree(planned: Plan) -> bool:
        shown.append(planned)
        if not dry_run and not yes:
            _print(planned, err=True)
            confirm(question(planned))
        return not dry_run

    carried_out = decide(agree)
    planned = carried_out or shown[0]
    if carried_out:
        click.echo(done(carried_out), err=True)
    if as_json:
        click.echo(json.dumps(_data(planned)))
    elif dry_run or yes:
        _print(planned)


def _data(planned: Plan) -> dict[str, Any]:
    return {
        "concept": planned.name,
        "labels": planned.labels,
        "documents": planned.documents,
        "evidence": planned.evidence,
        "commit_id": planned.word.commit_id,
    }


def _print(planned: Plan, *, err: bool = False) -> None:
    labels = ", ".join(f"'{label}'" for label in planned.labels)
    moved = f"{count(planned.evidence, 'quote')} of {count(planned.documents, 'document')}"
    click.echo(f"{planned.name}: {labels}, with {moved}", err=err)
