"""What the parsers of documents find: words, bigrams and cells against an independent truth, time and memory.

    python -m bench.formats DIR

DIR has one folder a format (``pdf/``, ``docx/`` …). The truth is pdftotext for PDF and pandoc for DOCX, ODT, EPUB and
HTML, openpyxl for XLSX (all are needed), and the bare XML of slides for PPTX. Documents of fewer than FEWEST words by that
truth are left out. ``bench/documents.tsv`` lists the
documents of the figures in docs/formats.md; ``--list`` prints name and SHA-256 of those in DIR.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import resource
import statistics
import subprocess
import time
import unicodedata
import zipfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from kgfs.domain.text import Text
from kgfs.errors import KgfsError
from kgfs.formats.table import parse

FEWEST = 30
_WORD = re.compile(r"[^\W_]+")
_PANDOC = {"docx": "docx", "odt": "odt", "epub": "epub", "html": "html", "htm": "html"}


@dataclass(frozen=True, slots=True)
class Result:
    path: Path
    text: Text | None
    seconds: float
    peak: int
    """Bytes: the most that any parsing process so far took."""
    error: str = ""


def words_of(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def found(truth: list[str], shown: list[str], size: int) -> float:
    """Return the share of the truth's runs of ``size`` words that are in what is shown, each as often as it is there."""
    wanted = Counter(zip(*(truth[n:] for n in range(size)), strict=False))
    given = Counter(zip(*(shown[n:] for n in range(size)), strict=False))
    return sum((wanted & given).values()) / max(1, sum(wanted.values()))


def truth_of(path: Path) -> str:
    kind = path.suffix[1:].lower()
    if kind == "pdf":
        return _reported("pdftotext", str(path), "-")
    if kind in _PANDOC:
        return _reported("pandoc", "-f", _PANDOC[kind], "-t", "plain", "--wrap=none", str(path))
    if kind == "pptx":
        with zipfile.ZipFile(path) as archive:
            parts = [name for name in archive.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", name)]
            raw = "".join(archive.read(name).decode("utf-8", "replace") for name in parts)
            paragraphs = re.findall(r"<a:p[ >].*?</a:p>", raw, re.S)
            return "\n".join("".join(re.findall(r"<a:t>([^<]*)</a:t>", each)) for each in paragraphs)
    import openpyxl  # pip install openpyxl

    book = openpyxl.load_workbook(path, data_only=True)
    return "\n".join(str(cell) for sheet in book.worksheets for row in sheet.values for cell in row if cell is not None)


def _reported(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, timeout=120, check=False)
    return done.stdout.decode("utf-8", "replace")


def read_all(paths: list[Path]) -> list[Result]:
    results = []
    for path in paths:
        begin = time.perf_counter()
        try:
            text, error = parse(path.name, path.read_bytes()), ""
        except KgfsError as failure:
            text, error = None, str(failure)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        results.append(Result(path, text, time.perf_counter() - begin, peak, error))
    return results


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--list", action="store_true")
    options.add_argument("--verbose", action="store_true", help="each document")
    given = options.parse_args()
    if given.list:
        for path in sorted(given.folder.glob("*/*")):
            print(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), sep="\t")
        return
    print("format documents refused words bigrams worst p50_ms max_ms peak_MiB")
    for folder in sorted(path for path in given.folder.iterdir() if path.is_dir()):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            results = pool.submit(read_all, sorted(folder.iterdir())).result()
        shares: list[tuple[float, float, str]] = []
        refused = []
        for result in results:
            truth = words_of(truth_of(result.path))
            if result.text is None:
                refused.append(result)
            elif len(truth) >= FEWEST:
                shown = words_of(result.text.text)
                shares.append((found(truth, shown, 2), found(truth, shown, 1), result.path.name))
        if shares:
            times = [result.seconds * 1000 for result in results]
            bigrams, words = (statistics.mean(each[n] for each in shares) for n in (0, 1))
            print(
                f"{folder.name:6} {len(shares):4} {len(refused):4} {words:.3f} {bigrams:.3f} {min(shares)[0]:.2f}"
                f" {statistics.median(times):.0f} {max(times):.0f} {max(result.peak for result in results) >> 20}"
            )
        if given.verbose:
            for pair, single, name in sorted(shares):
                print(f"    {pair:.3f} {single:.3f} {name}")
            for result in refused:
                print(f"    refused: {result.error}")


if __name__ == "__main__":
    main()
