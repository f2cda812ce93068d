"""Phrases that only some documents have, and a search for them in every byte of a home."""

from __future__ import annotations

import os
import random
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

PHRASES = 12
"""Of a document, at most."""
WIDE = 3
"""Of these, how many are looked for in UTF-16 too."""
_WORDS = re.compile(r"[A-Za-z][A-Za-z ,]{22,60}[a-z]")


def phrases(leaving: Mapping[str, Iterable[str]], staying: Iterable[str], seed: int) -> dict[str, list[str]]:
    """For each document those stretches of words, seeded, of any of its texts that no text that stays contains."""
    kept = "\0".join(staying).lower()
    found = {}
    for name, texts in leaving.items():
        own = sorted({match[0].lower() for text in texts for match in _WORDS.finditer(text)})
        alone = [phrase for phrase in own if phrase not in kept]
        random.Random(f"{seed} {name}").shuffle(alone)
        found[name] = alone[:PHRASES]
    return found


def traces(home: Path, wanted: Mapping[str, Iterable[str]]) -> list[str]:
    """``FILE: PHRASE (DOCUMENT)`` wherever one stands in any file of the home, whatever its case."""
    reported = {form: f"{phrase} ({name})" for name, own in wanted.items() for phrase, form in _forms(own)}
    if not reported:
        return []
    with tempfile.NamedTemporaryFile() as patterns:
        patterns.write(b"\n".join(reported))
        patterns.flush()
        found = subprocess.run(
            ["grep", "-raioHZF", "-f", patterns.name, "."],
            cwd=home,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            check=False,
        )
    if found.returncode > 1:
        raise SystemExit(found.stderr.decode())
    hits = (line.split(b"\0", 1) for line in found.stdout.splitlines())
    return sorted({f"{os.fsdecode(file).removeprefix('./')}: {reported[hit.lower()]}" for file, hit in hits})


def _forms(own: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    for number, phrase in enumerate(own):
        for encoding in ("utf-8", "utf-16-le", "utf-16-be")[: 3 if number < WIDE else 1]:
            yield phrase, phrase.encode(encoding)
