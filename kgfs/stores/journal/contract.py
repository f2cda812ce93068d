"""What a journal promises.

The state is a fold: ``record`` appends facts and applies them to the tables in one durable transaction, and
replaying the same facts from an empty journal gives the same tables (ids, numbers, times, what is owed; not leases
and attempts, which are of the moment). Reads are *quick* (indexed, microseconds) unless said otherwise. What may be asked
about names and documents stands in ``contract_names``, about owed work in ``contract_jobs``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Protocol

from kgfs.errors import KgfsError
from kgfs.stores.journal.contract_jobs import Jobs
from kgfs.stores.journal.contract_names import Names
from kgfs.stores.journal.facts import Fact


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
        Settled about bytes that the name does not have any more, a Settled about no document that has a document's name by
        now, or a version that is not the next one of its path);
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

    def unheld(self, among: Sequence[str] | None = None) -> list[str]:
        """Keys of originals that no name, version or trash promises any more and whose objects may be there still, in order.
        Ask while nobody settles. With ``among`` only those of these keys; quick where they are few."""
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

    def confirmed(self) -> int:
        """Return the number of the ledger's newest fact that is known here: facts behind it may still get other numbers. Quick."""
        ...

    @property
    def sharing(self) -> bool:
        """Whether other homes may write to the same ledger. Quick."""
        ...

    def share(self) -> None:
        """From now on they may: see ``journal.sharing``. Idempotent."""
        ...

    def changed_elsewhere(self) -> int:
        """The number of the last fact by which another home changed its graph; 0 where none did. Quick."""
        ...

    def follow(
        self, entries: Sequence[tuple[int, bytes]], kept: Container[str] = (), gone: Container[str] = ()
    ) -> list[str]:
        """In place of ``shipped`` where homes share: the ledger has these entries, (number, fact) in order, those that are
        known among them. What they confirm of what is unshipped stays; with others in between, what is unshipped is
        recorded anew behind them, changed where it must be. Then ``facts`` knows no one who followed it further than
        they. What people should know of that, a line each. ``kept`` are keys of contents (``stores.waiting``) that the
        garage has: NotKeptError, with nothing done, where one is wanted that it does not have. ``gone`` are keys of
        contents that were looked for, on this machine and in the garage, before this was called: nobody had them.
        Where nothing comes in between it looks at no more of what is unshipped than there are entries. Without any it looks at
        all of it for contents that were overtaken when they were recorded (``base``), and gives those their place: ask so
        before one is delivered."""
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
