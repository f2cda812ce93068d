"""Purges that another host carried out: what this host has of the purged documents beside the bucket goes, too.

What is to be erased is noted before the fact is folded, since afterwards nobody knows the documents' hashes; the note stays
until all is done, so a kill in between costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from kgfs.config import Config
from kgfs.failpoints import border
from kgfs.ingest.keeping.content import is_held
from kgfs.ingest.keeping.quarantine import erase, erase_lines
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.graph.sqlite import built_beside, remove_left_aside
from kgfs.stores.journal.copied import working_copies
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ForgettingDone
from kgfs.stores.notes import write_note
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import WAITING

_MARK = ForgettingDone.__name__.encode()


def note_purges(config: Config, stores: Stores, entries: Iterable[bytes]) -> None:
    """Before these facts of other hosts are folded."""
    facts = [decode(entry) for entry in entries if _MARK in entry]
    doc_ids = [doc_id for fact in facts if isinstance(fact, ForgettingDone) and fact.purge for doc_id in fact.doc_ids]
    if doc_ids:
        known = _noted(config)
        found = [document for doc_id in doc_ids if (document := stores.journal.names.document(doc_id))]
        known["doc_ids"] += [document.doc_id for document in found]
        known["sha256s"] += [document.sha256 for document in found]
        write_note(_note(config), known)
        border("purge-noted")


def obey(config: Config, stores: Stores) -> None:
    """Erase what was noted: in inbox, spool, quarantine, logs, the cache of contents and what a killed derivation left, and
    every trace in the names database. May be done twice. BusyError where others read that without end; then it stays noted,
    as it does while a derivation lives, which may have begun before. What somebody has written
    since, of the same bytes, is a deposit of its own and stays."""
    if not _note(config).exists():
        return
    known = _noted(config)
    stores.journal.drop_inbox(known["sha256s"])
    for path in config.spool.glob("*-*"):
        if is_held(path) or sums_of(path).sha256 not in known["sha256s"]:
            continue
        if path.name not in set(working_copies(config.front_db)):
            path.unlink(missing_ok=True)
    for key in [key for key, _ in stores.garage.objects.keys(WAITING)]:
        if key.rpartition(".")[2] in known["sha256s"] and not _is_wanted(stores, key):
            stores.garage.objects.delete(key)  # put there before this host knew
    if config.garage_cache.exists():
        Cache(config.garage_cache, 1).clear()
    for log in (config.errors_log, config.logs / "worker.log"):
        erase_lines(log, known["doc_ids"])
    erase(config, known["doc_ids"], known["sha256s"])
    stores.journal.scrub()
    if remove_left_aside(built_beside(config.graph_db)):
        _note(config).unlink(missing_ok=True)


def _is_wanted(stores: Stores, key: str) -> bool:
    """Whether a version, or a file that is not settled, has what waits there."""
    name_id, _, sha256 = key.removeprefix(WAITING).partition(".")
    name = stores.journal.names.name(int(name_id, 16))
    return (name is not None and name.sha256 == sha256) or stores.journal.promises(key)


def is_obeyed(config: Config) -> bool:
    """Whether nothing that was noted is left to be erased."""
    return not _note(config).exists()


def _note(config: Config) -> Path:
    return config.home / "purged.json"


def _noted(config: Config) -> dict[str, list[str]]:
    try:
        found: dict[str, list[str]] = json.loads(_note(config).read_text())
    except FileNotFoundError:
        return {"doc_ids": [], "sha256s": []}
    return found
