"""``kgfs claim``: merge claims, or split a claim."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.render.words import fold

if TYPE_CHECKING:
    from kgfs.stores.graph.vocabulary import Claim


@click.group()
def command() -> None:
    """Merge claims that say the same, or split one that does not; what you say is recorded, and a rebuild gives the same.

    ID is the claim_id in a claim's file, or the digits at the end of the file's name.

    \b
    Example:
      kgfs claim merge 1f0c9a3b 77d2e01c -o Markets
      kgfs claim split 77d2e01c -o Markets
    """


_ontology = click.option("-o", "--ontology", required=True, help="The ontology of the claims.")


@command.command()
@click.argument("claim", metavar="ID")
@click.argument("into", metavar="INTO_ID")
@_ontology
@as_json
@with_config
def merge(config: Config, claim: str, into: str, ontology: str, as_json: bool) -> None:
    """Make all evidence of the claim ID that of INTO_ID: they say the same, and are of one role.

    It holds for documents to come as well. To undo it, split INTO_ID.

    \b
    Example:
      kgfs claim merge 1f0c9a3b 77d2e01c -o Markets
    """
    one, other = api.merge_claims(config, ontology, claim, into)
    if as_json:
        click.echo(json.dumps({"claim_id": one.shown.claim_id, "into": other.shown.claim_id}))
    else:
        click.echo(f"Merged into {_told(other)}\n  {_told(one)}", err=True)


@command.command()
@click.argument("claim", metavar="ID")
@_ontology
@as_json
@with_config
def split(config: Config, claim: str, ontology: str, as_json: bool) -> None:
    """Make the evidence that each document has of the claim ID a claim of its own.

    \b
    Example:
      kgfs claim split 77d2e01c -o Markets
    """
    parts = api.split_claim(config, ontology, claim)
    if as_json:
        click.echo(json.dumps([{"claim_id": part.shown.claim_id, "doc_id": part.shown.doc_id} for part in parts]))
    else:
        click.echo("".join(f"{_told(part)}\n" for part in parts), err=True, nl=False)


def _told(claim: Claim) -> str:
    return f"{claim.shown.claim_id}  {fold(claim.shown.claim)}".encode("utf-8", "replace").decode()
