"""``kgfs hosts``: the homes that share a garage."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from kgfs.app.home import open_stores
from kgfs.cli.options import as_json, count, with_config
from kgfs.config import Config
from kgfs.errors import MissingError, UnsupportedError
from kgfs.knowledge.status import sharing_page
from kgfs.stores.hosts import read_roll, strike_off


@click.command()
@click.option("--strike-off", "strike_off_", metavar="ID", help="Wait no more for a host that will not come back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
@with_config
def command(config: Config, strike_off_: str | None, yes: bool, as_json: bool) -> None:
    """List the homes that share the bucket: id, when it was last heard of, the last fact it has followed, where it is; and
    the purges that wait for some of them.

    A host has obeyed every purge up to the fact that it has followed. One that was struck off and comes back all the same
    obeys what it missed before it does anything else, and is listed again.

    \b
    Example:
      kgfs hosts
      kgfs hosts --strike-off 1b2c3d4e5f60
    """
    with open_stores(config, make=False) as stores:
        if not stores.journal.sharing:
            raise UnsupportedError("No other home shares this garage: garage.shared is not set.")
        roll = read_roll(config, stores)
        if strike_off_:
            found = next((host for host in roll.hosts if host.id == strike_off_), None)
            if found is None:
                raise MissingError(f"No host has the id {strike_off_}. kgfs hosts lists them.")
            if not yes:
                click.confirm(f"Wait no more for {found.name} ({found.id})?", abort=True, err=True)
            strike_off(stores.garage.objects, found.id)
            read_roll(config, stores)
        page = sharing_page(config)
    assert page is not None
    if as_json:
        click.echo(json.dumps(page))
        return
    for host in page["hosts"]:
        heard = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(host["said_at"]))
        click.echo(f"{host['id']}\t{heard}\t{host['followed']} of {page['fact']}\t{host['name']}")
    for line in waiting(page["purges"]):
        click.echo(line)


def waiting(purges: list[dict[str, Any]]) -> list[str]:
    """What a person reads of purges that not all hosts have obeyed."""
    return [
        f"purge {one['fact']} of {count(one['documents'], 'document')} waits for {', '.join(one['waits_for'])}"
        for one in purges
    ]
