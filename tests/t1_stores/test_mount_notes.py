"""The notes by which verbs know the mounts of a home."""

from __future__ import annotations

import shutil
from pathlib import Path

from kgfs.stores.mount_files import GARAGE, mount_note, mount_notes


def test_a_copy_of_a_home_has_none_of_the_mounts_of_the_other(tmp_path: Path) -> None:
    """Else its verbs would take a living mount of the other for a dead one of its own, and advise to take it down."""
    run, copied, point = tmp_path / "run", tmp_path / "copied", tmp_path / "mnt"
    run.mkdir()
    with mount_note(run, "one", point, GARAGE):
        shutil.copytree(run, copied)
        (note,) = mount_notes(run)
        assert (note.mountpoint, note.view, note.alive) == (point, GARAGE, True)
        assert mount_notes(copied) == []
    assert mount_notes(run) == []
