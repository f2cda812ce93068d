"""Purge: erase documents from everything under the home but the ledger, which has their names but none of their text.

A rebuild must know the part that these documents had in the graph: ids (which are hashes), numbers and times. This
part is stored in the garage as a redaction. Each step is idempotent, and the order stays due until all steps are
done: a purge that cannot delete fails with an error and is never reported as complete. Freed disk blocks are not
overwritten.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict

from kgfs.config import Config
from kgfs.errors import CorruptError, MissingError, StoreError
from kgfs.failpoints import border
from kgfs.ingest.lifecycle.survivors import hide_names, load_renaming, name_anew
from kgfs.ingest.reading.as_prose import prose_only
from kgfs.ingest.reading.passages import passages_of
from kgfs.ingest.reading.records import fingerprint_of
from kgfs.ingest.reading.related_documents import alike
from kgfs.ingest.storing.content import only_in_garage
from kgfs.models.contract import Passage
from kgfs.stores import saved_answers, snapshots
from kgfs.stores.catalog.rows import Forgetting
from kgfs.stores.database import remove_database
from kgfs.stores.garage.listing import objects_of
from kgfs.stores.graph.sqlite import built_beside
from kgfs.stores.graph.vocabulary import Redaction, RelationshipRow
from kgfs.stores.part_notes import part_notes, parts_under_way, unwanted
from kgfs.stores.quarantine import erase, erase_logged
from kgfs.stores.readings import FOUNDING, Reading, decode_decisions, decode_reading, reading_key, text_of
from kgfs.stores.stores import Stores
from kgfs.stores.vectors.opening import may_hold_vectors, open_vectors

FORMAT = 1


def purge(config: Config, stores: Stores, owed: Forgetting) -> tuple[str, tuple[str, ...]]:
    """Erase the documents of an order; return the garage keys of the redaction and of new Decisions.

    The new Decisions are those of other documents that mention renamed concepts. The documents have left the graph
    before. The caller keeps all processes from settling, and records in the catalog that the purge is done. Idempotent.
    """
    key = key_of_redaction(owed.order)
    # made only once, since the objects that it is made from are erased after it
    if not stores.garage.objects.exists(key):
        stores.garage.objects.put(key, encode_redaction(_redacted(stores, owed)))
    border("redacted")
    renaming = load_renaming(stores, owed.order)
    hide_names(stores, decode_redaction(stores.garage.objects.get(key), key), renaming, owed.doc_ids)
    border("names-hidden")
    _leave_vectors(config, stores, owed.doc_ids, sorted(_founded(stores, owed)))
    leaving = set(owed.doc_ids)
    for doc_id in owed.doc_ids:
        _rescue_records(stores, doc_id, leaving)
    border("rescued")
    for doc_id in _shorter_first(stores, owed.doc_ids):
        _erase_objects(config, stores, doc_id, leaving)
        border("erased")
    stores.garage.objects.sweep()
    snapshots.delete_all(config, stores.garage.objects)
    hashes = [document.sha256 for doc_id in owed.doc_ids if (document := stores.catalog.names.document(doc_id))]
    stores.catalog.drop_inbox(hashes)
    stores.catalog.scrub()
    remove_database(built_beside(config.graph_db))
    erase_logged(config, owed.doc_ids)
    erase(config, owed.doc_ids, hashes)
    saved_answers.erase(config, owed.doc_ids)
    border("scrubbed")
    known = stores.catalog.names.document  # a document that was purged since the plan was made has no Decisions left
    return key, tuple(one for one in renaming.decisions if known(one.split("/")[1]) is not None)


def _shorter_first(stores: Stores, doc_ids: Sequence[str]) -> list[str]:
    """Return the documents by length, so that no version is written out only because its successor goes first."""
    known = stores.catalog.names.document
    return sorted(doc_ids, key=lambda doc_id: one.size if (one := known(doc_id)) else 0)


def decided_about(stores: Stores, doc_id: str) -> tuple[set[str], dict[str, RelationshipRow]]:
    """Return the ids of the concepts, and the relationships by id, that any Decisions about a document have named.

    A relationship has no type where the Reading is lost. Its text is lost with the Reading and needs no erasing, and
    stores find relationships by their ids.
    """
    objects, document = stores.garage.objects, stores.catalog.names.document(doc_id)
    concepts: set[str] = set()
    relationships: dict[str, RelationshipRow] = {}
    for key, _ in list(objects.keys(f"decisions/{doc_id}/")):
        decisions = decode_decisions(objects.get(key), key)
        reading = _reading_left(stores, reading_key(doc_id, decisions.reading))
        concepts |= {matched.concept_id for matched in decisions.concepts}
        for matched in decisions.relationships:
            type_ = reading.relationships[matched.index].type if reading else ""
            row = RelationshipRow(
                matched.relationship_id, document.ontology if document else "", matched.subject, type_, matched.object
            )
            relationships[row.relationship_id] = row
    return concepts, relationships


def encode_redaction(redaction: Redaction) -> bytes:
    """Return the redaction as JSON for the garage."""
    return json.dumps({"format": FORMAT, **asdict(redaction)}, sort_keys=True, separators=(",", ":")).encode()


def decode_redaction(raw: bytes, key: str) -> Redaction:
    """Return the redaction that is stored under ``key``; raise StoreError if it cannot be decoded."""
    try:
        body = json.loads(raw)
        if body.pop("format") != FORMAT:
            raise StoreError(f"{key}: written by another version of kgfs.")
        return Redaction(**{name: tuple(tuple(row) for row in rows) for name, rows in body.items()})
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{key}: no redaction ({error}).") from error


def _redacted(stores: Stores, owed: Forgetting) -> Redaction:
    """Return the redaction of what the purged documents alone had named.

    Concepts that other documents still speak of are renamed first, so that the former names are dead. Batches that a
    killed worker had staged are abandoned too, with their text. Nothing stages meanwhile, since the caller holds the
    worker lock.
    """
    for commit_id in stores.graph.staged():
        stores.graph.abandon(commit_id)
    concepts: set[str] = set(owed.concepts)
    named: set[str] = set()
    relationships: dict[str, RelationshipRow] = {}
    for doc_id in owed.doc_ids:
        of_document = decided_about(stores, doc_id)
        named |= _named_by(stores, doc_id)
        concepts |= of_document[0]
        relationships |= of_document[1]
    renaming = name_anew(stores, owed, sorted(concepts))
    concepts |= {became for _, became in renaming.concepts}
    rows = [row for _, row in sorted(relationships.items())]
    return stores.graph.redact(sorted(concepts | named), rows, owed.doc_ids)


def _named_by(stores: Stores, doc_id: str) -> set[str]:
    """Return the ids of the concepts that a document named without being evidence for them."""
    objects = stores.garage.objects
    kept = [(key, objects.get(key)) for key, _ in list(objects.keys(f"decisions/{doc_id}/"))]
    return {named.concept_id for key, raw in kept for named in decode_decisions(raw, key).named}


def _leave_vectors(config: Config, stores: Stores, doc_ids: Sequence[str], concepts: Sequence[str]) -> None:
    """Erase the vectors of these documents and concepts, whatever their model.

    Erase them also where no embedder is configured: rows of an earlier one may be stored.
    """
    if stores.vectors is not None:
        stores.vectors.erase(doc_ids, concepts)
    elif may_hold_vectors(config):
        with closing(open_vectors(config, "none", stores.garage.confirm_owner)) as vectors:
            vectors.erase(doc_ids, concepts)


def _founded(stores: Stores, owed: Forgetting) -> set[str]:
    """Return the concepts, dead or alive, that a label of these documents founded.

    The vector of such a concept is the embedding of that label.
    """
    objects = stores.garage.objects
    kept = [(key, objects.get(key)) for doc_id in owed.doc_ids for key, _ in list(objects.keys(f"decisions/{doc_id}/"))]
    return {m.concept_id for key, raw in kept for m in decode_decisions(raw, key).concepts if m.how in FOUNDING}


def key_of_redaction(order: str) -> str:
    """Return the garage key of an order's redaction."""
    return f"redactions/{order}.json"


def _erase_objects(config: Config, stores: Stores, doc_id: str, leaving: Container[str]) -> None:
    objects, names = stores.garage.objects, stores.catalog.names
    document = names.document(doc_id)
    keys = objects_of(objects, doc_id)
    originals = [document.key] if document is not None and not names.names_at(document.key) else []
    notes = list(part_notes(objects, doc_id))
    if parts := [key for note in notes for key in note.keys]:  # put by a reading that ended before it told of them
        under_way = parts_under_way(stores, leaving)
        originals += [key for key in unwanted(stores, parts) if key not in {*under_way, *originals}]
    coming = only_in_garage(stores, config.spool)  # deposited again, and this is their only copy
    for key in [*keys, *(key for key in originals if not any(sha256.startswith(_digits(key)) for sha256 in coming))]:
        objects.delete(key)
    for note in notes:  # last: a purge that was killed begins with what they say
        objects.delete(note.at)


def _digits(key: str) -> str:
    """Return the digits of the SHA-256 in the key of an original."""
    return key.rpartition("/")[2].partition(".")[0]


def _rescue_records(stores: Stores, doc_id: str, leaving: Iterable[str]) -> None:
    """Copy Records of unchanged Sources to other documents whose Readings took them from this document's packs.

    No other Records are copied.
    """
    objects = stores.garage.objects
    for other, packs in _borrowers(stores, doc_id).items():
        if other in leaving:
            continue
        lines = [line for pack in packs for line in objects.get(pack).splitlines()]
        kept = _answering(stores, other, lines)
        if kept:
            content = b"\n".join(kept) + b"\n"
            objects.put(f"records/{other}/{hashlib.sha256(content).hexdigest()[:32]}.jsonl", content)


def _borrowers(stores: Stores, doc_id: str) -> dict[str, list[str]]:
    """Return ``doc_id`` → packs of this document that Readings of that other document were made with.

    A document that took Records from a pack may have passed them on. So the search starts with documents of similar
    text and continues from each document that is found.
    """
    names, objects = stores.catalog.names, stores.garage.objects
    found: dict[str, list[str]] = {}
    visited, waiting = {doc_id}, [doc_id]
    while waiting:
        for other in sorted(alike(names, waiting.pop()) - visited):
            visited.add(other)
            packs = [
                pack
                for key, _ in list(objects.keys(f"readings/{other}/"))
                for pack in _records(stores, key)
                if pack.startswith(f"records/{doc_id}/") and objects.exists(pack)
            ]
            if packs:
                found[other] = list(dict.fromkeys(packs))
                waiting.append(other)
    return found


def _answering(stores: Stores, doc_id: str, lines: list[bytes]) -> list[bytes]:
    """Return the Records among ``lines`` that answer for a Source of this document."""
    document, objects = stores.catalog.names.document(doc_id), stores.garage.objects
    if document is None or not lines:
        return []
    passages: list[Passage] = []
    for key, _ in list(objects.keys(f"readings/{doc_id}/")):
        reading = _reading_left(stores, key)
        if reading is None:
            continue
        try:
            text = text_of(objects, document, reading)
        except (MissingError, CorruptError):
            continue  # a Reading without its text cannot be made again: it needs no Records
        words = prose_only(reading.media_type, text)
        passages += passages_of(reading.title, words, reading.chunks, reading.language)
    kept: list[bytes] = []
    for line in lines:
        body = json.loads(line)
        made_by = (body["extractor"], body["model"], body["prompt_hash"])
        if any(fingerprint_of(*made_by, passage) == body["fingerprint"] for passage in passages):
            kept.append(line)
    return list(dict.fromkeys(kept))


def _records(stores: Stores, key: str) -> tuple[str, ...]:
    reading = _reading_left(stores, key)
    return reading.records if reading else ()


def _reading_left(stores: Stores, key: str) -> Reading | None:
    """Return the Reading under this key; None where the garage has lost it or its bytes are corrupt."""
    try:
        return decode_reading(stores.garage.objects.get(key), key)
    except (MissingError, CorruptError):
        return None
