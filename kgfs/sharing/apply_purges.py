"""Apply purges that another home carried out: erase what this home has of the purged documents outside the bucket.

What must be erased is noted before the fact of the purge is applied, since afterwards the documents' hashes are not
known any more. The note stays until everything is erased, so a kill in between costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.errors import from_os_error
from kgfs.failpoints import border
from kgfs.sharing.later import OF_CONTENTS, Waiting, spoken_of
from kgfs.stores import saved_answers
from kgfs.stores.catalog.copied import working_copies
from kgfs.stores.catalog.encoding import decode, decode_if
from kgfs.stores.catalog.facts import ForgettingDone, VersionMinted
from kgfs.stores.catalog.rows import Job
from kgfs.stores.catalog.sharing.unpublished import leaving
from kgfs.stores.document_objects import erase_if_purged
from kgfs.stores.garage.s3.cache import Cache
from kgfs.stores.garage.sums import sums_of
from kgfs.stores.graph.sqlite import built_beside, remove_left_aside
from kgfs.stores.quarantine import erase, erase_logged
from kgfs.stores.run_files import write_note
from kgfs.stores.spool_file import is_held
from kgfs.stores.stores import Stores


@dataclass(frozen=True, slots=True)
class _Noted:
    """What the note says must be erased: Documents, contents, and pending uploads."""

    doc_ids: Sequence[str] = ()
    sha256s: Sequence[str] = ()
    waiting: Sequence[Waiting] = ()
    reading: Sequence[str] = ()
    """Those of the Documents that this home had begun to read: it may have put something since the purge."""


def note_foreign_purges(config: Config, stores: Stores, entries: Iterable[bytes], tail: Sequence[bytes]) -> None:
    """Note the purges among these facts of other homes, before the facts are applied. The note is durable when this
    returns.

    ``tail`` are the undelivered facts of this home. Their purged contents are noted as well, since nothing refers to
    them after the purge is applied.
    """
    purged = _sha256s(_purges(stores, list(entries)))
    sha256s = set(purged.values())
    waiting = [found for found in sorted(spoken_of(tail)) if found[1] in sha256s] if purged else []
    reading = [doc_id for doc_id in purged if any(map(_is_begun, stores.catalog.jobs.of(doc_id)))]
    _note_more(config, purged, waiting, reading)


def _is_begun(job: Job) -> bool:
    """Return whether a worker of this home works at a job, or did so and stopped or was killed."""
    return job.state == "working" or job.attempts > 0 or job.reason != ""


def purged_originals(stores: Stores, after: int) -> set[str]:
    """Return the keys of the originals that the ledger purges after the fact ``after``, by facts that are not
    applied yet. Reads the ledger.

    The same bytes are another original where they belong to another Document.
    """
    return {found.key for found in _purges(stores, [entry for _, entry in stores.garage.ledger.replay(after)]).values()}


_Originals = Mapping[str, VersionMinted | Document]
"""By ``doc_id``: an object that has SHA-256 and key of its original."""


def _sha256s(purged: _Originals) -> dict[str, str]:
    return {doc_id: found.sha256 for doc_id, found in purged.items()}


def _purges(stores: Stores, entries: Sequence[bytes]) -> _Originals:
    purged = _purged_ids(entries)
    return {**_minted(entries, purged), **_known(stores, purged)} if purged else {}


def noting_purges(config: Config, stores: Stores, entries: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Pass on all entries of the ledger, from which lost names are derived, and note all purges among them at the
    end.

    Nothing tells which of these purges this home has obeyed already: its cache, spool and quarantine are older than
    its new names.
    """
    purged: set[str] = set()
    for seq, entry in entries:
        purged |= _purged_ids([entry])
        yield seq, entry
    if purged:
        _note_more(config, _sha256s(_minted(_recorded(stores), purged)))


def note_all_purges(config: Config) -> None:
    """Note that all purges of the ledger must be applied. Durable when this returns.

    For a home that has bytes of its own and is about to get names that do not tell what was purged before.
    """
    write_note(_note(config), {"all": True}, durable=True)


def _recorded(stores: Stores) -> Iterator[bytes]:
    """Yield all entries of the ledger."""
    return (entry for _, entry in stores.garage.ledger.replay())


def _purged_ids(entries: Iterable[bytes]) -> set[str]:
    """Return the doc_ids that these facts purge."""
    facts = (decode_if(entry, ForgettingDone) for entry in entries)
    return {doc_id for fact in facts if fact is not None and fact.purge for doc_id in fact.doc_ids}


def _minted(entries: Iterable[bytes], doc_ids: set[str]) -> dict[str, VersionMinted]:
    """Return the facts that minted versions of these Documents, by doc_id."""
    facts = (decode_if(entry, VersionMinted) for entry in entries)
    return {fact.doc_id: fact for fact in facts if fact is not None and fact.doc_id in doc_ids}


def _known(stores: Stores, doc_ids: set[str]) -> dict[str, Document]:
    """Return those of these Documents that the names database knows, by doc_id."""
    found = [stores.catalog.names.document(doc_id) for doc_id in sorted(doc_ids)]
    return {document.doc_id: document for document in found if document is not None}


def _note_more(
    config: Config, purged: Mapping[str, str], waiting: Sequence[Waiting] = (), reading: Sequence[str] = ()
) -> None:
    """Add purged Documents (doc_id to SHA-256), pending uploads, and Documents that are being read to the note. Durable
    when this returns."""
    if not purged:
        return
    known = _noted(config)
    if known is not None:  # else all purges of the ledger are applied anyway
        about = _Noted(
            (*known.doc_ids, *purged),
            (*known.sha256s, *purged.values()),
            (*known.waiting, *waiting),
            (*known.reading, *reading),
        )
        write_note(_note(config), asdict(about), durable=True)
        border("purge-noted")


def apply_purges(
    config: Config, stores: Stores, put: Mapping[int, set[str]], take_away: Callable[[Sequence[Waiting]], None]
) -> bool:
    """Erase what was noted. Return whether it is complete, or only waits for a derivation to end.

    Erased are what was read of them here since the purge, inbox, spool, quarantine, log records, the cache of contents, what a killed derivation left, and every
    trace in the names database. Idempotent. Raise BusyError where other processes read the names database without
    end; then the note stays. The note also stays while a derivation is alive that may have begun before the purge. If
    the same bytes were deposited anew since, that deposit stays.

    Of the pending uploads in the garage this home deletes those that it has ``put`` there itself (contents by name)
    before it knew of the purge. It cannot tell whether another home has deposited the other ones anew and is about to
    deliver that. That home has heard of the purge then, or it will, and deletes its own. An upload is not deleted yet
    while an undelivered fact of this home changes its file, since the ledger still promises the upload to the other
    homes. Then return False, and the note stays.
    """
    if not _note(config).exists():
        return True
    known = _noted(config)
    if known is None:
        purged = _sha256s(_minted(_recorded(stores), _purged_ids(_recorded(stores))))
        known = _Noted(list(purged), list(purged.values()))
    stores.catalog.drop_inbox(known.sha256s)
    for path in config.spool.glob("*-*"):
        if is_held(path) or _sha256(path) not in known.sha256s:
            continue
        if path.name not in set(working_copies(config.catalog_db)):
            path.unlink(missing_ok=True)
    own = {(name_id, sha256) for name_id in list(put) for sha256 in put.get(name_id, set()).intersection(known.sha256s)}
    own.update(known.waiting)
    left = sorted(one for one in own if not _has(stores, *one))
    # In this order: a fact that replaced a content is delivered by now, or is among these.
    changing = _changing(stores.catalog.unshipped(1 << 62)[1]) if left else set()
    later = [one for one in left if one[0] in changing]
    take_away([one for one in left if one[0] not in changing])
    for doc_id in known.reading:
        erase_if_purged(stores, doc_id)
    if config.garage_cache.exists():
        Cache(config.garage_cache, 1).clear()
    erase_logged(config, known.doc_ids)
    erase(config, known.doc_ids, known.sha256s)
    saved_answers.erase(config, known.doc_ids)
    stores.catalog.scrub()
    is_done = remove_left_aside(built_beside(config.graph_db))
    if later:
        write_note(_note(config), asdict(replace(known, waiting=later)), durable=True)
    elif is_done:
        _note(config).unlink(missing_ok=True)
    return not later


def _sha256(path: Path) -> str:
    """Return the SHA-256 of a working copy; '' if the file has left the spool meanwhile, for the garage or for
    good."""
    try:
        return sums_of(path).sha256
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise from_os_error(error, f"Reading the working copy {path}") from error


def _changing(tail: Iterable[bytes]) -> set[int]:
    """Return the names that these facts give contents to, or remove."""
    facts = list(map(decode, tail))
    return {fact.id for fact in facts if isinstance(fact, OF_CONTENTS)}.union(*map(leaving, facts))


def _has(stores: Stores, name_id: int, sha256: str) -> bool:
    """Return whether the name has this content now."""
    name = stores.catalog.names.name(name_id)
    return name is not None and name.sha256 == sha256


def is_obeyed(config: Config) -> bool:
    """Return whether nothing that was noted is left to be erased."""
    return not _note(config).exists()


def _note(config: Config) -> Path:
    return config.home / "purged.json"


def _noted(config: Config) -> _Noted | None:
    """Return what the note says; None if all purges of the ledger must be applied.

    That is also so where the note cannot be read, after a power loss with a version that did not make it durable. A
    note of an earlier version has no pending uploads, and no Documents that were being read.
    """
    try:
        found = json.loads(_note(config).read_text())
        waiting = [(int(name_id), str(sha256)) for name_id, sha256 in found.get("waiting", ())]
        return _Noted(list(found["doc_ids"]), list(found["sha256s"]), waiting, list(found.get("reading", ())))
    except FileNotFoundError:
        return _Noted()
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
