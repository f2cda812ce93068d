"""``kgfs check``: check that nothing is missing, changed or inconsistent, and repair damage."""

from __future__ import annotations

import json

import click

from kgfs.app import api
from kgfs.cli.options import as_json, count, with_config
from kgfs.cli.progress import Bar
from kgfs.config import Config


@click.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended; the rest is quarantined or stays named.")
@click.option("--deep", is_flag=True, help="Read and verify every byte.")
@as_json
@with_config
def command(config: Config, repair: bool, deep: bool, as_json: bool) -> None:
    """Look for damage: missing or changed bytes, rows that do not fit together, work that nobody will do.

    Works while mounted; --repair makes a living worker wait. Nothing that is kept is thrown away: what is damaged or
    nobody's goes to quarantine/ in the home, with a note. Exit codes: 0 nothing is damaged (what only takes room is told
    of), 1 something is and was not mended, 7 a store cannot be opened.

    \b
    Example:
      kgfs check
      kgfs check --deep --repair
    """
    with Bar() as bar:
        found = api.check_home(config, deep=deep, mend=repair, progress=bar.show)
    if as_json:
        lines = [
            {
                "kind": d.kind.value,
                "what": d.what,
                "detail": d.detail,
                "remedy": d.remedy,
                "done": done,
                "harmless": d.harmless,
            }
            for d, done in found
        ]
        click.echo(json.dumps(lines, indent=2))
    else:
        for damage, done in found:
            outcome = done or (f"not mended; {damage.remedy}" if repair else damage.remedy)
            click.echo(f"{damage.kind.value}: {damage.what}{f' ({damage.detail})' if damage.detail else ''}: {outcome}")
    mended, harmless = sum(bool(done) for _, done in found), sum(damage.harmless for damage, _ in found)
    of_them = [f"{harmless} harmless"] * bool(harmless) + [f"{mended} dealt with"] * repair
    click.echo(f"{', '.join([count(len(found), 'finding'), *of_them])}.", err=True)
    if any(not done and not damage.harmless for damage, done in found):
        raise SystemExit(1)
