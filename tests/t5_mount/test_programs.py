"""The programs people use, on documents/ of a real mount: each must find an ordinary folder."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from tests.support.mounting import Library, MakeLibrary, run, sha
from tests.support.running import until
from tests.support.typing_at import typed

pytestmark = pytest.mark.mounted
program = pytest.mark.program
as_root = pytest.mark.root


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A small tree with everything a copy should keep."""
    source = tmp_path / "source"
    (source / "sub" / "deep").mkdir(parents=True)
    (source / "small.txt").write_bytes(b"small\n")
    (source / "sub" / "large.bin").write_bytes(bytes(range(256)) * 3000)
    (source / "sub" / "deep" / "empty").touch()
    (source / "sub" / ".hidden").write_text("hidden")
    (source / "sub" / "link").symlink_to("../small.txt")
    (source / "sub" / "dangling").symlink_to("nowhere")
    (source / os.fsdecode(b"odd \xff\nname")).write_bytes(b"odd")
    (source / "small.txt").chmod(0o640)
    os.utime(source / "small.txt", ns=(10**18, 10**18 + 123_456_789))
    for folder in (source, *(path for path in source.rglob("*") if path.is_dir())):
        os.utime(folder, ns=(10**18, 10**18))  # rsync looks at whole seconds only, and writes within one
    return source


def seen(tree: Path) -> dict[str, tuple[object, ...]]:
    """Everything about a tree that a faithful copy has too."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(tree.rglob("*")):
        about = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        moment = 0 if path.is_symlink() else about.st_mtime_ns
        found[str(path.relative_to(tree))] = (about.st_mode, about.st_uid, about.st_gid, moment, content)
    return found


# ------------------------------------------------------------------------------------------- copying


def test_cp_keeps_everything(source: Path, library: Library) -> None:
    run("cp", "-a", source, library.documents / "copy")
    assert seen(library.documents / "copy") == seen(source)
    run("diff", "-r", "--no-dereference", source, library.documents / "copy")
    run("cmp", source / "sub" / "large.bin", library.documents / "copy" / "sub" / "large.bin")


def test_cp_of_a_deep_tree(library: Library, tmp_path: Path) -> None:
    top = tmp_path / "deep"
    path = top
    for depth in range(100):
        path = path / f"folder-{depth}"
    path.mkdir(parents=True)
    (path / "bottom.txt").write_text("the bottom")
    run("cp", "-r", top, library.documents)
    run("diff", "-r", top, library.documents / "deep")
    library.settled()
    relative = str(
        (library.documents / "deep").joinpath(path.relative_to(top), "bottom.txt").relative_to(library.documents)
    )
    assert library.minted() == [(relative, 1, sha(b"the bottom"))]
    run("rm", "-r", library.documents / "deep")
    assert os.listdir(library.documents) == []


def test_cp_to_the_root_of_an_ontology(library: Library, source: Path) -> None:
    run("cp", source / "small.txt", library.top)
    assert (library.documents / "small.txt").read_bytes() == b"small\n"
    assert "small.txt" not in os.listdir(library.top)
    run("cp", "-r", source / "sub", library.top)
    run("diff", "-r", "--no-dereference", source / "sub", library.documents / "sub")
    assert "sub" not in os.listdir(library.top)


@pytest.mark.claim("REN-3")
def test_mv_within_and_across(library: Library, make_library: MakeLibrary) -> None:
    """Within a folder, to another, of whole folders, and into another ontology: names move, bytes and times stay."""
    other = make_library()
    for folder in ("one", "two", "one/sub"):
        (library.documents / folder).mkdir()
    file = library.documents / "one" / "a.txt"
    file.write_bytes(b"moved about")
    os.utime(file, ns=(10**18, 10**18 + 1))
    inode = file.stat().st_ino
    library.settled()
    for goal in ("one/b.txt", "two/b.txt", "two/c.txt", "one/sub/c.txt"):
        run("mv", file, library.documents / goal)
        assert not file.exists()
        file = library.documents / goal
        assert (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) == (b"moved about", 10**18 + 1, inode)
    run("mv", library.documents / "one", other.documents / "came")
    came = other.documents / "came" / "sub" / "c.txt"
    assert (came.read_bytes(), came.stat().st_mtime_ns, came.stat().st_ino) == (b"moved about", 10**18 + 1, inode)
    assert os.listdir(library.documents) == ["two"]
    library.settled()
    assert library.minted() == [("one/a.txt", 1, sha(b"moved about"))]
    assert other.minted()[-1][::2] == ("came/sub/c.txt", sha(b"moved about"))
    assert library.catalog.names.counts(library.ontology.id) != other.catalog.names.counts(other.ontology.id)


@program("rsync")
def test_rsync_sends_nothing_the_second_time(source: Path, library: Library) -> None:
    copy = library.documents / "copy"
    first = run("rsync", "-a", "--itemize-changes", f"{source}/", f"{copy}/")
    assert "small.txt" in first
    assert seen(copy) == seen(source)
    assert run("rsync", "-a", "--itemize-changes", f"{source}/", f"{copy}/") == ""
    library.settled()
    assert run("rsync", "-ac", "--itemize-changes", f"{source}/", f"{copy}/") == ""
    (source / "small.txt").write_bytes(b"in place\n")
    assert "small.txt" in run("rsync", "-a", "--itemize-changes", "--inplace", f"{source}/", f"{copy}/")
    assert seen(copy) == seen(source)
    (source / "small.txt").write_bytes(b"changed\n")
    (source / "sub" / "large.bin").unlink()
    os.utime(source / "sub", ns=(10**18, 10**18 + 5 * 10**9))
    changed = run("rsync", "-a", "--delete", "--itemize-changes", f"{source}/", f"{copy}/")
    assert "small.txt" in changed
    assert re.search(r"deleting +sub/large.bin", changed)
    assert run("rsync", "-a", "--delete", "--itemize-changes", f"{source}/", f"{copy}/") == ""
    assert seen(copy) == seen(source)


def test_tar_there_and_back(source: Path, library: Library, tmp_path: Path) -> None:
    run("tar", "--format=posix", "-C", source, "-cf", library.documents / "a.tar", ".")
    copy = library.documents / "copy"
    copy.mkdir()
    run("tar", "-xpf", "../a.tar", at=copy)
    assert seen(copy) == seen(source)
    run("tar", "--format=posix", "-C", copy, "-cf", tmp_path / "b.tar", ".")
    run("tar", "-C", source, "--compare", "-f", tmp_path / "b.tar")
    run("tar", "-cf", library.documents / "in-place.tar", "copy", at=library.documents)
    with tarfile.open(library.documents / "in-place.tar") as tar:
        assert "copy/small.txt" in tar.getnames()


@program("unzip", "zip")
def test_zip_there_and_back(source: Path, library: Library, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(30):
            archive.writestr(f"folder/{number}.txt", f"number {number}\n")
        archive.writestr("large.txt", "many words " * 30_000)
    run("unzip", "-q", tmp_path / "a.zip", "-d", library.documents)
    assert (library.documents / "folder" / "7.txt").read_text() == "number 7\n"
    assert (library.documents / "large.txt").stat().st_size == 330_000
    run("zip", "-q", "-r", "again.zip", "folder", at=library.documents)
    run("unzip", "-q", "-t", library.documents / "again.zip")


@as_root
@pytest.mark.claim("PERM-3")
@program("rsync")
def test_root_keeps_owners(source: Path, library: Library, tmp_path: Path) -> None:
    os.chown(source / "small.txt", 1234, 4321)
    os.chown(source / "sub", 1234, 4321)
    os.chown(source / "sub" / "link", 1234, 4321, follow_symlinks=False)
    wanted = seen(source)
    assert wanted["sub/link"][1:3] == (1234, 4321)
    run("cp", "-a", source, library.documents / "by-cp")
    run("rsync", "-a", f"{source}/", f"{library.documents}/by-rsync/")
    run("tar", "-C", source, "--format=posix", "-cf", tmp_path / "a.tar", ".")
    (library.documents / "by-tar").mkdir()
    run("tar", "-C", library.documents / "by-tar", "-xpf", tmp_path / "a.tar")
    for way in ("by-cp", "by-rsync", "by-tar"):
        assert seen(library.documents / way) == wanted, way


def test_install_and_modes(source: Path, library: Library) -> None:
    run("install", "-D", "-m", "750", source / "small.txt", library.documents / "bin" / "tool")
    tool = library.documents / "bin" / "tool"
    assert stat.S_IMODE(tool.stat().st_mode) == 0o750
    run("chmod", "u=rw,go=", tool)
    assert stat.S_IMODE(tool.stat().st_mode) == 0o600
    run("chmod", "-R", "a+rX", library.documents / "bin")
    assert stat.S_IMODE(tool.stat().st_mode) == 0o644
    assert stat.S_IMODE(tool.parent.stat().st_mode) == 0o755
    tool.write_text("#!/bin/sh\necho it runs\n")
    run("chmod", "+x", tool)
    assert run(tool) == "it runs\n"


@pytest.mark.claim("TIME-1")
def test_touch(library: Library) -> None:
    file = library.documents / "a.txt"
    run("touch", "-d", "2001-02-03 04:05:06.789012345 UTC", file)
    assert file.stat().st_mtime_ns == 981173106789012345
    assert file.stat().st_atime_ns == 981173106789012345
    run("touch", "-a", "-d", "2011-01-01 00:00:00 UTC", file)
    assert file.stat().st_mtime_ns == 981173106789012345
    for moment in (-1_234_567_890_123_456_789, -1, 0, 2**33 * 10**9 + 987_654_321):
        os.utime(file, ns=(moment, moment))
        assert (file.stat().st_atime_ns, file.stat().st_mtime_ns) == (moment, moment)
    before = time.time_ns()
    run("touch", file)
    assert before - 10**7 <= file.stat().st_mtime_ns <= time.time_ns()
    run("touch", "-r", "/etc/passwd", file)
    assert file.stat().st_mtime_ns == os.stat("/etc/passwd").st_mtime_ns


def test_dd_and_truncate(library: Library) -> None:
    file = library.documents / "a.bin"
    content = os.urandom(300_000)
    made = subprocess.run(
        ["dd", f"of={file}", "bs=4096", "conv=fsync", "status=none"], input=content, check=False, timeout=60
    )
    assert made.returncode == 0
    assert file.read_bytes() == content
    run("dd", "if=/dev/zero", f"of={file}", "bs=1000", "seek=10", "count=3", "conv=notrunc,fdatasync", "status=none")
    content = content[:10_000] + bytes(3000) + content[13_000:]
    assert file.read_bytes() == content
    run("truncate", "-s", "100000", file)
    assert file.read_bytes() == content[:100_000]
    run("truncate", "-s", "+70000", file)
    assert file.read_bytes() == content[:100_000] + bytes(70_000)
    run("truncate", "-s", "0", file)
    assert file.stat().st_size == 0
    library.settled()
    assert file.read_bytes() == b""


# ------------------------------------------------------------------------------------- looking


@pytest.fixture
def shelf(library: Library) -> Library:
    """Forty files of known sizes and times in four folders, and some that are told apart by one question only."""
    for number in range(40):
        folder = library.documents / f"folder-{number % 4}"
        folder.mkdir(exist_ok=True)
        path = folder / f"{number:02}.txt"
        path.write_text(f"line one of {number}\nneedle {number}\n" + "x" * 1000 * number)
        os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
    return library


def test_find(shelf: Library) -> None:
    def found(*words: str) -> list[str]:
        return sorted(Path(line).name for line in run("find", ".", *words, at=shelf.documents).splitlines())

    expected = [f"{number:02}.txt" for number in range(40)]
    assert found("-type", "f") == expected
    assert found("-mindepth", "1", "-type", "d") == [*(f"folder-{number}" for number in range(4))]
    assert found("-name", "1?.txt") == expected[10:20]
    sizes = {path.name: path.stat().st_size for path in shelf.documents.rglob("*.txt")}
    assert found("-type", "f", "-size", "+20000c") == sorted(name for name, size in sizes.items() if size > 20_000)
    assert found("-newer", str(shelf.documents / "folder-0" / "36.txt"), "-type", "f") == expected[37:]
    assert found("-newermt", "@1600000020", "-type", "f") == expected[21:]
    assert found("-empty") == []
    assert found("-links", "1", "-type", "f") == expected
    assert found("-name", "07.txt", "-delete") == []
    assert found("-type", "f") == [name for name in expected if name != "07.txt"]


@program("rg")
def test_grep_and_rg(shelf: Library) -> None:
    for tool in (("grep", "-rl"), ("grep", "-Rl"), ("rg", "-l")):
        assert len(run(*tool, "needle", ".", at=shelf.documents).splitlines()) == 40
        found = run(*tool, "needle 7$", ".", at=shelf.documents).strip().removeprefix("./")
        assert found == "folder-3/07.txt"
    assert run("grep", "-rc", "nothing like it", "folder-0", at=shelf.documents, code=1).count(":0") == 10
    shelf.settled()
    everywhere = run("rg", "-l", "needle 7$", ".", at=shelf.top).splitlines()
    assert everywhere == ["./documents/folder-3/07.txt"], "derived folders are left out, as .ignore says"


@pytest.mark.claim("SIZE-1", "SIZE-2")
def test_sizes_agree(shelf: Library) -> None:
    """du, wc, ls, stat and tar count the same bytes."""
    sizes = {str(path.relative_to(shelf.documents)): len(path.read_bytes()) for path in shelf.documents.rglob("*.txt")}
    total = sum(sizes.values())
    counted = run("wc", "-c", *sizes, at=shelf.documents).splitlines()
    assert {line.split()[1]: int(line.split()[0]) for line in counted[:-1]} == sizes
    assert int(counted[-1].split()[0]) == total
    assert int(run("du", "-sb", "--apparent-size", ".", at=shelf.documents).split()[0]) == total
    blocks = sum(-(-size // 512) for size in sizes.values())
    assert int(run("du", "-s", "--block-size=512", ".", at=shelf.documents).split()[0]) == blocks
    listed = run("find", ".", "-name", "*.txt", "-printf", "%P %s\n", at=shelf.documents).splitlines()
    assert {line.split()[0]: int(line.split()[1]) for line in listed} == sizes
    lines = run("wc", "-l", "folder-1/05.txt", at=shelf.documents)
    assert lines.split()[0] == "2"


@program("tree", "less")
def test_tree_and_less(shelf: Library) -> None:
    told = json.loads(run("tree", "-J", "--noreport", ".", at=shelf.documents))
    assert [(folder["name"], len(folder["contents"])) for folder in told[0]["contents"]] == [
        (f"folder-{number}", 10) for number in range(4)
    ]
    assert run("less", "-FX", "folder-2/02.txt", at=shelf.documents).startswith("line one of 2\nneedle 2\n")
    shown = typed(["less", "-S", "folder-3/39.txt"], [b"/needle\r", b"q"], at=shelf.documents)
    assert b"line one of 39" in shown


def test_many_readers_at_once(shelf: Library) -> None:
    once = run("bash", "-c", "find . -type f -print0 | sort -z | xargs -0 cat | wc -c", at=shelf.documents)
    at_once = run("bash", "-c", "find . -type f -print0 | xargs -0 -n1 -P8 cat | wc -c", at=shelf.documents)
    assert int(once) == int(at_once) == sum(path.stat().st_size for path in shelf.documents.rglob("*.txt"))


# ------------------------------------------------------------------------------------- links


@pytest.mark.claim("VER-5", "REF-1")
def test_links(library: Library, tmp_path: Path) -> None:
    """Symbolic links are kept, never followed by kgfs, never ingested; there are no hard ones."""
    secret = tmp_path / "secret.txt"
    secret.write_text("not for the library")
    (library.documents / "a.txt").write_text("a")
    run("ln", "-s", secret, "out.txt", at=library.documents)
    run("ln", "-s", "a.txt", "within.txt", at=library.documents)
    run("ln", "-s", "nowhere", "dangling.txt", at=library.documents)
    run("ln", "-s", "/", "everything", at=library.documents)
    refused = run("ln", "a.txt", "hard.txt", at=library.documents, code=1)
    assert "Operation not permitted" in refused
    library.settled()
    assert (library.documents / "out.txt").read_text() == "not for the library"
    assert os.readlink(library.documents / "within.txt") == "a.txt"
    assert library.minted() == [("a.txt", 1, sha(b"a"))]
    assert os.listdir(library.top / "versions") == ["a.txt@"]
    assert not any("not for the library" in path.read_text("utf-8", "replace") for path in _home_files(library))


def _home_files(library: Library) -> list[Path]:
    return [path for path in library.place.home.rglob("*") if path.is_file() and path.stat().st_size < 10**6]


# --------------------------------------------------------------------------------- databases, repositories


@pytest.mark.parametrize("mode", ["delete", "wal"])
@program("sqlite3")
def test_a_database_works_inside(library: Library, mode: str) -> None:
    path = library.documents / "a.sqlite"
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA journal_mode={mode}")
    db.execute("CREATE TABLE t (n INTEGER, body BLOB)")
    reader = sqlite3.connect(path, timeout=20)
    for number in range(20):
        with db:
            db.execute("INSERT INTO t VALUES (?, ?)", (number, bytes(5000)))
        assert reader.execute("SELECT count(*) FROM t").fetchone() == (number + 1,)
    reader.close()
    db.close()
    assert run("sqlite3", path, "PRAGMA integrity_check; SELECT count(*) FROM t") == "ok\n20\n"


@pytest.mark.claim("LOCK-1")
def test_two_processes_lock_each_other_out(library: Library) -> None:
    file = library.documents / "lock"
    counter = library.documents / "counter"
    counter.write_text("0")
    one = f"for i in $(seq 25); do flock '{file}' sh -c 'n=$(cat {counter}); echo $((n+1)) > {counter}'; done"
    both = [subprocess.Popen(["sh", "-c", one]) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert counter.read_text() == "50\n"
    held = ["flock", file, "sh", "-c", "echo held; sleep 60"]
    with subprocess.Popen(held, stdout=subprocess.PIPE, start_new_session=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            run("flock", "--nonblock", file, "true", code=1)
        finally:
            os.killpg(holder.pid, signal.SIGKILL)
    run("flock", "--timeout", "60", file, "true")  # the last of the killed may not have ended yet


@program("git")
def test_git_works_inside(library: Library) -> None:
    folder = library.documents
    run("git", "init", "-q", ".", at=folder)
    for turn in range(3):
        (folder / "notes.txt").write_text(f"turn {turn}\n" * 100)
        run("git", "add", ".", at=folder)
        run("git", "-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", str(turn), at=folder)
    assert len(run("git", "log", "--oneline", at=folder).splitlines()) == 3
    run("git", "gc", "-q", at=folder)
    run("git", "fsck", "--strict", at=folder)
    assert run("git", "status", "--short", at=folder) == ""
    run("git", "checkout", "-q", "HEAD~1", at=folder)
    assert (folder / "notes.txt").read_text() == "turn 1\n" * 100
    library.settled()
    assert {path for path, _, _ in library.minted()} == {"notes.txt"}, "nothing of .git becomes a document"


# ------------------------------------------------------------------------------------- maps, appenders


def test_a_memory_map_reads_and_writes(library: Library) -> None:
    path = library.documents / "mapped.bin"
    content = bytearray(os.urandom(200_000))
    path.write_bytes(content)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped[:] == content
        assert hashlib.sha256(mapped).hexdigest() == sha(bytes(content))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[100_000:100_005] = b"hello"
    content[100_000:100_005] = b"hello"
    assert path.read_bytes() == content
    library.settled()
    assert library.minted()[-1][2] == sha(bytes(content))


@pytest.mark.claim("ATOM-2")
def test_two_appenders_lose_nothing(library: Library) -> None:
    path = library.documents / "log"
    path.touch()
    both = [subprocess.Popen([sys.executable, "-c", APPEND, str(path), word]) for word in "ab"]
    assert [process.wait(60) for process in both] == [0, 0]
    lines = path.read_text().splitlines()
    assert sorted(lines) == sorted(f"{word} {number} {word * 50}" for word in "ab" for number in range(200))
    assert [line for line in lines if line[0] == "a"] == [f"a {number} {'a' * 50}" for number in range(200)]


APPEND = """
import os, sys
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
word = sys.argv[2]
for number in range(200):
    os.write(descriptor, f"{word} {number} {word * 50}\\n".encode())
"""


# ------------------------------------------------------------------------------------- watching


@program("inotifywait")
@pytest.mark.claim("NOTE-1")
def test_inotify_sees_what_is_done_through_the_mount(empty: Library, tmp_path: Path) -> None:
    """And nothing else: what another process deposits appears, but no event tells it."""
    library, out = empty, tmp_path / "events"
    with (
        out.open("wb") as events,
        subprocess.Popen(
            ["inotifywait", "-m", "--format", "%e %f", library.documents], stdout=events, stderr=events
        ) as watcher,
    ):
        try:
            until(lambda: "Watches established" in out.read_text())
            (library.documents / "a.txt").write_text("a")
            (library.documents / "a.txt").rename(library.documents / "b.txt")
            (library.documents / "elsewhere.txt").exists()
            (tmp_path / "elsewhere.txt").write_text("from elsewhere")
            library.place.run("ingest", tmp_path / "elsewhere.txt", "--ontology", library.name)
            until(lambda: (library.documents / "elsewhere.txt").exists())
            (library.documents / "b.txt").unlink()
            until(lambda: "DELETE b.txt" in out.read_text())
        finally:
            watcher.kill()
    told = out.read_text().splitlines()
    for event in ("CREATE a.txt", "MODIFY a.txt", "CLOSE_WRITE,CLOSE a.txt", "MOVED_FROM a.txt", "MOVED_TO b.txt"):
        assert event in told
    assert told[-1] == "DELETE b.txt"
    assert not any("elsewhere" in line for line in told)
    assert (library.documents / "elsewhere.txt").read_text() == "from elsewhere"


def test_shutil_copies_and_removes(source: Path, library: Library) -> None:
    """Python's own copying, which tries copy_file_range and sendfile."""
    shutil.copytree(source, library.documents / "copy", symlinks=True)
    assert seen(library.documents / "copy") == seen(source)
    shutil.copytree(library.documents / "copy", library.documents / "again", symlinks=True)
    assert seen(library.documents / "again") == seen(source)
    shutil.rmtree(library.documents / "copy")
    assert os.listdir(library.documents) == ["again"]
