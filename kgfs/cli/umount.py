"""``kgfs umount``: unmount a home."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import click

from kgfs.cli import progress
from kgfs.cli.options import with_config
from kgfs.config import Config
from kgfs.errors import MissingError
from kgfs.fuse import probe
from kgfs.fuse.connection import free_clients
from kgfs.stores.mount_files import MountNote, mount_notes
from kgfs.stores.processes import has_ended


@click.command()
@click.argument("mountpoint", type=Path)
@click.option("--lazy", is_flag=True, help="Detach even if it is in use; users keep what they have open.")
@with_config
def command(config: Config, mountpoint: Path, lazy: bool) -> None:
    """Unmount MOUNTPOINT and end its processes; a dead mount is detached, and programs that wait for it are freed.

    If somebody uses it, says who and changes nothing (exit code 5), unless --lazy. A process that ends while the bucket is silent
    may take longer than this waits: what it cannot deliver is delivered when the home is used again.

    \b
    Example:
      kgfs umount ~/knowledge
    """
    where = probe.located(mountpoint)
    notes = [note for note in mount_notes(config.run) if note.mountpoint == where]
    for sentence in free_clients(config.run):
        click.echo(sentence, err=True)
    try:
        unused = probe.umount(mountpoint, lazy=lazy)
    except MissingError:
        if not any(note.stuck for note in notes):
            raise
        unused = True  # another process has detached it already
    deadline = time.monotonic() + (progress.MOUNT_END_LAZY if lazy else progress.MOUNT_END)
    while (going_on := _going_on(notes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if going_on and not unused:
        click.echo(
            f"{where} is detached; pid {', '.join(going_on)} ends when nobody has anything open there any more.",
            err=True,
        )
    elif going_on:
        click.echo(f"{where} is unmounted; pid {', '.join(going_on)} is still ending{_awaited(config)}.", err=True)


def _awaited(config: Config) -> str:
    """Return a clause that names the bucket for which a process that is still ending may wait."""
    garage = config.garage_store
    if garage.store == "files":
        return ""
    return (
        f", and may wait for {garage.endpoint}/{garage.bucket} to answer what it was asked before (garage.timeout is"
        f" {garage.timeout:g} s). What is not delivered is kept here, and delivered when the home is used again"
    )


def _going_on(notes: Iterable[MountNote]) -> list[str]:
    """Return the process ids of mounts whose processes have not ended."""
    return [str(note.pid) for note in notes if not has_ended(note.pid, note.started)]
