"""Release the clients of killed mounts, which other commands do before their own work."""

from __future__ import annotations

import click

from kgfs.config import Config
from kgfs.fuse.connection import free_clients
from kgfs.stores.mount_files import mount_notes


def free_waiting_clients(config: Config) -> None:
    """Release programs that wait for killed mounts of this home, and report this on stderr. Quick if no program
    waits.
    """
    for sentence in free_clients(mount_notes(config.run)):
        click.echo(sentence, err=True)
