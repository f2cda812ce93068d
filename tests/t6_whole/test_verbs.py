"""Every verb, as a person at a shell meets it.

What was not read is named, with the reason, by the verbs that wait and by the page of the ontology.

Searches of a home with a real worker and its model: through the mount and on the command line alike.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kgfs.cli import VERBS, cli
from kgfs.errors import BadInputError
from tests.support.running import AUTO, KGFS, PATIENCE, ROOT, Place, one_line, shell, until
from tests.support.texts import GARBAGE, ZEN


@pytest.fixture
def zen(tmp_path: Path) -> Path:
    path = tmp_path / "zen.md"
    path.write_text(ZEN)
    return path


@pytest.fixture
def bare(home: Path, tmp_path: Path) -> Place:
    """For verbs that need no mount, each started as a shell does."""
    return Place(home, tmp_path / "mnt", before=("env",))


# ------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize("verb", [*VERBS, "config show", ""])
def test_help_shows_an_example(verb: str) -> None:
    reported = CliRunner().invoke(cli, [*verb.split(), "--help"], prog_name="kgfs")
    assert reported.exit_code == 0
    assert "Example" in reported.stdout
    assert f"kgfs {verb}".strip() in reported.stdout
    assert reported.stderr == ""


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_another_home_and_configuration(verb: str, tmp_path: Path) -> None:
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    for each in command.commands.values() if isinstance(command, click.Group) else [command]:
        assert {"--home", "--config"} <= {word for parameter in each.params for word in parameter.opts}
        needed = [["1"] if isinstance(p, click.Argument) else [p.opts[0], "1"] for p in each.params if p.required]
        words = ["--config", str(tmp_path / "no.toml"), *(word for words in needed for word in words)]
        reported = CliRunner().invoke(each, words)
        assert isinstance(reported.exception, BadInputError), reported.output
        assert "no.toml" in str(reported.exception)


def test_version_and_wrong_words(bare: Place) -> None:
    assert bare.run("--version").stdout.startswith("kgfs")
    for words in (
        ["no-such-verb"],
        ["mount"],
        ["wait", "--timeout", "soon"],
        ["wait", "--timeout", "-1"],
        ["ingest", "--ontology", "A"],
    ):
        reported = bare.run(*words, expect=2)
        assert reported.stdout == ""
        assert "Error: " in reported.stderr
        assert "Traceback" not in reported.stderr
    assert "Did you mean 'kgfs status'?" in bare.run("stauts", expect=2).stderr
    assert "Did you mean 'kgfs umount' or 'kgfs mount'?" in bare.run("unmount", expect=2).stderr
    assert "Did you mean" not in bare.run("no-such-verb", expect=2).stderr


def test_a_shell_completes_verbs_and_options(bare: Place) -> None:
    def completed(words: str) -> list[str]:
        asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_KGFS_COMPLETE": "bash_complete"}
        return bare.run(env=asked).stdout.split()

    assert completed("kgfs re") == [f"plain,{verb}" for verb in VERBS if verb.startswith("re")]
    assert "plain,--json" in completed("kgfs status --")
    assert "complete" in bare.run(env={"_KGFS_COMPLETE": "bash_source"}).stdout


def test_the_counts_of_status_add_up(bare: Place, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.md" for number in range(3)]
    for text in ("A koan is a riddle.", "A koan is a riddle used in Zen practice."):
        for path in paths:
            path.write_text(f"# {path.stem}\n\n{text}\n")
        bare.run("ingest", *paths, "--ontology", "A")
    bare.run("forget", "A/2.md", "--yes")
    bare.run("wait")
    assert (
        "\nA: 2 documents (2 done), besides 3 of earlier versions and 1 in the trash; in" in bare.run("status").stdout
    )


@pytest.mark.parametrize("words", [("config", "show", "--json"), ("config", "show"), ("--help",)])
def test_what_cannot_be_printed_is_an_error_and_a_reader_that_goes_is_none(words: tuple[str, ...], bare: Place) -> None:
    environment = {**os.environ, "KGFS_HOME": str(bare.home)}
    for buffered in ({}, {"PYTHONUNBUFFERED": "1"}):
        with open("/dev/full", "w") as full:
            reported = subprocess.run(
                [*KGFS, *words], env=environment | buffered, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert reported.returncode == 7
        assert "stdout" in one_line(reported.stderr)
        nobody_reads, end = os.pipe()
        os.close(nobody_reads)
        with open(end, "w") as end_of_pipe:
            gone = subprocess.run(
                [*KGFS, *words], env=environment | buffered, stdout=end_of_pipe, stderr=subprocess.PIPE, check=False
            )
        assert (gone.returncode, gone.stderr) == (1, b"")


def test_make_stop_is_harmless_where_nothing_is_mounted(tmp_path: Path) -> None:
    """And says what else keeps it from unmounting."""
    (tmp_path / "bin").mkdir()
    verb = tmp_path / "bin" / "kgfs"
    words = ["make", f"--old-file={tmp_path}/.ready", "stop", f"VENV={tmp_path}", f"MOUNT={tmp_path}/mnt"]
    (tmp_path / ".ready").touch()
    for script, made in ((f'exec {" ".join(KGFS)} "$@"', 0), ("exit 5", 2)):
        verb.write_text(f"#!/bin/sh\n{script}\n")
        verb.chmod(0o700)
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == made, done.stdout + done.stderr
        assert made or one_line(done.stderr) == f"kgfs: {tmp_path}/mnt is not mounted."


def test_home_is_an_option_of_every_verb(tmp_path: Path, zen: Path) -> None:
    """--home wins over KGFS_HOME, which nothing is to touch here."""
    elsewhere = tmp_path / "elsewhere"
    place = Place(tmp_path / "never", tmp_path / "mnt")
    option = ("--home", elsewhere)
    place.run("ingest", zen, "--ontology", "A", *option)
    assert json.loads(place.run("status", "--json", *option).stdout)["home"] == str(elsewhere)
    assert json.loads(place.run("config", "show", "--json", *option).stdout)["home"] == str(elsewhere)
    place.run("wait", *option)
    place.run("worker", "--until-idle", *option)
    assert str(elsewhere) in place.run("doctor", *option).stdout
    assert not place.home.exists()


@pytest.mark.parametrize("words", [("wait",), ("status",), ("status", "--json")])
def test_asking_makes_no_home(words: tuple[str, ...], tmp_path: Path) -> None:
    place = Place(tmp_path / "typing-mistake", tmp_path / "mnt")
    reported = place.run(*words, expect=4)
    assert str(place.home) in one_line(reported.stderr)
    assert reported.stdout == ""
    assert not place.home.exists()


def test_a_wrong_configuration_names_file_and_key(bare: Place) -> None:
    file = bare.home / "config.toml"
    for content, words in (
        ("[pipeline\n", "TOML"),
        ("[pipe]\n", "[pipe]"),
        ("[pipeline]\nsetle = 2\n", "setle"),
        ('[pipeline]\nlease = "long"\n', "long"),
        ('[pipeline]\nstrategy = "popular"\n', "random, popularity, hybrid"),
    ):
        file.write_text(content)
        reported = one_line(bare.run("status", expect=3).stderr)
        assert str(file) in reported
        assert words in reported
    file.unlink()
    reported = one_line(bare.run("status", expect=3, env={"KGFS_PIPELINE_SETTLE": "soon"}).stderr)
    assert "KGFS_PIPELINE_SETTLE" in reported
    assert "no such configuration file" in one_line(bare.run("status", "--config", "nowhere.toml", expect=3).stderr)


def test_config_show_is_toml_and_json_of_what_is_in_force(bare: Place) -> None:
    (bare.home / "config.toml").write_text("[pipeline]\nchunk_tokens = 123\n[tree]\ntrash_days = 7\n")
    env = {"KGFS_TREE_TRASH_DAYS": "9"}
    shown = tomllib.loads(bare.run("config", "show", env=env).stdout)
    as_json = json.loads(bare.run("config", "show", "--json", env=env).stdout)
    assert shown == {section: values for section, values in as_json.items() if section not in ("home", "file")}
    assert shown["pipeline"]["chunk_tokens"] == 123
    assert shown["tree"]["trash_days"] == 9
    assert as_json["file"] == str(bare.home / "config.toml")


# --------------------------------------------------------------------------------- without a mount


def test_ingest_without_a_mount_reads_by_itself(bare: Place, zen: Path, tmp_path: Path) -> None:
    bare.environment |= AUTO
    reported = bare.run("ingest", zen, "--ontology", "A", "--as", "deep/down/z.md")
    path, doc_id, decision, _ = reported.stdout.rstrip("\n").split("\t")
    assert (path, decision) == ("deep/down/z.md", "insert")
    assert reported.stderr == "", "no progress bar where stderr is no terminal"
    status = bare.status()
    assert status["documents"] == {"done": 1}
    assert status["owed"] == 0
    assert status["ontologies"][0]["read"]["concepts"] > 0

    again = json.loads(bare.run("ingest", zen, "--ontology", "A", "--as", "other.md", "--json").stdout)
    assert (again["path"], again["doc_id"], again["decision"]) == ("other.md", doc_id, "alias")
    assert again["source"] == str(zen)

    plain = bare.run("status").stdout
    assert "A: 1 document (1 done)" in plain
    assert str(bare.home) in plain


def test_what_the_only_hit_was_found_by(bare: Place, zen: Path) -> None:
    """Its score, a distance from the mean of all hits, is 0."""
    bare.run("ingest", zen, "--ontology", "A", env={"KGFS_MODELS_EMBEDDER": "none"})
    reported = bare.run("search", "koan", "--passages").stdout.splitlines()
    assert reported[0].startswith("1. A/documents/zen.md:") and reported[0].endswith("  (words)")
    (hit,) = json.loads(bare.run("search", "koan", "--passages", "--json").stdout)["hits"]
    assert hit["text_score"] > 0
    assert "\n1. A/documents/zen.md:" in f"\n{bare.run('search', 'koan').stdout}"
    (one,) = json.loads(bare.run("search", "koan", "--json").stdout)["results"]
    assert hit["text"] in one["full_content"] and one["chunk_coverage"].startswith("chunk")
    assert bare.run("search", "koan", "--page", "2").stderr.endswith("nothing found\n")
    bare.run("search", "koan", "--page", "2", "--passages", expect=2)
    assert bare.run("search", "nothing of that kind").stderr.endswith("nothing found\n")


def test_ingest_keeps_what_it_can_and_says_what_it_cannot(bare: Place, zen: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    bad = [tmp_path / name for name in ("missing.txt", "folder", "pipe", "dangling")]
    assert len(bare.run("ingest", *bad, "--ontology", "B", expect=4).stderr.splitlines()) == len(bad)
    one_line(bare.run("ingest", zen, "--ontology", "B", "--as", "../up", expect=3).stderr)
    assert "no home of kgfs is there yet" in one_line(bare.run("ingest", zen, expect=4).stderr)
    assert not (bare.home / "garage").exists(), "nothing is made for what cannot be deposited"
    reported = bare.run("ingest", *bad, zen, "--ontology", "A", "--no-wait", expect=4)
    lines = reported.stderr.splitlines()
    assert len(lines) == len(bad)
    for path, line in zip(bad, lines, strict=True):
        assert line.startswith("kgfs: ")
        assert str(path) in line
    assert reported.stdout.startswith("zen.md\t")
    assert bare.status()["documents"] == {"queued": 1}
    bare.run("ingest", bad[0], "--ontology", "C", expect=4)
    assert [ontology["name"] for ontology in bare.status()["ontologies"]] == ["A"]
    assert bare.status()["documents"] == {"queued": 1}, "who gave nothing to read reads nobody else's documents"

    for words, exit_code in (
        ((zen, zen, "--as", "x"), 3),
        ((zen, "--as", "/abs"), 3),
        ((zen, "--as", "../up"), 3),
        ((zen, "--as", "a//b"), 3),
        ((zen, "--as", "x" * 256), 3),
        ((zen, "--as", "zen.md/below"), 3),
    ):
        one_line(bare.run("ingest", *words, "--ontology", "A", "--no-wait", expect=exit_code).stderr)
    for name, exit_code in (("README.md", 5), (".dot", 5), ("a/b", 3), ("", 3)):
        reported = bare.run("ingest", zen, "--ontology", name, "--no-wait", expect=exit_code)
        assert name in one_line(reported.stderr)


def test_worker_alone_ends_on_a_signal_and_is_one_only(bare: Place, zen: Path) -> None:
    bare.run("ingest", zen, "--ontology", "A", "--no-wait")
    worker = bare.start("worker")
    try:
        until(lambda: bare.status()["documents"] == {"done": 1}, PATIENCE)
        reported = one_line(bare.run("worker", expect=5).stderr)
        assert str(bare.home) in reported
        assert bare.status()["worker"]["alive"]
    finally:
        worker.send_signal(signal.SIGTERM)
        out, err = worker.communicate(timeout=PATIENCE)
    assert worker.returncode == 0, err
    assert out == ""
    assert "Traceback" not in err
    assert not bare.status()["worker"]["alive"]


# ----------------------------------------------------------------------------------- wait, its codes


def test_wait_times_out_and_says_so_when_nobody_works(bare: Place, zen: Path) -> None:
    bare.run("ingest", zen, "--ontology", "A", "--no-wait")
    reported = bare.run("wait", "--timeout", "0.5", expect=9)
    assert "1 document" in one_line(reported.stderr)
    assert "No worker is alive" in reported.stderr
    reported = bare.run("wait", expect=9)
    assert "kgfs worker" in one_line(reported.stderr)
    bare.run("worker", "--until-idle")
    assert bare.run("wait").stdout == ""


def test_unsupported_is_no_failure(bare: Place, tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\0\x10JFIF\0")
    bare.run("ingest", tmp_path / "photo.jpg", "--ontology", "A")
    bare.run("wait", "--timeout", "240")
    assert bare.status()["documents"] == {"unsupported": 1}


@pytest.mark.logs("CorruptError")
def test_wait_names_what_failed(bare: Place, tmp_path: Path) -> None:
    """An original that rotted in the garage cannot be read; nothing else could fail for good offline."""
    (tmp_path / "a.txt").write_text(GARBAGE)
    bare.run("ingest", tmp_path / "a.txt", "--ontology", "A", "--no-wait")
    original = next(path for path in (bare.home / "garage").rglob("*.txt") if path.stat().st_size == len(GARBAGE))
    original.chmod(0o600)
    original.write_text(GARBAGE.replace("memory", "MEMORY"))
    bare.run("worker", "--until-idle", env={"KGFS_PIPELINE_MAX_ATTEMPTS": "1"})
    not_read, reported = bare.run("wait", expect=1).stderr.splitlines()
    assert not_read.startswith("Not read: A/a.txt: CorruptError")
    assert "a.txt" in reported
    assert "1 document" in reported
    assert bare.status()["documents"] == {"failed": 1}


# ------------------------------------------------------------------------------------- with a mount


@pytest.mark.mounted
def test_mount_answers_when_it_returns_and_umount_leaves_nothing(place: Place, zen: Path) -> None:
    place.environment |= AUTO
    reported = place.run("mount", place.mountpoint)
    assert "README.md" in os.listdir(place.mountpoint)
    assert reported.stdout == ""
    before = place.pids()

    again = place.run("mount", place.mountpoint)
    assert "mounted there already" in again.stderr
    assert again.stdout == ""
    assert set(before) <= set(place.pids())
    assert len(place.pids()) <= 2

    (place.ontology("A") / "zen.md").write_text(ZEN)
    reported = place.run("wait", "--timeout", "240")
    assert (reported.stdout, reported.stderr) == ("", "")
    assert "zen.concept" in os.listdir(place.mountpoint / "A" / "concepts")

    shown = json.loads(place.run("ingest", zen, "--ontology", "A", "--as", "sub/again.md", "--json").stdout)
    assert shown["decision"] == "alias"
    assert (place.mountpoint / "A/documents/sub/again.md").read_text() == ZEN, "seen at once through the mount"

    findings = json.loads(place.run("doctor", "--json").stdout)
    mounts = [line for line in findings if line["what"] == "mount"]
    assert len(mounts) == 1
    assert str(place.mountpoint) in mounts[0]["found"]
    status = place.status()
    assert status["worker"]["alive"]
    assert status["documents"] == {"done": 1}

    place.umount()
    assert os.listdir(place.mountpoint) == []
    assert place.pids() == []
    assert str(place.mountpoint) in one_line(place.run("umount", place.mountpoint, expect=4).stderr)


@pytest.mark.mounted
def test_no_worker_foreground_and_a_busy_mount(place: Place) -> None:
    mount = place.start("mount", place.mountpoint, "--foreground", "--no-worker")
    until(lambda: os.path.ismount(place.mountpoint))
    (place.ontology("A") / "a.txt").write_text(GARBAGE)
    place.run("wait", "--timeout", "2", expect=9)
    assert not place.status()["worker"]["alive"]
    assert place.pids() == [mount.pid]
    with open(place.mountpoint / "A/a.txt") as held:
        reported = one_line(place.run("umount", place.mountpoint, expect=5).stderr)
        assert f"pid {os.getpid()}" in reported
        assert "--lazy" in reported
        assert held.read() == GARBAGE
    mount.send_signal(signal.SIGTERM)
    out, err = mount.communicate(timeout=30)
    assert mount.returncode == 0, err
    assert out == ""
    assert "Traceback" not in err
    assert not os.path.ismount(place.mountpoint)


@pytest.mark.mounted
def test_one_home_at_two_places_shows_one_tree(place: Place, tmp_path: Path) -> None:
    place.mount()
    other = Place(place.home, tmp_path / "other")
    other.mountpoint.mkdir()
    other.mount()
    try:
        (place.ontology("A") / "a.txt").write_text(GARBAGE)
        until(lambda: (other.mountpoint / "A/documents/a.txt").exists())
        assert (other.mountpoint / "A/documents/a.txt").read_text() == GARBAGE
    finally:
        other.umount()
    assert shell("cat", place.mountpoint / "A/a.txt").stdout.decode() == GARBAGE


@pytest.mark.models
def test_what_was_not_read_is_named(home: Path, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Reference counting is a form of garbage collection.")
    (tmp_path / "program.bin").write_bytes(bytes(range(256)) * 8)
    files = [tmp_path / "note.txt", tmp_path / "program.bin"]
    place = Place(home, tmp_path / "mnt")
    reported = place.run("ingest", *files, "--ontology", "Mixed")
    assert reported.stderr.startswith("Not read: Mixed/program.bin: ") and reported.stderr.count("\n") == 1
    assert reported.stderr.count("program.bin") == 1  # the parser's error names its file too
    assert place.run("wait").stderr == reported.stderr
    assert place.run("wait").stderr == ""  # it is not new any more
    reason = reported.stderr.partition("program.bin: ")[2].strip()
    page = json.loads(place.run("status", "--json").stdout)
    assert [(one["path"], one["reason"]) for one in page["not_read"]] == [("Mixed/program.bin", reason)]
    assert f"not read Mixed/program.bin: {reason}" in place.run("status").stdout


THINGS = "kettle pot spoon whisk bowl tray scroll mat lamp bell fan screen gate stove".split()  # noqa: SIM905
"""Fourteen documents: more than a page."""


@contextmanager
def mounted(home: Path, where: Path) -> Iterator[None]:
    environ = {**os.environ, "KGFS_HOME": str(home)}
    mount = subprocess.Popen([sys.executable, "-m", "kgfs", "mount", "--foreground", str(where)], env=environ)
    try:
        until(where.is_mount)
        yield
    finally:
        mount.send_signal(signal.SIGTERM)
        mount.wait()


def kgfs(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "KGFS_HOME": str(home)}
    return subprocess.run([sys.executable, "-m", "kgfs", *words], env=environ, capture_output=True, text=True)


@pytest.mark.mounted
@pytest.mark.models
def test_the_mount_and_the_command_line_find_the_same(tmp_path: Path) -> None:
    home, where = tmp_path / "home", tmp_path / "mnt"
    where.mkdir()
    with mounted(home, where):
        (where / "Tea").mkdir()
        for n, thing in enumerate(THINGS):
            text = (
                f"# The {thing}\n\nThe {thing} of the tea house is made of wood. Monks clean the {thing} on day {n}.\n"
            )
            (where / "Tea" / f"{thing}.md").write_text(text)
        assert kgfs(home, "wait").returncode == 0

        nothing = kgfs(home, "search", "zzzzqqq")
        assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "nothing found\n")  # and by meaning, too
        assert json.loads((where / "search/zzzzqqq/results.json").read_text())["results"] == []

        seen: list[str] = []
        for page, folder in ((1, "search/tea house"), (2, "search/tea house/page-2")):
            told = kgfs(home, "search", "tea house", "--page", str(page), "--json")
            found = json.loads(told.stdout)
            assert json.loads((where / folder / "results.json").read_text()) == found, folder
            seen += [one["document"] for one in found["results"]]
        assert len(seen) == len(set(seen)) == len(THINGS)
        assert not found["pagination"]["has_next"] and not found["only_text"]

        nested = json.loads(kgfs(home, "search", "monks", "--within", "bell", "--json").stdout)
        assert [one["document"] for one in nested["results"]] == ["documents/bell.md"]
        assert json.loads((where / "search/bell/monks/results.json").read_text()) == nested
        (where / "Tea/search/monks path:bel").touch()
    with mounted(home, where):  # a saved search keeps its filter
        assert os.listdir(where / "Tea/search") == ["monks path:bel"]
        kept = json.loads((where / "Tea/search/monks path:bel/results.json").read_text())
        assert [one["document"] for one in kept["results"]] == ["documents/bell.md"]


def test_a_question_without_a_terminal_is_one_sentence(home: Path, tmp_path: Path) -> None:
    place = Place(home, tmp_path / "mnt")
    (tmp_path / "note.txt").write_text("Reference counting is a form of garbage collection.")
    place.run("ingest", tmp_path / "note.txt", "--ontology", "A", "--no-wait")
    refused = place.run("forget", "A/note.txt", expect=2)
    assert refused.stderr.strip().splitlines()[-1].endswith("give --yes.") and "Usage" not in refused.stderr
    assert place.run("reprocess", "--dry-run").stdout.startswith("Nothing would be read again.\nversion 1")
