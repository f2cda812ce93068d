"""Keys of derived nodes: :func:`kgfs.tree.node.inode_of` one of these is the node's inode number.

Views make their inode numbers from them, and whoever turns a commit into invalidations finds the same numbers. A key
stays the same while the thing lives, whatever it is renamed to.
"""

from __future__ import annotations

Key = tuple[str | int, ...]


def fixed(name: str) -> Key:
    """README.md and AGENTS.md of the mount; ``.kgfs`` and what is in it, by path."""
    return ("fixed", name)


def kept(path: str) -> Key:
    """What stands at a path of the garage view."""
    return ("kept", path)


def job(doc_id: str) -> Key:
    """``.kgfs/jobs/<doc_id>.json``."""
    return ("job", doc_id)


def ontology(ontology_id: str) -> Key:
    return ("ontology", ontology_id)


def part(ontology_id: str, name: str) -> Key:
    """about.md, concepts and other entries that an ontology has one of."""
    return ("part", ontology_id, name)


def results(ontology_id: str, words: str, name: str = "", mark: str = "") -> Key:
    """``search/<words>`` of an ontology, or of the mount's root (''), and, with ``name``, a file of it with the contents that
    ``mark`` stands for."""
    return ("results", ontology_id, words, name, mark)


def shortcut(concept_id: str) -> Key:
    """The unlisted link ``<name>.concept`` of an ontology."""
    return ("shortcut", concept_id)


def concept(concept_id: str) -> Key:
    return ("concept", concept_id)


def of_concept(concept_id: str, name: str) -> Key:
    """``concept.md`` and other entries of a concept's folder that it has one of."""
    return (name, concept_id)


def evidence(owner: str, concept_id: str) -> Key:
    """The folder ``evidence/`` of ``owner`` (a concept or relationship) as seen from the concept."""
    return ("evidence", owner, concept_id)


def piece(owner: str, concept_id: str, n: int | str, name: str = "") -> Key:
    """``evidence/<n>``, or ``evidence/best``, and, with ``name``, an entry of it."""
    return ("piece", owner, concept_id, n, name)


def related(concept_id: str, type_: str = "", name: str = "", entry: str = "") -> Key:
    """``related/``, ``related/<type>/``, ``related/<type>/<name>/`` and its ``concept.md``."""
    return ("related", concept_id, type_, name, entry)


def archived(doc_id: str, name: str = "") -> Key:
    """``archive/<doc_id>`` and, with ``name``, an entry of it."""
    return ("archived", doc_id, name)


def found_in(doc_id: str, concept_id: str) -> Key:
    """``archive/<doc_id>/concepts/<name>.md``."""
    return ("found", doc_id, concept_id)


def text_folder(name_id: int) -> Key:
    """``text/`` (the name id of documents/) or the folder in it that mirrors one of documents/."""
    return ("text", name_id)


def text_file(name_id: int) -> Key:
    """``text/<path>.md``."""
    return ("text.md", name_id)


def versions_folder(name_id: int) -> Key:
    """``versions/`` or the folder in it that mirrors one of documents/."""
    return ("versions", name_id)


def beside(name_id: int) -> Key:
    """A folder of documents/, by its path without ``documents/``: one inode has one parent."""
    return ("beside", name_id)


def history(name_id: int) -> Key:
    """``versions/<path>@/``."""
    return ("history", name_id)


def version(name_id: int, n: int) -> Key:
    return ("version", name_id, n)
