"""What makes two things the same: the ids of names, Documents, Sources, concepts and evidence, and the keys of originals.

But for the two random ones each is a pure function of what it identifies, the same on every machine and in every rebuild.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata

CHUNK_ID_LENGTHS = (12, 16, 24, 64)
"""Digits that a ``chunk_id`` has: the first, or the next where another Source has these digits."""


def new_id() -> int:
    """A fresh name id: random, 62 bits, above the numbers the tree reserves for fixed nodes."""
    return secrets.randbits(62) | (1 << 61)


def new_ontology_id() -> str:
    return secrets.token_hex(6)


def doc_id_of(source_id: str, content_hash: str) -> str:
    """The same bytes of the same source are the same Document: 16 hexadecimal digits of SHA-256, as of all ids here."""
    return hashlib.sha256(f"{source_id}:{content_hash}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def chunk_id_of(doc_id: str, start: int, end: int, length: int = 12) -> str:
    """A Source by its place in the Text, in characters: twelve digits, and a longer ``length`` where twelve collide."""
    return hashlib.sha256(f"{doc_id}:{start}:{end}".encode()).hexdigest()[:length]


def garage_key_of(prefix: str, content_hash: str, extension: str) -> str:
    """Of an original: by its content, with the extension of the file, so that it can be opened as it is."""
    return f"sources/{prefix}/{content_hash[:32]}.{extension}"


def concept_id_of(ontology: str, norm: str) -> str:
    return hashlib.sha256(f"{ontology}:{norm}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def norm_hash(norm: str) -> str:
    """Return 16 hexadecimal digits that order concepts by the label that founded them: at random, and alike in all homes and ontologies.
    Ids of concepts differ between two ontologies of the same documents."""
    return hashlib.sha256(norm.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def relationship_id_of(subject: str, type_: str, object_: str) -> str:
    return hashlib.sha256(f"{subject}:{type_}:{object_}".encode()).hexdigest()[:16]


def instance_id_of(owner: str, doc_id: str, start: int, end: int) -> str:
    """``owner`` is the concept or relationship that the quote is evidence for."""
    return hashlib.sha256(f"{owner}:{doc_id}:{start}:{end}".encode()).hexdigest()[:16]


_SPACE = re.compile(r"\s+")


def normalise_label(label: str) -> str:
    """The form under which labels are the same: NFKC, case-folded, inner space single, outer punctuation gone."""
    folded = unicodedata.normalize("NFKC", label).casefold()
    return _SPACE.sub(" ", folded).strip(" \t\n.,;:!?\"'`*_()[]{}<>-–—")
