"""How good the concepts are that kgfs finds: ``python -m bench.quality --keyphrases DIR --documents DIR --home DIR``.

Labelled sets are judged by F1, folders of documents by their titles (``bench.quality.documents``), homes by figures and,
with ``--sheet FILE``, by a sample that a person reads. ``--judged FILE`` counts the judgements of such a sheet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from bench.quality import figures, sheet, trial
from bench.quality.documents import measure_documents
from bench.quality.keyphrases import measure_keyphrases
from bench.quality.pipe import Pipe
from bench.quality.shown import Shown, shown_by
from kgfs.app.home import open_home
from kgfs.config import load
from kgfs.models.grammar import English
from kgfs.settings import Models, Pipeline


def table(result: dict[str, object]) -> str:
    lines: list[str] = []
    if "at" in result:
        lines.append(
            f"{result['set']}: {result['documents']} documents, {result['candidates_per_document']} candidates each"
        )
        lines.append(f"{'':10}{'precision':>10}{'recall':>10}{'F1':>10}")
        at: list[dict[str, float]] = result["at"]  # type: ignore[assignment]
        lines.extend(
            f"{'@' + str(row['k']):10}{row['precision']:10.1f}{row['recall']:10.1f}{row['f1']:10.1f}" for row in at
        )
        return "\n".join(lines)
    for name, value in result.items():
        if name == "relationships_sample":
            continue
        if isinstance(value, list):
            lines.append(f"{name:24} {len(value)}")
            lines.extend(f"    {item}" for item in value[:12])
        else:
            lines.append(f"{name:24} {value}")
    return "\n".join(lines)


def _of_homes(homes: Sequence[Path]) -> Iterator[tuple[dict[str, object], Shown]]:
    for home in homes:
        with open_home(load(home)) as stores:
            yield {"home": home.name}, shown_by(stores)


def _of_folders(folders: Sequence[Path], answers: Path) -> Iterator[tuple[dict[str, object], Shown]]:
    if folders:
        answers.parent.mkdir(parents=True, exist_ok=True)
        pipe = trial.pipe_of(answers)
        for folder in folders:
            yield {"folder": folder.name}, trial.read(pipe, folder)


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option(
    "--keyphrases",
    "sets",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A folder of .txt and .key files, or of such folders. May be given several times.",
)
@click.option(
    "--documents",
    "--peps",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A folder of documents with titles. May be given several times.",
)
@click.option(
    "--home",
    "homes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A home of kgfs whose figures are printed. May be given several times.",
)
@click.option(
    "--folder",
    "tried",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A folder of documents that are read as one ontology, without a home. May be given several times.",
)
@click.option(
    "--answers",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("bench-results/answers.sqlite"),
    show_default=True,
    help="The file that keeps what the models answer about the documents of --folder.",
)
@click.option(
    "--sheet",
    "sheets",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help="A file for a sample of what is shown: one for each --home, then each --folder, in that order.",
)
@click.option(
    "--judged",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A file of judgements, one line an entry: 'C1 good keep good', 'T1 true'.",
)
@click.option(
    "--index",
    "indexes",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    help="A folder of lists of what an index of a document should have: NAME.terms for NAME.md, one term a line.",
)
@click.option("--extractor", default="auto", show_default=True)
@click.option("--embedder", default="auto", show_default=True)
@click.option("--samples", default=50, show_default=True, help="Relationships to list in the JSON file.")
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--json", "out", type=click.Path(dir_okay=False, path_type=Path), default=Path("bench-results/quality.json")
)
def main(
    sets: tuple[Path, ...],
    folders: tuple[Path, ...],
    homes: tuple[Path, ...],
    tried: tuple[Path, ...],
    answers: Path,
    sheets: tuple[Path, ...],
    judged: tuple[Path, ...],
    indexes: tuple[Path, ...],
    extractor: str,
    embedder: str,
    samples: int,
    seed: int,
    out: Path,
) -> None:
    if sheets and len(sheets) != len(homes) + len(tried):
        raise click.UsageError("Give one --sheet for each --home and each --folder.")
    results: list[dict[str, object]] = []

    def add(result: dict[str, object]) -> None:
        results.append(result)
        click.echo(table(result) + "\n")

    pipe = Pipe(Models(embedder=embedder, extractor=extractor), Pipeline()) if sets or folders else None
    if pipe is not None:
        for root in sets:
            for folder in (root, *sorted(root.iterdir())):
                if folder.is_dir() and any(folder.glob("*.key")):
                    add(measure_keyphrases(pipe, folder))
        for folder in folders:
            add(measure_documents(pipe, folder, samples, seed))
    lists = {name: terms for folder in indexes for name, terms in figures.index_lists(folder).items()}
    for place, (name, shown) in enumerate((*_of_homes(homes), *_of_folders(tried, answers))):
        add(name | figures.figures(shown, English()) | figures.index_terms(shown, lists))
        if sheets:
            sheets[place].write_text(sheet.sheet(shown, seed), "utf-8")
    for file in judged:
        add(
            dict[str, object]({"judged": file.name})
            | sheet.judged([line for line in file.read_text("utf-8").splitlines() if line.strip()])
        )
    body = {"extractor": pipe.compute.extractor, "model": pipe.compute.extractor_model} if pipe is not None else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(body | {"results": results}, indent=1, ensure_ascii=False), "utf-8")
    click.echo(f"Written to {out}.")


if __name__ == "__main__":
    main()
