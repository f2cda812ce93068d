"""Purges that another host carried out: what this host has of the purged documents beside the bucket goes, too.

What is to be erased is noted before the fact is folded, since afterwards nobody knows the documents' hashes; the note stays
until all is done, so a kill in between costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from kgfs.config import Config
from kgfs.errors import from_os_error
from kgfs.failpoints import border
from kgfs.ingest.keeping.content import is_held
from kgfs.ingest.keeping.quarantine import erase, erase_lines
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.graph.opening import drop_copy_begun
from kgfs.stores.graph.sqlite import built_beside, remove_left_aside
from kgfs.stores.journal.copied import working_copies
from kgfs.stores.journal.encoding import decode
from kgfs.stores.journal.facts import ForgettingDone, VersionMinted
from kgfs.stores.notes import write_note
from kgfs.stores.stores import Stores
from kgfs.stores.waiting import WAITING

_PURGE = ForgettingDone.__name__.encode()
_VERSION = VersionMinted.__name__.encode()


def note_purges(config: Config, stores: Stores, entries: Iterable[bytes]) -> None:
    """Before these facts of other hosts are folded."""
    _note_more(config, _purges(stores, list(entries)))


def purged_contents(stores: Stores, entries: Iterable[bytes]) -> set[str]:
    """The SHA-256 of what is purged by these facts, which are not folded yet."""
    return set(_purges(stores, list(entries)).values())


def _purges(stores: Stores, entries: Sequence[bytes]) -> dict[str, str]:
    purged = _purged(entries)
    return {**_minted(entries, purged), **_known(stores, purged)} if purged else {}


def noting_purges(config: Config, stores: Stores, entries: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """These, which are all that the ledger has, to derive lost names from: before that ends all purges among them are noted, for
    nothing tells which of them this home has not obeyed yet. Its cache, spool and quarantine are older than its names then."""
    purged: set[str] = set()
    for seq, entry in entries:
        purged |= _purged([entry])
        yield seq, entry
    if purged:
        _note_more(config, _minted(_told(stores), purged))


def _told(stores: Stores) -> Iterator[bytes]:
    return (entry for _, entry in stores.garage.ledger.replay())


def _purged(entries: Iterable[bytes]) -> set[str]:
    facts = (decode(entry) for entry in entries if _PURGE in entry)
    return {doc_id for fact in facts if isinstance(fact, ForgettingDone) and fact.purge for doc_id in fact.doc_ids}


def _minted(entries: Iterable[bytes], doc_ids: set[str]) -> dict[str, str]:
    facts = (decode(entry) for entry in entries if _VERSION in entry)
    return {fact.doc_id: fact.sha256 for fact in facts if isinstance(fact, VersionMinted) and fact.doc_id in doc_ids}


def _known(stores: Stores, doc_ids: set[str]) -> dict[str, str]:
    found = [stores.journal.names.document(doc_id) for doc_id in sorted(doc_ids)]
    return {document.doc_id: document.sha256 for document in found if document is not None}


def _note_more(config: Config, purged: Mapping[str, str]) -> None:
    if not purged:
        return
    known = _noted(config)
    if known is not None:  # else all that the ledger tells of is to be obeyed anyway
        about = {"doc_ids": [*known["doc_ids"], *purged], "sha256s": [*known["sha256s"], *purged.values()]}
        write_note(_note(config), about, durable=True)
        border("purge-noted")


def obey(config: Config, stores: Stores) -> None:
    """Erase what was noted: in inbox, spool, quarantine, logs, the cache of contents and what a killed derivation, or copying
    of a graph, left, and every trace in the names database. May be done twice. BusyError where others read that without end; then it stays noted,
    as it does while a derivation lives, which may have begun before. What somebody has written
    since, of the same bytes, is a deposit of its own and stays."""
    if not _note(config).exists():
        return
    known = _noted(config)
    if known is None:
        purged = _minted(_told(stores), _purged(_told(stores)))
        known = {"doc_ids": list(purged), "sha256s": list(purged.values())}
    stores.journal.drop_inbox(known["sha256s"])
    for path in config.spool.glob("*-*"):
        if is_held(path) or _sha256(path) not in known["sha256s"]:
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
    drop_copy_begun(config)
    if remove_left_aside(built_beside(config.graph_db)):
        _note(config).unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    """'' where the working copy has left meanwhile, for the garage or for good."""
    try:
        return sums_of(path).sha256
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise from_os_error(error, f"Reading the working copy {path}") from error


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


def _noted(config: Config) -> dict[str, list[str]] | None:
    """None where it cannot be read, after a power loss with a version that did not wait for it to be durable."""
    try:
        found = json.loads(_note(config).read_text())
        return {"doc_ids": list(found["doc_ids"]), "sha256s": list(found["sha256s"])}
    except FileNotFoundError:
        return {"doc_ids": [], "sha256s": []}
    except (ValueError, LookupError, TypeError):
        return None
