"""The history, step by step. Each takes the story so far, does one thing to it, and leaves nothing owed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.history.choices import Choices, edit_of
from bench.history.running import Running
from bench.history.traces import phrases, traces
from bench.history.walk import Shown, differences, kinds, walk

ELSEWHERE = "Elsewhere"
"""The ontology that some documents move to."""
MOVED, FOLDER = "drafts", "final"
"""A folder that some documents move into, and what it is renamed to."""


@dataclass(slots=True)
class Story:
    at: Running
    ontology: str
    files: dict[str, Path]
    """The originals outside, by name."""
    choices: Choices
    seed: int
    scratch: Path
    share: float = 1.0
    """Of the folders of concepts, how many are compared."""
    texts: dict[str, list[str]] = field(default_factory=dict)
    """All that a document ever said, by the name it had first."""
    now: dict[str, str] = field(default_factory=dict)
    """Where it stands, below the mount point, by the name it had first; nothing for those that were removed."""
    shown: dict[str, Shown] = field(default_factory=dict)
    """The tree before the rebuild."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What the step under way found out, for the report."""

    def path(self, name: str) -> Path:
        return self.at.mountpoint / self.now[name]

    def run(self, *words: str | Path) -> None:
        """An ordinary program."""
        subprocess.run(words, check=True)


def ingest(story: Story) -> None:
    documents = _documents(story, story.ontology)
    documents.parent.mkdir(exist_ok=True)
    story.run("cp", "--preserve=timestamps", *story.files.values(), documents)
    story.at.wait()


def edit(story: Story) -> None:
    """In the four ways programs save: ``sed -i``, a copy over it, a new file renamed over it, in place."""
    for number, name in enumerate(story.choices.edited):
        path = story.path(name)
        before = path.read_bytes().decode("latin-1")
        made = edit_of(name, before, story.seed)
        after = made.apply(before)
        if number % 4 == 0:
            story.run("sed", "-i", f"{made.line}c\\{made.sentence}", path)
        elif number % 4 == 1:
            (other := story.scratch / name).write_bytes(after.encode("latin-1"))
            story.run("cp", other, path)
        elif number % 4 == 2:
            (other := path.with_name(f".{name}.new")).write_bytes(after.encode("latin-1"))
            story.run("mv", other, path)
        else:
            path.write_bytes(after.encode("latin-1"))
        if path.read_bytes() != after.encode("latin-1"):
            raise SystemExit(f"{path}: not what was written")
        story.texts[name].append(after)
    story.at.wait()


def delete(story: Story) -> None:
    story.run("rm", *(story.path(name) for name in story.choices.deleted))
    for name in story.choices.deleted:
        del story.now[name]
    story.at.wait()


def rename(story: Story) -> None:
    """Two fifths in their folder, two fifths into a folder that is renamed then, the rest to another ontology."""
    names, documents = story.choices.renamed, _documents(story, story.ontology)
    share = max(1, len(names) * 2 // 5)
    for name in names[:share]:
        _move(story, name, f"{story.ontology}/documents/renamed-{name}")
    (documents / MOVED).mkdir()
    for name in names[share : 2 * share]:
        _move(story, name, f"{story.ontology}/documents/{MOVED}/{name}")
    story.run("mv", documents / MOVED, documents / FOLDER)
    for name in names[share : 2 * share]:
        story.now[name] = f"{story.ontology}/documents/{FOLDER}/{name}"
    (story.at.mountpoint / ELSEWHERE).mkdir()
    for name in names[2 * share :]:
        _move(story, name, f"{ELSEWHERE}/documents/{name}")
    story.at.wait()


def _move(story: Story, name: str, to: str) -> None:
    story.run("mv", story.path(name), story.at.mountpoint / to)
    story.now[name] = to


def regenerate(strategy: str) -> Callable[[Story], None]:
    def step(story: Story) -> None:
        story.at.kgfs("regenerate", story.ontology, "--strategy", strategy, "--yes")
        story.at.wait()
        story.notes["compared"] = _compared(
            json.loads(story.at.kgfs("regenerate", story.ontology, "--compare", "--json"))
        )

    return step


def _compared(found: dict[str, Any]) -> dict[str, Any]:
    whole = found["whole"]
    return {
        "documents": found["compared"],
        "before": found["before"],
        "now": found["now"],
        "concepts": whole["concepts"],
        "gained": len(whole["gained"]),
        "lost": len(whole["lost"]),
        "renamed": len(whole["renamed"]),
        "rejoined": len(whole["rejoined"]),
        "evidence": [whole["evidence_gained"], whole["evidence_lost"]],
        "relationships": [whole["relationships_gained"], whole["relationships_lost"]],
    }


def purge(story: Story) -> None:
    """Documents that stand and some out of the trash; no phrase that only they had is anywhere then."""
    choices, at = story.choices, story.at
    leaving = (*choices.purged, *choices.purged_from_trash)
    staying = [text for name, texts in story.texts.items() if name not in leaving for text in texts]
    wanted = phrases({name: story.texts[name] for name in leaving}, staying, story.seed)
    before = traces(at.home, wanted)
    removed = [_doc_id_in_trash(story, name) for name in choices.purged_from_trash]
    story.at.kgfs("forget", "--purge", "--yes", *(story.path(name) for name in choices.purged), *removed)
    for name in choices.purged:
        del story.now[name]
    left = traces(at.home, wanted)
    story.notes["phrases"] = sum(map(len, wanted.values()))
    story.notes["traces before"] = len(before)
    story.notes["traces left"] = left
    if left or not before:
        raise SystemExit(f"{len(before)} traces before the purge, and after it:\n" + "\n".join(left[:50]))


def _doc_id_in_trash(story: Story, name: str) -> str:
    history = json.loads(story.at.kgfs("history", f"{story.ontology}/{name}", "--json"))
    return str(history[-1]["doc_id"])


def look(story: Story) -> None:
    story.shown = _fresh(story)
    story.notes["entries"] = kinds(story.shown)


def rebuild(story: Story) -> None:
    story.at.kgfs("rebuild", "--yes")


def compare(story: Story) -> None:
    found = differences(story.shown, _fresh(story))
    story.notes["differences"] = found[:100]
    if found:
        raise SystemExit(f"{len(found)} entries differ after the rebuild:\n" + "\n".join(found[:50]))


def _fresh(story: Story) -> dict[str, Shown]:
    """The whole tree by a mount that has shown nothing before."""
    story.at.umount()
    story.at.mount()
    return walk(story.at.mountpoint, story.share)


def check(story: Story) -> None:
    story.at.kgfs("check", "--deep")


def originals(story: Story) -> None:
    """Every document that stands is, byte for byte, what was last written there; nothing else stands."""
    top = story.at.mountpoint
    standing = {
        str(path.relative_to(top)) for path in top.glob("*/documents/**/*") if path.is_file() and not path.is_symlink()
    }
    if standing != set(story.now.values()):
        raise SystemExit(f"Not as it should be: {sorted(standing ^ set(story.now.values()))[:50]}")
    for name, where in story.now.items():
        if (top / where).read_bytes() != story.texts[name][-1].encode("latin-1"):
            raise SystemExit(f"{where} is not what was written last")
    story.notes["documents compared"] = len(standing)


def steps(strategies: Sequence[str], *, fresh: bool) -> list[tuple[str, Callable[[Story], None]]]:
    """In order. ``fresh``: the home is empty yet."""
    return [
        *([("ingest", ingest)] if fresh else []),
        ("edit", edit),
        ("delete", delete),
        ("rename", rename),
        *((f"regenerate {strategy}", regenerate(strategy)) for strategy in strategies),
        ("purge", purge),
        ("originals", originals),
        ("look", look),
        ("rebuild", rebuild),
        ("compare", compare),
        ("check --deep", check),
    ]


def story_of(
    at: Running, ontology: str, files: dict[str, Path], choices: Choices, seed: int, scratch: Path, share: float
) -> Story:
    texts = {name: [path.read_bytes().decode("latin-1")] for name, path in files.items()}
    now = {name: f"{ontology}/documents/{name}" for name in files}
    (drafts := scratch / "written").mkdir()
    return Story(at, ontology, files, choices, seed, drafts, share, texts, now)


def copy_home(finished: Path, to: Path) -> None:
    shutil.copytree(finished, to, symlinks=True, ignore=shutil.ignore_patterns("*.sock", "run"))


def _documents(story: Story, ontology: str) -> Path:
    return story.at.mountpoint / ontology / "documents"
