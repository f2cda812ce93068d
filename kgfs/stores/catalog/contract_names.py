"""The contract of a catalog's queries about names, versions, documents, the trash and forgetting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgfs.domain.documents import Document, Name, Ontology, State, Succession, Version


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A search that was saved."""

    words: str
    """Encoded as names are."""
    saved_at: int


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question that was saved."""

    question: str
    """The names of its folders, each encoded as names are, joined by ``/``."""
    saved_at: int
    """When it was saved or asked last."""


@dataclass(frozen=True, slots=True)
class Trashed:
    """A removed file that has versions."""

    id: int
    """The name id that the file had, and gets again when it is restored."""
    ontology: str
    """The id of its ontology, which may have been removed itself."""
    path: str
    """The path below documents/, encoded."""
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
    """When the file was removed."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A forgetting that was decided and not carried out yet."""

    order: str
    doc_ids: tuple[str, ...]
    """Without the Documents that gained a name again since."""
    cascade: str
    """none, orphans or all."""
    purge: bool
    concepts: tuple[str, ...]
    """With cascade ``all``: the concepts that leave with all their evidence."""
    at: int


@dataclass(frozen=True, slots=True)
class PartRow:
    """A part of a Document."""

    parent: str
    n: int
    """Its place among the parts, from 1."""
    child: str
    """The doc_id of the Document that it is; '' for an empty part."""
    name: str
    """Safe, unique among the parts of the parent, encoded as names are."""
    given: str
    """The name that the parent gives it."""
    kind: str
    media_type: str
    size: int


class Names(Protocol):
    """Queries about names, versions and documents. All are *quick*; a page of ``limit`` rows costs in proportion to
    the page."""

    def ontologies(self) -> list[Ontology]:
        """Return the live ontologies in order of name."""
        ...

    def ontology(self, ontology_id: str) -> Ontology | None:
        """Return a live ontology by its id."""
        ...

    def ontology_named(self, name: str) -> Ontology | None:
        """Return a live ontology by its name."""
        ...

    def removed_ontologies(self) -> list[Ontology]:
        """Return the removed ontologies as they were when they were removed, by id. Their trash and their Documents
        outlive them."""
        ...

    def name(self, name_id: int) -> Name | None:
        """Return a live name; None once it is removed or in the trash."""
        ...

    def united(self, name_id: int) -> Name | None:
        """Return the folder that a folder made in this home was merged into, because another home had made one under
        the same name; else None."""
        ...

    def child(self, parent: int, name: str) -> Name | None:
        """Return the live entry of a folder by its name."""
        ...

    def children(self, parent: int, after: str = "", limit: int = 1000) -> list[Name]:
        """Return live entries of a folder whose name is greater than ``after``, in order of name (by code point)."""
        ...

    def resolve(self, ontology_id: str, path: str) -> Name | None:
        """Return the live name at a path like ``a/b/c`` below documents/; ``''`` is documents/ itself. None if there
        is none."""
        ...

    def path(self, name_id: int) -> str | None:
        """Return the path below documents/; None if the name, or a folder above it, is not live."""
        ...

    def names_of(self, doc_id: str) -> list[Name]:
        """Return the live files whose newest version is this Document, in order of that version's deposit."""
        ...

    def called(self, name: str, ontologies: Sequence[str], limit: int) -> list[Name]:
        """Return live files of these ontologies that are documents and are called so (encoded), with or without an ending, in
        order of their ids; ``limit`` at most. One scan of the names."""
        ...

    def placed(self, ontology_id: str) -> list[tuple[str, str, int]]:
        """Return (doc_id, path below documents/, mtime) of each live file that is a document. One scan of the names: for many
        documents much faster than :meth:`names_of` for each."""
        ...

    def all_parts(self) -> list[tuple[str, str, str]]:
        """Return (child, parent, name) of all parts that a parent holds (:meth:`part_of`). One scan of the parts."""
        ...

    def held(self, doc_id: str) -> bool:
        """Return whether a live file has the Document, or a parent that is held itself."""
        ...

    def parts(self, doc_id: str, after: int = 0, limit: int = -1) -> list[PartRow]:
        """Return the parts of a Document behind number ``after``, in order. A ``limit`` below 0 returns all."""
        ...

    def part(self, doc_id: str, name: str) -> PartRow | None:
        """Return the part of a Document that has this name."""
        ...

    def part_of(self, doc_id: str, *, held: bool = True) -> list[PartRow]:
        """Return the places at which the Document is a part of parents that hold it, those of its first parent
        first; unless ``held``, of all parents."""
        ...

    def first_found_in(self, doc_ids: Sequence[str]) -> list[str]:
        """Return the Documents that were first found as parts of one of these, whether or not they are parts still. Reads
        all Documents."""
        ...

    def lineage_for(self, name_id: int) -> tuple[int, int]:
        """Return (lineage, n) of the version that would be minted now for a live file: the ``n`` that its
        VersionMinted must carry.

        A file without versions of its own continues the lineage that last left its place, if the lineage's holder was
        removed, was moved aside (to a name that is no document's), or left at most five seconds before this file
        came. Raises MissingError if there is no such file."""
        ...

    def versions(self, name_id: int) -> list[Version]:
        """Return the versions of the path's lineage in order of n. Works for names in the trash too."""
        ...

    def conflicts(self, limit: int = -1) -> list[tuple[Version, Name | None]]:
        """Return the versions that are conflicts (``catalog.conflicts``) of all paths, newest first, each with the
        live name that continues its lineage now, if any. A ``limit`` below 0 returns all."""
        ...

    def conflict_count(self) -> int:
        """Return the number of versions that are conflicts. Quick."""
        ...

    def version_of(self, doc_id: str) -> tuple[Version, Name | None] | None:
        """Return the newest version that was this Document, with the live name that continues its lineage now, if
        any."""
        ...

    def succession(self, doc_id: str) -> list[Succession]:
        """Return each version that was this Document, in order of deposit, with the Documents before and behind it in
        the path's history. Versions that are conflicts are left out."""
        ...

    def document(self, doc_id: str) -> Document | None:
        """Return a Document. Its ``state`` is working while a worker has claimed its ``read`` job. ``commit_id`` is
        empty while the graph does not show it; ``reading`` and ``decisions`` are kept then, for a revival."""
        ...

    def document_with(self, ontology_id: str, sha256: str) -> Document | None:
        """Return the Document of an ontology that has these bytes, the last deposited one if there are several."""
        ...

    def documents(self, ontology_id: str, after: str = "", limit: int = 1000) -> list[Document]:
        """Return Documents with an id above ``after``, in order of doc_id."""
        ...

    def newest(self, ontology_id: str, limit: int = 10) -> list[Document]:
        """Return the Documents that were deposited last, newest first."""
        ...

    def counts(self, ontology_id: str = "") -> Mapping[State, int]:
        """Return the number of Documents by state, of one ontology or of all. Reads counters and does not scan the
        documents."""
        ...

    def any_read(self) -> bool:
        """Return whether any Document that is known here was ever published, shown by the graph or not. Purged
        Documents are not known. Scans the documents while none was published."""
        ...

    def unread(self, ontology_id: str, limit: int = 10) -> list[Document]:
        """Return the documents of an ontology that could not be read (unsupported or failed), the newest first. Their
        ``reason`` says why."""
        ...

    def predecessors(self, doc_id: str) -> list[str]:
        """Return the Documents that a publication of ``doc_id`` must take out of the graph.

        These are Documents shown by the graph that were an earlier version of a path whose newest version is
        ``doc_id``, and that are no live path's newest version any more; where ``doc_id`` is a segment of a transcript, the
        segments with its number in the transcript's earlier versions. Documents of other ontologies are left out: a
        Document that a path left behind in another ontology gets a ``forget`` job instead. Tombstones are left out
        too, since they stay."""
        ...

    def unsettled(
        self, *, session: str | None = None, quiet_before: int, or_after: int = 2**63 - 1, alive: Sequence[str] = ()
    ) -> list[Name]:
        """Return the unsettled names that last changed at or before ``quiet_before``, or later than ``or_after``.

        With ``session``, only names that this session touched last. Without it, only names that were last touched by
        a session that is not in ``alive`` (its process is dead, or the fact had no session)."""
        ...

    def arriving(self, ontology_id: str, sha256: str) -> bool:
        """Return whether an unsettled file of the ontology has these bytes. Such a file may become a name of their
        Document."""
        ...

    def unsettled_count(self, *, besides: str | None = None) -> int:
        """Return the number of unsettled names, except those that the session ``besides`` touched last."""
        ...

    def settings(self, ontology_id: str = "") -> Mapping[str, str]:
        """Return the settings of an ontology or, without one, of the store."""
        ...

    # ---------------------------------------------------------------------------------- trash, forgetting

    def trash(self, after: int = 0, limit: int = 1000, removed_before: int = 2**63 - 1) -> list[Trashed]:
        """Return removed files of all ontologies, also of removed ones, with an id above ``after`` and removed before
        ``removed_before``, in order of id."""
        ...

    def trashed(self, name_id: int) -> Trashed | None:
        """Return a removed file by the name id that it had."""
        ...

    def names_at(self, key: str) -> list[Name]:
        """Return the live files whose bytes are the garage's object ``key``, settled or not and whatever was decided
        about them, in order of id."""
        ...

    def lineages(self, doc_id: str) -> list[int]:
        """Return the lineages that have this Document as a version, in order."""
        ...

    def history(self, lineage: int) -> list[Version]:
        """Return the versions of a lineage in order of n."""
        ...

    def forgettings(self) -> list[Forgetting]:
        """Return the forgettings that are decided and not carried out yet, oldest first."""
        ...

    def forgettings_count(self) -> int:
        """Return the number of those forgettings. Quick, however many documents they name."""
        ...

    def tombstoned(self, doc_id: str) -> bool:
        """Return whether the Document was forgotten with cascade ``none``: its knowledge stays, though no file has
        it."""
        ...

    def suppressed(self, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
        """Return which of these concepts must not be brought back by this Document: those that were suppressed since
        the Document was last deposited. The ids are ``domain.identity.concept_id_of`` of a normalised form."""
        ...

    def saved_searches(self, ontology_id: str = "") -> list[SavedSearch]:
        """Return the saved searches of an ontology or, without one, of the mount's root, in order of words."""
        ...

    def saved_questions(self, ontology_id: str = "") -> list[SavedQuestion]:
        """Return the saved questions of an ontology or, without one, of the mount's root, in order."""
        ...
