"""``kgfs match``: the Sources that are close in meaning to some words, under all filters."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from kgfs.app import api
from kgfs.cli.options import as_json, with_config
from kgfs.config import Config
from kgfs.errors import BadInputError
from kgfs.render.words import fold

EXCERPT = 200
"""Characters of a Source on its line; --json has all of it."""


@click.command()
@click.argument("words", nargs=-1)
@click.option("--vector", "vector_file", type=Path, help="Compare with the vector in this file instead: a JSON array.")
@click.option("--threshold", type=float, default=api.THRESHOLD, show_default=True, help="The least cosine.")
@click.option("--count", type=click.IntRange(1), default=api.COUNT, show_default=True, help="At most so many.")
@click.option("--ontology", default="", help="Only in this one.")
@click.option("--source-id", default="", help="Only of the document first deposited so: ONTOLOGY_ID/PATH.")
@click.option("--doc-id", default="", help="Only of this document.")
@click.option("--type", "type_", default="", help="An extension, or a part of the media type.")
@click.option("--role", default="", help="Only what has this role.")
@click.option("--domain", default="", help="Only what is of this domain.")
@click.option("--authority", default="", help="Only what has this authority.")
@click.option("--source-variant", default="raw", show_default=True, help="raw (documents' own words) or normalized.")
@click.option("--ingest-version", type=int, help="Only what this version of the ingest logic read.")
@click.option("--path", default="", help="The start of a path in documents/.")
@click.option("--after", default="", help="The document's date or later: 2024, 2024-01, 2024-01-31.")
@click.option("--before", default="", help="Earlier than this.")
@as_json
@with_config
def command(
    config: Config,
    words: Sequence[str],
    vector_file: Path | None,
    threshold: float,
    count: int,
    ontology: str,
    source_id: str,
    doc_id: str,
    type_: str,
    role: str,
    domain: str,
    authority: str,
    source_variant: str,
    ingest_version: int | None,
    path: str,
    after: str,
    before: str,
    as_json: bool,
) -> None:
    """Print the Sources whose meaning is closest to WORDS, of those that all filters allow.

    Every vector is compared, whatever the home's size: nothing that passes the threshold is missed. Needs a worker that runs (kgfs mount
    starts one). --json has chunk_id, doc_id, source_id, content, similarity, source_uri, source_title, section_path, page_number,
    line_from, line_to, document, document_type, locator and where of each. --source-variant normalized finds claims instead of Sources:
    statements of a language model; content is the claim, the place is that of its quote, and claim_id is in --json too.

    \b
    Example:
      kgfs match why does heat flow --threshold 0.4
      kgfs match slower growth --source-variant normalized --role metric
      kgfs match "delegating to a subgenerator" --path peps/ --type rst --count 3 --json
    """
    if bool(words) == (vector_file is not None):
        raise click.UsageError("Give words, or --vector FILE.")
    wanted = " ".join(words).encode("utf-8", "replace").decode() if words else _vector(vector_file)
    chosen = api.MatchFilters(
        ontology=ontology,
        source_id=source_id,
        doc_id=doc_id,
        type=type_,
        role=role,
        domain=domain,
        authority=authority,
        source_variant=source_variant,
        ingest_version=ingest_version,
        path=path,
        after=after,
        before=before,
    )
    found = api.match_chunks(config, wanted, threshold, count, chosen)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found]))
        return
    if not found:
        nearest = api.match_chunks(config, wanted, -1.0, 1, chosen)
        hidden = f": the nearest has {nearest[0].similarity:.3f}, below --threshold {threshold:g}" if nearest else ""
        click.echo(f"nothing found{hidden}", err=True)
    for one in found:
        place = f"  {one.where}" if one.where else ""
        section = f"{place}  {' > '.join(one.section_path)}" if one.section_path else place
        click.echo(
            f"{one.similarity:.3f}  {one.chunk_id}  {one.ontology}/{one.document}:{one.line_from}-{one.line_to}{section}"
        )
        click.echo(f"       {fold(one.content)[:EXCERPT]}".encode("utf-8", "replace").decode())


def _vector(file: Path | None) -> list[float]:
    assert file is not None
    try:
        found = json.loads(file.read_text("utf-8"))
        return [float(value) for value in found]
    except OSError as error:
        raise BadInputError(f"{file}: cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{file}: not a JSON array of numbers ({error}).") from error
