"""``kgfs umount``: take a mount down."""

from __future__ import annotations

import os
import time
from pathlib import Path

import click

from kgfs.cli.options import with_config
from kgfs.config import Config
from kgfs.fuse import probe
from kgfs.stores.mount_notes import mount_notes

PATIENCE = 20.0
"""Seconds for the mount's process, and its worker, to end."""
LAZY_PATIENCE = 1.0
"""The same where it may go on as long as somebody has something open."""


@click.command()
@click.argument("mountpoint", type=Path)
@click.option("--lazy", is_flag=True, help="Detach even if it is in use; users keep what they have open.")
@with_config
def command(config: Config, mountpoint: Path, lazy: bool) -> None:
    """Unmount MOUNTPOINT and end its processes; a dead mount is detached.

    If somebody uses it, says who and changes nothing (exit code 5), unless --lazy. A process that ends while the bucket is silent
    may take longer than this waits: what it cannot deliver is delivered when the home is used again.

    \b
    Example:
      kgfs umount ~/knowledge
    """
    where = probe.located(mountpoint)
    pids = [note.pid for note in mount_notes(config.run) if note.mountpoint == where]
    unused = probe.umount(mountpoint, lazy=lazy)
    deadline = time.monotonic() + (LAZY_PATIENCE if lazy else PATIENCE)
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    going_on = [str(pid) for pid in pids if _alive(pid)]
    if going_on and not unused:
        click.echo(
            f"{where} is detached; pid {', '.join(going_on)} ends when nobody has anything open there any more.",
            err=True,
        )
    elif going_on:
        click.echo(f"{where} is unmounted; pid {', '.join(going_on)} is still ending{_awaited(config)}.", err=True)


def _awaited(config: Config) -> str:
    """What that may be waiting for."""
    garage = config.garage_store
    if garage.store == "files":
        return ""
    return (
        f", and may wait for {garage.endpoint}/{garage.bucket} to answer what it was asked before (garage.timeout is"
        f" {garage.timeout:g} s). What is not delivered is kept here, and delivered when the home is used again"
    )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
