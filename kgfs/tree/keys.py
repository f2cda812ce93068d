"""Make the keys of derived nodes. :func:`kgfs.tree.node.inode_of` of a key is the node's inode number.

Views derive their inode numbers from keys, and the code that turns a commit into invalidations derives the same
numbers. A key stays the same while its node exists, independent of renames.
"""

from __future__ import annotations

Key = tuple[str | int, ...]


def fixed(name: str) -> Key:
    """Return the key of README.md or AGENTS.md of the mount, or of a path at or below ``.kgfs``."""
    return ("fixed", name)


def kept(path: str) -> Key:
    """Return the key of a path of the garage view."""
    return ("kept", path)


def job(doc_id: str) -> Key:
    """Return the key of ``.kgfs/jobs/<doc_id>.json``."""
    return ("job", doc_id)


def ontology(ontology_id: str) -> Key:
    """Return the key of an ontology's folder."""
    return ("ontology", ontology_id)


def part(ontology_id: str, name: str) -> Key:
    """Return the key of about.md, concepts or another entry that an ontology has once."""
    return ("part", ontology_id, name)


def results(ontology_id: str, words: str, part: str = "", name: str = "", mark: str = "") -> Key:
    """Return the key of ``search/<words>`` of an ontology or, with '', of the mount's root; with ``part``, of a folder
    in it; with ``name``, of a file in that whose contents have the hash ``mark``.
    """
    return ("results", ontology_id, words, part, name, mark)


def answers(ontology_id: str, question: str, name: str = "", mark: str = "") -> Key:
    """Return the key of ``ask/<question>`` of an ontology or, with '', of the mount's root; with ``name``, of a file in it
    whose contents have the hash ``mark``.
    """
    return ("answers", ontology_id, question, name, mark)


def cited(chunk_id: str, name: str = "") -> Key:
    """Return the key of ``cite/<chunk_id>``; with ``name``, of an entry in it."""
    return ("cited", chunk_id, name)


def former(ontology: str, name: str) -> Key:
    """Return the key of the unlisted link in ``concepts/`` under the name of a concept that was joined to another."""
    return ("former", ontology, name)


def shortcut(concept_id: str) -> Key:
    """Return the key of the unlisted link ``<name>.concept`` of an ontology."""
    return ("shortcut", concept_id)


def concept(concept_id: str) -> Key:
    """Return the key of a concept's folder."""
    return ("concept", concept_id)


def of_concept(concept_id: str, name: str) -> Key:
    """Return the key of ``concept.md`` or another entry that a concept's folder has once."""
    return (name, concept_id)


def evidence(owner: str, concept_id: str) -> Key:
    """Return the key of the folder ``evidence/`` of ``owner`` (a concept or relationship) below the concept."""
    return ("evidence", owner, concept_id)


def piece(owner: str, concept_id: str, n: int | str, name: str = "") -> Key:
    """Return the key of ``evidence/<n>`` or ``evidence/best``; with ``name``, of an entry in it."""
    return ("piece", owner, concept_id, n, name)


def related(concept_id: str, type_: str = "", name: str = "", entry: str = "") -> Key:
    """Return the key of ``related/``, ``related/<type>/``, ``related/<type>/<name>/`` or its ``concept.md``."""
    return ("related", concept_id, type_, name, entry)


def archived(doc_id: str, name: str = "") -> Key:
    """Return the key of ``archive/<doc_id>``; with ``name``, of an entry in it."""
    return ("archived", doc_id, name)


def attached(doc_id: str, name: str) -> Key:
    """Return the key of ``archive/<doc_id>/attachments/<name>``."""
    return ("attached", doc_id, name)


def session(ontology_id: str, name: str, part: str = "") -> Key:
    """Return the key of ``sessions/<name>``; with ``part``, of an entry in it."""
    return ("session", ontology_id, name, part)


def claims(ontology_id: str, name: str) -> Key:
    """Return the key of ``claims/<role>``, ``claims/all.md`` or ``claims/rejected.ndjson``."""
    return ("claims", ontology_id, name)


def claim(claim_id: str) -> Key:
    """Return the key of ``claims/<role>/<name>.md``."""
    return ("claim", claim_id)


def found_in(doc_id: str, concept_id: str) -> Key:
    """Return the key of ``archive/<doc_id>/concepts/<name>.md``."""
    return ("found", doc_id, concept_id)


def text_folder(name_id: int) -> Key:
    """Return the key of ``text/`` (with the name id of documents/) or of the folder in it that mirrors a folder of
    documents/.
    """
    return ("text", name_id)


def text_file(name_id: int) -> Key:
    """Return the key of ``text/<path>.md``."""
    return ("text.md", name_id)


def versions_folder(name_id: int) -> Key:
    """Return the key of ``versions/`` or of the folder in it that mirrors a folder of documents/."""
    return ("versions", name_id)


def beside(name_id: int) -> Key:
    """Return the key of a folder of documents/ under its path without ``documents/``. It needs a key of its own,
    because an inode has one parent.
    """
    return ("beside", name_id)


def history(name_id: int) -> Key:
    """Return the key of ``versions/<path>@/``."""
    return ("history", name_id)


def version(name_id: int, n: int) -> Key:
    """Return the key of ``versions/<path>@/<n>.<ext>``."""
    return ("version", name_id, n)
