"""Identity: the ids of names, Documents, Sources, concepts and evidence, and the keys of originals.

Except for the two random ids, each is a pure function of what it identifies, equal on every machine and in every
rebuild.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import unicodedata

from kgfs.domain.word_forms import without_joiners

CHUNK_ID_LENGTHS = (12, 16, 24, 64)
"""The lengths that a ``chunk_id`` may have, in hexadecimal digits. The next length is used where another Source has
the same digits."""


def new_id() -> int:
    """Return a new random name id of 62 bits, above the numbers that the tree reserves for fixed nodes."""
    return secrets.randbits(62) | (1 << 61)


def new_ontology_id() -> str:
    return secrets.token_hex(6)


def doc_id_of(source_id: str, content_hash: str) -> str:
    """Return the id of a Document, 16 hexadecimal digits of SHA-256 as all ids here.

    The same bytes of the same source give the same id.
    """
    return hashlib.sha256(f"{source_id}:{content_hash}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def chunk_id_of(doc_id: str, start: int, end: int, length: int = 12) -> str:
    """Return the id of the Source at ``start:end`` of the Text, in characters.

    ``length`` is the number of hexadecimal digits: 12, or a longer one of CHUNK_ID_LENGTHS where 12 collide.
    """
    return hashlib.sha256(f"{doc_id}:{start}:{end}".encode()).hexdigest()[:length]


def garage_key_of(prefix: str, content_hash: str, extension: str) -> str:
    """Return the garage key of an original, from its content hash.

    The key ends with the file's extension, so that the object can be opened as it is.
    """
    return f"sources/{prefix}/{content_hash[:32]}.{extension}"


def concept_id_of(ontology: str, norm: str) -> str:
    return hashlib.sha256(f"{ontology}:{norm}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def norm_hash(norm: str) -> str:
    """Return 16 hexadecimal digits that order concepts by their founding label.

    The order is pseudo-random, and the same in all homes and ontologies. Ids of concepts would not do: they differ
    between two ontologies of the same documents.
    """
    return hashlib.sha256(norm.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def relationship_id_of(subject: str, type_: str, object_: str) -> str:
    return hashlib.sha256(f"{subject}:{type_}:{object_}".encode()).hexdigest()[:16]


def instance_id_of(owner: str, doc_id: str, start: int, end: int) -> str:
    """Return the id of an Instance. ``owner`` is the concept or relationship that the quote is evidence for."""
    return hashlib.sha256(f"{owner}:{doc_id}:{start}:{end}".encode()).hexdigest()[:16]


def claim_id_of(ontology: str, quote: str, actor: str, role: str, ordinal: int = 0) -> str:
    """Return the id of a claim, from the words of its quote: all documents that have this sentence make the same claim.

    ``ordinal`` parts several claims that one document draws from the same words about the same actor, in the same role.
    """
    known = [
        "claim" + ontology,
        normalise_label(quote),
        normalise_label(actor),
        role,
        *([str(ordinal)] if ordinal else ()),
    ]
    return hashlib.sha256(":".join(known).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def claim_part_id_of(claim_id: str, doc_id: str) -> str:
    """Return the id of the part of a claim that one document has, after a person split the claim."""
    return hashlib.sha256(f"claim{claim_id}:{doc_id}".encode()).hexdigest()[:16]


_SPACE = re.compile(r"\s+")
_OUTER = " \t\n.,;:!?\"'`*()[]{}<>-–—"
_SPECIAL = re.compile(r"__[^\W_]\w*__(?!\w)")


def normalise_label(label: str) -> str:
    """Return the form under which labels are equal: NFKC, case-folded, without soft hyphens and zero-width characters, inner space
    single, outer punctuation removed.

    The underscores of names such as ``__await__`` are no punctuation: ``await`` is another name.
    """
    folded = unicodedata.normalize("NFKC", without_joiners(label)).casefold()
    plain = _SPACE.sub(" ", folded).strip(_OUTER)
    return plain if _SPECIAL.match(plain) else plain.strip(_OUTER + "_")


def commit_id_of_text(doc_id: str, reading: str, deposit: int) -> str:
    """Return the commit id of the publication of a document's text. A document that is deposited anew has another one."""
    return hashlib.sha256(f"text:{doc_id}:{reading}:{deposit}".encode()).hexdigest()[:24]
