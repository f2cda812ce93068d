"""The files that a question names: a person who types the name of a file looks for it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kgfs.domain.names import encode_name
from kgfs.knowledge.document_location import Folders, place_of
from kgfs.render.search import NamedFile
from kgfs.stores.catalog.names import Names

LIKE_A_NAME = re.compile(r"(?=.*[\d._-])[^\s/]{1,255}")
"""What may be the name of a file: one word with a digit, a stop, a hyphen or an underscore. All names are looked through for
it, so plain words, of which most are no names, are not asked for."""
MOST = 8
"""The number of files that are listed."""


def files_named(names: Names, ontologies: Iterable[tuple[str, str]], question: str) -> tuple[NamedFile, ...]:
    """Return the files that are called as the question, with or without their ending.

    ``ontologies`` are (id, path from the searched folder to that of the ontology: '' or ``<Ontology>/``). One scan of the names
    for a question that may be a name; quick for others.
    """
    if LIKE_A_NAME.fullmatch(question) is None:
        return ()
    folders = dict(ontologies)
    known: Folders = {}
    found = []
    for name in names.called(encode_name(question.encode("utf-8", "surrogateescape")), [*folders], MOST):
        if (place := place_of(names, name, known)) is not None:
            found.append(NamedFile(name.doc_id, f"{folders[name.ontology]}documents/{place[0]}"))
    return tuple(sorted(found, key=lambda file: file.path))
