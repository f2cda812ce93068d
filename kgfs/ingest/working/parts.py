"""Record the parts of a document that was read: each becomes a Document, whose reading is enqueued."""

from __future__ import annotations

import time
from collections.abc import Iterable

from kgfs.config import Config
from kgfs.domain.documents import Document
from kgfs.domain.parts import Part
from kgfs.failpoints import border
from kgfs.ingest.storing.unheld import conclude_parts
from kgfs.stores.catalog.facts import PartsFound
from kgfs.stores.readings import Reading
from kgfs.stores.settle_lock import settle_lock
from kgfs.stores.stores import Stores


def found_parts(config: Config, stores: Stores, document: Document, reading: Reading) -> None:
    """Make the parts that a Reading names those of its document. Does nothing where they are. Durable on return.

    The bytes of each part stay under the key of the Document that it is: no process gives up originals meanwhile.
    MissingError if the garage has the bytes of a part no more: nothing promised them while the document was read. Reading
    it again puts them again."""
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
        conclude_parts(stores, config.spool, document.doc_id)


def _bring(stores: Stores, document: Document, parts: Iterable[Part]) -> dict[str, str]:
    """Return, by SHA-256, the keys of the Documents that these parts are, under which the garage has their bytes."""
    objects, names = stores.garage.objects, stores.catalog.names
    put: dict[str, str] = {}
    keys: dict[str, str] = {}  # two parts of one mail may be the same content under two names
    for part in parts:
        if part.key and part.sha256 not in keys:
            known = names.document_with(document.ontology, part.sha256)
            keys[part.sha256], put[part.sha256] = known.key if known is not None else part.key, part.key
    for sha256, key in keys.items():
        if not objects.exists(key):
            objects.put(key, objects.get(put[sha256]))
    return keys


def _sha256(stores: Stores, doc_id: str) -> str:
    found = stores.catalog.names.document(doc_id) if doc_id else None
    return found.sha256 if found else ""
