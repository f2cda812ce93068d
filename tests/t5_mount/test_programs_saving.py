"""However a program saves, the path that the person edited gets exactly one new version, and nothing else gets one."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.mounting import SETTLE, Library, run, sha
from tests.support.typing_at import typed

pytestmark = pytest.mark.mounted

OLD = b"The first line.\nAn old word stands here.\n"
NEW = b"The first line.\nA new word stands here.\n"
MORE = OLD + b"A new word stands here.\n"

VIM = shutil.which("vim") or "vim.tiny"
program = pytest.mark.program


def by_redirection(note: Path) -> None:
    run("bash", "-c", f"echo 'The first line.' > '{note}'; echo 'A new word stands here.' >> '{note}'")


def by_a_redirection_that_takes_long(note: Path) -> None:
    """The file is empty, then half written, for longer than the quiet time: its writer still has it open."""
    run("bash", "-c", f"(sleep {SETTLE * 2}; head -n 1; sleep {SETTLE * 2}; cat) < '{_new(note)}' > '{note}'")


def by_sed(note: Path) -> None:
    run("sed", "-i", "s/An old/A new/", note)


def by_sed_with_backup(note: Path) -> None:
    run("sed", "-i.tmp", "s/An old/A new/", note)


def by_perl(note: Path) -> None:
    run("perl", "-pi", "-e", "s/An old/A new/", note)


def by_vim(note: Path) -> None:
    typed([VIM, "-u", "NONE", note.name], [b":%s/An old/A new/\r:wq\r"], at=note.parent)


def by_vim_that_renames(note: Path) -> None:
    settings = "set nocompatible backup writebackup backupcopy=no updatecount=1"
    typed([VIM, "-u", "NONE", "-c", settings, note.name], [b":%s/An old/A new/\r:wq\r"], at=note.parent)


def by_vim_that_copies(note: Path) -> None:
    settings = "set nocompatible writebackup backupcopy=yes updatecount=1"
    typed([VIM, "-u", "NONE", "-c", settings, note.name], [b":%s/An old/A new/\r:wq\r"], at=note.parent)


def by_nano(note: Path) -> None:
    # Down, cut the line, type another, write out, exit.
    typed(
        ["nano", "-I", note.name], [b"\x1b[B\x0b", b"A new word stands here.", b"\x0f", b"\r", b"\x18"], at=note.parent
    )


def by_nano_with_backup(note: Path) -> None:
    keys = [b"\x1b[B\x0b", b"A new word stands here.", b"\x0f", b"\r", b"\x18"]
    typed(["nano", "-I", "-B", note.name], keys, at=note.parent)


def as_emacs_does(note: Path) -> None:
    """A lock that dangles, an auto-save, the old file aside, a new one in its place."""
    lock, auto = note.with_name(f".#{note.name}"), note.with_name(f"#{note.name}#")
    lock.symlink_to("somebody@somewhere.4711:1700000000")
    auto.write_bytes(NEW[:20])
    note.rename(note.with_name(f"{note.name}~"))
    note.write_bytes(NEW)
    auto.unlink()
    lock.unlink()


def as_emacs_does_with_a_pause(note: Path) -> None:
    """The old file stays aside for longer than the quiet time before the new one is there."""
    note.rename(note.with_name(f"{note.name}~"))
    time.sleep(SETTLE * 3)
    note.write_bytes(NEW)


def by_replacement(note: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=note.parent, delete=False) as file:
        file.write(NEW)
    os.replace(file.name, note)


def by_replacement_from_a_hidden_file(note: Path) -> None:
    """As many libraries of atomic writing do, syncing file and folder."""
    hidden = note.with_name(f".{note.name}.k3j2h1")
    with hidden.open("wb") as file:
        file.write(NEW)
        file.flush()
        os.fsync(file.fileno())
    hidden.rename(note)
    folder = os.open(note.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def by_removal_and_writing(note: Path) -> None:
    note.unlink()
    note.write_bytes(NEW)


def by_cp(note: Path) -> None:
    run("cp", _new(note), note)


def by_install(note: Path) -> None:
    run("install", "-m", "644", _new(note), note)


def by_mv(note: Path) -> None:
    """From another file system: mv copies, then removes its source."""
    run("mv", "-f", _new(note), note)


def by_rsync(note: Path) -> None:
    run("rsync", "-a", _new(note), note)


def by_rsync_in_place(note: Path) -> None:
    run("rsync", "-a", "--inplace", _new(note), note)


def by_dd(note: Path) -> None:
    run("dd", f"if={_new(note)}", f"of={note}", "bs=7", "conv=fsync", "status=none")


def _new(note: Path) -> Path:
    """The new content outside the mount."""
    mountpoint = next(folder for folder in note.parents if folder.is_mount())
    path = mountpoint.with_name("new.txt")
    path.write_bytes(NEW)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


Save = Callable[[Path], None]
WAYS: list[tuple[Save, tuple[str, ...]]] = [
    (by_redirection, ()),
    (by_a_redirection_that_takes_long, ()),
    (by_sed, ()),
    (by_sed_with_backup, ()),
    (by_perl, ("perl",)),
    (by_vim, (VIM,)),
    (by_vim_that_renames, (VIM,)),
    (by_vim_that_copies, (VIM,)),
    (by_nano, ("nano",)),
    (by_nano_with_backup, ("nano",)),
    (as_emacs_does, ()),
    (as_emacs_does_with_a_pause, ()),
    (by_replacement, ()),
    (by_replacement_from_a_hidden_file, ()),
    (by_removal_and_writing, ()),
    (by_cp, ()),
    (by_install, ()),
    (by_mv, ()),
    (by_rsync, ("rsync",)),
    (by_rsync_in_place, ("rsync",)),
    (by_dd, ()),
]


@pytest.mark.claim("VER-1", "VER-2", "VER-3")
@pytest.mark.parametrize("save", [pytest.param(save, marks=program(*needs), id=save.__name__) for save, needs in WAYS])
def test_a_save_is_one_version_of_the_path_edited(save: Save, library: Library) -> None:
    (library.documents / "sub").mkdir()
    note = library.documents / "sub" / "note.txt"
    note.write_bytes(OLD)
    library.settled()
    assert library.minted() == [("sub/note.txt", 1, sha(OLD))]
    save(note)
    assert note.read_bytes() == NEW
    library.settled()
    assert library.minted() == [("sub/note.txt", 1, sha(OLD)), ("sub/note.txt", 2, sha(NEW))]
    assert library.history("sub/note.txt") == [OLD, NEW]
    assert note.read_bytes() == NEW


@pytest.mark.claim("VER-1")
def test_appending_is_one_version(library: Library) -> None:
    note = library.documents / "log.txt"
    note.write_bytes(OLD)
    library.settled()
    run("bash", "-c", f"echo 'A new word ' | tr -d '\\n' >> '{note}'; echo 'stands here.' >> '{note}'")
    library.settled()
    assert library.minted() == [("log.txt", 1, sha(OLD)), ("log.txt", 2, sha(MORE))]


@pytest.mark.claim("VER-1")
@pytest.mark.parametrize("save", [pytest.param(by_vim, marks=program(VIM)), by_redirection, by_replacement, by_cp])
def test_saving_the_first_time_is_one_version(save: Save, library: Library) -> None:
    """An empty file is a name without a version."""
    note = library.documents / "note.txt"
    if save is by_vim:
        typed([VIM, "-u", "NONE", note.name], [b"i" + NEW[:-1].replace(b"\n", b"\r") + b"\x1b:wq\r"], at=note.parent)
    else:
        note.touch()
        library.settled()
        save(note)
    library.settled()
    assert library.minted() == [("note.txt", 1, sha(NEW))]


@pytest.mark.claim("VER-4")
def test_saving_the_same_bytes_is_no_version(library: Library) -> None:
    note = library.documents / "note.txt"
    note.write_bytes(OLD)
    library.settled()
    note.write_bytes(OLD)
    note.chmod(0o600)
    os.utime(note, (1, 1))
    library.settled()
    by_replacement_of_itself = note.with_name("note.txt.tmp")
    by_replacement_of_itself.write_bytes(OLD)
    by_replacement_of_itself.rename(note)
    library.settled()
    assert {(path, content) for path, _, content in library.minted()} == {("note.txt", sha(OLD))}
    assert library.history("note.txt") == [OLD]


PASSING = [
    ".note.txt.swp", ".note.txt.swo", "4913", "note.txt~", ".#note.txt", "#note.txt#", "~$report.txt",
    "film.part", "page.crdownload", "x.tmp", ".hidden", "archive.download", "note.txt.swp", ".~lock.note.txt#",
]  # fmt: skip


@pytest.mark.claim("VER-3")
def test_files_in_passing_work_and_never_become_documents(library: Library) -> None:
    (library.documents / ".folder").mkdir()
    for name in PASSING:
        for path in (library.documents / name, library.documents / ".folder" / f"in-{name}"):
            path.write_bytes(b"passing " + name.encode())
            path.chmod(0o600)
            with path.open("ab") as file:
                file.write(b" and more")
            assert path.read_bytes() == b"passing " + name.encode() + b" and more"
    library.settled()
    assert sorted(os.listdir(library.documents)) == sorted([".folder", *PASSING])
    assert library.minted() == []
    assert library.catalog.names.documents(library.ontology.id) == []
    for name in PASSING:
        (library.documents / name).unlink()


@pytest.mark.claim("VER-3")
def test_a_download_that_gets_its_name_is_a_document(library: Library) -> None:
    part = library.documents / "page.html.part"
    part.write_bytes(b"<p>half")
    library.settled()
    with part.open("ab") as file:
        file.write(b" and whole</p>")
    part.rename(library.documents / "page.html")
    library.settled()
    assert library.minted() == [("page.html", 1, sha(b"<p>half and whole</p>"))]
