"""``kgfs search``: find the documents, or the passages, that match some words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.domain.places import in_words
from kgfs.render import results as by_document
from kgfs.render.results import DocumentResult, ResultChunk, Results
from kgfs.render.search import ResultPage, Shown, as_data, excerpt, marked, words_of
from kgfs.render.source import Marks


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--ontology", help="Only in this one.")
@click.option(
    "--within",
    multiple=True,
    metavar="WORDS",
    help="Only in the documents of these words, as search/WORDS/… in a mount; may be given again.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, api.MOST),
    help=f"At most so many documents (default {api.LIMIT}), with --passages so many passages (default {api.PASSAGES}).",
)
@click.option("--page", type=click.IntRange(1), default=1, help="The next documents.", show_default=True)
@click.option("--passages", is_flag=True, help="The best passages, also several of one document.")
@click.option(
    "--chunks", type=click.IntRange(1, api.MOST), help="The most passages of a document that are shown (default 3)."
)
@click.option("--no-adjacent", is_flag=True, help="Without the passages beside those found.")
@click.option(
    "--min-score",
    type=click.FloatRange(-1, 1),
    help="The least cosine of what has none of the words (default: see docs/search.md).",
)
@click.option("--rerank", is_flag=True, help="Have the model of models.rerank_url or models.rerank_path rank the best.")
@click.option("--full", is_flag=True, help="With --json: the whole Text of each document, as content.")
@click.option("--no-content", is_flag=True, help="With --json: no text at all, but where it stands.")
@as_json
@with_config
def command(
    config: Config,
    words: Sequence[str],
    ontology: str | None,
    within: tuple[str, ...],
    limit: int | None,
    page: int,
    passages: bool,
    chunks: int | None,
    no_adjacent: bool,
    min_score: float | None,
    rerank: bool,
    full: bool,
    no_content: bool,
    as_json: bool,
) -> None:
    """Show the documents that answer WORDS best, by their words and by their meaning.

    The same as cat <mount>/search/'WORDS'/results.md, without a mount. Meaning needs a worker that runs (kgfs mount starts
    one); without it the full text is searched alone. WORDS may have '"an exact phrase"' and -without, and the filters
    ontology:, path: (the start of a path), type: (md, text/html …), concept:, after: and before: (2024, 2024-01, 2024-01-31; by the
    date in front matter or of a mail, else the time at which the file was last changed). Files and concepts that WORDS name come
    first. Nothing found is no error: stderr says "nothing found", and the exit code is 0. --json has the exact text of each document
    around what was found.

    \b
    Example:
      kgfs search what do koans do --ontology Zen --limit 5
      kgfs search garbage collection --json | python3 -m json.tool
      kgfs search garbage collection --passages
      kgfs search '"garbage collection" -finalizer path:peps/ after:2024-01'
      kgfs search finalizer --within 'garbage collection'
    """
    if passages and page != 1:
        raise click.UsageError("--page turns the pages of documents. For more passages give --limit.")
    if passages and rerank:
        raise click.UsageError("--rerank ranks documents, not passages.")
    if passages and (chunks or no_adjacent):
        raise click.UsageError("--chunks and --no-adjacent say what is shown of a document, not of passages.")
    if (full and no_content) or ((full or no_content) and (passages or not as_json)):
        raise click.UsageError("--full and --no-content each go with --json and documents.")
    asked = _text(" ".join(words))
    outer = [_text(each) for each in within]
    marks = Marks(config.tree.mark_start, config.tree.mark_end)
    found: Results | ResultPage
    data: Callable[[], dict[str, Any]]
    lines: Iterable[str]
    if passages:
        found = api.search_passages(
            config, asked, ontology or "", limit or api.PASSAGES, within=outer, min_score=min_score
        )
        wanted = words_of(found.wanted)
        data, lines = (
            partial(as_data, found),
            (_near(found, hit.rank) + _passage(hit, wanted, marks) for hit in found.hits),
        )
    else:
        found = api.search(
            config,
            asked,
            ontology or "",
            limit or api.LIMIT,
            page,
            within=outer,
            chunks_per_doc=chunks or api.CHUNKS_PER_DOCUMENT,
            include_adjacent=not no_adjacent,
            min_score=min_score,
            rerank=rerank,
        )
        wanted = words_of(found.wanted)
        data, lines = (
            partial(_as_data, config, found, marks, full, no_content),
            (_near(found, one.rank) + _document(one, wanted, marks) for one in found.documents),
        )
    if found.only_text:
        click.echo(f"full text only: {found.only_text}", err=True)
    if as_json:
        click.echo(json.dumps(data()))
        return
    if not (found.documents or found.files if isinstance(found, Results) else found.hits):
        click.echo("nothing found", err=True)
    if isinstance(found, Results):
        if found.meant:
            click.echo(f"did you mean: {', '.join(concept.label for concept in found.meant)}?", err=True)
        for kind, named in (("file", found.files), ("concept", found.named)):
            for one in named:
                click.echo(f"{kind}: {_text(one.path)}")
    for line in lines:
        click.echo(line.encode("utf-8", "replace").decode())
    for claim in found.claims if isinstance(found, Results) and page == 1 else ():
        click.echo(f"claim: {_text(claim['ontology'])}/{claim['file']}\n   {claim['claim']}")
    if isinstance(found, Results) and found.pagination.has_next:
        click.echo(f"more: --page {page + 1}", err=True)


def _near(found: Results | ResultPage, rank: int) -> str:
    return found.near.at(rank) if found.near else ""


def _text(word: str) -> str:
    """Return a word of the command line, which may be any bytes, as text."""
    return word.encode("utf-8", "replace").decode()


def _as_data(config: Config, found: Results, marks: Marks, full: bool, no_content: bool) -> dict[str, Any]:
    page = by_document.as_data(found, by_document.texts_shown(found, marks))
    page["content_included"] = not no_content
    if full:
        from kgfs.models import tokens  # loads a vocabulary

        count = tokens.load().count
    for one in page["results"]:
        if full:
            one["content"] = api.get_document(config, one["doc_id"]).content
            one["is_truncated"] = False
            one["full_token_count"] = count(one["content"])
        if no_content:
            del one["full_content"], one["shown"]
            one["is_truncated"] = True
            for chunk in one["chunks"]:
                del chunk["content"]
    return page


def _document(one: DocumentResult, wanted: frozenset[str], marks: Marks) -> str:
    """Return a document's place, what of it was found, and the excerpt of its best passage."""
    best = one.matched[0]
    section = f"  {' > '.join(best.section_path)}" if best.section_path else ""
    place = f"{one.ontology}/{one.path}{_at(best)}"
    text = marked(excerpt(best.piece.text, wanted), wanted, marks)
    return f"{one.rank}. {place}{section}  ({one.coverage})\n   {text}"


def _at(found: ResultChunk | Shown) -> str:
    """Return the page, slide, row or message of what was found, else the lines of its Source."""
    where = in_words(found.locator)
    return f", {where}" if where else f":{found.line_start}-{found.line_end}"


def _passage(hit: Shown, wanted: frozenset[str], marks: Marks) -> str:
    section = f"  {' > '.join(hit.section_path)}" if hit.section_path else ""
    place = f"{hit.ontology}/{hit.path}{_at(hit)}"
    return f"{hit.rank}. {place}{section}  ({_found_by(hit)})\n   {marked(excerpt(hit.text, wanted), wanted, marks)}"


def _found_by(hit: Shown) -> str:
    """Return how a hit was found, in terms that are meaningful for a single hit.

    Scores, which --json has, only compare the hits of one search: a single hit has score 0.
    """
    words = ["words"] if hit.text_score else []
    return ", ".join(words if hit.cosine is None else [*words, f"meaning {hit.cosine:.3f}"])
