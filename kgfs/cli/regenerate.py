"""``kgfs regenerate``: read a whole ontology again, with another strategy or extractor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from kgfs.app import api
from kgfs.cli.options import as_json, confirm, count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config
from kgfs.errors import BadInputError
from kgfs.models.extractor import table as extractors
from kgfs.settings import STRATEGIES

if TYPE_CHECKING:
    from kgfs.ingest.lifecycle.runs import Plan
    from kgfs.knowledge.compare import Comparison, Difference


@click.command()
@click.argument("ontology")
@click.option("--strategy", type=click.Choice(STRATEGIES), help="Which known concepts a document is compared with.")
@click.option("--extractor", type=click.Choice(extractors.names()), help="Who reads, instead of the configured one.")
@click.option("--compare", "comparing", is_flag=True, help="Read nothing: tell what the last reading changed.")
@click.option("--dry-run", is_flag=True, help="Print the plan only.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--ask-again", is_flag=True, help="Ask the language model again for what it has answered already.")
@click.option("--no-wait", is_flag=True, help="Return when the readings are owed; a worker makes them later.")
@as_json
@with_config
def command(
    config: Config,
    ontology: str,
    strategy: str | None,
    extractor: str | None,
    comparing: bool,
    dry_run: bool,
    yes: bool,
    ask_again: bool,
    no_wait: bool,
    as_json: bool,
) -> None:
    """Read all documents of an ONTOLOGY again, with another strategy or another extractor.

    Prints a plan first and asks. The graph of before serves readers until the new version of each document is there;
    what is killed is resumed. Each document is matched as if the ontology were read for the first time, so the strategy
    decides anew which labels are one concept: `popularity` compares with the concepts most is said of, `random` with any,
    `hybrid` with both. What extractors have answered already is not asked again. --compare tells what the newest
    reading of each document gained, lost and renamed against the one before it.

    \b
    Example:
      kgfs regenerate Philosophy --strategy popularity --dry-run
      kgfs regenerate Philosophy --strategy popularity --yes
      kgfs regenerate --compare Philosophy
    """
    if comparing and (strategy or extractor or dry_run or no_wait or ask_again):
        raise BadInputError("--compare reads nothing; it goes with no other option but --json.")
    if comparing:
        _print_comparison(api.compare_readings(config, ontology), as_json)
        return

    def agree(plan: Plan) -> bool:
        _print_plan(plan, as_json)
        if plan.documents and not (dry_run or yes):
            confirm("Read them again?")
        return not dry_run

    used = api.llm_usage(config)
    with Bar() as bar:
        again = api.regenerate(
            config,
            ontology,
            strategy or "",
            extractor or "",
            agree=agree,
            progress=bar.show,
            wait=not no_wait,
            ask_again=ask_again,
        )
    now = api.llm_usage(config)
    if again and not no_wait and now != used:
        spent = {kind: now["total"][kind] - used["total"].get(kind, 0) for kind in now["total"]}
        click.echo(
            f"The language model used {spent['requests']} requests, {spent['prompt_tokens']} prompt tokens and"
            f" {spent['completion_tokens']} answer tokens; cost {spent['cost']:.4g}.",
            err=True,
        )
    if again and not no_wait:
        click.echo(f"{count(again, 'document')} read again; kgfs regenerate --compare tells how.", err=True)


def _print_plan(plan: Plan, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(plan.plain()))
        return
    seconds = "not measured yet" if plan.seconds is None else f"about {plan.seconds:.0f} s for what is asked"
    if plan.requests:
        seconds = "that of the language model's answers"
    elif plan.chunks == plan.reusable_chunks:
        seconds = "that of parsing, embedding and matching: no extractor is asked"
    unread = f", {plan.unread} never read (estimated)" if plan.unread else ""
    click.echo(f"ontology   {plan.ontology}")
    click.echo(f"strategy   {plan.strategy}")
    click.echo(f"extractor  {plan.extractor}")
    click.echo(f"documents  {plan.documents}{unread}")
    click.echo(f"chunks     {plan.chunks}, {plan.reusable_chunks} answered by Records that are kept")
    click.echo(f"tokens     {plan.tokens}, {plan.reusable_tokens} of them in such chunks")
    click.echo(f"time       {seconds}")
    if plan.extractor.startswith("llm"):
        click.echo(
            f"requests   {plan.requests}, with {plan.prompt_tokens} prompt tokens and about {plan.answer_tokens} answer tokens"
        )
    click.echo(f"cost       {plan.cost:.2f}")


def _print_comparison(found: Comparison, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(found.plain()))
        return
    click.echo(f"{found.ontology}: {count(found.compared, 'document')} compared, {found.uncompared} read only once")
    click.echo(f"before  {'; '.join(found.before) or '-'}")
    click.echo(f"now     {'; '.join(found.now) or '-'}")
    _print_counts(found.whole)
    for named in found.whole.gained:
        click.echo(f"+ {named.name}\t{named.label}")
    for named in found.whole.lost:
        click.echo(f"- {named.name}\t{named.label}")
    for was, became in found.whole.renamed:
        click.echo(f"~ {became.name}\t{was.label} → {became.label}")
    for one in found.whole.rejoined:
        click.echo(f"{one.how} {one.label}\t{one.before} → {one.now}")
    for path, difference in sorted(found.documents.items()):
        click.echo(
            f"{path}: concepts +{len(difference.gained)} -{len(difference.lost)} ~{len(difference.renamed)},"
            f" relationships +{difference.relationships_gained} -{difference.relationships_lost},"
            f" evidence +{difference.evidence_gained} -{difference.evidence_lost}"
        )


def _print_counts(whole: Difference) -> None:
    joined = sum(one.how == "joined" for one in whole.rejoined)
    click.echo(
        f"concepts      {whole.concepts[0]} → {whole.concepts[1]}: {len(whole.gained)} gained, {len(whole.lost)} lost,"
        f" {len(whole.renamed)} renamed; labels: {joined} joined to another, {len(whole.rejoined) - joined} split off"
    )
    for what, numbers, gained, lost in (
        ("relationships", whole.relationships, whole.relationships_gained, whole.relationships_lost),
        ("evidence", whole.evidence, whole.evidence_gained, whole.evidence_lost),
    ):
        click.echo(f"{what:13} {numbers[0]} → {numbers[1]}: {gained} gained, {lost} lost")
