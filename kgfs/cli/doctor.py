"""``kgfs doctor``: list what this machine lacks, with remedies."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from kgfs.app import api
from kgfs.app.asking import asked
from kgfs.cli.options import as_json, with_config
from kgfs.cli.status import projection_lines
from kgfs.config import Config
from kgfs.errors import KgfsError
from kgfs.formats import recognition
from kgfs.formats.isolated import network_barrier
from kgfs.formats.sandbox import Limits
from kgfs.fuse import machine, probe
from kgfs.fuse.probe import MountState
from kgfs.models import carriers, made_model, runtimes
from kgfs.models.carriers import Condition
from kgfs.stores.disk_reserve import NAME as RESERVE
from kgfs.stores.disk_reserve import DiskReserve
from kgfs.stores.mount_files import mount_notes
from kgfs.stores.servers import secret_files
from kgfs.stores.worker_lock import worker_alive, worker_note


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the report."""

    what: str
    level: str
    """``ok``; ``note``: works with restrictions; ``missing``: does not work."""
    found: str
    remedy: str = ""


@click.command()
@click.option("--quiet", is_flag=True, help="Show only what is not ok.")
@click.option("--create", is_flag=True, help="First make the bucket that garage.bucket names, if it is not there.")
@as_json
@with_config
def command(config: Config, quiet: bool, create: bool, as_json: bool) -> None:
    """Look for all that a machine can lack, and for dead mounts; say how to get or mend it. Each server of the home is asked.

    Exit codes: 0 everything needed is there (what is optional may be missing), 6 something needed is missing.

    \b
    Example:
      kgfs doctor
      kgfs doctor --create
    """
    if create:
        garage = config.garage_store
        if api.create_bucket(config):
            click.echo(f"{garage.endpoint}/{garage.bucket}: the bucket was made.", err=True)
        elif garage.store == "files":
            click.echo("No bucket was made: this home keeps its originals in files (garage.store).", err=True)
    lines = [
        *_mounting(),
        *_models(),
        *_parsers(config),
        *_home(config),
        *_servers(config),
        *_projection(config),
        *_language_model(config),
        *_mounts(config),
    ]
    if as_json:
        click.echo(json.dumps([asdict(line) for line in lines], indent=2))
    else:
        for line in lines:
            if not quiet or line.level != "ok":
                click.echo(f"{line.level:8}{line.what}: {line.found}")
                if line.remedy:
                    click.echo(f"{'':8}  → {line.remedy}")
    if any(line.level == "missing" for line in lines):
        raise SystemExit(6)


def _mounting() -> Iterator[Line]:
    for finding in machine.findings():
        yield Line(finding.name, "ok" if finding.ok else "missing", finding.detail, finding.remedy)
    control = machine.control()
    yield Line(control.name, "ok" if control.ok else "note", control.detail, control.remedy)


def _models() -> Iterator[Line]:
    """Yield the state of each model and model runtime. Without models, kgfs works with statistics and full text
    alone.
    """
    for finding in carriers.survey():
        found = finding.condition is Condition.FOUND
        yield Line(finding.what, "ok" if found else "note", finding.condition.value, "" if found else finding.remedy)
    made = made_model.is_made()
    state = "made" if made else "not made: the first worker makes it, else it takes twice the time with float32"
    yield Line("quantised embedding model", "ok" if made else "note", state, "" if made else made_model.REMEDY)
    for package, installed in runtimes.survey():
        remedy = "" if installed else "pip install 'kgfs[models]'"
        yield Line(f"runtime {package}", "ok" if installed else "note", installed or "missing", remedy)


def _parsers(config: Config) -> Iterator[Line]:
    """Yield how the processes that parse documents are kept off the network, by starting one, and what they lack."""
    settings = config.pipeline
    try:
        barrier = network_barrier(Limits(settings.parser_memory, settings.parser_cpu, settings.parser_files))
    except KgfsError as error:
        yield Line("parsers", "missing", str(error), "pip install kgfs again; its libraries may be missing.")
        return
    if barrier:
        how = "a network namespace" if barrier == "namespace" else "a filter of the kernel"
        yield Line("parsers", "ok", f"They are kept off the network by {how}.")
    else:
        remedy = "Allow user namespaces or seccomp filters."
        yield Line("parsers", "note", "They could reach the network if a document made them.", remedy)
    if recognition.tesseract():
        yield Line("tesseract", "ok", f"Text in pictures is recognised: {', '.join(recognition.languages())}.")
    else:
        found = "missing: pictures are kept, but their text is not read"
        yield Line("tesseract", "note", found, "apt-get install tesseract-ocr; then: kgfs reprocess --failed")


def _home(config: Config) -> Iterator[Line]:
    nearest = config.home
    while not nearest.exists():
        nearest = nearest.parent
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        remedy = f"Make {nearest} writable, or choose another home with --home or KGFS_HOME."
        yield Line("home", "missing", f"{config.home} cannot be written: {error.strerror}.", remedy)
        return
    yield Line("home", "ok", f"{config.home} {'is writable' if config.home.exists() else 'can be made'}.")
    if config.home.exists() and config.home.stat().st_mode & 0o077:
        yield Line("home", "note", f"Others may look into {config.home}.", f"chmod 700 {config.home}")
    free = os.statvfs(nearest)
    gigabytes = free.f_bavail * free.f_frsize / 1e9
    level = "ok" if gigabytes >= 1 else "note"
    yield Line("space", level, f"{gigabytes:.1f} GB free.", "" if level == "ok" else "Free space on that disk.")
    if (config.home / RESERVE).exists():
        reserve = DiskReserve(config.home).state()
        yield Line("reserve", "ok" if reserve.is_whole else "note", reserve.describe())
    if not worker_alive(config.run):
        yield Line("worker", "ok", "No worker is alive; a mount starts one.")
    elif waits_for := worker_note(config.run).get("waits_for"):
        yield Line("worker", "missing", f"The worker is alive and waits: {waits_for}")
    else:
        reads_here = worker_note(config.run).get("reads_here", "")
        yield Line("worker", "note" if reads_here else "ok", f"A worker is alive. {reads_here}".rstrip())


def _servers(config: Config) -> Iterator[Line]:
    for setting, file in secret_files(config):
        if _mode(file) & 0o077:
            yield Line("secret", "note", f"Others may read {file} ({setting}).", f"chmod 600 {file}")
    for found in asked(config):
        level = "missing" if found.error else "ok"
        yield Line(found.what, level, str(found.error or f"{found.where} answers."))


def _projection(config: Config) -> Iterator[Line]:
    """Yield how far the projection to Neo4j is behind. Ask no server."""
    page = api.projection_state(config)
    if page is not None:
        level = "note" if page["commits"] or page["purges"] or page["away_since"] is not None else "ok"
        yield Line("neo4j", level, "; ".join(projection_lines(page)))


def _language_model(config: Config) -> Iterator[Line]:
    """Yield what the language model answers to a question, if one is configured."""
    for found in api.examine_model(config):
        yield Line("language model", *found)


def _mode(file: Path) -> int:
    """Return the file's mode; 0 if the file cannot be inspected. In that case the line of its server says more."""
    try:
        return file.stat().st_mode
    except OSError:
        return 0


def _mounts(config: Config) -> Iterator[Line]:
    for note in mount_notes(config.run):
        standing = probe.standing(note.mountpoint)
        if standing is MountState.ALIVE:
            yield Line("mount", "ok", f"{note.mountpoint} answers (view {note.view}, pid {note.pid}).")
        elif standing is not MountState.ABSENT or note.stuck:
            remedy = f"kgfs umount {note.mountpoint}"
            state = "dead, and programs wait for it" if note.stuck else standing.value
            yield Line("mount", "missing", f"{note.mountpoint} is {state}.", remedy)
