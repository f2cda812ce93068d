"""The whole life of a corpus, scripted: ``python -m bench.history DIR [--home HOME] [--json OUT]``.

Copies the files of DIR into a mounted home (or takes a copy of HOME, that has them read already), edits, removes and
renames some of them with ordinary programs, reads all of them again by each strategy, purges some, derives graph and
index anew and checks every byte. Which documents, and what is written into them, is drawn by a seed. Prints for each
step what it took and what the home has after it. Proves, or ends with 1: every document is what was last written; of
what was purged no phrase is in any file of the home; and the rebuilt tree is the one of before, entry by entry (name,
mode, size, time, content), each read through a mount that has shown nothing before.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.history.choices import choose
from bench.history.running import PARTS, Running
from bench.history.steps import Story, copy_home, steps, story_of

STRATEGIES = ("random", "popularity", "hybrid")
COUNTS = ("documents", "concepts", "instances", "relationships")


def main() -> None:
    options = _options()
    files = {path.name: path for path in sorted(options.folder.iterdir()) if path.is_file()}
    choices = choose(list(files), options.edit, options.delete, options.rename, options.purge, options.seed)
    with tempfile.TemporaryDirectory(prefix="kgfs-history-", dir=options.scratch) as folder:
        scratch = Path(folder)
        home = options.keep or scratch / "home"
        if options.home:
            copy_home(options.home, home)
        (mountpoint := scratch / "mnt").mkdir()
        story = story_of(
            Running(home, mountpoint), options.ontology, files, choices, options.seed, scratch, options.share
        )
        rows: list[dict[str, Any]] = []
        story.at.mount()
        try:
            for name, step in steps(options.strategies, fresh=options.home is None):
                rows.append(measured(story, name, step))
                print(line_of(rows[-1]), file=sys.stderr, flush=True)
        finally:
            if os.path.ismount(mountpoint):
                story.at.kgfs("umount", "--lazy", mountpoint)
            if options.json:
                options.json.write_text(
                    json.dumps({"seed": options.seed, "files": len(files), "steps": rows}, indent=1)
                )
    print(HEADER)
    for row in rows:
        print(line_of(row))
        for what, note in row["notes"].items():
            print(f"    {what}: {json.dumps(note)}")
    print("Proved: originals, purge, rebuilt == incremental.")


def measured(story: Story, name: str, step: Any) -> dict[str, Any]:
    at = story.at
    before, parts = counts(at), at.parts()
    story.notes = {}
    wall, cpu = time.perf_counter(), at.cpu()
    step(story)
    row: dict[str, Any] = {"step": name, "wall": time.perf_counter() - wall, "cpu": at.cpu() - cpu}
    row |= asdict(at.read(at.parts() - parts))
    row |= {
        "before": before,
        "after": counts(at),
        "size": {part: at.size(part) for part in PARTS},
        "notes": story.notes,
    }
    return row


def counts(at: Running) -> dict[str, int]:
    """Of the graph, all ontologies together."""
    read = [ontology["read"] for ontology in at.status()["ontologies"]]
    return {what: sum(each[what] for each in read) for what in COUNTS}


HEADER = (
    f"{'step':<22} {'wall s':>8} {'CPU s':>8} {'read':>5} {'extracted':>9} {'reused':>7} {'documents':>11}"
    f" {'concepts':>15} {'evidence':>17} {'garage':>8} {'graph':>8} {'vectors':>8} {'front':>7}  (MiB)"
)


def line_of(row: dict[str, Any]) -> str:
    before, after = row["before"], row["after"]
    change = {what: f"{before[what]} → {after[what]}" for what in COUNTS}
    sizes = {part: f"{size / 2**20:.1f}" for part, size in row["size"].items()}
    return (
        f"{row['step']:<22} {row['wall']:8.1f} {row['cpu']:8.1f} {row['read']:5} {row['extracted']:9} {row['reused']:7}"
        f" {change['documents']:>11} {change['concepts']:>15} {change['instances']:>17}"
        f" {sizes['garage']:>8} {sizes['graph']:>8} {sizes['vectors']:>8} {sizes['front']:>7}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--home", type=Path, help="a home that has read all of DIR; a copy of it is used")
    parser.add_argument("--ontology", default="Peps", help="where the documents stand [%(default)s]")
    parser.add_argument("--keep", type=Path, metavar="NEW", help="the home to make, which stays then")
    parser.add_argument("--scratch", type=Path, help="where to make everything else")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the concepts' folders to compare [%(default)s]")
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES, choices=STRATEGIES)
    for what, number in (("edit", 50), ("delete", 30), ("rename", 20), ("purge", 10)):
        parser.add_argument(f"--{what}", type=int, default=number, metavar="N", help="documents [%(default)s]")
    return parser.parse_args()


if __name__ == "__main__":
    main()
