"""The contract of a catalog.

The tables are a fold of the facts. ``record`` appends facts to the log and applies them to the tables in one durable
transaction. A replay of the same facts from an empty catalog gives the same tables: ids, numbers, times and jobs.
Leases and counts of attempts are excepted, since they are not recorded as facts. Reads are *quick* (indexed,
microseconds) unless said otherwise. Queries about names and documents are in ``contract_names``, those about jobs in
``contract_jobs``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from kgfs.errors import KgfsError
from kgfs.stores.catalog.contract_jobs import Jobs
from kgfs.stores.catalog.contract_names import Names

if TYPE_CHECKING:  # a process that only reads needs no class of fact
    from kgfs.stores.catalog.facts import Fact


class Pending(Protocol):
    """Facts that are committed and on their way to the disk. They survive the end of every process. All members are
    *quick*."""

    @property
    def durable(self) -> bool:
        """Return whether the facts survive a power failure already."""
        ...

    def then(self, done: Callable[[KgfsError | None], None]) -> None:
        """Call ``done`` once, when the facts are durable or the sync has failed.

        ``done`` gets None, or the error that a blocking call would have raised. It may be called from any thread,
        perhaps before this returns, and must be quick."""
        ...


class Catalog(Protocol):
    """Names, jobs, the inbox and the newest part of the ledger in one durable file. Any number of threads and
    processes may use one catalog at the same time."""

    @property
    def names(self) -> Names:
        """Return the queries about names, versions and documents."""
        ...

    @property
    def jobs(self) -> Jobs:
        """Return the job queue."""
        ...

    def record(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = "", synced: bool = True
    ) -> int:
        """Make the facts true and durable, all or none, and return the number of the last one.

        ``inbox`` maps SHA-256 to small contents, which become durable in the same transaction. ``session`` is the
        mount that acts. Calls of several threads share a transaction (group commit), and each call stays all or none
        on its own. The call blocks for one full sync, so make it from a thread.

        Without ``synced`` the call does not wait for the disk. The facts survive the end of every process at once,
        and a power failure within a second. No later fact ever survives a power failure without them.

        Raises, with nothing recorded: MissingError (the id or the parent is not live), ExistsError (the name is
        taken, also an ontology's), NotEmptyError, NotAFolderError, IsAFolderError (a file would replace a folder, or
        a folder a file), BadInputError (a folder would move below itself), NameTooLongError, RefusedError,
        LostLeaseError (a GraphFact whose ``follows`` is older than another home's newest change of its graph), and
        BusyError (a VersionMinted or Settled about bytes that the name no longer has, a Settled that calls a path no
        document although the path has a document's name by now, or a version that is not the next one of its path).
        Raises NoSpaceError or StoreError if the disk fails. After a failed sync (StoreError) the facts may be recorded
        all the same, and every later call that waits for the disk fails.

        Effects beyond the rows that the fact names:
        - Where a ContentKept or Moved takes its path from a content that another home wrote and has not settled, a
          ConflictKept that makes a version of it is recorded before that fact.
        - A parent's mtime and ctime follow every entry that appears in it or leaves it.
        - A VersionMinted whose decision needs a reading enqueues the ``read`` job (deposit = the fact's number) and
          sets the document's state to queued. A ReadingOwed does the same, for a Document that a live name has (else
          MissingError).
        - A fact that ends a job removes the job and sets the document's state.
        - A document that loses its last live name loses its ``read`` job. If the graph shows the document, it also
          gets a ``forget`` job, with ``not_before`` two seconds later, so that an editor's temporary removal during a
          save forgets nothing. A document that gains a name again loses its ``forget`` job.
        - A predecessor that is no path's newest version any more is ``stale`` until it leaves the graph, while its
          successor has a ``read`` job or has failed to be read. Where the successor needs no reading (alias), the
          predecessor gets a ``forget`` job."""
        ...

    def record_nowait(
        self, *facts: Fact, inbox: Mapping[str, bytes] | None = None, session: str = ""
    ) -> Pending | None:
        """Record the facts as ``record`` does, but without waiting for the disk or for another writer. An event loop
        may call this.

        The facts are durable within a second in any case. Returns None, with nothing recorded, where the call would
        have to wait. Quick."""
        ...

    def sync(self) -> None:
        """Make durable what any process has recorded until now. Blocks."""
        ...

    def inbox(self, sha256: str) -> bytes | None:
        """Return a small content that is not in the garage yet, by its SHA-256; None if the inbox does not have it.
        Quick."""
        ...

    def drop_inbox(self, sha256s: Sequence[str]) -> None:
        """Delete inbox contents, except those that a live name refers to with place ``inbox``."""
        ...

    def unheld(self, among: Sequence[str] | None = None) -> list[str]:
        """Return the sorted keys of originals that no name, version or trash entry refers to any more, and whose
        objects may still exist.

        Call this while no path is being settled. With ``among``, consider only these keys; that is quick for a few
        keys."""
        ...

    def note_unheld(self, keys: Sequence[str]) -> None:
        """Put the keys of originals on that list before their objects are made, for the case that the process is killed
        before a fact refers to them. Not synced: a power failure may lose it."""
        ...

    def drop_unheld(self, keys: Sequence[str], *, synced: bool = True) -> None:
        """Take the keys out of the list of unheld originals: their objects were deleted, or are wanted again."""
        ...

    def promised(self) -> Iterator[tuple[str, str, str]]:
        """Iterate over (garage key, SHA-256, doc_id or '') of every original that a name, a version or the trash
        refers to. Scans all of them."""
        ...

    def promises(self, key: str) -> bool:
        """Return whether a name, a version or the trash refers to the object ``key``. Quick."""
        ...

    def left_inbox(self) -> list[str]:
        """Return the SHA-256 of each inbox row that no name refers to. Such rows exist only briefly, between two
        steps."""
        ...

    def scrub(self) -> None:
        """Erase every trace of deleted rows (inbox contents above all) from the files. Rewrites the whole database,
        so it blocks for long. Raises BusyError where other processes read without a pause."""
        ...

    def seq(self) -> int:
        """Return the number of the newest fact. The number also changes when another process records a fact.
        Quick."""
        ...

    @property
    def commits(self) -> int:
        """Return a counter that increases whenever this process changes something, before the changing call returns.
        Quick: reads no table."""
        ...

    def facts(self, after: int, limit: int = 1000, *, confirmed: bool = False) -> list[tuple[int, Fact]] | None:
        """Return facts with numbers above ``after`` in order, at most ``limit``: the change feed.

        Returns None when the facts behind ``after`` are no longer kept here (at least the last 10,000 are), or when
        facts up to ``after`` got other numbers; the caller must then read the whole state anew. Set ``confirmed``
        where the ledger had the fact ``after`` when the caller read it: no fact up to there has got another number
        since."""
        ...

    def unshipped(self, limit: int = 1000) -> tuple[int, list[bytes]]:
        """Return the oldest entries that the ledger is not known to have: (number of the first, encoded facts). The
        entries are durable in this catalog when the call returns. Blocks for a sync if there are any."""
        ...

    def shipped(self, upto: int) -> None:
        """Note that the ledger has the facts up to this number for certain. Only the newest of them stay for the
        change feed."""
        ...

    def confirmed(self) -> int:
        """Return the number of the ledger's newest fact that is known here. Facts with higher numbers may still get
        other numbers. Quick."""
        ...

    @property
    def sharing(self) -> bool:
        """Return whether other homes may write to the same ledger. Quick."""
        ...

    def share(self) -> None:
        """Allow other homes to write to the same ledger from now on; see ``catalog.sharing``. Idempotent."""
        ...

    def changed_elsewhere(self) -> int:
        """Return the number of the last fact by which another home changed its graph; 0 if there is none. Quick."""
        ...

    def follow(
        self, entries: Sequence[tuple[int, bytes]], kept: Container[str] = (), gone: Container[str] = ()
    ) -> list[str]:
        """Apply entries of the shared ledger: (number, encoded fact) in order. Call this in place of ``shipped``
        where homes share.

        Entries that are known already are skipped. Unshipped facts that the entries confirm stay as they are. Where
        the entries contain facts of other homes, the other unshipped facts are recorded anew behind them, changed
        where they must be (``sharing.rebase``). Returns one line per consequence that people should know of. After
        such a renumbering, ``facts`` returns None for a cursor behind the entries, unless the cursor is
        ``confirmed``.

        ``kept`` holds keys of contents (``stores.waiting``) that the garage has. Raises NotKeptError, with nothing
        done, where a content is needed that the garage does not have. ``gone`` holds keys of contents that the caller
        looked for before this call, on this machine and in the garage, and found nowhere.

        Where the entries hold no fact of another home, the call reads at most as many unshipped facts as there are
        entries. Without entries it reads all unshipped facts and resolves the contents that were outdated when they
        were recorded (``base``). Call it so before such a fact is delivered."""
        ...

    def withdraw(self, fact: Fact) -> bool:
        """Take back a fact that the ledger does not have. Returns False where the ledger has the fact, or the fact is
        not recorded (any more)."""
        ...

    def replay(self, entries: Iterator[tuple[int, bytes]]) -> int:
        """Fill an empty catalog from the ledger's entries and return how many facts were applied. Raises StoreError
        if the catalog is not empty, or an entry is missing or does not follow from those before it."""
        ...

    def changed(self) -> bool:
        """Return whether any other connection, of this process or another, committed since this object was last
        asked. Quick; meant for polling."""
        ...

    def close(self) -> None:
        """Make everything durable and close the connections. No thread may use the catalog meanwhile or
        afterwards."""
        ...
