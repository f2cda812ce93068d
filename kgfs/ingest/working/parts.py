"""Record the parts of a document that was read: each becomes a Document, whose reading is enqueued."""

from __future__ import annotations

import time
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
    if present != wanted:
        with settle_lock(config.run):
            same: dict[str, str] = {}  # two parts of one mail may be the same content under two names
            keys = [_bring(stores, document, part, same) for part in reading.parts]
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
                    keys=tuple(keys),
                )
            )
        border("parts-found")
    if stores.catalog.sharing:
        _told(stores, document)
    else:
        with settle_lock(config.run):
            conclude_parts(stores, config.spool, document.doc_id)


def _told(stores: Stores, document: Document) -> None:
    """Deliver the parts of a document to the other homes, and see that the garage has all of them still.

    Another home may have given one up before it knew of them. The notes of the parts stay for a while: this home may be
    told yet that the document is gone."""
    if stores.exchange is not None and stores.catalog.unshipped(1)[1]:
        stores.exchange()
    names = stores.catalog.names
    children = {row.child for row in names.parts(document.doc_id) if row.child}
    keys = [found.key for child in sorted(children) if (found := names.document(child)) is not None]
    with ThreadPoolExecutor(CONCURRENCY, "kgfs-parts") as several:
        for key, is_there in zip(keys, several.map(stores.garage.objects.exists, keys), strict=True):
            if not is_there:
                raise MissingError(f"{key}: no such object: another home gave it up meanwhile. It is put again.")


def _sha256(stores: Stores, doc_id: str) -> str:
    found = stores.catalog.names.document(doc_id) if doc_id else None
    return found.sha256 if found else ""


def _bring(stores: Stores, document: Document, part: Part, same: dict[str, str]) -> str:
    """Return the key of the part's Document, under which the garage has its bytes when this returns."""
    if not part.key:
        return ""
    objects = stores.garage.objects
    known = stores.catalog.names.document_with(document.ontology, part.sha256)
    key = same.setdefault(part.sha256, known.key if known is not None else part.key)
    if not objects.exists(key):
        objects.put(key, objects.get(part.key))
    return key
