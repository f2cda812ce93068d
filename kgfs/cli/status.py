"""``kgfs status``: show the contents of a home, its backlog and its worker; for a file, what is known about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from kgfs.app import api
from kgfs.cli.options import as_json, count, with_config
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.models.extractor.table import needs_llm
from kgfs.stores.disk_reserve import ReserveState
from kgfs.stores.mount_files import mount_notes

SHOWN = 5
"""Number of documents that were not read which are named; --json has all."""
EARLIER = (State.KEPT, State.STALE)
"""The states of documents that no file has any more."""
ELSE_OWED = {"unsettled": "unsettled path", "forgettings": "forgetting"}


@click.command()
@click.argument("words", required=False, metavar="[FILE]")
@click.option("--unshipped", is_flag=True, help="List the files that the bucket does not have as they are here.")
@click.option("-0", "zero", is_flag=True, help="With --unshipped: end each path with NUL, for xargs -0.")
@as_json
@with_config
def command(config: Config, words: str | None, unshipped: bool, zero: bool, as_json: bool) -> None:
    """Show what is kept, what is owed and who works; with FILE, what is known about that document.

    FILE is a path in a mount, ONTOLOGY/PATH, a doc_id or a garage key. No server is asked.

    \b
    Example:
      kgfs status
      kgfs status --json | python3 -m json.tool
      kgfs status Notes/zen.txt
      kgfs status --unshipped -0 | xargs -0 kgfs ingest --home OTHER --ontology Notes
    """
    if unshipped:
        for path in api.unshipped(config):
            click.echo(path, nl=not zero)
            if zero:
                click.echo("\0", nl=False)
        return
    if any(note.stuck for note in mount_notes(config.run)):
        from kgfs.fuse.connection import free_clients  # needed after a kill only

        for sentence in free_clients(config.run):
            click.echo(sentence, err=True)
    if words is not None:
        page = api.document(config, words)
        _print_document(page, as_json)
        return
    found = api.status(config)
    if as_json:
        click.echo(json.dumps(found))
        return
    click.echo(f"home     {found['home']}")
    click.echo(f"worker   {_worker(found['worker'])}")
    if reason := found["worker"]["note"].get("reason"):
        click.echo(f"         the last one ended before it could begin: {reason}")
    if found["worker"]["alive"] and (waits_for := found["worker"]["note"].get("waits_for")):
        click.echo(f"         nothing goes on until this is mended: {waits_for}")
    if found["worker"]["alive"] and (reads_here := found["worker"]["note"].get("reads_here")):
        click.echo(f"         {reads_here}")
    if found["worker"]["alive"] and (made := found["worker"]["note"].get("vectors")):
        click.echo(
            f"         vectors of {made['model']}: {made['sources']} of {count(made['of'], 'Source')}; until all have them, searches go by words"
        )
    for note in found["worker"]["note"].get("notes", ()):
        click.echo(f"         {note}")
    if config.llm.base_url and not needs_llm(config.models.extractor):
        click.echo(
            "model    llm.base_url is set, but the model reads no documents; models.extractor = 'llm' makes it read new ones"
        )
    click.echo(f"owed     {found['owed']}{_parts(found)}")
    if waiting := found["waiting"]:
        click.echo(f"waiting  {count(len(waiting), 'document')}: {waiting[0]['reason']}")
    if found["taken_over_by"]:
        click.echo(
            f"owner    {found['taken_over_by']}; this home is read-only, and kgfs status --unshipped lists its own files"
        )
    if found["unshipped"]:
        click.echo(f"bucket   {count(found['unshipped'], 'fact')} not shipped yet")
    for number, missing in enumerate(found["not_read"][:SHOWN]):
        click.echo(f"{'' if number else 'not read':<9}{missing['path']}: {missing['reason'] or missing['state']}")
    if (more := _unread(found["documents"]) - min(len(found["not_read"]), SHOWN)) > 0:
        click.echo(f"         and {count(more, 'document')} more (--json)")
    if earlier := found["read_by_earlier_rules"]:
        click.echo(
            f"rules    {count(earlier, 'document')} read by earlier rules (kgfs reprocess --dry-run says what reading anew costs)"
        )
    if found["neo4j"]:
        for number, line in enumerate(projection_lines(found["neo4j"])):
            click.echo(f"{'neo4j' if number == 0 else '':<9}{line}")
    if not (reserve := ReserveState(**found["reserve"])).is_whole:
        click.echo(f"reserve  {reserve.describe()}")
    for watch in found["watches"]:
        _print_watch(watch)
    for mount in found["mounts"]:
        pid = f"pid {mount['pid']}" if mount["alive"] else f"dead: kgfs umount {mount['mountpoint']}"
        click.echo(f"mount    {mount['mountpoint']} ({mount['view']}, {pid})")
    for ontology in found["ontologies"]:
        read = ", ".join(f"{count} {kind}" for kind, count in ontology["read"].items())
        click.echo(
            f"{ontology['name']}: {_documents(ontology['documents'])}; in the graph {read}{_gated(ontology['gated'])}"
        )


def _gated(reasons: Mapping[str, int]) -> str:
    """Return how many Sources give no knowledge, and why."""
    if not reasons:
        return ""
    return f"; {sum(reasons.values()):,} gated ({', '.join(f'{kind} {number:,}' for kind, number in reasons.items())})"


def _documents(counts: Mapping[str, int]) -> str:
    """Return how many documents current files have, by state, and how many other documents are kept."""
    now = {state: number for state, number in counts.items() if state not in (*EARLIER, State.TRASHED)}
    states = ", ".join(f"{number} {state}" for state, number in now.items())
    earlier, trashed = sum(counts.get(state, 0) for state in EARLIER), counts.get(State.TRASHED, 0)
    besides = " and ".join(
        [f"{earlier} of earlier versions"] * bool(earlier) + [f"{trashed} in the trash"] * bool(trashed)
    )
    parts = [count(sum(now.values()), "document"), f" ({states})" * bool(now), f", besides {besides}" * bool(besides)]
    return "".join(parts)


def _unread(counts: Mapping[str, int]) -> int:
    return counts.get(State.UNSUPPORTED, 0) + counts.get(State.FAILED, 0)


def _parts(found: dict[str, Any]) -> str:
    """Return the part of the backlog that is not documents."""
    parts = [count(found[key], what) for key, what in ELSE_OWED.items() if found[key]]
    return f" ({', '.join(parts)} among them)" if parts else ""


def _print_document(page: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(page))
        return
    for name, value in page.items():
        for number, line in enumerate(_lines(value)):
            click.echo(f"{name.replace('_', ' ') if number == 0 else '':<17}{line}")


def _lines(value: Any) -> list[str]:
    """Return the lines for people of a field; an empty list for an empty field."""
    if isinstance(value, list):
        return [line for item in value for line in _lines(item)]
    if isinstance(value, dict):
        return [", ".join(f"{name} {' '.join(_lines(item))}" for name, item in value.items() if _lines(item))]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [] if value is None else [str(value)]


def _print_watch(watch: dict[str, Any]) -> None:
    goal = "/".join(filter(None, (watch["ontology"], watch["into"])))
    now = "" if watch["alive"] else ", not watched now"
    click.echo(f"watch    {watch['folder']} → {goal}: {count(watch['files'], 'file')}{now}")
    for why in filter(None, (watch["held"] and f"nothing is removed: {watch['held']}", watch["reports"])):
        click.echo(f"         {why}")
    if watch["refused"]:
        path, reason = next(iter(watch["refused"].items()))
        click.echo(f"         {count(len(watch['refused']), 'file')} could not be taken; {path}: {reason}")


def projection_lines(page: dict[str, Any]) -> list[str]:
    """Return lines for people on how far the projection to Neo4j is behind."""
    behind = (
        f"{count(page['commits'], 'commit')} behind, for {duration(page['seconds'])}"
        if page["commits"]
        else "up to date"
    )
    lines = [f"{page['server']}: {behind if page['state'] else 'nothing was written yet'}"]
    if page["state"] == "writing all":
        lines.append(f"all is being written: {page['done']} of {page['total']} rows")
    if page["purges"]:
        lines.append(f"owed there: {count(page['purges'], 'purge')}")
    if page["away_since"] is not None:
        lines.append(f"cannot be written to since {page['away_since']}: {page['away_reason']}")
    return lines


def duration(seconds: float) -> str:
    """Return a duration of that many seconds in the largest unit of which it has at least two."""
    for unit, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def _worker(worker: dict[str, Any]) -> str:
    if not worker["alive"]:
        return "none alive (start one: kgfs worker, or kgfs mount)"
    note = worker["note"]
    return f"alive, pid {note.get('pid')}, {note.get('state')}, extractor {note.get('extractor', 'not loaded yet')}"
