"""Make a home from a snapshot."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import CorruptError, MissingError, NotEmptyError, from_os_error
from kgfs.failpoints import border
from kgfs.stores.backup.layout import Manifest, Progress, carry, copy, snapshots
from kgfs.stores.garage.durable import make_folder, sync_folder
from kgfs.stores.garage.files import FileObjects
from kgfs.stores.garage.sums import sums_of


def restore(folder: Path, name: str, config: Config, progress: Progress, derive: Callable[[Config], None]) -> Manifest:
    """Restore the snapshot called ``name``, or the newest one if ``name`` is empty, to ``config.home``, which must
    be empty or absent. Return its manifest.

    Every byte is verified, then ``derive`` makes graph and vectors. All of this happens in a folder beside the
    home, which is renamed last. After an error or a kill the home is therefore still absent or empty, and the next
    call begins again. Raises NotEmptyError if the home is not empty, MissingError if there is no such snapshot,
    and CorruptError if an object or file is missing or differs from what was backed up."""
    if config.home.exists() and any(config.home.iterdir()):
        raise NotEmptyError(f"{config.home} is not empty. Give another place with --home, or move it away.")
    found = [manifest for manifest in snapshots(folder) if not name or manifest.name == name]
    if not found:
        raise MissingError(f"{folder}: no {f'snapshot {name!r}' if name else 'backup'} is there.")
    manifest = found[-1]
    fresh = config.home.with_name(f"{config.home.name}.restoring")
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        make_folder(fresh.absolute())
        _fill(fresh, folder, manifest, progress)
        border("restored-files")
        derive(replace(config, home=fresh))
        border("restored-aside")
        if config.home.exists():
            config.home.rmdir()
        fresh.rename(config.home)
        border("restored")
        sync_folder(config.home.parent)
    except OSError as error:
        raise from_os_error(error, f"Restoring {config.home}") from error
    return manifest


def _fill(home: Path, folder: Path, manifest: Manifest, progress: Progress) -> None:
    pool, objects = FileObjects(folder / "objects"), FileObjects(home / "garage" / "objects")
    for done, (key, sha256) in enumerate(sorted(manifest.objects.items()), 1):
        try:
            if pool.stat(key).sha256 != sha256:
                raise CorruptError(f"{folder}: {key} is not what was backed up.")
        except MissingError as error:
            raise CorruptError(f"{folder}: {key} is missing. Restore an older snapshot (--snapshot).") from error
        carry(pool, objects, key, home)
        progress(done, len(manifest.objects))
    source = folder / "snapshots" / manifest.name
    for path, sha256 in manifest.files.items():
        goal = home / "garage" / path if path.startswith("ledger/") else home / path
        make_folder(goal.parent)
        copy(source / path, goal)
        if sums_of(goal).sha256 != sha256:
            raise CorruptError(f"{source / path} is not what was backed up. Restore an older snapshot (--snapshot).")
