"""``kgfs search``: find the passages that match some words."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.render.search import Shown, as_data, excerpt, marked, words_of
from kgfs.render.source import Marks


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--ontology", help="Only in this one.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=api.LIMIT, show_default=True, help="At most so many passages."
)
@as_json
@with_config
def command(config: Config, words: Sequence[str], ontology: str | None, limit: int, as_json: bool) -> None:
    """Show the passages that answer WORDS best, by their words and by their meaning.

    The same as cat <mount>/search/'WORDS'/results.md, without a mount. Meaning needs a worker that runs (kgfs mount starts
    one); without it the full text is searched alone. Nothing found is no error: stderr says
    "nothing found", and the exit code is 0.

    \b
    Example:
      kgfs search what do koans do --ontology Zen --limit 5
      kgfs search garbage collection --json | python3 -m json.tool
    """
    asked = " ".join(words).encode("utf-8", "replace").decode()
    page = api.search(config, asked, ontology or "", limit)
    if page.only_text:
        click.echo(f"full text only: {page.only_text}", err=True)
    if as_json:
        click.echo(json.dumps(as_data(page)))
        return
    if not page.hits:
        click.echo("nothing found", err=True)
    marks, wanted = Marks(config.tree.mark_start, config.tree.mark_end), words_of(asked)
    for hit in page.hits:
        section = f"  {' > '.join(hit.section_path)}" if hit.section_path else ""
        click.echo(
            f"{hit.rank}. {hit.ontology}/{hit.path}:{hit.line_start}-{hit.line_end}{section}  ({_found_by(hit)})"
        )
        click.echo(f"   {marked(excerpt(hit.text, wanted), wanted, marks)}".encode("utf-8", "replace").decode())


def _found_by(hit: Shown) -> str:
    """Return how a hit was found, in terms that are meaningful for a single hit.

    Scores, which --json has, only compare the hits of one search: a single hit has score 0.
    """
    words = ["words"] if hit.text_score else []
    return ", ".join(words if hit.cosine is None else [*words, f"meaning {hit.cosine:.3f}"])
