"""The files that a question names: a person who types the name of a file looks for it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from kgfs.domain.names import encode_name
from kgfs.knowledge.document_location import Folders, place_of
from kgfs.render.search import NamedFile
from kgfs.stores.catalog.names import Names

LIKE_A_NAME = re.compile(r"(?=.*[\d._\s-])[^/]{1,255}")
"""What may be the name of a file: several words, or one with a digit, a stop, a hyphen or an underscore. All names are looked
through for it, so one plain word, which is mostly no name, is not asked for."""
MOST = 8
"""The number of files that are listed."""


def files_named(names: Names, ontologies: Iterable[tuple[str, str]], question: str) -> tuple[NamedFile, ...]:
    """Return the files that are called as the question, with or without their ending. Letters may be composed or decomposed (as macOS
    writes names), and upper and lower case are equal in ASCII.

    ``ontologies`` are (id, path from the searched folder to that of the ontology: '' or ``<Ontology>/``). One scan of the names
    for a question that may be a name; quick for others.
    """
    if LIKE_A_NAME.fullmatch(question) is None:
        return ()
    folders = dict(ontologies)
    known: Folders = {}
    found = []
    spellings = {unicodedata.normalize(form, question) for form in ("NFC", "NFD")}
    wanted = [encode_name(one.encode("utf-8", "surrogateescape")) for one in sorted(spellings)]
    for name in names.called(wanted, [*folders], MOST):
        if (place := place_of(names, name, known)) is not None:
            found.append(NamedFile(name.doc_id, f"{folders[name.ontology]}documents/{place[0]}"))
    return tuple(sorted(found, key=lambda file: file.path))
