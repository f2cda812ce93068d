"""``[tree] on_duplicate``: whether an ontology may have the same bytes under several paths.

Where it may not, a duplicate is refused at the flush that would keep it, while the writer still gets the error (DUP-1
of docs/semantics.md). It is also refused in a rename that would turn a file into a document.

No bytes are lost by that: these very bytes are a version of the path that holds them, in the garage. If that path is
not settled yet, it is settled for this purpose, quiet or not, since it might be overwritten. If it cannot be settled,
because a writer still has it open or another living process wrote it, nothing is refused, and the later path settles
as another name. A refusal is logged with path, hash and time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kgfs.config import Config
from kgfs.domain.documents import Name
from kgfs.domain.names import is_document_name
from kgfs.errors import DuplicateError
from kgfs.ingest.storing.identify import Action, decide
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.stores import Stores


class Duplicates:
    """Refuses duplicates. Any number of threads may call."""

    def __init__(self, config: Config, stores: Stores, settle: Callable[[Name, bool], bool]) -> None:
        """``settle(name, alone)`` settles a name if it can, and returns whether the name is settled now. ``alone`` is
        as for :meth:`check`."""
        self._settle = settle
        self.refused = config.tree.on_duplicate == "refuse"
        self._names = stores.catalog.names
        self._errors = ErrorLog(config.errors_log)
        self._reported: set[tuple[int, str]] = set()

    def check_flush(self, before: Name, sha256: str, size: int) -> None:
        """Raise DuplicateError as :meth:`check` does, for a live name that is about to get these bytes. Bytes that it
        has already are allowed."""
        if self.refused and sha256 != before.sha256 and (path := self._names.path(before.id)):
            self.check(replace(before, sha256=sha256, size=size), path)

    def check(self, name: Name, path: str, replaces: int = 0, *, alone: bool = False) -> None:
        """Raise DuplicateError if ``name``, with its bytes at ``path``, would be the second of its ontology with
        these bytes.

        ``replaces`` is the id of a name that ``name`` replaces. ``alone`` says that the caller holds the settle lock.
        A refusal is logged once per name and content.
        """
        if not self.refused or not name.sha256:
            return
        holder = self._holder(name, replaces, alone=alone)
        if not holder:
            return
        document = self._names.document_with(name.ontology, name.sha256)
        decision = decide(name, path, None, document, n=1, now=0, trash_days=0, elsewhere=holder)
        if decision.action is not Action.REFUSE:
            return
        error = DuplicateError(f"'{path}' was refused: {decision.reason}, and [tree] on_duplicate is 'refuse'.")
        if (name.id, name.sha256) not in self._reported:
            self._reported.add((name.id, name.sha256))
            ontology = self._names.ontology(name.ontology)
            about = {"path": path, "ontology": ontology.name if ontology else "", "sha256": name.sha256}
            self._errors.add("refuse", error, **about, held_by=holder)
        raise error

    def _holder(self, name: Name, replaces: int, *, alone: bool) -> str:
        """Return the path of another document of the ontology that has these bytes now and whose bytes are settled;
        '' if there is none."""
        document = self._names.document_with(name.ontology, name.sha256)
        holders = self._names.names_of(document.doc_id) if document else []
        if self._names.arriving(name.ontology, name.sha256):
            holders = [*holders, *self._names.unsettled()]
        for other in holders:
            same = (other.ontology, other.sha256) == (name.ontology, name.sha256)
            path = self._names.path(other.id) if same and other.id not in (name.id, replaces) else None
            if path and is_document_name(path) and (other.settled or self._settle(other, alone)):
                return path
        return ""
