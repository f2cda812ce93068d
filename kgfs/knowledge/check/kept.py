"""The check of garage and ledger: objects that are missing, corrupt, or referred to by nothing. In a
bucket it is also what takes room there, or in its cache, and nothing refers to.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress

from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.knowledge import timing
from kgfs.stores.damage import Damage, Kind
from kgfs.stores.garage.contract import BLOCK
from kgfs.stores.garage.listing import OWN
from kgfs.stores.part_notes import part_notes
from kgfs.stores.readings import decode_reading, keys_of_decisions, reading_key
from kgfs.stores.stores import Stores

_CACHED = re.compile(r"([0-9a-f]{2})/(\1[0-9a-f]{30})(\.\d+)?")
"""The pattern of a cached file's path below the cache. The second group is the hash of its object's key."""

_DOC_ID = re.compile(r"[0-9a-f]{16}")


def in_ledger(stores: Stores) -> Iterator[Damage]:
    rotten = False
    for fault in stores.garage.ledger.faults():
        torn = fault.startswith("torn")
        rotten |= not torn
        yield Damage(Kind.TORN_LEDGER if torn else Kind.ROTTEN_LEDGER, "ledger", fault)
    if not rotten and stores.catalog.seq() < stores.garage.ledger.last_seq():
        yield Damage(Kind.OLD_FRONT, "front.sqlite", f"fact {stores.catalog.seq()}")
    elif not rotten:
        first, waiting = stores.catalog.unshipped(1)
        if waiting:  # seconds old, or no process ships the ledger
            yield Damage(Kind.UNSHIPPED, f"fact {first}")


def in_garage(stores: Stores, *, deep: bool, progress: Callable[[int, int, str], None]) -> Iterator[Damage]:
    objects, catalog = stores.garage.objects, stores.catalog
    # Read before the objects are listed: content that is settled meanwhile is then known to be in use.
    coming = {name.sha256[:32] for name in catalog.names.unsettled() if name.sha256}
    promised: set[str] = set()
    for key, _, doc_id in catalog.promised():
        if key not in promised and not objects.exists(key):
            yield Damage(Kind.MISSING_ORIGINAL, key, doc_id=doc_id)
        promised.add(key)
    for document in documents(stores):
        yield from _parts(stores, document)
    keys = list(objects.keys(""))
    held = {document.key for document in documents(stores)} | promised | set(catalog.unheld())
    held |= {
        key for note in part_notes(objects) for key in note.keys
    }  # of readings under way, or deleted by themselves
    for done, (key, size) in enumerate(keys, 1):
        for damage in _object(stores, key, size, held, deep):
            if damage.kind is Kind.ORPHAN and key.rpartition("/")[2].partition(".")[0] in coming:
                continue  # it is being settled, perhaps by a killed process: repair would delete its only copy
            yield damage
        progress(done, len(keys), "objects")


def documents(stores: Stores) -> Iterator[Document]:
    """Yield all documents of the ontologies that exist."""
    names = stores.catalog.names
    for ontology in names.ontologies():
        after = ""
        while page := names.documents(ontology.id, after):
            yield from page
            after = page[-1].doc_id


def _parts(stores: Stores, document: Document) -> Iterator[Damage]:
    """Yield the missing and corrupt parts of a document that the graph shows, which it needs to be derived again."""
    if not document.commit_id:
        return
    objects, key = stores.garage.objects, reading_key(document.doc_id, document.reading)
    wanted = [key]
    with suppress(StoreError):  # what is rotten is reported by the check of objects
        for part in keys_of_decisions(objects, document.decisions):
            wanted.append(part)
    try:
        if not objects.has_sums(key) and objects.exists(key):
            return  # reported by the check of objects
        reading = decode_reading(objects.get(key), key)
        # Packs of a purged version are not needed: this document has what it uses of them in packs of its own.
        packs = [pack for pack in reading.records if stores.catalog.names.document(pack.split("/")[1]) is not None]
        wanted += [part for part in (reading.vectors_key, reading.text_key, *packs) if part]
    except MissingError:
        pass  # the Reading itself is missing, which the loop below reports first
    except StoreError as error:
        yield Damage(Kind.ROTTEN_PART, key, str(error), document.doc_id)
    for part in wanted:
        if not objects.exists(part):
            own = part.split("/")[1] == document.doc_id
            yield Damage(Kind.MISSING_PART, part, "" if own else f"document {document.doc_id}", document.doc_id)


def _object(stores: Stores, key: str, size: int, held: set[str], deep: bool) -> Iterator[Damage]:
    objects = stores.garage.objects
    top, _, rest = key.partition("/")
    doc_id = rest.partition("/")[0]
    if top == "sources" and key not in held:
        yield Damage(Kind.ORPHAN, key)
        return
    if top in OWN and _DOC_ID.fullmatch(doc_id) and stores.catalog.names.document(doc_id) is None:
        yield Damage(Kind.ORPHAN, key)
        return
    if not objects.has_sums(key):
        if objects.exists(key):
            yield Damage(Kind.LOST_SUMS, key, doc_id=doc_id if top in OWN else "")
        return
    if deep:
        kind = Kind.ROTTEN_ORIGINAL if top == "sources" else Kind.ROTTEN_PART
        try:
            with closing(objects.open(key)) as reader:
                for at in range(0, max(size, reader.sums.size), BLOCK):
                    reader.read_at(at, BLOCK)
            if size != reader.sums.size:
                yield Damage(kind, key, f"{size} bytes instead of {reader.sums.size}", doc_id if top in OWN else "")
        except CorruptError as error:
            yield Damage(kind, key, str(error), doc_id if top in OWN else "")
        except MissingError:
            return  # deleted since it was listed


def in_bucket(config: Config, stores: Stores) -> Iterator[Damage]:
    """Yield uploads that were begun and not finished, and cached files of no object.

    It yields nothing for a garage in files.
    """
    for key, begun in stores.garage.objects.left_over():
        if (age := time.time() - begun) > timing.UPLOAD_RUNNING:
            yield Damage(Kind.LEFT_UPLOAD, key, f"begun {age / 3600:.0f} hours ago")
    if config.garage_store.store == "s3":
        yield from _cache(config, stores)


def _cache(config: Config, stores: Stores) -> Iterator[Damage]:
    """Yield cached files whose object is not in the bucket, because another machine deleted it for example."""
    from kgfs.stores.garage.s3.names import key_hash

    cached = sorted(path for path in config.garage_cache.rglob("*") if path.is_file() and path.name != "state")
    if not cached:
        return
    known = {key_hash(key) for key, _ in stores.garage.objects.keys("")}
    for path in cached:
        name = path.relative_to(config.garage_cache).as_posix()
        found = _CACHED.fullmatch(name)
        if found is None or found[2] not in known:
            yield Damage(Kind.LEFT_CACHE, name, "of an object that is not in the bucket" if found else "")
