"""Have the parsers of documents read damaged files: what reaches the caller, and how long each took.

    python -m bench.fuzz DIR --count 500

DIR has whole documents of the formats (``tests/data/formats``). Each format that is parsed in a process of its own gets
``--count`` seeded mutations of them; pictures are recognised in ``--recognised`` of those, and only decoded in their headers
else. A process that crashes is a finding, and so is one that takes longer than its limits or more than the memory it may have.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import random
import time
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from kgfs.errors import ParserFailedError, UnreadableTextError
from kgfs.formats.contract import Format
from kgfs.formats.sandbox import Limits
from kgfs.formats.table import FORMATS, format_of, parse

LIMITS = Limits(cpu=20.0)
GRACE = 15.0
"""Seconds beyond the limits of CPU that a busy machine may need."""
PICTURES = ("image/",)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one mutation."""

    parser: str
    seed: int
    what: str
    """``read``, ``refused``, ``crashed`` or ``late``."""
    seconds: float
    reason: str


def samples(folder: Path) -> dict[str, list[tuple[str, bytes]]]:
    """Return the documents of a folder by the parser that reads them, those of isolated formats only."""
    found: dict[str, list[tuple[str, bytes]]] = collections.defaultdict(list)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        chosen = format_of(path.name, content)
        if chosen.read is None:
            found[chosen.parser].append((path.name, content))
    return found


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Return a damaged copy. Of an archive it is mostly one part that is damaged, and the archive is whole."""
    if zipfile.is_zipfile(BytesIO(content)) and chance.random() < 0.8:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            parts = [(info, archive.read(info)) for info in archive.infolist() if not info.flag_bits & 1]
        hit = chance.randrange(len(parts))
        target = BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, (info, part) in enumerate(parts):
                archive.writestr(info.filename, _damaged(part, chance) if number == hit else part)
        return target.getvalue()
    return _damaged(content, chance)


def _damaged(content: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        if not damaged:
            break
        at = chance.randrange(len(damaged))
        length = min(len(damaged) - at, chance.choice((1, 1, 4, 64, 4096)))
        how = chance.randrange(6)
        if how == 0:
            damaged[at : at + length] = chance.randbytes(length)
        elif how == 1:
            del damaged[at : at + length]
        elif how == 2:
            damaged[at:at] = damaged[at : at + length] * chance.choice((1, 3, 200))
        elif how == 3:
            damaged[at : at + length] = bytes(length)
        elif how == 4:
            damaged[at] ^= 1 << chance.randrange(8)
        else:
            del damaged[at:]
    return bytes(damaged[: 32 << 20])


def tried(row: Format, name: str, content: bytes, seed: int) -> Outcome:
    """Return what becomes of a damaged file when it is parsed by the format that it seems to be in."""
    begun, what, reason = time.monotonic(), "read", ""
    try:
        parse(name, content, LIMITS, keep=lambda name, sha256, part: sha256)
    except UnreadableTextError as error:
        what, reason = "refused", str(error)
    except ParserFailedError as error:
        what, reason = "crashed", str(error)
    seconds = time.monotonic() - begun
    if seconds > LIMITS.cpu + GRACE:
        what, reason = "late", f"{seconds:.0f} s: {reason}"
    return Outcome(row.parser, seed, what, seconds, reason)


def fuzzed(folder: Path, count: int, recognised: int, only: Collection[str] = ()) -> Iterator[Outcome]:
    """Yield the outcomes of ``count`` mutations a format; of ``recognised`` with the recognition of pictures.

    ``only`` are the names of the parsers to try, all where it is empty."""
    found = samples(folder)
    for row in FORMATS:
        if row.read is not None or not found.get(row.parser) or (only and row.parser.partition("/")[0] not in only):
            continue
        for seed in range(count):
            name, content = found[row.parser][seed % len(found[row.parser])]
            damaged = mutated(content, random.Random(f"{row.parser} {seed}"))
            is_picture = row.media_type.startswith(PICTURES) or row.media_type == "application/pdf"
            with _without_recognition(is_picture and seed >= recognised):
                yield tried(row, name, damaged, seed)


@contextmanager
def _without_recognition(is_off: bool) -> Iterator[None]:
    """Hide the programs of this machine, tesseract among them, from the parsing process."""
    path = os.environ.get("PATH", "")
    if is_off:
        os.environ["PATH"] = ""
    try:
        yield
    finally:
        os.environ["PATH"] = path


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=Path, nargs="?", default=Path("tests/data/formats"))
    words.add_argument("--count", type=int, default=500)
    words.add_argument("--recognised", type=int, default=20)
    words.add_argument("--only", nargs="*", default=(), help="parsers to try")
    asked = words.parse_args()
    print("| parser | read | refused | crashed | late | median ms | most ms |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    outcomes = fuzzed(asked.folder, asked.count, asked.recognised, asked.only)
    findings: list[Outcome] = []
    for parser, group in itertools.groupby(outcomes, lambda outcome: outcome.parser):
        rows = list(group)
        findings += [outcome for outcome in rows if outcome.what in ("crashed", "late")]
        counts = collections.Counter(outcome.what for outcome in rows)
        times = sorted(outcome.seconds for outcome in rows)
        shown = " | ".join(str(counts[what]) for what in ("read", "refused", "crashed", "late"))
        print(f"| {parser} | {shown} | {times[len(times) // 2] * 1000:.0f} | {times[-1] * 1000:.0f} |", flush=True)
    for outcome in findings:
        print(f"{outcome.parser} {outcome.seed}: {outcome.what}: {outcome.reason}")


if __name__ == "__main__":
    main()
