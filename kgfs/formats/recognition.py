"""Recognised text of a picture, by the program ``tesseract`` where it is installed (Apache-2.0)."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from itertools import groupby

from kgfs.errors import UnreadableTextError

MISSING = "recognising text in pictures needs tesseract: apt-get install tesseract-ocr"
NOTHING = "no text was recognised"
SECONDS = 30
"""Seconds of CPU for one page."""
SURE = 40.0
"""Words of which tesseract is less sure, in percent, are left out: it sees such words in patterns and photographs."""
LANGUAGES = 4
"""Of so many languages at most the words are known: each costs time and memory."""

_PR_SET_PDEATHSIG = 1
_WORD = "5"
"""The level of a line of the output that is a word."""


def tesseract() -> str:
    """Return the path of the program; '' if it is not installed."""
    return shutil.which("tesseract") or ""


def languages() -> list[str]:
    """Return the languages to recognise: those that are installed, English first, LANGUAGES at most."""
    done = subprocess.run([tesseract(), "--list-langs"], capture_output=True, check=False)
    found = [line for line in done.stdout.decode("utf-8", "replace").split("\n")[1:] if line and line != "osd"]
    return sorted(found, key=lambda name: (name != "eng", "/" in name, name))[:LANGUAGES]


def paragraphs(picture: bytes, known: list[str], page: int = 0) -> list[str]:
    """Return the recognised paragraphs of a picture, or of one page of a TIFF (from 0), in the order of reading.

    Called in the parser's process: the program inherits its limits, and ends with it. UnreadableTextError if the
    picture cannot be decoded or takes too long.
    """
    words = [tesseract(), "-", "-", "-c", f"tessedit_page_number={page}", "-l", "+".join(known) or "eng", "tsv"]
    done = subprocess.run(
        words,
        input=picture,
        capture_output=True,
        check=False,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        preexec_fn=_confine,
    )
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise UnreadableTextError(f"recognising its text took more than {SECONDS} s of CPU")
    stderr = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        if "bad_alloc" in stderr or "alloc fail" in stderr or "not made" in stderr:
            raise UnreadableTextError("recognising its text needs more memory than a parser may have")
        raise UnreadableTextError(f"damaged: tesseract says '{_complaint(stderr)}'")
    return list(_paragraphs(done.stdout.decode("utf-8", "replace")))


def _confine() -> None:
    """End with the caller's process, and after SECONDS of CPU."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, hard))


def _paragraphs(output: str) -> Iterator[str]:
    rows = (line.split("\t") for line in output.split("\n"))
    words = [row for row in rows if len(row) == 12 and row[0] == _WORD and float(row[10]) >= SURE and row[11].strip()]
    for _, paragraph in groupby(words, key=lambda row: row[1:4]):
        lines = groupby(paragraph, key=lambda row: row[4])
        yield "\n".join(" ".join(row[11].strip() for row in line) for _, line in lines)


def _complaint(stderr: str) -> str:
    """Return the first line that tesseract said about the picture."""
    return next((line.strip() for line in stderr.split("\n") if "rror" in line), "nothing")[:200]
