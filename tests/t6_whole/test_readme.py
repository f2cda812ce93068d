"""What the README and docs/ say, and the mount's own README, exists: verbs, options, make targets, benches, settings, exit codes."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path

import click
import pytest

from bench.speed.works import WORKS
from kgfs import config, errors, settings
from kgfs.cli import cli
from kgfs.formats.table import FORMATS
from kgfs.render.readme import agents, readme
from kgfs.tree.places import ONTOLOGY
from kgfs.tree.views import TREE, VIEWS
from scripts.settings import page
from tests.support.running import ROOT

MOUNT_README = readme(line for view in VIEWS for line in view.about)
AGENTS = agents(
    (line for view in VIEWS for line in view.about), (extension for one in FORMATS for extension in one.extensions)
)
PAGES = {page.name: page.read_text() for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
TEXTS = PAGES | {"README.md of a mount": MOUNT_README, "AGENTS.md of a mount": AGENTS, "kgfs --help": cli.help or ""}
README = PAGES["README.md"]
MAKEFILE = (ROOT / "Makefile").read_text()


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table(text: str) -> list[list[str]]:
    """The cells of its rows, without the heading."""
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows if not row[0].strip().startswith("---")][1:]


def code(text: str) -> str:
    """Indented and fenced blocks, and what stands between backticks."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^(?: {4}|\t)\S.*$", text, re.MULTILINE)
    return "\n".join([*fenced, *indented, *re.findall(r"`([^`\n]+)`", text)])


def commands(text: str) -> Iterator[list[str]]:
    """Each ``kgfs …`` as words, up to what ends a command in a shell."""
    for line in code(text).splitlines():
        for found in re.finditer(r"(?:^|[\s/(])kgfs ((?:[a-z-]|--)[^#;&|)`]*)", line):
            yield shlex.split(found[1])


@pytest.mark.parametrize("name", TEXTS)
def test_commands_exist(name: str) -> None:
    for words in commands(TEXTS[name]):
        if words[:1] == ["VERB"]:
            continue
        exists(words)


def exists(words: list[str]) -> None:
    """The verb is one, and so are its options."""
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        assert found is not None, f"no verb {words[0]}"
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    known = {name for parameter in command.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)}
    for word in words:
        if word.startswith("-"):
            assert word.partition("=")[0] in {*known, "--help", "-h"}, f"kgfs {command.name} has no {word}"


def test_every_verb_is_shown() -> None:
    """All but those that a reader is sent to the help for."""
    shown = {words[0] for words in commands(README)}
    assert shown >= {"mount", "umount", "ingest", "wait", "status", "doctor", "config"}
    assert "kgfs --help" in README


@pytest.mark.parametrize("verb", cli.list_commands(click.Context(cli)))
def test_examples_in_the_help_work(verb: str) -> None:
    module = importlib.import_module(f"kgfs.cli.{verb.replace('-', '_')}")
    text = module.command.help or ""
    examples = re.findall(r"(?:^|[\s&])kgfs ([^#;&|\n]+)", text.partition("Example:")[2])
    assert examples, f"kgfs {verb} --help shows no example"
    for example in examples:
        exists(shlex.split(example))


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    named = {name: set(re.findall(r"\bmake ([a-z-]+)", code(page))) for name, page in PAGES.items()}
    assert {"run", "stop", "test", "check"} <= named["README.md"]
    assert {"servers", "servers-stop", "run-servers"} <= named["servers.md"]
    rungs = {f"test-{folder.name.partition('_')[2]}" for folder in ROOT.glob("tests/t[0-9]_*")}
    assert set().union(*named.values()) - rungs <= targets
    phony = re.findall(r"^\.PHONY:(.*)$", MAKEFILE, re.MULTILINE)[0].split()
    assert targets == set(phony)


def test_each_room_and_each_rung_has_its_tests() -> None:
    rooms = {path.parent.name for path in (ROOT / "kgfs").glob("*/__init__.py")}
    rungs = {folder.name.partition("_")[2]: f"tests/{folder.name}" for folder in ROOT.glob("tests/t[0-9]_*")}
    for name in rooms | rungs.keys():
        planned = subprocess.run(["make", "-n", f"test-{name}"], cwd=ROOT, capture_output=True, text=True)
        assert planned.returncode == 0, planned.stderr
        assert rungs.get(name, "tests/t") in planned.stdout


def test_make_run_and_run_servers_mount_at_places_of_their_own() -> None:
    planned = subprocess.run(["make", "-n", "run", "run-servers"], cwd=ROOT, capture_output=True, text=True, check=True)
    mounts = re.findall(r'scripts/run\.sh "[^"]+" "([^"]+)"', planned.stdout)
    assert len(set(mounts)) == 2
    assert {f"/{Path(mount).name}/" for mount in mounts} <= set((ROOT / ".gitignore").read_text().splitlines())
    assert f"make stop MOUNT={mounts[1]}`" in PAGES["servers.md"]


def benches(page: str) -> Iterator[tuple[str, list[str]]]:
    """Each module of bench that is run, by its name or by make, and the words that it is given."""
    by_target = dict(re.findall(r"^(bench[a-z-]*):.*\n(?:\t.*\n)*?\t.* -m (\S+) \$\(ARGS\)$", MAKEFILE, re.MULTILINE))
    for line in code(page).splitlines():
        for module, words in re.findall(r"\bpython -m (bench\.\w+)([^#;&|)]*)", line):
            yield module, shlex.split(words)
        for target, words in re.findall(r"\bmake (bench[a-z-]*)(?: ARGS=\"([^\"]*)\")?", line):
            yield by_target[target], shlex.split(words)


def test_benches_take_what_they_are_given() -> None:
    found = [bench for page in PAGES.values() for bench in benches(page)]
    assert {"bench.speed", "bench.searching", "bench.modules_called"} <= {module for module, _ in found}
    for module, words in found:
        path = ROOT / module.replace(".", "/")
        source = (path / "__main__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
        for option, value in zip(words, [*words[1:], ""], strict=False):
            if option.startswith("--"):
                assert f'("{option}"' in source or f'"{option}",' in source, f"{module} has no {option}"
            if (module, option) == ("bench.speed", "--only"):
                assert value in WORKS


def test_packages_are_those_of_the_makefile() -> None:
    named = set(re.findall(r"^    sudo apt-get install (.*)$", README, re.MULTILINE)[0].split())
    assert named == set(re.findall(r"^DEBIAN := (.*)$", MAKEFILE, re.MULTILINE)[0].split())


def test_the_page_of_settings_is_what_the_settings_say() -> None:
    assert set(config._SECTIONS.values()) == {kind for kind in vars(settings).values() if is_dataclass(kind)}
    assert PAGES["settings.md"] == page(), "python -m scripts.settings > docs/settings.md"


def test_exit_codes_are_those_of_the_errors() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.KgfsError)]
    rows = {int(code): meaning for code, meaning in table(section("When something is wrong"))}
    assert set(rows) == {0, 2} | {kind.exit_code for kind in kinds}
    assert all(rows.values())


def test_the_tree_is_shown_whole() -> None:
    shown = section("The tree")
    for name, view in TREE.at(ONTOLOGY).items():
        if view.about:
            assert name in shown, name


def test_nothing_is_left_to_fill_in() -> None:
    assert re.findall(r"@@\w+@@|TODO|FIXME|XXX", README) == []
