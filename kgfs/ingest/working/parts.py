"""Record the parts of a document that was read: each becomes a Document, whose reading is enqueued."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.domain.parts import Part
from kgfs.errors import MissingError
from kgfs.failpoints import border
from kgfs.ingest.storing.unheld import conclude_parts
from kgfs.stores.catalog.facts import PartsFound
from kgfs.stores.readings import Reading
from kgfs.stores.settle_lock import settle_lock
from kgfs.stores.stores import Stores

CONCURRENCY = 8
"""Requests that are under way at the same time."""


def found_parts(config: Config, stores: Stores, document: Document, reading: Reading) -> None:
    """Make the parts that a Reading names those of its document. Does nothing where they are. Durable on return.

    The bytes of each part stay under the key of the Document that it is: no process of this home gives up originals
    meanwhile, and where other homes share the garage, they know of the parts when this returns. MissingError if the garage
    has the bytes of a part no more: nothing promised them while the document was read. Reading it again puts them again."""
    known = stores.catalog.names.parts(document.doc_id)
    if not known and not reading.parts:
        return
    present = [(row.name, row.given, row.kind, row.size, _sha256(stores, row.child)) for row in known]
    wanted = [(part.name, part.given, part.kind, part.size, part.sha256) for part in reading.parts]
    with settle_lock(config.run):
        keys = _bring(stores, document, reading.parts)
        if present != wanted:
            stores.catalog.record(
                PartsFound(
                    doc_id=document.doc_id,
                    at=time.time_ns(),
                    names=tuple(part.name for part in reading.parts),
                    given=tuple(part.given for part in reading.parts),
                    kinds=tuple(str(part.kind) for part in reading.parts),
                    media_types=tuple(part.media_type for part in reading.parts),
                    sha256s=tuple(part.sha256 for part in reading.parts),
                    sizes=tuple(part.size for part in reading.parts),
                    keys=tuple(keys[part.sha256] if part.key else "" for part in reading.parts),
                )
            )
            border("parts-found")
        if not stores.catalog.sharing:
            conclude_parts(stores, config.spool, document.doc_id)
            return
    _tell(stores, keys.values())


def _bring(stores: Stores, document: Document, parts: Iterable[Part]) -> dict[str, str]:
    """Return, by SHA-256, the keys of the Documents that these parts are, under which the garage has their bytes."""
    objects, names = stores.garage.objects, stores.catalog.names
    put: dict[str, str] = {}
    keys: dict[str, str] = {}  # two parts of one mail may be the same content under two names
    for part in parts:
        if part.key and part.sha256 not in keys:
            known = names.document_with(document.ontology, part.sha256)
            keys[part.sha256], put[part.sha256] = known.key if known is not None else part.key, part.key
    for sha256 in _absent(stores, keys):
        objects.put(keys[sha256], objects.get(put[sha256]))
    return keys


def _tell(stores: Stores, keys: Iterable[str]) -> None:
    """Deliver the parts to the other homes, and see that the garage has all of them still. Another home may have given
    one up before it knew of them. Their notes stay for a while: this home may yet hear that the document is gone."""
    if stores.exchange is not None and stores.catalog.unshipped(1)[1]:
        stores.exchange()
    if gone := _absent(stores, {key: key for key in keys}):
        raise MissingError(f"{gone[0]}: no such object: another home gave it up meanwhile. It is put again.")


def _absent(stores: Stores, keys: Mapping[str, str]) -> list[str]:
    """Return those of which the garage has no object under their key."""
    if not stores.catalog.sharing:
        return [one for one, key in keys.items() if not stores.garage.objects.exists(key)]
    with ThreadPoolExecutor(CONCURRENCY, "kgfs-parts") as several:
        there = several.map(stores.garage.objects.exists, keys.values())
        return [one for one, is_there in zip(keys, there, strict=True) if not is_there]


def _sha256(stores: Stores, doc_id: str) -> str:
    found = stores.catalog.names.document(doc_id) if doc_id else None
    return found.sha256 if found else ""
