"""What the parsers of documents find, by format: against other programs, with time and memory.

    python -m bench.formats DIR

DIR has one folder a row of the table (``pdf/``, ``pdf-rtl/``, ``docx/`` …). The truth is pdftotext for PDF, pandoc for
DOCX, ODT and EPUB, python-pptx, openpyxl, Beautiful Soup with html5lib for HTML, csv; or a file ``NAME.truth`` beside
``NAME``, as scans have. Documents of fewer than thirty words by that truth have no part in the shares of words.
``bench/documents.tsv`` lists the documents of docs/formats.md; ``--list`` prints the folder, name and SHA-256 of those in
DIR.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from bench.formats.document import Result, measured


def _line(name: str, results: list[Result]) -> str:
    read = [result for result in results if result.words >= 0]
    refused = sum(1 for result in results if result.error)
    parts = [f"{name:10} {len(results):4} {refused:3}"]
    for kind in ("words", "bigrams"):
        values = [getattr(result, kind) for result in read]
        parts.append(f"{statistics.mean(values):.3f}" if values else "-")
    for kind in ("rows", "cells", "headings", "pages"):
        shares = [result.shares.get(kind, (0, 0)) for result in results]
        wanted = sum(share[1] for share in shares)
        parts.append(f"{sum(share[0] for share in shares) / wanted:.4f}/{wanted}" if wanted else "-")
    times = [result.seconds * 1000 for result in results]
    parts.append(f"{statistics.median(times):.0f} {max(times):.0f}")
    parts.append(str(max(result.peak for result in results) >> 20))
    return " ".join(parts)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--list", action="store_true")
    options.add_argument("--only", nargs="*", help="folders to take")
    options.add_argument("--verbose", action="store_true", help="each document, and what it misses")
    given = options.parse_args()
    folders = sorted(
        path for path in given.folder.iterdir() if path.is_dir() and path.name in (given.only or [path.name])
    )
    if given.list:
        for folder in folders:
            for path in sorted(folder.iterdir()):
                print(folder.name, path.name, hashlib.sha256(path.read_bytes()).hexdigest(), sep="\t")
        return
    print("folder documents refused words bigrams rows cells headings pages p50_ms max_ms peak_MiB")
    for folder in folders:
        paths = sorted(path for path in folder.iterdir() if path.suffix != ".truth")
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
            results = list(pool.map(measured, paths))
        print(_line(folder.name, results), flush=True)
        if given.verbose:
            for result in sorted(results, key=lambda each: each.bigrams):
                shares = " ".join(f"{kind} {a}/{b}" for kind, (a, b) in result.shares.items() if b)
                print(f"    {result.bigrams:.3f} {result.words:.3f} {result.path.name} {shares} {result.error}")
                for miss in result.misses:
                    print(f"        {miss}")


if __name__ == "__main__":
    main()
