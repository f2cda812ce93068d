"""What a journal promises.

The state is a fold: ``record`` appends facts and applies them to the tables in one durable transaction, and
replaying the same facts from an empty journal gives the same tables (ids, numbers, times, what is owed; not leases
and attempts, which are of the moment). Reads are *quick* (indexed, microseconds) unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kgfs.domain import Document, Name, Ontology, State, Version
from kgfs.errors import KgfsError
from kgfs.stores.journal.facts import Fact


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of owed work."""

    kind: str
    """``read`` (parse … index a Document) or ``forget`` (its last name is gone)."""
    doc_id: str
    ontology: str
    deposit: int
    attempts: int = 0
    state: str = "queued"
    """queued, working."""
    stage: str = ""
    """The stage a worker is at, for people."""
    progress: float = 0.0
    """0 to 1 within the document, for people."""
    reason: str = ""
    """Why the last attempt failed."""
    worker: str = ""
    not_before: int = 0
    lease_until: int = 0
    strategy: str = ""
    """Of a ``read`` that a ReadingOwed asked for: see there; else empty."""
    extractor: str = ""
    run: str = ""
    since: int = 0
    """The first deposit of its run, where it is to be compared only with what was read since; else 0."""


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

    def conflicts(self) -> int:
        """How many versions are conflicts (``journal.conflicts``), of all paths."""
        ...

    def version_of(self, doc_id: str) -> tuple[Version, Name | None] | None:
        """The newest version that was this Document, with the live name that now continues its lineage, if any."""
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

    def predecessors(self, doc_id: str) -> list[str]:
        """Documents shown by the graph that were an earlier version of a path whose newest version is ``doc_id``, and
        that are no live path's newest version any more: what a publication of ``doc_id`` must take out. Of the same
        ontology only: what a path left behind in another one is owed a ``forget``. Tombstones are none: they stay."""
        ...

    def unsettled(self, *, session: str | None = None, quiet_before: int, alive: Sequence[str] = ()) -> list[Name]:
        """Names that wait for their settling and last changed at or before ``quiet_before``. With ``session`` those
        touched last by it; without, those of sessions not in ``alive`` (their process is dead, or they had none)."""
        ...

    def arriving(self, ontology_id: str, sha256: str) -> bool:
        """Whether a file that waits for its settling has these bytes, which may make it a name of their Document."""
        ...

    def unsettled_count(self) -> int:
        """How many names wait for their settling, whoever touched them."""
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

    def tombstoned(self, doc_id: str) -> bool:
        """Whether it was forgotten with cascade ``none``: its knowledge stays, though no file has it."""
        ...

    def suppressed(self, concept_ids: Sequence[str], doc_id: str) -> frozenset[str]:
        """Which of these concepts (``domain.concept_id_of`` of a normalised form) must not come back by this Document:
        those suppressed since it was last deposited."""
        ...

    def saved_searches(self, ontology_id: str = "") -> list[SavedSearch]:
        """Of an ontology or, without one, of the mount's root; in order of words."""
        ...


class Jobs(Protocol):
    """Owed work. Handing out is by order of deposit, oldest first, whatever the kind; what a run asked to be read again comes
    after what was written, which somebody waits for."""

    def claim(self, worker: str, lease: float) -> Job | None:
        """The oldest due job that nobody holds (or whose lease has run out), leased for ``lease`` seconds and with
        ``attempts`` one higher. Two claimers never get the same job while its lease lasts."""
        ...

    def renew(self, job: Job, lease: float, stage: str = "", progress: float = 0.0) -> None:
        """LostLeaseError if the lease ran out and somebody else holds it."""
        ...

    def put_back(self, job: Job, reason: str, delay: float, *, counted: bool = True) -> None:
        """Give it up, to be tried again after ``delay`` seconds. Keeps ``attempts``, or, where this one shall not be
        ``counted``, takes it back."""
        ...

    def free(self, *, counted: bool = True) -> int:
        """Take back every lease, whoever holds it; how many. For one who knows that no other worker lives (it holds the
        worker's lock of the home): what a killed worker held is due at once and in its order. Attempts are kept, or
        taken back where these shall not be ``counted``."""
        ...

    def drop(self, job: Job) -> None:
        """The work turned out not to be owed (the document is nobody's current version)."""
        ...

    def owe(self, kind: str, doc_id: str, not_before: int = 0) -> None:
        """Owe a job by hand (retrying a failed document). A job of that kind for that document is owed once."""
        ...

    def all(self) -> list[Job]:
        """In order of deposit. Costs in proportion to what is owed: not for polling."""
        ...

    def of(self, doc_id: str) -> list[Job]:
        """Those of one document, in order of deposit. Quick."""
        ...

    def working(self) -> list[Job]:
        """Those that a worker has, in order of deposit. Quick."""
        ...

    def owed(self) -> int:
        """Jobs of any state."""
        ...


class Pending(Protocol):
    """Facts that have come true and survive the end of every process, on their way to the disk. All *quick*."""

    @property
    def durable(self) -> bool:
        """Whether they survive a power failure already."""
        ...

    def then(self, done: Callable[[KgfsError | None], None]) -> None:
        """Call ``done`` once they are durable, or that has failed: with the error that who blocks would get. Once,
        from whatever thread, perhaps before this returns; ``done`` is to be quick."""
        ...


class Journal(Protocol):
    """Names, jobs, inbox and the ledger's front, in one durable file. Any number of threads and processes."""

    @property
    def names(self) -> Names: ...

    @property
    def jobs(self) -> Jobs: ...

    def record(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "", synced: bool = True
    ) -> int:
        """Make the facts true, all or none, and durable (full sync) before it returns the number of the last.

        ``inbox`` holds small contents by SHA-256, made durable in the same transaction. ``session`` is the mount that
        acts. Calls of several threads share a transaction (group commit), each still all or none on its own.
        What cannot become true is refused: MissingError (id or parent not live), ExistsError (name taken, also an
        ontology's), NotEmptyError, NotAFolderError, IsAFolderError (a file replacing a folder and the reverse),
        BadInputError (a folder moved below itself), NameTooLongError, RefusedError, BusyError (a VersionMinted or
        Settled about bytes that the name does not have any more, or a version that is not the next one of its path);
        FullError and StoreError if the disk says no. Blocks for one sync; call it from a thread.
        Not ``synced`` it does not wait for the disk: the facts survive the end of every process at once and a power
        failure within a second, and after that never a later fact without them. If a sync fails the facts may have
        come true all the same (StoreError), and nothing is recorded any more.

        Effects beside the rows named by the fact: a parent's mtime and ctime follow every entry that appears in or
        leaves it; a VersionMinted that owes a reading owes the ``read`` job (deposit = the fact's number) and sets the
        document's state to queued; what ends a job removes it and sets the state; a document that loses its last
        live name while the graph shows it is owed a ``forget`` (``not_before`` two seconds later, so that an editor's
        save in passing owes nothing), or, if it was never read, loses its job; one that gains a name again loses its
        ``forget``. A predecessor that became nobody's newest version turns ``stale`` until it leaves the graph, when
        its successor is owed a reading; when the successor needs none (alias), it is owed a ``forget``.
        A ReadingOwed owes the ``read`` job likewise, of a Document that a live name has (else MissingError).
        """
        ...

    def record_at_once(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = ""
    ) -> Pending | None:
        """As ``record``, without waiting for the disk nor for anybody who writes, so that an event loop may call it; the
        facts are durable within a second in any case. None, and nothing is recorded, where one must wait. Quick."""
        ...

    def sync(self) -> None:
        """What any process has recorded is durable when this returns. Blocks."""
        ...

    def inbox(self, sha256: str) -> bytes | None:
        """A small content not yet in the garage. Quick."""
        ...

    def drop_inbox(self, sha256s: Sequence[str]) -> None:
        """Only contents that no live name has with place ``inbox`` go; others are left."""
        ...

    def unheld(self) -> list[str]:
        """Keys of originals that no name, version or trash promises any more and whose objects may be there still. Ask
        while nobody settles."""
        ...

    def drop_unheld(self, keys: Sequence[str]) -> None:
        """Their objects are gone, or are wanted again."""
        ...

    def promised(self) -> Iterator[tuple[str, str, str]]:
        """(garage key, SHA-256, doc_id or '') of every original that a name, a version or the trash promises. Walks over
        everything."""
        ...

    def promises(self, key: str) -> bool:
        """Whether a name, a version or the trash has the object ``key``. Quick."""
        ...

    def left_inbox(self) -> list[str]:
        """SHA-256 of inbox rows that no name refers to. Such stand for a moment only, between two steps."""
        ...

    def scrub(self) -> None:
        """Remove every trace of removed rows (inbox contents above all) from the files. Blocks for long, all is written
        anew. BusyError where other processes read without end."""
        ...

    def seq(self) -> int:
        """The number of the newest fact; it moves when another process records one. Quick."""
        ...

    @property
    def commits(self) -> int:
        """Moves whenever this process changes something, before the call that does returns. Quick: nothing is read."""
        ...

    def facts(self, after: int, limit: int = 1000, *, confirmed: bool = False) -> list[tuple[int, Fact]] | None:
        """The change feed: facts above ``after`` in order; None when they are no longer kept here (at least the last
        10,000 are), and the caller must look at everything anew. ``confirmed`` where the ledger had ``after`` when the caller
        learnt of it: no fact up to there got another number since."""
        ...

    def unshipped(self, limit: int = 1000) -> tuple[int, list[bytes]]:
        """The oldest entries the ledger does not have for certain: (first number, encoded facts). They
        are durable here. Blocks for a sync if there are any."""
        ...

    def shipped(self, upto: int) -> None: ...

    @property
    def sharing(self) -> bool:
        """Whether other homes may write to the same ledger. Quick."""
        ...

    def share(self) -> None:
        """From now on they may: see ``journal.sharing``. Idempotent."""
        ...

    def elsewhere(self, after: int) -> frozenset[int]:
        """The numbers of those of ``facts`` above ``after`` that other homes recorded, as far as was seen by this journal."""
        ...

    def changed_elsewhere(self) -> int:
        """The number of the last fact by which another home changed its graph; 0 where none did. Quick."""
        ...

    def follow(self, entries: Sequence[tuple[int, bytes]], kept: Container[str] = ()) -> list[str]:
        """In place of ``shipped`` where homes share: the ledger has these entries, (number, fact) in order, those that are
        known among them. What they confirm of what is unshipped stays; with others in between, what is unshipped is
        recorded anew behind them, changed where it must be. Then ``facts`` knows no one who followed it further than
        they. What people should know of that, a line each. ``kept`` are keys of contents (``stores.waiting``) that the
        garage has: NotKeptError, with nothing done, where one is wanted that it does not have."""
        ...

    def withdraw(self, fact: Fact) -> bool:
        """Take back a fact that the ledger does not have; False where it has, or where the fact is none (any more)."""
        ...

    def replay(self, entries: Iterator[tuple[int, bytes]]) -> int:
        """Fill an empty journal from the ledger; how many facts were applied. StoreError if it is not empty."""
        ...

    def changed(self) -> bool:
        """Whether any process committed since this was last asked by this object. Quick; meant for polling."""
        ...

    def close(self) -> None: ...
