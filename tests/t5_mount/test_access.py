"""Who may see what: the mount, the files of a home, extended attributes; and names that try to get out."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgfs.fuse.machine import CONFIGURATION
from tests.support.mounting import STATISTICS, Library, mounted_place
from tests.support.required import missing
from tests.support.running import Place, one_line
from tests.support.texts import GARBAGE, ZEN

pytestmark = pytest.mark.mounted

NOBODY = 65534
STRANGER = 12345
"""A user who has nothing to do with the mount, and needs no entry anywhere."""

SYS_ADMIN_ENTERS = Path("/sys/module/fuse/parameters/allow_sys_admin_access")


def as_user(user: int) -> tuple[str, ...]:
    return ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--")


def answer(path: Path, user: int, call: str = "os.listdir(path)") -> str:
    """What ``call`` gives that user: the name of the errno, or nothing."""
    program = (
        "import errno, os, sys\npath = sys.argv[1]\n"
        f"try: {call}\nexcept OSError as error: print(errno.errorcode[error.errno])\n"
    )
    done = subprocess.run(
        [*as_user(user), "/usr/bin/env", "python3", "-c", program, path], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def open_place() -> Iterator[Callable[..., Place]]:
    """Homes and mount points in a folder that every user can reach."""
    made: list[Place] = []

    def make(user: int) -> Place:
        top = Path(tempfile.mkdtemp(prefix="kgfs-access-", dir="/tmp"))
        top.chmod(0o755)
        place = Place(
            top / "home",
            top / "mnt",
            {"HOME": str(top), "KGFS_PIPELINE_SETTLE": "0.3", **STATISTICS},
            as_user(user) if user else (),
        )
        for folder in (place.home, place.mountpoint):
            folder.mkdir(mode=0o755)
            os.chown(folder, user, user)
        if user:
            tried = subprocess.run(
                [*as_user(user), sys.executable, "-c", "import kgfs.cli"], capture_output=True, check=False
            )
            if tried.returncode:
                missing("user", f"an ordinary user cannot use this environment: {tried.stderr.decode()[-200:]}")
        made.append(place)
        return place

    yield make
    for place in made:
        place.close()
        shutil.rmtree(place.home.parent)


# ---------------------------------------------------------------------------------------------- the mount


@pytest.mark.claim("PERM-2")
@pytest.mark.user
def test_others_see_nothing(open_place: Callable[..., Place]) -> None:
    place = open_place(NOBODY)
    place.mount("--no-worker")
    calls = ("os.listdir(path)", "os.stat(path + '/README.md')", "os.open(path + '/new', os.O_CREAT | os.O_WRONLY)")
    for call in calls:
        assert answer(place.mountpoint, STRANGER, call) == "EACCES"
    assert answer(place.mountpoint, NOBODY) == ""
    if SYS_ADMIN_ENTERS.exists() and SYS_ADMIN_ENTERS.read_text().strip() == "N":
        with pytest.raises(PermissionError):
            os.listdir(place.mountpoint)


@pytest.mark.user
def test_what_root_mounts_others_do_not_see(open_place: Callable[..., Place]) -> None:
    place = open_place(0)
    place.mount("--no-worker")
    assert answer(place.mountpoint, NOBODY) == "EACCES"
    assert "README.md" in os.listdir(place.mountpoint)


@pytest.mark.claim("PERM-1", "PERM-2")
@pytest.mark.user
def test_allow_other_obeys_the_modes(open_place: Callable[..., Place]) -> None:
    """default_permissions: the kernel judges by owner, group and mode, as on any file system."""
    place = open_place(0)
    place.mount("--no-worker", "--allow-other")
    documents = place.ontology("A") / "documents"
    for name, mode in (("open", 0o644), ("closed", 0o600), ("shared", 0o666)):
        (documents / name).write_text(name)
        (documents / name).chmod(mode)
    (documents / "room").mkdir(mode=0o700)
    (documents / "room/inside").write_text("x")
    (documents / "common").mkdir()
    (documents / "common").chmod(0o1777)
    (documents / "common/of root").write_text("x")

    def told(call: str) -> str:
        return answer(documents, STRANGER, call)

    assert told("os.listdir(path)") == ""
    assert told("open(path + '/open').read()") == ""
    assert told("open(path + '/closed').read()") == "EACCES"
    assert told("open(path + '/open', 'a')") == "EACCES"
    assert told("open(path + '/shared', 'a').write('more')") == ""
    assert told("os.listdir(path + '/room')") == "EACCES"
    assert told("os.stat(path + '/room/inside')") == "EACCES"
    assert told("open(path + '/new', 'w')") == "EACCES"
    assert told("os.unlink(path + '/open')") == "EACCES"
    assert told("os.chmod(path + '/shared', 0o600)") == "EPERM"
    assert told("os.mkdir(path + '/../../Theirs')") == "EACCES"
    assert told("os.unlink(path + '/../about.md')") == "EACCES"
    assert told("open(path + '/common/mine', 'w').write('x')") == ""
    assert told("os.unlink(path + '/common/of root')") in ("EPERM", "EACCES"), "the sticky bit"
    assert (documents / "shared").read_text() == "sharedmore"
    mine = (documents / "common/mine").stat()
    assert (mine.st_uid, mine.st_gid) == (STRANGER, STRANGER)


@pytest.mark.user
def test_a_user_may_not_open_a_mount_to_others_without_permission(open_place: Callable[..., Place]) -> None:
    if CONFIGURATION.exists() and "\nuser_allow_other" in CONFIGURATION.read_text():
        pytest.skip(f"[user] {CONFIGURATION} allows it on this machine")
    place = open_place(NOBODY)
    reported = one_line(place.run("mount", place.mountpoint, "--allow-other", expect=6).stderr)
    assert "user_allow_other" in reported
    assert os.listdir(place.mountpoint) == []


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077])
def test_the_umask_of_who_makes_holds(umask: int, library: Library) -> None:
    before = os.umask(umask)
    try:
        (library.documents / "file").touch()
        (library.documents / "folder").mkdir()
        (library.top / "short").touch()
    finally:
        os.umask(before)
    assert stat.S_IMODE((library.documents / "file").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((library.documents / "short").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((library.documents / "folder").stat().st_mode) == 0o777 & ~umask


# ----------------------------------------------------------------------------------------------- the home


def closed_to_others(home: Path) -> list[str]:
    """What below ``home`` somebody else might look at, or its owner not."""
    wrong = []
    for path in [home, *sorted(home.rglob("*"))]:
        found = path.lstat()
        mode = stat.S_IMODE(found.st_mode)
        allowed = (0o700,) if stat.S_ISDIR(found.st_mode) else (0o600, 0o400)
        if mode not in allowed:
            wrong.append(f"{path.relative_to(home)} {mode:o}")
    return wrong


WRITE_AND_HOLD = """
cd "$1"
umask 022
mkdir A
printf '%s' "$2" > A/zen.md
mkdir A/documents/sub
head -c 300000 /dev/urandom > A/documents/sub/large.bin
exec 3> A/documents/held.bin
head -c 200000 /dev/zero >&3
echo written
read nothing || true
"""

SECRET = "sk-of-nobody-7f3a9c"


@pytest.mark.claim("PERM-6")
@pytest.mark.models
@pytest.mark.parametrize("umask", [0o000, 0o377], ids=oct)
def test_a_home_is_its_owners_alone(umask: int, open_place: Callable[..., Place]) -> None:
    """Whatever the umask: databases with their logs, matrix, garage, ledger, spool, notes, locks, logs. And what stands
    in the environment stays there."""
    place = open_place(NOBODY if os.geteuid() == 0 else os.geteuid())
    place.home.rmdir()
    place.home.parent.chmod(0o777)
    place.environment.update(
        {"KGFS_MODELS_EMBEDDER": "auto", "OPENAI_API_KEY": SECRET, "AWS_SECRET_ACCESS_KEY": SECRET}
    )
    # The umask of the command, not of the test.
    place.before = ("sh", "-c", f'umask {umask:04o}; exec "$@"', "sh", *place.before)
    place.mount("--no-worker")
    user = as_user(NOBODY) if os.geteuid() == 0 else ()
    with subprocess.Popen(
        [*user, "sh", "-euc", WRITE_AND_HOLD, "sh", place.mountpoint, ZEN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "written\n"
        assert list((place.home / "spool").iterdir()) != []
        assert closed_to_others(place.home) == []
    place.run("worker", "--until-idle")
    place.run("wait", "--timeout", "240")
    shown = place.run("config", "show").stdout + place.run("status").stdout + place.run("status", "--json").stdout
    found = {path.name for path in place.home.rglob("*")}
    assert {"front.sqlite", "front.sqlite-wal", "front.sqlite-shm", "graph.sqlite", "vectors.sqlite"} <= found
    assert {"garage", "spool", "run", "log", "mount.log"} <= found
    assert closed_to_others(place.home) == []
    assert SECRET not in shown
    for path in place.home.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path
    place.umount()
    assert closed_to_others(place.home) == []


def test_a_home_others_could_enter_lets_them_read_nothing(tmp_path: Path) -> None:
    """One that its owner made with an open mode stays as the owner made it; what is inside is closed all the same."""
    (tmp_path / "home").mkdir(mode=0o755)
    (tmp_path / "home").chmod(0o755)
    with mounted_place(tmp_path, "--no-worker") as place:
        (place.ontology("A") / "a.txt").write_text(GARBAGE)
        assert stat.S_IMODE(place.home.stat().st_mode) == 0o755
        assert [path for path in closed_to_others(place.home) if not path.startswith(". ")] == []


# -------------------------------------------------------------------------------------- extended attributes


# ------------------------------------------------------------------------------------- names that get out


@pytest.mark.parametrize(
    "as_path",
    [
        "../out.txt",
        "/etc/out.txt",
        "a/../../out.txt",
        "a/..",
        ".",
        "..",
        "",
        "a//b",
        "a/./b",
        "a/",
        "//a",
        "a\nb/../../c",
    ],
)
def test_no_path_of_ingest_leaves_documents(as_path: str, place: Place, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GARBAGE)
    before = sorted(place.home.parent.rglob("out.txt"))
    done = place.run("ingest", tmp_path / "a.txt", "--ontology", "Paths", "--as", as_path, "--no-wait", expect=None)
    if done.returncode == 0:
        kept = done.stdout.split("\t")[0]
        assert ".." not in kept.split("/")
        assert (place.mountpoint / "Paths/documents" / kept).read_text() == GARBAGE
    else:
        assert done.returncode in (3, 5)
        one_line(done.stderr)
    assert sorted(place.home.parent.rglob("out.txt")) == before


@pytest.mark.parametrize(
    "name", ["../Out", "/tmp/Out", ".", "..", "", "a/b", ".kgfs", ".hidden", "search", "README.md", "x" * 256]
)
def test_no_ontology_gets_out(name: str, place: Place, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GARBAGE)
    done = place.run("ingest", tmp_path / "a.txt", "--ontology", name, "--no-wait", expect=None)
    assert done.returncode in (3, 5), done.stdout
    one_line(done.stderr)
    assert not (place.mountpoint.parent / "Out").exists()


def test_a_link_in_documents_leads_ingest_nowhere(library: Library, tmp_path: Path) -> None:
    """A path of ``--as`` through a link is refused; the link is not followed, neither by kgfs nor into the graph."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret words")
    os.symlink(outside, library.documents / "way")
    os.symlink(outside / "secret.txt", library.documents / "secret.txt")
    os.symlink("../../../../../../../../etc/passwd", library.documents / "passwd.md")
    (tmp_path / "a.txt").write_text(GARBAGE)
    done = library.place.run(
        "ingest", tmp_path / "a.txt", "--ontology", library.name, "--as", "way/in.txt", "--no-wait", expect=3
    )
    assert "not a folder" in one_line(done.stderr)
    library.place.run("ingest", tmp_path / "a.txt", "--ontology", library.name, "--as", "secret.txt", "--no-wait")
    library.settled()
    assert os.listdir(outside) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret words"
    assert (library.documents / "secret.txt").read_text() == GARBAGE
    assert [path for path, _, _ in library.minted()] == ["secret.txt"]
    assert os.readlink(library.documents / "passwd.md").endswith("/etc/passwd")


def test_names_that_look_like_ways_out_are_names(library: Library) -> None:
    """Also in versions/, text/ and archive/, whose paths and links are made of them."""
    names = [
        b"..%2F..%2Fetc%2Fpasswd",
        b"...",
        b".. ",
        b"a\\..\\b.txt",
        b"%00.txt",
        b"%2e%2e",
        b"~root",
        b"$HOME",
        b"-rf",
        b"a\nb.md",
    ]
    documents = os.fsencode(library.documents)
    for n, name in enumerate(names):
        with open(os.path.join(documents, name), "wb") as file:
            file.write(b"%d: what %d says." % (n, n))
    library.settled()
    assert sorted(os.listdir(documents)) == sorted(names)
    library.place.run("worker", "--until-idle")
    top = library.top.resolve()
    for folder, folders, files in os.walk(library.top):
        for entry in (*folders, *files):
            path = Path(folder, entry)
            if path.is_symlink():
                assert path.resolve().is_relative_to(top), f"{path} leads out"
                assert path.exists(), f"{path} leads nowhere"
            assert ".." not in entry.split("/")
