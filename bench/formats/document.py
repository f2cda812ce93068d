"""Parse one document and compare it with its truth."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.formats.measures import Share, cells_found, found, headings_found, pages_right, rows_found, words_of
from bench.formats.truths import Truth, truth_of
from kgfs.domain.text import Text
from kgfs.errors import KgfsError
from kgfs.formats.forking import end_parsers
from kgfs.formats.table import parse

FEWEST = 30
SHOWN = 4
"""Misses of a document that ``--verbose`` shows of each kind."""


@dataclass(slots=True)
class Result:
    path: Path
    seconds: float
    peak: int
    """Bytes: the most that the parsing process took."""
    error: str = ""
    words: float = -1.0
    bigrams: float = -1.0
    shares: dict[str, Share] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)


def measured(path: Path) -> Result:
    """Parse a document in this process, which is new, and compare it with its truth."""
    content = path.read_bytes()
    begin = time.perf_counter()
    text, error = None, ""
    try:
        text = parse(path.name, content)
    except KgfsError as failure:
        error = str(failure)
    seconds = time.perf_counter() - begin
    end_parsers()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    result = Result(path, seconds, peak, error)
    try:
        truth = truth_of(path)
    except Exception as failure:  # noqa: BLE001  whatever another library raises: there is no truth, and it is told
        result.error = result.error or f"no truth: {type(failure).__name__}: {failure}"
        return result
    if text is not None:
        compare(result, truth, text)
    return result


def compare(result: Result, truth: Truth, text: Text) -> None:
    wanted = words_of(truth.text)
    if len(wanted) >= FEWEST:
        shown = words_of(text.text)
        readings = [wanted, *([words_of(truth.also)] if truth.also else [])]
        result.words = max(found(each, shown, 1) for each in readings)
        result.bigrams = max(found(each, shown, 2) for each in readings)
    taken = {
        "rows": rows_found(truth, text),
        "headings": headings_found(truth, text),
        "cells": cells_found(truth, text),
        "pages": pages_right(truth, text, "slide" if result.path.suffix == ".pptx" else "page"),
    }
    for name, (share, misses) in taken.items():
        result.shares[name] = share
        result.misses += [f"{name}: {each[:200]}" for each in misses[:SHOWN]]
