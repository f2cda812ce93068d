"""``kgfs ask``: answer a question from the Sources."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.render.answer_files import answer_md, as_data


@click.command()
@click.argument("words", metavar="QUESTION", nargs=-1, required=True)
@click.option("--ontology", help="Only from this one.")
@click.option(
    "--timeout", type=click.FloatRange(min=1), default=60.0, show_default=True, help="Seconds to wait for the answer."
)
@as_json
@with_config
def command(config: Config, words: Sequence[str], ontology: str | None, timeout: float, as_json: bool) -> None:
    """Answer QUESTION with sentences of the documents, each cited; with a configured language model, as that writes it.

    The same as cat <mount>/ask/'QUESTION'/answer.md, without a mount; links are paths in it. Where the documents do not say, it prints "Not
    found in sources", and the words of the question that stand nowhere near. Filters narrow what is looked at, as in kgfs search. A
    worker that runs (kgfs mount starts one) compares meanings, and asks the language model, before it goes on reading; without it words
    decide alone, and where the model does not answer in time sentences do, as the answer says first. A question that was saved with touch
    shows this answer from now on. --json has the exact quotes with their places.

    \b
    Example:
      kgfs ask "What is a koan?"
      kgfs ask "When was PEP 492 accepted?" --ontology Python --json | python3 -m json.tool
    """
    found = api.ask(config, " ".join(words).encode("utf-8", "replace").decode(), ontology or "", timeout)
    click.echo(json.dumps(as_data(found)) if as_json else answer_md(found, "").decode("utf-8", "replace"), nl=as_json)
