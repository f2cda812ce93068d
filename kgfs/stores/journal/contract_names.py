"""What may be asked of a journal about names, versions, documents, trash and forgetting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgfs.domain.documents import Document, Name, Ontology, State, Succession, Version


@dataclass(frozen=True, slots=True)
class SavedSearch:
    words: str
    """As names are encoded."""
    saved_at: int


@dataclass(frozen=True, slots=True)
class Trashed:
    """A removed file that has versions."""

    id: int
    """The name id it had, and will have again."""
    ontology: str
    """Its id; the ontology itself may be gone."""
    path: str
    """Below documents/, encoded."""
    mode: int
    uid: int
    gid: int
    mtime: int
    size: int
    sha256: str
    key: str
    doc_id: str
    version: int
    lineage: int
    at: int
    """When it was removed."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A forgetting that was decided and is to be carried out."""

    order: str
    doc_ids: tuple[str, ...]
    """Without those that gained a name again since."""
    cascade: str
    """none, orphans, all."""
    purge: bool
    concepts: tuple[str, ...]
    """With cascade ``all``: the concepts that leave with all their evidence."""
    at: int


class Names(Protocol):
    """Reading names, versions and documents. All *quick*; a page of ``limit`` rows costs in proportion to the page."""

    def ontologies(self) -> list[Ontology]:
        """In order of name."""
        ...

    def ontology(self, ontology_id: str) -> Ontology | None: ...

    def ontology_named(self, name: str) -> Ontology | None: ...

    def removed_ontologies(self) -> list[Ontology]:
        """As they were at their end, by id: their trash, and what was read in them, outlive them."""
        ...

    def name(self, name_id: int) -> Name | None:
        """A live name; None once removed or trashed."""
        ...

    def united(self, name_id: int) -> Name | None:
        """The folder that one made here has become, since another home had made one under its name; else None."""
        ...

    def child(self, parent: int, name: str) -> Name | None: ...

    def children(self, parent: int, after: str = "", limit: int = 1000) -> list[Name]:
        """Live entries with a name greater than ``after``, in order of name (by code point)."""
        ...

    def resolve(self, ontology_id: str, path: str) -> Name | None:
        """``a/b/c`` below documents/; ``''`` is documents/ itself."""
        ...

    def path(self, name_id: int) -> str | None:
        """The path below documents/; None if the name, or a folder above it, is not live."""
        ...

    def names_of(self, doc_id: str) -> list[Name]:
        """Live files whose newest version is this Document, in order of that version's deposit."""
        ...

    def lineage_for(self, name_id: int) -> tuple[int, int]:
        """(lineage, n) of the version that would be minted now for a live file: the ``n`` that its VersionMinted must
        carry. Without versions of its own a file continues the lineage that last left its place, if the holder was
        removed, was moved aside (to a name that is no document's) or left within five seconds before this file came.
        MissingError if there is no such file."""
        ...

    def versions(self, name_id: int) -> list[Version]:
        """Of the path's lineage, in order of n. Works for trashed names too."""
        ...

    def conflicts(self, limit: int = -1) -> list[tuple[Version, Name | None]]:
        """The versions that are conflicts (``journal.conflicts``), of all paths, newest first; each with the live name that now
        continues its lineage, if any. All where ``limit`` is below 0."""
        ...

    def conflict_count(self) -> int:
        """How many versions are conflicts. Quick."""
        ...

    def version_of(self, doc_id: str) -> tuple[Version, Name | None] | None:
        """The newest version that was this Document, with the live name that now continues its lineage, if any."""
        ...

    def succession(self, doc_id: str) -> list[Succession]:
        """Return each version that was this Document, in order of deposit, with the Documents before and behind it in the path's history.
        One that a conflict made is no part of it."""
        ...

    def document(self, doc_id: str) -> Document | None:
        """``state`` is working while a worker has its ``read`` job. ``commit_id`` is empty while the graph does not show
        it; ``reading`` and ``decisions`` stay known, for a revival."""
        ...

    def document_with(self, ontology_id: str, sha256: str) -> Document | None: ...

    def documents(self, ontology_id: str, after: str = "", limit: int = 1000) -> list[Document]:
        """By doc_id."""
        ...

    def newest(self, ontology_id: str, limit: int = 10) -> list[Document]:
        """The documents deposited last, newest first."""
        ...

    def counts(self, ontology_id: str = "") -> Mapping[State, int]:
        """Documents by state, of one ontology or all. Not a scan."""
        ...

    def any_read(self) -> bool:
        """Whether a Document that is known here was ever published, shown or not: what was purged is not known. Walks over
        the documents while none was."""
        ...

    def predecessors(self, doc_id: str) -> list[str]:
        """Documents shown by the graph that were an earlier version of a path whose newest version is ``doc_id``, and
        that are no live path's newest version any more: what a publication of ``doc_id`` must take out. Of the same
        ontology only: what a path left behind in another one is owed a ``forget``. Tombstones are none: they stay."""
        ...

    def unsettled(
        self, *, session: str | None = None, quiet_before: int, or_after: int = 2**63 - 1, alive: Sequence[str] = ()
    ) -> list[Name]:
        """Names that wait for their settling and last changed at or before ``quiet_before``, or later than ``or_after``. With
        ``session`` those touched last by it; without, those of sessions not in ``alive`` (their process is dead, or they had
        none)."""
        ...

    def arriving(self, ontology_id: str, sha256: str) -> bool:
        """Whether a file that waits for its settling has these bytes, which may make it a name of their Document."""
        ...

    def unsettled_count(self, *, besides: str | None = None) -> int:
        """How many names wait for their settling, whoever touched them, but those touched last by the session ``besides``."""
        ...

    def settings(self, ontology_id: str = "") -> Mapping[str, str]: ...

    # ---------------------------------------------------------------------------------- trash, forgetting

    def trash(self, after: int = 0, limit: int = 1000, removed_before: int = 2**63 - 1) -> list[Trashed]:
        """Removed files of all ontologies, also of removed ones, with an id above ``after``, by id."""
        ...

    def trashed(self, name_id: int) -> Trashed | None: ...

    def names_at(self, key: str) -> list[Name]:
        """Live files whose bytes are the garage's object ``key``, whatever they mean, by id."""
        ...

    def lineages(self, doc_id: str) -> list[int]:
        """The histories that have, or had, this Document as a version."""
        ...

    def history(self, lineage: int) -> list[Version]:
        """In order of n."""
        ...

    def forgettings(self) -> list[Forgetting]:
        """Those that are owed, oldest first."""
        ...

    def forgettings_count(self) -> int:
        """How many those are. Quick, however many documents they are of."""
        ...

    def tombstoned(self, doc_id: str) -> bool:
        """Whether it was forgotten with cascade ``none``: its knowledge stays, though no file has it."""
        ...

    def suppressed(self, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
        """Which of these concepts (``domain.identity.concept_id_of`` of a normalised form) must not come back by this Document:
        those suppressed since it was last deposited."""
        ...

    def saved_searches(self, ontology_id: str = "") -> list[SavedSearch]:
        """Of an ontology or, without one, of the mount's root; in order of words."""
        ...
