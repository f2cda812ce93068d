"""``kgfs mount``: mount a home as directories."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from kgfs.app import api
from kgfs.app.binding import refuse_nothing
from kgfs.app.home import make_home
from kgfs.app.mounting import prepare_mount, run_garage_mount, run_mount
from kgfs.cli import progress
from kgfs.cli.logs import log_to_stderr
from kgfs.cli.options import with_own_config
from kgfs.cli.progress import Bar, Steps
from kgfs.config import Config
from kgfs.errors import BadInputError, MachineError
from kgfs.fuse import probe
from kgfs.fuse.connection import free_clients
from kgfs.fuse.mount import MountOptions, check
from kgfs.fuse.probe import MountState
from kgfs.stores.error_log import open_log
from kgfs.stores.mount_files import GARAGE, KNOWLEDGE, VIEWS, mount_notes

READY = b"ready\n"
"""The bytes that the background process writes to the pipe once the mount answers."""


@click.command()
@click.argument("mountpoint", type=Path)
@click.option(
    "--view",
    type=click.Choice(VIEWS),
    default=KNOWLEDGE,
    show_default=True,
    help="What to show; garage is what is kept, read-only.",
)
@click.option("--foreground", is_flag=True, help="Stay, and log to stderr; for service managers.")
@click.option("--no-worker", is_flag=True, help="Start no worker; what is owed waits for kgfs worker.")
@click.option("--allow-other", is_flag=True, help="Let other users in (needs user_allow_other in /etc/fuse.conf).")
@click.option(
    "--take-over", is_flag=True, help="Become the owner of the bucket, once the former owner's machine is off."
)
@click.option("--ready-fd", type=int, hidden=True, help="Descriptor to tell readiness on.")
@with_own_config
def command(
    config: Config,
    mountpoint: Path,
    view: str,
    foreground: bool,
    no_worker: bool,
    allow_other: bool,
    take_over: bool,
    ready_fd: int | None,
) -> None:
    """Mount a home as directories at MOUNTPOINT, an empty folder.

    Returns when the mount answers; the log is log/mount.log in the home. A dead mount at the same place is detached first.
    Mounting what is mounted there already says so and changes nothing.

    A home may be mounted several times, in either view. The garage view shows originals, Readings, Records, decisions and the
    ledger byte for byte, each verified as it is read; it starts no worker.

    \b
    Example:
      mkdir -p ~/knowledge && kgfs mount ~/knowledge
      mkdir -p ~/garage && kgfs mount --view garage ~/garage
    """
    if view == GARAGE and take_over:
        raise BadInputError("--take-over says nothing about the garage view: it writes nothing.")
    if view == GARAGE and no_worker:
        raise BadInputError("--no-worker says nothing about the garage view: it never starts one.")
    if view == GARAGE:
        refuse_nothing(config)
    if not ready_fd:
        for sentence in free_clients(config.run):
            click.echo(sentence, err=True)
    if not ready_fd and _mounted_already(config, mountpoint, view):
        click.echo(f"{mountpoint}: this home is mounted there already.", err=True)
        return
    where = check(mountpoint, MountOptions(allow_other=allow_other))
    servers = api.Probe(config) if config.on_servers and not foreground else None
    with Steps() as step:
        if view == KNOWLEDGE:
            with Bar() as bar:
                in_mib = partial(_show_in_mib, bar)
                prepare_mount(config, take_over=take_over, progress=in_mib, report=step)
        if not foreground:
            options = ["--view", view] + ["--no-worker"] * no_worker + ["--allow-other"] * allow_other
            _in_background(config, where, options)
    for error in servers.errors(progress.SERVERS_ANSWER) if servers else ():
        click.echo(f"The mount goes on without this server: {error}", err=True)
    if foreground:
        log_to_stderr()
        _serve(config, mountpoint, view, allow_other, not no_worker, lambda: _tell_ready(ready_fd))


def _show_in_mib(bar: Bar, done: int, total: int) -> None:
    bar.show(done >> 20, total >> 20, "MiB of the snapshot")


def _serve(
    config: Config, mountpoint: Path, view: str, allow_other: bool, worker: bool, ready: Callable[[], None]
) -> None:
    if view == GARAGE:
        run_garage_mount(config, mountpoint, allow_other=allow_other, ready=ready)
    else:
        run_mount(config, mountpoint, allow_other=allow_other, worker=worker, ready=ready)


def _mounted_already(config: Config, mountpoint: Path, view: str) -> bool:
    where = probe.located(mountpoint)
    ours = any(note.mountpoint == where and note.view == view for note in mount_notes(config.run))
    return ours and probe.standing(where) is MountState.ALIVE


def _tell_ready(ready_fd: int | None) -> None:
    if ready_fd is not None:
        os.write(ready_fd, READY)
        os.close(ready_fd)


def _in_background(config: Config, mountpoint: Path, options: list[str]) -> None:
    """Start the mount in a background session, and return once it reports that it is ready.

    If the process ends instead, print the last line of its log and raise SystemExit with its exit code.
    """
    make_home(config)
    path = config.logs / "mount.log"
    read_end, write_end = os.pipe()
    with os.fdopen(open_log(path), "ab") as log, os.fdopen(read_end, "rb") as answer:
        before = path.stat().st_size
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "kgfs", "mount", str(mountpoint), "--foreground"),
                *(*config.words(), "--ready-fd", str(write_end)),
                *options,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(write_end,),
            start_new_session=True,
            cwd="/",  # do not keep the caller's folder busy, which may even be the dead mount itself
        )
        os.close(write_end)
        if answer.read() == READY:
            return
    process.wait()
    words = path.read_bytes()[before:].decode("utf-8", "replace").strip().splitlines()
    click.echo(words[-1] if words else "kgfs: the mount ended without a word", err=True)
    raise SystemExit(process.returncode if process.returncode > 0 else MachineError.exit_code)
