"""``[tree] on_duplicate``: whether an ontology may have the same bytes under several paths.

Where it may not, they are refused at the flush that would keep them, when the writer still listens (DUP-1 of docs/semantics.md), and
in a rename that would make a document of a file in passing. Nothing is lost by it: these very bytes are a version of the
path that holds them, in the garage. One that was not settled yet is settled for that, quiet or not, since it might be
overwritten; where that cannot be, because a writer has it open still or it was written by another living process,
nothing is refused, and the later one settles as another name. What was refused is written down with path, hash and time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kgfs.config import Config
from kgfs.domain.documents import Name
from kgfs.domain.names import is_document_name
from kgfs.errors import DuplicateError
from kgfs.ingest.keeping.identify import Action, decide
from kgfs.stores.error_log import ErrorLog
from kgfs.stores.stores import Stores

EVER = 2**63 - 1


class Duplicates:
    """Any number of threads."""

    def __init__(self, config: Config, stores: Stores, settle: Callable[[Name, bool], bool]) -> None:
        """``settle(name, alone)`` settles a name if it can, and tells whether it is settled now; ``alone`` as below."""
        self._settle = settle
        self.refused = config.tree.on_duplicate == "refuse"
        self._names = stores.journal.names
        self._errors = ErrorLog(config.errors_log)
        self._told: set[tuple[int, str]] = set()

    def check_flush(self, before: Name, sha256: str, size: int) -> None:
        """As ``check``, for a live name that is about to get these bytes. What it has already it may keep."""
        if self.refused and sha256 != before.sha256 and (path := self._names.path(before.id)):
            self.check(replace(before, sha256=sha256, size=size), path)

    def check(self, name: Name, path: str, replaces: int = 0, *, alone: bool = False) -> None:
        """DuplicateError if ``name``, with these bytes at ``path``, would be the second of its ontology to have them;
        ``replaces`` is a name that makes way for it, ``alone`` tells that the caller is the one who settles now. Written
        to the log once a content of a name."""
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
        if (name.id, name.sha256) not in self._told:
            self._told.add((name.id, name.sha256))
            ontology = self._names.ontology(name.ontology)
            about = {"path": path, "ontology": ontology.name if ontology else "", "sha256": name.sha256}
            self._errors.add("refuse", error, **about, held_by=holder)
        raise error

    def _holder(self, name: Name, replaces: int, *, alone: bool) -> str:
        """The path of another document of the ontology that has these bytes now, and had them for good; empty if there
        is none."""
        document = self._names.document_with(name.ontology, name.sha256)
        holders = self._names.names_of(document.doc_id) if document else []
        if self._names.arriving(name.ontology, name.sha256):
            holders = [*holders, *self._names.unsettled(quiet_before=EVER)]
        for other in holders:
            same = (other.ontology, other.sha256) == (name.ontology, name.sha256)
            path = self._names.path(other.id) if same and other.id not in (name.id, replaces) else None
            if path and is_document_name(path) and (other.settled or self._settle(other, alone)):
                return path
        return ""
