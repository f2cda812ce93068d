"""``kgfs hosts``: list the homes that share a garage."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from kgfs.app import api
from kgfs.cli.confirming import confirm
from kgfs.cli.options import as_json, count, with_config
from kgfs.config import Config
from kgfs.errors import KgfsError, TimedOutError


@click.command()
@click.option("--strike-off", "strike_off_", metavar="ID", help="Wait no more for a host that will not come back.")
@click.option(
    "--snapshot", is_flag=True, help="First put a snapshot of this home into the bucket, for new homes to begin with."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
@with_config
def command(config: Config, strike_off_: str | None, snapshot: bool, yes: bool, as_json: bool) -> None:
    """List the homes that share the bucket: id, when it was last heard of, the last fact it has followed, where it is; the
    snapshots that new homes begin with; and the purges that wait for some of the homes.

    A host has obeyed every purge up to the fact that it has followed. One that was struck off and comes back all the same
    obeys what it missed before it does anything else, and is listed again. While the bucket does not answer, what it said
    last is listed (--json: `away` says why).

    \b
    Example:
      kgfs hosts
      kgfs hosts --strike-off 1b2c3d4e5f60
      kgfs hosts --snapshot
    """
    if snapshot:
        api.put_snapshot(config)

    def agree(name: str) -> bool:
        if not yes:
            confirm(f"Wait no more for {name}?")
        return True

    if strike_off_:
        api.strike_off(config, strike_off_, lambda host: agree(f"{host.name} ({host.id})"))
    page, away = api.hosts(config)
    if as_json:
        click.echo(json.dumps(page | {"away": told_of(away)}))
        return
    if away:
        click.echo(told_of(away), err=True)
    for host in page["hosts"]:
        click.echo(f"{host['id']}\t{_time(host['said_at'])}\t{host['followed']} of {page['fact']}\t{host['name']}")
    for one in page["snapshots"]:
        click.echo(
            f"snapshot\t{_time(one['made_at'])}\t{one['fact']} of {page['fact']}\t{one['bytes'] / (1 << 20):.1f} MiB"
        )
    for line in waiting(page["purges"]):
        click.echo(line)


def _time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def waiting(purges: list[dict[str, Any]]) -> list[str]:
    """Return a line for people about each purge that not all hosts have applied."""
    return [
        f"purge {one['fact']} of {count(one['documents'], 'document')} waits for {', '.join(one['waits_for'])}"
        for one in purges
    ]


def told_of(away: KgfsError | None) -> str | None:
    """Return a line for people about a bucket that could not be asked; None if ``away`` is None."""
    if away is None:
        return None
    what = "The bucket does not answer" if isinstance(away, TimedOutError) else "The bucket could not be asked"
    return f"{what}: {away} What is told is what was known here before."
