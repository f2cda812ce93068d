"""What a transcript that grows costs: ``python -m bench.transcripts DIR [--mb 100] [--appends 100] [--unread]``.

Makes a transcript in DIR, ingests it into a home there, appends 1 KB at a time and ingests it again, by the command line and
without models. Prints the CPU of each step (the command's start, hashing and copying included) and how much the garage grew. What is
in DIR from before is used: the first reading of 100 MB takes minutes. With ``--unread`` nothing is read: what remains is hashing, copying and versions.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

_SYLLABLES = [
    "ba",
    "den",
    "fol",
    "gar",
    "hin",
    "jor",
    "kel",
    "lum",
    "mar",
    "nis",
    "pol",
    "quar",
    "rin",
    "sol",
    "tam",
    "ver",
    "wil",
    "yor",
    "zan",
]
_SMALL = ["the", "of", "a", "and", "to", "in", "is", "that", "with", "for"]


@cache
def _word(number: int) -> str:
    """Return a made word: of few that are common, and many that are rare."""
    drawn = random.Random(number)
    return "".join(drawn.choice(_SYLLABLES) for _ in range(drawn.randrange(2, 4)))


def _sentence(chance: random.Random) -> str:
    """Return a sentence of made words, whose frequencies fall as those of a language do."""
    words = [_SMALL[chance.randrange(10)] if n % 2 else _word(int(20_000 ** chance.random())) for n in range(14)]
    return " ".join(words).capitalize() + "."


def entry(n: int, chance: random.Random) -> str:
    """Return one line of about a kilobyte, which follows the entry before."""
    words = " ".join(_sentence(chance) for _ in range(9))
    message = {"role": "user" if n % 2 else "assistant", "content": f"Entry {n}. {words}"}
    stamp = f"2026-03-{1 + n // 86_400 % 28:02}T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}.000Z"
    body = {
        "type": message["role"],
        "uuid": f"u{n}",
        "parentUuid": f"u{n - 1}" if n > 1 else None,
        "sessionId": "bench-session",
        "timestamp": stamp,
        "message": message,
    }
    return json.dumps(body) + "\n"


def size_of(folder: Path) -> int:
    """Return the bytes that the files below a folder take on the disk."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("folder", type=Path)
    words.add_argument("--mb", type=int, default=100)
    words.add_argument("--appends", type=int, default=100)
    words.add_argument("--unread", action="store_true")
    given = words.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file, home = given.folder / "transcript.jsonl", given.folder / "home"
    environment = {
        **os.environ,
        "KGFS_HOME": str(home),
        "KGFS_MODELS_EXTRACTOR": "statistics",
        "KGFS_MODELS_EMBEDDER": "none",
    }

    def ingest() -> tuple[float, float]:
        """Return seconds of CPU and of the clock."""
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, "-m", "kgfs", "ingest", str(file), "--ontology", "Bench", "--as", "transcript.jsonl"]
        command += ["--no-wait"] if given.unread else []
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - begun

    chance = random.Random(1)
    n = file.read_bytes().count(b"\n") if file.exists() else 0
    if not n:
        with file.open("w") as out:
            while out.tell() < given.mb << 20:
                n += 1
                out.write(entry(n, chance))
    used, took = ingest()
    print(f"{file.stat().st_size >> 20} MiB: {used:.1f} s of CPU, {took:.1f} s", flush=True)
    garage = size_of(home / "garage")
    print(f"garage: {garage / 1e6:.1f} MB", flush=True)
    costs = []
    for number in range(n + 1, n + 1 + given.appends):
        with file.open("a") as out:
            out.write(entry(number, chance))
        costs.append(ingest()[0])
    if costs:
        grown = size_of(home / "garage") - garage
        print(f"{len(costs)} appends: {statistics.median(costs):.2f} s of CPU each (at most {max(costs):.2f})")
        print(f"garage: {grown / 1e6:.1f} MB more, {grown / 1e6 / len(costs):.2f} an append")
    print(f"at most {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MiB in a process")


if __name__ == "__main__":
    main()
