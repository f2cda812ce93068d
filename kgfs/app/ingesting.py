"""Deposit files and have them read; restore removed files or delete them for good. A folder such as
``~/.claude/projects`` or ``~/.codex/sessions`` is searched for transcripts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kgfs.app.backlog import Progress, read_backlog
from kgfs.app.home import open_deposits, open_home
from kgfs.app.queries import Removed, removed_file
from kgfs.config import Config
from kgfs.domain.documents import State
from kgfs.domain.names import encode_name
from kgfs.errors import AWAY, BadInputError, ExistsError, KgfsError, NotAFolderError
from kgfs.formats.table import format_of
from kgfs.ingest.lifecycle.runs import owe_again, recognise
from kgfs.ingest.storing.identify import Action
from kgfs.ingest.writing import trash
from kgfs.ingest.writing.deposit import Deposits
from kgfs.ingest.writing.intake import Ingested, check_source
from kgfs.ingest.writing.rules import check_path
from kgfs.knowledge.backlog import lines, unread_of
from kgfs.stores.stores import Stores

ONTOLOGY = "Sessions"
"""Where the transcripts of a folder go if nothing else is said."""
SAMPLED = 1 << 20
"""Bytes of a file that are read to tell whether it is a transcript."""

ASKED = "reading again was asked for"

Each = Iterable[tuple[Path, Ingested | KgfsError]]
Tell = Callable[[Path, Ingested | KgfsError], None]
"""A callback that is called with the result of each file as soon as the result is known."""


@dataclass(frozen=True, slots=True)
class Deposit:
    """Options of a deposit of files."""

    ontology: str = ""
    """Target ontology, created if it does not exist. If empty, each file must already be a document of this home."""
    as_path: str = ""
    """Path below documents/ for the one file."""
    force: bool = False
    """Read documents again that are already known."""
    strategy: str = ""
    """Read with this strategy, including documents that are already known. If empty, the configured strategy is used.
    """
    wait: bool = True
    """Return once all files are read, not as soon as their bytes are stored."""
    timeout: float = 0.0
    """Seconds to wait for reading; 0 means no limit."""
    named: Mapping[Path, str] = field(default_factory=dict)
    """Paths below documents/ of files that do not stand there under their own name."""


def check_deposit(files: Sequence[Path], asked: Deposit) -> list[KgfsError]:
    """Return the errors if no file can be deposited; an empty list if at least one can. Call this before a home or
    ontology is made.

    Raise BadInputError for an ``as_path`` with several files or without an ontology.
    """
    if asked.as_path and len(files) > 1:
        raise BadInputError("--as names the place of one file; several were given.")
    if asked.as_path and not asked.ontology:
        raise BadInputError("--as names a place in an ontology. Say with --ontology in which.")
    if not asked.ontology:
        return []
    if asked.as_path:
        check_path(asked.as_path)
    refused: list[KgfsError] = []
    for path in files:
        try:
            check_source(path)
        except KgfsError as error:
            refused.append(error)
        else:
            return []
    return refused


def ingest(
    config: Config,
    files: Sequence[Path],
    asked: Deposit,
    tell: Tell,
    progress: Progress,
    missed: Callable[[str], None] = lambda line: None,
) -> list[tuple[Path, KgfsError]]:
    """Deposit the files and, unless ``asked.wait`` is False, read them. Return the files that could not be deposited,
    with their errors.

    ``missed`` is called with a line for each of the files that was not read.

    The bytes of each file are durable when ``tell`` is called for the file. A file whose server was away is deposited
    again once the backlog is read. Errors of reading are those of :func:`~kgfs.app.backlog.read_backlog`.
    """
    with (
        open_home(config, make=bool(asked.ontology)) as stores,
        open_deposits(config, stores) as (deposits, _),
    ):
        doc_ids: dict[str, None] = {}

        def tell_and_note(path: Path, ingested: Ingested | KgfsError) -> None:
            if not isinstance(ingested, KgfsError) and ingested.doc_id:
                doc_ids[ingested.doc_id] = None
            tell(path, ingested)

        failed = _deposit(config, stores, deposits, files, asked, tell_and_note, progress)
        refused = [(path, error) for path, error in failed if not isinstance(error, AWAY)]
        if not asked.wait or len(refused) == len(files):  # then there is nothing of the caller to wait for
            return failed
        begun = time.monotonic()
        read_backlog(config, stores, progress, deposits.settler, asked.timeout, begun=begun)
        if waiting := [path for path, error in failed if isinstance(error, AWAY)]:
            # Their bytes may be read by now. The other options of the deposit are known to this process only.
            refused += _deposit(config, stores, deposits, waiting, asked, tell_and_note, progress)
            read_backlog(config, stores, progress, deposits.settler, asked.timeout, begun=begun)
        for line in lines(unread_of(stores.catalog.names, doc_ids), 0):
            missed(line)
        return refused


def _deposit(
    config: Config,
    stores: Stores,
    deposits: Deposits,
    files: Sequence[Path],
    asked: Deposit,
    tell: Tell,
    progress: Progress,
) -> list[tuple[Path, KgfsError]]:
    """Deposit the files, report each result to ``tell``, and enqueue the requested rereadings. Return the files that
    failed.
    """
    failed: list[tuple[Path, KgfsError]] = []
    again: list[str] = []
    total = sum(_size(path) for path in files)
    kept = 0

    def count(size: int) -> None:
        nonlocal kept
        kept += size
        progress(kept, total, "bytes kept")

    for path, ingested in _each(config, stores, deposits, files, asked, count):
        if isinstance(ingested, KgfsError):
            failed.append((path, ingested))
            tell(path, ingested)
            continue
        if asked.ontology and asked.strategy and ingested.doc_id and ingested.decision == Action.SKIP:
            ingested = replace(ingested, decision=Action.REPROCESS.value, reason=ASKED)
        tell(path, ingested)
        if ingested.doc_id and (asked.strategy or (asked.force and not asked.ontology)):
            again.append(ingested.doc_id)
    owe_again(stores, again, asked.strategy)
    return failed


def _each(
    config: Config,
    stores: Stores,
    deposits: Deposits,
    files: Sequence[Path],
    asked: Deposit,
    count: Callable[[int], None],
) -> Each:
    if not asked.ontology:
        return _all_known(config, stores, files, again=asked.force or bool(asked.strategy))
    if asked.as_path:
        return _one_as(deposits, files[0], asked, count)
    return deposits.ingest_files(
        ((path, asked.named.get(path, path.name)) for path in files), asked.ontology, count, force=asked.force
    )


def _one_as(
    deposits: Deposits, source: Path, asked: Deposit, count: Callable[[int], None]
) -> Iterator[tuple[Path, Ingested | KgfsError]]:
    try:
        yield source, deposits.ingest_file(source, asked.ontology, asked.as_path, count, force=asked.force)
    except KgfsError as error:
        yield source, error


def _all_known(
    config: Config, stores: Stores, files: Iterable[Path], *, again: bool
) -> Iterator[tuple[Path, Ingested | KgfsError]]:
    for path in files:
        try:
            yield path, _known(config, stores, path, again=again)
        except KgfsError as error:
            yield path, error


def _known(config: Config, stores: Stores, path: Path, *, again: bool) -> Ingested:
    """Return the result for a file that needs no deposit because this home already has it."""
    found = recognise(config, stores, path)
    if found is None or found.document is None:
        raise BadInputError(f"{path} is no document of this home. Say with --ontology where it belongs.")
    if not stores.catalog.names.held(found.doc_id):
        return Ingested(found.path, "", Action.SKIP.value, "no path has these bytes any more")
    if found.document.state is State.UNSUPPORTED:
        return Ingested(found.path, "", Action.SKIP.value, f"not read: {found.document.reason}")
    if not again:
        return Ingested(
            found.path, found.doc_id, Action.SKIP.value, "known already; --force or --strategy reads it again"
        )
    return Ingested(found.path, found.doc_id, Action.REPROCESS.value, ASKED)


def _size(path: Path) -> int:
    """Return the file's size in bytes for progress only; 0 if it cannot be read. Errors of the file are reported when
    it is read.
    """
    try:
        return path.stat().st_size
    except OSError:
        return 0


# ------------------------------------------------------------------------------------------------ the trash


def restore_removed(config: Config, words: Sequence[str], as_path: str = "") -> Iterator[str]:
    """Restore removed files with their times, permissions and history. Yield the path of each.

    A word is an id of the trash, a path in a mount, or ``ONTOLOGY/PATH``. A folder or an ontology means all files
    that were removed below it. ``as_path`` is another path for a single file. The knowledge of the files comes back
    from their Readings, and no model is asked. Files of a folder whose place is taken stay in the trash while the
    other files are restored; ExistsError names them at the end. Raise BadInputError if ``as_path`` is given for
    several files.
    """
    with open_home(config, make=False) as stores, open_deposits(config, stores) as (deposits, _):
        for each in words:
            found, kept = trash.find_all(stores, config.run, each), list[str]()
            if as_path and len(found) > 1:
                raise BadInputError(f"--as names the place of one file; {len(found)} were removed below '{each}'.")
            for gone in found:
                try:
                    yield trash.restore(deposits, stores, gone, as_path)
                except (ExistsError, NotAFolderError):
                    if len(found) == 1:
                        raise
                    kept.append(f"{removed_file(stores, gone).path} ({gone.id})")
            if kept:
                raise ExistsError(
                    f"Something else stands where these were, which stay in the trash: {', '.join(kept)}. Restore each by"
                    " its id under another path with --as."
                )


def empty_trash(config: Config, older_than_days: float, agree: Callable[[Sequence[Removed]], bool]) -> int:
    """Delete removed files for good that were removed at least ``older_than_days`` days ago, if ``agree`` returns
    True. Return their number.

    Originals that no path has, now or in its versions, leave the garage. Their Readings stay until they are purged.
    """
    before = time.time_ns() - int(older_than_days * trash.DAY)
    with open_home(config, make=False) as stores, open_deposits(config, stores) as (deposits, _):
        found = [removed_file(stores, gone) for gone in trash.listed(stores, before)]
        if not agree(found) or not found:
            return 0
        return trash.empty(stores, deposits.settler, before)


def with_transcripts(files: Sequence[Path], asked: Deposit) -> tuple[list[Path], Deposit]:
    """Return the files to deposit, and how: in place of each folder the transcripts below it, at their paths below the
    folder. Folders alone need no ontology: theirs is :data:`ONTOLOGY`.

    A folder without transcripts stays, and its deposit is refused. Raise BadInputError for ``as_path`` with a folder.
    """
    if not any(map(os.path.isdir, files)):  # False where it cannot be told: the deposit says why
        return list(files), asked
    if asked.as_path:
        raise BadInputError("--as names the place of one file; a folder was given.")
    found: list[Path] = []
    named: dict[Path, str] = {}
    for path in files:
        below = list(_below(path)) if os.path.isdir(path) else []  # noqa: PTH112 - False where it cannot be told
        if not below:
            found.append(path)  # the deposit of a folder is refused, and the others go on
            continue
        found += below
        named |= {one: encode_name(os.fsencode(one.relative_to(path))) for one in below}
    only_folders = len(named) == len(found)
    return found, replace(asked, named=named, ontology=asked.ontology or (ONTOLOGY if only_folders else ""))


def _below(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(top) / name
            if name.endswith(".jsonl") and not name.startswith(".") and _is_transcript(path):
                yield path


def _is_transcript(path: Path) -> bool:
    """Return whether a file is one by its content. One that cannot be read is taken for one: its deposit says why."""
    try:
        with path.open("rb") as file:
            start = file.read(SAMPLED)
    except OSError:
        return True
    return format_of(path.name, start).segments is not None
