"""What verbs do first where a mount was killed and keeps its clients waiting."""

from __future__ import annotations

import click

from kgfs.config import Config
from kgfs.fuse.connection import free_clients
from kgfs.stores.mount_notes import mount_notes


def free_waiting_clients(config: Config) -> None:
    """End the waiting of programs that wait for mounts of this home that were killed, and say so. Quick where none waits."""
    for sentence in free_clients(mount_notes(config.run)):
        click.echo(sentence, err=True)
